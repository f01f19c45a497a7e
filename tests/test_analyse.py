"""`castle analyse`: values, best moves, and what was thrown away."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from agents.perfect_play import PerfectPlay
from castle_env import (
    ActionError,
    AgentError,
    CastleError,
    Game,
    IllegalActionError,
    Ruleset,
    load_ruleset,
)
from experiments.analyse import Analyse, MoveValue, analyse_game, analyse_position, parse_game, run

SMALL = Game(Ruleset.from_dict({"mode": "storm", "factions_per_player": 3}))
STORM = Game(load_ruleset("storm"))
RECORDS = json.loads((Path(__file__).parent / "data" / "exact_values.json").read_text("utf-8"))


def first_moves(game: Game) -> list[int]:
    """A game in which everybody plays the first legal move."""
    position, actions = game.initial_state(), []
    while not game.is_terminal(position):
        actions.append(game.legal_actions(position)[0])
        position = game.apply(position, actions[-1])
    return actions


def test_a_game_adds_up() -> None:
    actions = first_moves(SMALL)
    values = list(analyse_game(PerfectPlay(SMALL, memory_bytes=1 << 20), actions))
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
        values = analyse_position(play, position)
        assert {value.move: sign * value.value for value in values} == record["move_values"]
        assert values[0].regret == 0
        assert sign * values[0].best_value == record["value"]


def test_marks() -> None:
    marks = {value.mark for record in RECORDS["positions"][:12]
             for value in marks_of(record["position"])}
    assert marks & {"win to draw", "win to loss", "draw to loss"}
    assert marks <= {"", "win to draw", "win to loss", "draw to loss"}


def marks_of(text: str) -> list[MoveValue]:
    position = STORM.parse_position(text)
    if STORM.rules.max_plies - position.ply > 6:
        return []
    return analyse_position(PerfectPlay(STORM, memory_bytes=1 << 20), position)


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
    values = list(analyse_game(play, parse_game(STORM, "Nc, Nd")))
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
