"""`castle play` in the terminal: whole games, commands, wrong lines, files, and Ctrl-C."""

import fcntl
import io
import os
import pty
import re
import select
import subprocess
import sysconfig
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted import BLOCKED

from agents.runs import RunError
from agents.solve.analysis import analyse_moves
from agents.solve.move_values import in_words
from castle_env import Game, OptionError, Ruleset, load_ruleset
from castle_env.board import PASS
from castle_env.game_file import format_game, read_games
from castle_env.game_record import GameRecord, Variation, record_game
from experiments.commands.play import Play, run
from experiments.play.dialogue import columns
from experiments.play.game_in_play import HUMAN, new_game
from experiments.play.seating import players_of, seats_of
from experiments.play.terminal import Terminal, interruptible

STORM = Game(load_ruleset("storm"))
SMALL = Game(Ruleset.from_dict({"name": "small", "mode": "storm", "factions_per_player": 2}))


@pytest.fixture
def play(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Plays with piped lines in an empty folder, by default a game of four plies; what it printed.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text("mode = 'storm'\nfactions_per_player = 2\n")

    def call(lines: str | bytes, **options: Any) -> str:
        piped = lines if isinstance(lines, bytes) else lines.encode(errors="surrogatepass")
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(piped), encoding="utf-8"))
        if not {"mode", "ruleset"} & options.keys():
            options["ruleset"] = "small.toml"
        if options.get("seat") != "both":
            options = {"against": "random", "seed": 3} | options
        run(Play(**options))
        return capsys.readouterr().out

    return call


def only_game(path: str) -> GameRecord:
    (game,) = read_games(path)
    return game


def names(game: GameRecord) -> list[str]:
    return list(map(game.game.format_action, game.actions))


# Playing


def test_a_whole_game_of_two_persons(play: Callable[..., str]) -> None:
    output = play("W3\nnd\n\n sC \nE5\nboard\nquit\nW3\n", seat="both", save_games=Path("g.castle"))
    assert "A> W3" in output
    assert "B> nd" in output
    assert "B played E5" in output
    saved = only_game("g.castle")
    assert names(saved) == ["W3", "Nd", "Sc", "E5"]
    assert saved.players == ("human", "human")
    assert saved.outcome is not None
    last = output.splitlines()[-1]
    points = saved.outcome.victory_points
    assert last.startswith("Over at ply 4, ")
    assert last.endswith(f"A to B {points[0]} to {points[1]} VP: W3 Nd Sc E5")
    assert output.count("over> ") == 2  # `board` and `quit`; nothing is read after that


def test_the_end_of_the_input_leaves_the_game(play: Callable[..., str]) -> None:
    output = play("W3\nNd", seat="both", save_games=Path("g.castle"))
    assert re.search(r"Left at ply 2, A to B \d+ to \d+ VP: W3 Nd$", output.strip())
    assert only_game("g.castle").outcome is None
    play("", seat="both", save_games=Path("none.castle"))
    assert not Path("none.castle").exists()


def test_moves_by_their_numbers(play: Callable[..., str]) -> None:
    legal = [SMALL.format_action(action) for action in SMALL.legal_actions(SMALL.initial_state())]
    output = play("moves\n3\n", seat="both", save_games=Path("g.castle"))
    assert re.findall(r" *(\d+) ([NSWE]\w)(?:  |\n)", output) == [
        (str(number), name) for number, name in enumerate(legal, 1)]
    assert names(only_game("g.castle")) == [legal[2]]


def test_steps_of_sudden_death(play: Callable[..., str]) -> None:
    output = play("Nc\nW3\nc4c5\nmoves\n", mode="sudden-death", seat="both",
                  save_games=Path("g.castle"))
    assert "A played c4c5" in output
    assert names(only_game("g.castle")) == ["Nc", "W3", "c4c5"]


def test_the_agent_begins_against_seat_1(play: Callable[..., str]) -> None:
    output = play("1\n", seat="1", save_games=Path("g.castle"))
    assert output.index("A played") < output.index("B> 1")
    saved = only_game("g.castle")
    assert (saved.players, saved.seed) == (("random", "human"), 3)
    assert saved.plies == 3


def test_from_a_position(play: Callable[..., str]) -> None:
    start = SMALL.apply(SMALL.initial_state(), SMALL.parse_action("W3"))
    play("Nd\n", seat="both", start=SMALL.format_position(start), save_games=Path("g.castle"))
    saved = only_game("g.castle")
    assert saved.start == start
    assert names(saved) == ["Nd"]


