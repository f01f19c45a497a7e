"""`castle analyse`: values, best moves, and what was thrown away."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from places import DATA

from agents.solve.perfect_play import PerfectPlay
from castle_env import (
    ActionError,
    AgentError,
    CastleError,
    Game,
    IllegalActionError,
    OptionError,
    Ruleset,
    load_ruleset,
)
from castle_env.game_file import GameFileError, format_game, read_games
from castle_env.game_record import GameRecord, Note, record_game
from experiments.commands.analyse import Analyse, run
from experiments.measure.judged_moves import JudgedMove, judge_game, judge_position, parse_moves
from experiments.play import analysed_file

SMALL = Game(Ruleset.from_dict({"mode": "storm", "factions_per_player": 3}))
STORM = Game(load_ruleset("storm"))
RECORDS = json.loads((DATA / "exact_values.json").read_text("utf-8"))


def first_moves(game: Game) -> list[int]:
    """A game in which everybody plays the first legal move."""
    position, actions = game.initial_state(), []
    while not game.is_terminal(position):
        actions.append(game.legal_actions(position)[0])
        position = game.apply(position, actions[-1])
    return actions


def test_a_game_adds_up() -> None:
    actions = first_moves(SMALL)
    values = list(judge_game(PerfectPlay(SMALL, memory_bytes=1 << 20), actions))
    assert [value.move for value in values] == [SMALL.format_action(action) for action in actions]
    for value, following in pairwise(values):
        assert value.value == -following.best_value
    for value in values:
        assert value.regret == value.best_value - value.value >= 0
        assert (value.move in value.best_moves) == (value.regret == 0)
    position = SMALL.initial_state()
    for action in actions:
        position = SMALL.apply(position, action)
    outcome = SMALL.outcome(position)
    assert outcome is not None
    assert -values[-1].value == outcome.margin
    # Both start from the value of the game, and what they throw away makes the rest.
    thrown = sum(value.regret if value.player == "B" else -value.regret for value in values)
    assert values[0].best_value + thrown == outcome.margin
    assert any(value.mark for value in values) == any(
        (value.value > 0) - (value.value < 0) != (value.best_value > 0) - (value.best_value < 0)
        for value in values)


def test_positions_of_the_referee() -> None:
    play = PerfectPlay(STORM, memory_bytes=1 << 22)
    for record in RECORDS["positions"][:12]:
        position = STORM.parse_position(record["position"])
        if STORM.rules.max_plies - position.ply > 7:
            continue
        sign = -1 if position.ply % 2 else 1
        values = judge_position(play, position)
        assert {value.move: sign * value.value for value in values} == record["move_values"]
        assert values[0].regret == 0
        assert sign * values[0].best_value == record["value"]


def test_marks() -> None:
    marks = {value.mark for record in RECORDS["positions"][:12]
             for value in marks_of(record["position"])}
    assert marks & {"win to draw", "win to loss", "draw to loss"}
    assert marks <= {"", "win to draw", "win to loss", "draw to loss"}


def marks_of(text: str) -> list[JudgedMove]:
    position = STORM.parse_position(text)
    if STORM.rules.max_plies - position.ply > 6:
        return []
    return judge_position(PerfectPlay(STORM, memory_bytes=1 << 20), position)


def test_command_on_a_game(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ruleset, file = tmp_path / "small.toml", tmp_path / "game.json"
    ruleset.write_text("mode = 'storm'\nfactions_per_player = 3\n")
    names = [SMALL.format_action(action) for action in first_moves(SMALL)]
    run(Analyse(",".join(names), ruleset=str(ruleset), json=file))
    output = capsys.readouterr().out
    assert len(output.splitlines()) == 1 + len(names) + 2
    assert "A threw away" in output
    written = json.loads(file.read_text("utf-8"))
    assert (written["kind"], [move["move"] for move in written["moves"]]) == ("game", names)
    run(Analyse(" ".join(names[:3]), ruleset=str(ruleset)))
    assert capsys.readouterr().out.splitlines()[:4] == output.splitlines()[:4]


def test_command_on_a_position(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = max(RECORDS["positions"], key=lambda one: int(one["position"].split()[5]))
    run(Analyse(record["position"], json=tmp_path / "p.json"))
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(record["move_values"])
    written = json.loads((tmp_path / "p.json").read_text("utf-8"))
    assert written["kind"] == "position"
    assert written["position"] == record["position"]


def test_first_moves_of_storm_come_from_the_book() -> None:
    play = PerfectPlay(STORM)
    values = list(judge_game(play, parse_moves(STORM, "Nc, Nd")))
    assert values[0].best_value == -4
    assert play.solver.nodes == 0


@pytest.mark.parametrize(("text", "error"), [
    ("", ActionError), (" , ", ActionError), ("Nc,Xx", ActionError), ("Na", IllegalActionError),
    ("6/6/6 A", CastleError)])
def test_refuses_what_is_no_game(text: str, error: type[CastleError]) -> None:
    with pytest.raises(error, match=r"allowed|legal"):
        run(Analyse(text))


def test_refuses_sudden_death() -> None:
    with pytest.raises(AgentError, match="sudden_death"):
        run(Analyse("Nc", mode="sudden-death"))


# Files of games


def saved_games() -> list[GameRecord]:
    """A whole game, the same from its third ply on, and one that is not over."""
    actions = tuple(first_moves(SMALL))
    notes = (Note(9.0, "a word"), *[Note()] * (len(actions) - 1))
    whole = record_game(SMALL.rules, actions, players=("ana", "bo"), notes=notes, seed=7,
                        date="2026-03-01", comment="all of it")
    return [whole, replace(whole, actions=actions[2:], notes=(), start=whole.states()[2]),
            replace(whole.cut(3), notes=())]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "games.castle"
    path.write_text("\n".join(map(format_game, saved_games())), "utf-8")
    return path


def test_a_file_gets_values_and_turning_points(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = file.read_bytes()
    run(Analyse(str(file), json=file.with_suffix(".json")))
    assert file.read_bytes() == before
    games = list(read_games(file.with_name("games.analysed.castle")))
    play = PerfectPlay(SMALL, memory_bytes=1 << 20)
    for game, saved in zip(games, saved_games(), strict=True):
        assert replace(game, notes=saved.notes) == saved
        for note, before_it, after in zip(game.notes, game.states(), game.states()[1:],
                                          strict=False):
            assert note.value == play.value(after) * (-1 if after.ply & 1 else 1)
            change = play.value(before_it), -play.value(after)
            turns = [(value > 0) - (value < 0) for value in change]
            assert ("; best: " in note.comment) == (turns[0] != turns[1])
    assert games[0].notes[0].comment.startswith("a word")
    assert games[0].notes[2:] == games[1].notes
    assert any("win to " in note.comment or "draw to " in note.comment for note in games[0].notes)
    results = json.loads(file.with_suffix(".json").read_text("utf-8"))
    assert [len(game["moves"]) for game in results["games"]] == [
        game.plies for game in games]
    assert "game 3 of 3: 'ana' against 'bo'" in capsys.readouterr().out


def test_analysed_again_nothing_changes(file: Path) -> None:
    run(Analyse(str(file)))
    analysed = file.with_name("games.analysed.castle")
    run(Analyse(str(analysed), out=file))
    assert file.read_bytes() == analysed.read_bytes()
    assert sorted(path.name for path in file.parent.iterdir()) == [
        "games.analysed.castle", "games.castle"]


def test_stopped_the_file_is_whole(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    analyses = iter([judge_game])

    def stopped(*arguments: Any) -> Any:
        for analysis in analyses:
            return analysis(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(analysed_file, "judge_game", stopped)
    with pytest.raises(KeyboardInterrupt):
        run(Analyse(str(file), out=file))
    games = list(read_games(file))
    assert all(note.value is not None for note in games[0].notes)
    assert games[1:] == saved_games()[1:]
    before = file.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        run(Analyse(str(file), out=file))
    assert file.read_bytes() == before


@pytest.mark.parametrize(("text", "options", "error", "message"), [
    ("", {}, GameFileError, "holds no games"),
    ("castle-game: 1\n", {}, GameFileError, r"games\.castle, line 1: the header ends"),
    (None, {"ruleset": "storm"}, OptionError, "ruleset is 'storm'.* tells its own"),
    (None, {"mode": "storm"}, OptionError, "mode is 'storm'.* tells its own"),
    (format_game(record_game(load_ruleset("sudden-death"))), {}, AgentError,
     "game 1 of .* is one of sudden_death; allowed: storm"),
])
def test_files_that_cannot_be_analysed(
    file: Path, text: str | None, options: Any, error: type[Exception], message: str
) -> None:
    if text is not None:
        file.write_text(text)
    with pytest.raises(error, match=message):
        run(Analyse(str(file), **options))
    assert [path.name for path in file.parent.iterdir()] == ["games.castle"]


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run(Analyse(str(tmp_path / "none.castle")))
    with pytest.raises(OptionError, match="is no file of games"):
        run(Analyse("Nc", out=tmp_path / "out.castle"))