def test_forced_passes_need_nobody(play: Callable[..., str]) -> None:
    Path("blocked.toml").write_text(f"mode = 'storm'\nstrongholds = {BLOCKED['strongholds']}\n")
    output = play("moves\nboard\n", ruleset="blocked.toml", seat="both")
    assert "Over at ply 16, a draw" in output
    assert "No moves: the game is over." in output
    with pytest.raises(OptionError, match=r"changed nothing: 1, the first 'undo'"):
        play("undo\n", ruleset="blocked.toml", seat="both")


def test_two_agents_play_by_themselves(play: Callable[..., str]) -> None:
    output = play("new\n", seat="none", first="greedy", save_games=Path("g.castle"))
    assert output.count("Over at ply 4") == 2
    first, second = read_games("g.castle")
    assert first.players == second.players == ("greedy", "random")
    assert names(first) != names(second)
    play("new\n", seat="none", first="greedy", save_games=Path("again.castle"))
    assert [names(game) for game in read_games("again.castle")] == [names(first), names(second)]


# Commands


def test_undo_goes_back_to_the_last_choice(play: Callable[..., str]) -> None:
    output = play("W3\nundo\nW3\nundo\n",
                  save_games=Path("g.castle"))
    replies = re.findall(r"B played (\w+)", output)
    assert len(replies) == 2
    assert len(set(replies)) == 1
    assert output.count("Taken back: 2 plies") == 2
    assert not Path("g.castle").exists()


def test_undo_after_the_end(play: Callable[..., str]) -> None:
    play("W3\nNd\nSc\nE5\nundo\nW4\n", seat="both", save_games=Path("g.castle"))
    assert names(only_game("g.castle")) == ["W3", "Nd", "Sc", "W4"]


@pytest.mark.parametrize("moves", ["", "W3\nNd\n"])
def test_why_and_hint_tell_the_values_of_the_moves(play: Callable[..., str], moves: str) -> None:
    output = play(f"{moves}why\nhint\n", seat="both")
    state = SMALL.initial_state()
    for name in moves.split():
        state = SMALL.apply(state, SMALL.parse_action(name))
    values = analyse_moves(SMALL, state)
    told = re.search(r"Margin for A .*: exact\n((?:.*\n)*?)A> hint\n(\w+): A (.*)", output)
    assert told
    listed = re.findall(r"(\w\w) +([+-]\d+)(\*?)", told[1])
    assert [int(value) for _, value, _ in listed] == sorted(values.values.values(), reverse=True)
    assert {SMALL.parse_action(name): int(value) for name, value, _ in listed} == values.values
    best = {SMALL.parse_action(name) for name, _, star in listed if star}
    assert best == set(values.best_actions)
    assert SMALL.parse_action(told[2]) in best
    assert told[3] == in_words(values.best_value, None)
    assert f"\nA {told[3]}.\nMargin" in output


def test_values_are_seen_from_the_player_to_move(play: Callable[..., str]) -> None:
    output = play("W3\nhint\n", seat="both")
    state = SMALL.apply(SMALL.initial_state(), SMALL.parse_action("W3"))
    assert f": B {in_words(analyse_moves(SMALL, state).best_value, None)}\n" in output


def test_help_lists_all_commands(play: Callable[..., str]) -> None:
    output = play("help\n", seat="both")
    for command in ("moves", "hint", "why", "undo", "board", "save", "new", "help", "quit"):
        assert re.search(rf"^{command}\b", output, re.MULTILINE)


def test_save_writes_new_files_and_its_own_again(play: Callable[..., str]) -> None:
    output = play("W3\nsave a game.castle\nNd\nsave a game.castle\n", seat="both")
    assert output.count("Saved: a game.castle") == 2
    assert names(only_game("a game.castle")) == ["W3", "Nd"]
    before = Path("a game.castle").read_bytes()
    with pytest.raises(OptionError, match=r"nothing: 3, the first 'save a game.castle'"):
        play("W3\nsave a game.castle\nsave\nsave no/such/folder.castle\n", seat="both")
    assert Path("a game.castle").read_bytes() == before
    assert not [path for path in Path().iterdir() if path.name.startswith(".")]


# Wrong lines and options


@pytest.mark.parametrize(("line", "message"), [
    ("W9", "'W9' is no action; allowed: Na-Nf"), ("resign", "which `help` lists"),
    ("Na", "Na is illegal: no token to push in this lane;"),
    ("0", "no move has number '0'; allowed: 1 to 8"),
    ("9" * 5_000, "allowed: 1 to 8"), ("undo", "no move of yours"), ("c3c4", "is no action"),
    ("hint now", "'hint now' is no action"), ("pass", "only when no other"),
    ("\ufffd\0", "is no action"),
    ("save", "needs the name")])
def test_a_wrong_line_changes_nothing(
    play: Callable[..., str], capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    with pytest.raises(OptionError, match=r"^lines of the input .* nothing: 1,") as caught:
        play(f"{line}\nW3\n", seat="both", save_games=Path("g.castle"))
    assert repr(line[:80]) in str(caught.value)
    assert message in " ".join(capsys.readouterr().out.split())
    assert names(only_game("g.castle")) == ["W3"]


def test_players_of_each_seat() -> None:
    rules = STORM.rules
    assert players_of(rules) == ("human", "ppo-storm")
    assert players_of(load_ruleset("sudden-death")) == ("human", "ppo-sudden-death")
    assert players_of(SMALL.rules) == ("human", "alphabeta:4")
    assert players_of(rules, "1", "greedy") == ("greedy", "human")
    assert players_of(rules, "both") == ("human", "human")
    assert players_of(rules, "none", "mcts:9") == ("ppo-storm", "mcts:9")


def test_the_same_seed_and_moves_bring_the_same_replies(play: Callable[..., str]) -> None:
    outputs = [play("1\n1\n", seed=seed) for seed in (1, 1, 2, 3, 4)]
    assert outputs[0] == outputs[1]
    assert len(set(outputs)) > 1


def test_the_page_gets_the_game_and_the_players(
    play: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[Any] = []
    monkeypatch.setattr("experiments.web.serve", lambda *args, **keys: served.append((args, keys)))
    play("", mode="sudden-death", seat="1", against="greedy", seed=None, web=True, port=0,
         browser=False)
    assert served == [((load_ruleset("sudden-death"), ("greedy", "human")),
                       {"port": 0, "open_browser": False})]


# Parts


def test_a_game_that_was_taken_back_is_as_it_was() -> None:
    live = new_game(SMALL.rules, (HUMAN, HUMAN), 0)
    before = live.record
    live.play(SMALL.parse_action("W3"))
    assert live.states == [SMALL.initial_state(), live.state]
    assert live.undo() == 1
    assert (live.state, live.states, live.record) == (
        SMALL.initial_state(), [SMALL.initial_state()], before)


def test_undo_takes_back_the_last_choice_of_a_person() -> None:
    live = new_game(STORM.rules, ("greedy", HUMAN), 0)
    for name in ("Nc", "W3", "Nd"):
        live.play(STORM.parse_action(name))
    assert live.undo() == 2
    with pytest.raises(OptionError, match="no move of yours"):
        live.undo()
    live.seat(("greedy", "random"))
    assert (live.undo(), live.plies, live.record.players) == (1, 0, ("greedy", "random"))


def test_a_forced_pass_is_no_choice() -> None:
    live = new_game(Game(Ruleset.from_dict(BLOCKED)).rules, (HUMAN, HUMAN), 0)
    assert live.is_forced
    live.play(PASS)
    with pytest.raises(OptionError, match="no move of yours"):
        live.undo()


def test_each_game_has_random_streams_of_its_own() -> None:
    live = new_game(STORM.rules, ("random", HUMAN), 7)
    turns = [live.turn(), live.another().turn(), new_game(STORM.rules, live.players, 8).turn()]
    assert len({turn.seed for turn in turns}) == 3
    assert len({turn.state for turn in turns}) == 1
    assert new_game(STORM.rules, live.players, 7).turn() == turns[0]


def test_columns_fit_the_screen() -> None:
    text = columns([f"{number:>2} c3c4" for number in range(56)])
    assert max(map(len, text.splitlines())) <= 80
    assert len(text.split()) == 112
    assert columns([]) == ""


def test_what_a_task_raises_comes_out() -> None:
    def fail() -> None:
        raise RunError("no")

    with pytest.raises(RunError, match="no"):
        interruptible(fail)
    assert interruptible(lambda: 3) == 3


def test_ctrl_c_while_a_person_thinks_keeps_the_game(
    play: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = iter(["W3"])

    def ask(self: Terminal, prompt: str) -> str:
        try:
            return next(lines)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(Terminal, "ask", ask)
    with pytest.raises(KeyboardInterrupt):
        play("", seat="both", save_games=Path("g.castle"))
    assert names(only_game("g.castle")) == ["W3"]


# A real terminal, and a real pipe


def command(*arguments: str) -> list[str]:
    return [str(Path(sysconfig.get_path("scripts")) / "castle"), "play", *arguments]


class Screen:
    """What a terminal has shown so far."""

    def __init__(self, file: int) -> None:
        self.file = file
        self.shown = ""
        self._seen = 0

    def type(self, keys: str) -> None:
        os.write(self.file, keys.encode())

    def wait_for(self, *patterns: str, again: str = "") -> None:
        """Read until all patterns have come, each after the one before; fails after a silent
        minute.

        again: keys that are typed again after each five silent seconds. Python's `readline` may
        lose a Ctrl-C that is typed in the moment in which it begins to wait for a key.
        """
        for pattern in patterns:
            while not (match := re.compile(pattern).search(self.shown, self._seen)):
                for _ in range(12):
                    if select.select([self.file], [], [], 5)[0]:
                        break
                    self.type(again)
                else:
                    raise AssertionError((pattern, self.shown))
                self.shown += os.read(self.file, 4096).decode()
            self._seen = match.end()


PROMPT = "A> (?!pushed)"


def test_in_a_terminal(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items()
                   if key not in ("NO_COLOR", "FORCE_COLOR")}
    environment |= {"TERM": "xterm-256color", "COLUMNS": "80"}
    file, end = pty.openpty()
    process = subprocess.Popen(
        command("--against", "greedy", "--seed", "1", "--save-games", "g.castle"),
        stdin=end, stdout=end, stderr=end, cwd=tmp_path, env=environment, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(end)
    screen = Screen(file)
    try:
        screen.wait_for(PROMPT)
        screen.type("w3\r")
        screen.wait_for(r"B\S* played", PROMPT)
        assert "\x1b[1;94m" in screen.shown
        screen.type("zz\r")
        screen.wait_for("is no action", PROMPT)
        screen.type("\x03")
        screen.wait_for("Left at ply 2", again="\x03")
        screen.wait_for("castle: stopped")
        assert process.wait(60) == 130
    finally:
        process.kill()
        process.wait()
        os.close(file)
    saved = only_game(str(tmp_path / "g.castle"))
    assert saved.plies == 2
    assert names(saved)[0] == "W3"


@pytest.mark.parametrize("no_colour", [False, True])
def test_colour_can_be_refused(monkeypatch: pytest.MonkeyPatch, no_colour: bool) -> None:
    file, end = pty.openpty()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    if no_colour:
        monkeypatch.setenv("NO_COLOR", "1")
    with open(end, "w") as screen, monkeypatch.context() as patch:
        patch.setattr("sys.stdout", screen)
        terminal = Terminal()
    os.close(file)
    assert terminal.is_screen
    assert terminal.colour != no_colour


def test_a_pipe_may_hold_anything(play: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OptionError, match="changed nothing: 1,"):
        play(b"W3\n\xff\xfe\n", ruleset=None)
    output = capsys.readouterr().out
    assert "\x1b" not in output
    assert "Left at ply 2" in output


# Games from files


def saved_game(path: str, *moves: str, players: tuple[str, str] = ("human", "greedy")) -> None:
    record = record_game(SMALL.rules, map(SMALL.parse_action, moves), players=players, seed=3)
    Path(path).write_text(format_game(record))


def test_a_saved_game_goes_on_against_its_agent(play: Callable[..., str]) -> None:
    saved_game("g.castle", "W3")
    before = Path("g.castle").read_bytes()
    play("1\n", ruleset=None, load=Path("g.castle"), against=None, seed=None,
         save_games=Path("on.castle"))
    game = only_game("on.castle")
    assert names(game)[0] == "W3"
    assert (game.plies, game.players) == (4, ("human", "greedy"))
    assert Path("g.castle").read_bytes() == before


def test_what_is_undone_and_what_is_a_variation_of_a_loaded_game(play: Callable[..., str]) -> None:
    variation = Variation(0, (SMALL.parse_action("Nc"),))
    record = record_game(SMALL.rules, [SMALL.parse_action("W3")], variations=(variation,))
    Path("g.castle").write_text(format_game(record))
    play("undo\nE3\n", ruleset=None, load=Path("g.castle"), against=None, seed=None,
         save_games=Path("on.castle"))
    game = only_game("on.castle")
    assert names(game) == ["E3"]
    assert game.variations == (variation,)


@pytest.mark.parametrize(("players", "seats"), [
    (("human", "greedy"), ("human", "greedy")), (("greedy", "human"), ("greedy", "human")),
    (("human", "ppo:weights"), ("human", "human")), (("greedy", "greedy"), ("human", "human"))])
def test_a_file_seats_agents_that_read_no_files(players: Any, seats: Any) -> None:
    assert seats_of(record_game(SMALL.rules, players=players)) == seats


@pytest.mark.parametrize("others", [{"ruleset": "storm"}, {"start": "6"}, {"seed": 0}])
def test_a_file_tells_its_own_game(play: Callable[..., str], others: dict[str, Any]) -> None:
    saved_game("g.castle", "W3")
    with pytest.raises(OptionError, match=rf"--load with {next(iter(others))}; allowed: none"):
        play("", **{"ruleset": None, "against": None, "seed": None, "load": Path("g.castle")}
             | others)
