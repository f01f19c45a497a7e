"""Games as text: what is written is read back, and nothing else is read."""

import inspect
import json
import textwrap
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from narrow import present
from strategies import Keys, choices, game_of, play, playouts, rulesets, some

from castle_env import (
    CastleError,
    Game,
    IllegalActionError,
    Position,
    PositionError,
    Ruleset,
    load_ruleset,
)
from castle_env import game_file as module
from castle_env.game_file import (
    GameFileError,
    GameRecord,
    Note,
    format_game,
    parse_games,
    read_games,
    record_game,
)
from castle_env.game_record import GameRecordError, Variation

STORM = load_ruleset("storm")
DOCUMENTED = textwrap.dedent(
    present(inspect.getdoc(module)).split("\n\n", 1)[1].split("\n\nA header line")[0]) + "\n"
SMALL = Ruleset.from_dict({"name": "small\n\"one\"", "mode": "sudden_death", "max_plies": 7,
                           "capture_credit": "enemy_only"})

texts = st.text(max_size=40) | st.sampled_from(
    ["", " ", '"', "\\", "}{", "*\n\ndraw\n", "a\r\nb", "\x00\x1b[2J", "\ufeff", "\u2028\x85",
     "塔 🏰"])
values = st.none() | st.integers(-20, 20) | st.floats(allow_nan=False, allow_infinity=False)
dates = st.just("") | st.dates().map(lambda day: day.isoformat()) | st.datetimes().map(
    lambda time: time.isoformat())


def random_game(rules: Ruleset, plies: int, **others: Any) -> GameRecord:
    """A game in which everybody plays the middle one of the legal moves."""
    game, state = Game(rules), Game(rules).initial_state()
    actions: list[int] = []
    while not game.is_terminal(state) and len(actions) < plies:
        legal = game.legal_actions(state)
        actions.append(legal[len(legal) // 2])
        state = game.apply(state, actions[-1])
    return record_game(rules, actions, **others)


def with_notes(record: GameRecord) -> GameRecord:
    notes = [Note(2.0), Note(comment='a "word"'), Note(-0.25, "line\nend")] * 50
    return replace(record, notes=tuple(notes[:record.plies]))


GAMES = [
    with_notes(random_game(STORM, 5, players=("ana", "mcts:20"), seed=3, date="2026-03-01")),
    random_game(SMALL, 99, comment="short"),
]
FILE = "\n".join(map(format_game, GAMES))


# What is written is read back


@st.composite
def branches(draw: st.DrawFn, game: Game, states: list[Position], depth: int = 0) -> Any:
    """Variations of a line with these positions, some with variations of their own."""
    made = []
    places = draw(st.lists(st.integers(0, len(states) - 2), max_size=2)) if states[1:] else []
    for at in sorted(places):
        line = [states[at]]
        actions = []
        for choice in draw(st.lists(choices, min_size=1, max_size=4)):
            if legal := game.legal_actions(line[-1]):
                actions.append(legal[choice % len(legal)])
                line.append(game.apply(line[-1], actions[-1]))
        notes = tuple(Note(draw(values), draw(texts)) for _ in actions)
        inner = draw(branches(game, line, depth + 1)) if depth < 2 else ()
        made.append(Variation(at, tuple(actions), notes, inner))
    return tuple(made)


@st.composite
def saved_games(draw: st.DrawFn, keys: st.SearchStrategy[Keys]) -> GameRecord:
    game = game_of(draw(keys) | {"name": draw(texts.filter(str.strip))})
    states = play(game, draw(playouts(30)))
    actions = [next(action for action in game.legal_actions(before)
                    if game.apply(before, action) == after)
               for before, after in pairwise(states)]
    first = draw(st.integers(0, len(actions)))
    variations = draw(branches(game, states[first:]))
    notes = tuple(Note(draw(values), draw(texts)) for _ in actions[first:])
    return record_game(
        game.rules, actions[first:], players=(draw(texts), draw(texts)), notes=notes,
        opening_plies=draw(st.integers(0, len(notes))),
        seed=draw(st.none() | st.integers(0, 2**70)), date=draw(dates), comment=draw(texts),
        variations=variations,
        start=states[first] if first else draw(st.sampled_from([None, states[0]])))


@some
@given(st.lists(saved_games(rulesets()), min_size=1, max_size=3), st.booleans())
def test_what_is_written_is_read_back(games: list[GameRecord], windows: bool) -> None:
    text = "\n".join(map(format_game, games))
    given_text = "\ufeff" + text.replace("\n", "\r\n") if windows else text
    read = parse_games(given_text)
    assert read == games
    assert [game.states() for game in read] == [game.states() for game in games]
    assert "\n".join(map(format_game, read)) == text


def test_every_line_stays_one_for_every_program() -> None:
    comment = "".join(map(chr, range(0x2100))) + "\ufeff"
    text = format_game(random_game(STORM, 3, comment=comment, players=(comment, "b")))
    assert text.splitlines() == text.split("\n")[:-1]
    assert parse_games(text)[0].comment == comment


def test_the_documented_example() -> None:
    (saved,) = parse_games(DOCUMENTED)
    assert format_game(saved) == DOCUMENTED
    assert saved.outcome is None
    assert saved.players == ("alphabeta:4", "mcts:200")
    assert [saved.note(index).value for index in range(saved.plies)] == [-4, -4, None]


@pytest.mark.parametrize("name", ["storm", "sudden-death-home"])
def test_presets_go_by_name_and_others_in_full(name: str) -> None:
    rules = load_ruleset(name)
    assert f'\nruleset: "{name}"\n' in format_game(random_game(rules, 2))
    other = Ruleset.from_dict(rules.to_dict() | {"capture_credit": "enemy_only"})
    text = format_game(random_game(other, 2))
    assert f"\nruleset: {json.dumps(other.to_dict())}\n" in text
    assert parse_games(text)[0].rules == other


def test_outcomes() -> None:
    finished = random_game(STORM, 99)
    outcome = finished.outcome
    assert outcome is not None
    text = format_game(finished)
    result = "draw" if outcome.winner is None else f"player {outcome.winner} wins"
    assert text.endswith(f"\n{result}\n")
    assert f'\nresult: "{result}"\nvictory-points: {list(outcome.victory_points)}\n' in text
    assert format_game(random_game(STORM, 0)).endswith("\n\n*\n")


def test_files_are_read_game_by_game(tmp_path: Path) -> None:
    path = tmp_path / "games.castle"
    path.write_bytes(b"\xef\xbb\xbf" + FILE.replace("\n", "\r\n").encode() + b"\r\n\r\n1. Nc\r\n")
    games = read_games(path)
    assert [next(games), next(games)] == GAMES
    with pytest.raises(GameFileError, match=r"games\.castle.*line \d+: '1\. Nc'"):
        next(games)
    path.write_bytes(b"\n")
    assert list(read_games(path)) == []
    with pytest.raises(FileNotFoundError):
        next(read_games(tmp_path / "none.castle"))


# Nothing else is read


def whole_games(data: bytes) -> int | None:
    """How many games of a damaged file can be read, None if it is refused; all are whole."""
    try:
        # What is no UTF-8 stays so.
        games = parse_games(data.decode(errors="surrogateescape"), "damaged.castle")
    except GameFileError as error:
        if not str(error).startswith("damaged.castle, line "):
            raise
        return None
    for read, saved in zip(games, GAMES, strict=False):
        assert read.actions == saved.actions
        assert (read.outcome is None) == (saved.outcome is None)
    return len(games)


def test_no_cut_leaves_a_part_of_a_game() -> None:
    data, first = FILE.encode(), len(format_game(GAMES[0]).encode())
    counts = {end: whole_games(data[:end]) for end in range(len(data) + 1)}
    between = {first - 1: 1, first: 1, first + 1: 1}
    assert {end: count for end, count in counts.items() if count is not None} == {
        0: 0, **between, len(data) - 1: 2, len(data): 2}


@pytest.mark.parametrize("byte", [b"", b"\x00", b"\n", b"\r", b" ", b'"', b"1", b"*", b"\xff",
                                  b"\xed\xa0\x80", b"\n\n", b"[" * 5000])
def test_no_damaged_byte_makes_another_game(byte: bytes) -> None:
    data = FILE.encode()
    counts = {whole_games(data[:at] + byte + data[at + 1:]) for at in range(len(data))}
    assert None in counts
    assert counts <= {None, 2}


def test_no_lost_line_makes_another_game() -> None:
    lines = FILE.splitlines(keepends=True)
    counts = [whole_games("".join(lines[:at] + lines[at + 1:]).encode())
              for at in range(len(lines))]
    assert set(counts) == {None, 2}
    # Seed, date, comment, and the blank line between the games can be spared.
    assert counts.count(2) == 4


def test_invalid_utf8_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.castle"
    path.write_bytes(DOCUMENTED.replace("straight", "stráight").encode("latin-1"))
    with pytest.raises(GameFileError, match=r"line 12, ply 1: .* is not UTF-8"):
        list(read_games(path))
    with pytest.raises(GameFileError, match="is not UTF-8"):
        parse_games(DOCUMENTED.replace("straight", "\ud800"))


WRONG = {
    "bad action": ("2. W3", "2. X3", "line 13, ply 2: 'X3' is no action"),
    "step in storm": ("2. W3", "2. c3c4", "line 13, ply 2: 'c3c4' is no action"),
    "illegal": ("2. W3", "2. Wa", "line 13, ply 2"),
    "lane without a token": ("3. Nd", "3. Na", "line 14, ply 3: .*illegal in position.*legal: "),
    "gap": ("2. W3  -4\n", "", "line 13, ply 2: move 'Nd' has number 3; expected 2"),
    "number": ("2. W3", "02. W3", "line 13, ply 2: '02. W3  -4' is no move"),
    "value": ("-4  \"", "4  \"", "line 12, ply 1: .* is no move; allowed: .*a value such as"),
    "endless value": ("-4  \"", "-4e+999  \"", "line 12, ply 1: value -inf; allowed: finite"),
    "comment": ('hold"', "hold", "line 12, ply 1: .* is no move"),
    "broken comment": ('hold"', 'hold" "', "line 12, ply 1: .* is not valid JSON"),
    "half a pair": ("straight", "\\ud800", "line 12, ply 1: .* is not valid JSON: .*surrogate"),
    "truncated": ("*\n", "", "line 15, ply 4: the text ends within a game"),
    "cut header": (DOCUMENTED[DOCUMENTED.index("result"):], "", "missing: .*plies"),
    "other result": ("\n*\n", "\ndraw\n", r"line 15: result 'draw'; the moves lead to '\*'"),
    "header's result": ('"*"', '"player 0 wins"', r"line 8: result is 'player 0 wins', but .*'\*'"),
    "victory points": ("[1, 3]", "[1, 4]", r"line 9: victory-points is \[1, 4\], but .*\[1, 3\]"),
    "half a point": ("[1, 3]", "[1, 3.0]", "line 9: victory-points is .*two integers"),
    "plies": ("plies: 3", "plies: 4", "line 10: plies is 4, but the moves lead to 3"),
    "digest": ("fa4b38d8ca4d", "fa4b38d8ca4e",
               "line 4: digest is 'fa4b38d8ca4e', but ruleset 'storm' has 'fa4b38d8ca4d'"),
    "mode": ('mode: "storm"', 'mode: "sudden_death"', "line 2: mode is 'sudden_death', but"),
    "ruleset": ('ruleset: "storm"', 'ruleset: "chess"', "line 3: ruleset 'chess'; .*sudden-death"),
    "ruleset's key": ('ruleset: "storm"', 'ruleset: {"mode": "chess"}', "line 3: .*'mode' is 'ch"),
    "ruleset's kind": ('ruleset: "storm"', "ruleset: 1", "line 3: ruleset is 1; allowed: a text"),
    "key twice": ("seed: 7", "seed: 7\nseed: 7", "line 7: key 'seed' for the second time"),
    "key in an object": ('ruleset: "storm"', 'ruleset: {"mode": "storm", "mode": "storm"}',
                         "line 3: .*a key comes twice"),
    "unknown key": ("seed: 7", "sede: 7", "line 6: key 'sede'; allowed: castle-game, mode"),
    "no key": ("seed: 7", "seven", "line 6: 'seven' is no header line"),
    "missing": ("seed: 7\n", "", None),
    "missing plies": ("plies: 3\n", "", "line 10: the header ends too soon; missing: plies"),
    "seed": ("seed: 7", "seed: -7", "seed -7; allowed: an integer from 0"),
    "NaN": ("seed: 7", "seed: NaN", "line 6: 'NaN' is not valid JSON"),
    "players": ('"mcts:200"', "200", "line 5: players is .*two texts"),
    "opening plies": ("seed: 7", "opening-plies: 4", "opening_plies 4; .* 0 to 3"),
    "half an opening": ("seed: 7", "opening-plies: 0.5", "line 6: opening-plies is .*an integer"),
    "date": ("2026-03-01", "1 March", "date '1 March'; allowed: an ISO date"),
    "start": ("seed: 7", 'start: "6/6 A"', "line 6: position '6/6 A'"),
    "version": ("castle-game: 1", "castle-game: 3", "line 1: 'castle-game: 3' begins no game"),
    "no variations": ("castle-game: 1", "castle-game: 2", "line 1: castle-game is 2, but .* 1$"),
    "variation's moves": ("seed: 7", "variation-plies: 2", "line 6: variation-plies is 2, but .*0"),
    "variation of nothing": ("1. Nc", "(\n1. Nc", r"line 12, ply 1: '\(' is no move"),
    "other text": ("castle-game: 1", "Hello!", "line 1: 'Hello!' is no header line"),
    "second mark": ("\nmode", "\n\ufeffmode", "line 2: "),
    "no blank line": ("\n\n", "\n", "line 11: '1. Nc .* is no header line; .*a blank line before"),
    "end twice": ("*\n", "*\n*\n", r"line 16: '\*' is no header line"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_is_said_with_its_line(kind: str) -> None:
    old, new, message = WRONG[kind]
    assert old in DOCUMENTED
    text = DOCUMENTED.replace(old, new) if kind != "truncated" else DOCUMENTED.removesuffix(old)
    if message is None:
        assert len(parse_games(text)) == 1
    else:
        with pytest.raises(GameFileError, match=message):
            parse_games(text, "some.castle")


def test_a_file_cannot_name_another(tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text('mode = "storm"')
    with pytest.raises(GameFileError, match="allowed: one of"):
        parse_games(DOCUMENTED.replace('"storm"\ndigest', f"{json.dumps(str(other))}\ndigest"))


BRANCHED = """castle-game: 2
mode: "storm"
ruleset: "storm"
digest: "fa4b38d8ca4d"
players: ["human", "greedy"]
result: "*"
victory-points: [1, 3]
plies: 3
variation-plies: 4

1. Nc
2. W3
(
  2. W2  +1  "better"
  (
    2. E3
  )
  3. Nd
)
(
  2. Sd
)
3. Nd
*
"""


def test_variations_stand_behind_the_move_that_they_replace() -> None:
    (saved,) = parse_games(BRANCHED)
    number = saved.game.parse_action
    inner = Variation(0, (number("E3"),))
    assert saved.variations == (
        Variation(1, (number("W2"), number("Nd")), (Note(1.0, "better"), Note()), (inner,)),
        Variation(1, (number("Sd"),)))
    assert saved.actions == tuple(map(number, ("Nc", "W3", "Nd")))
    assert format_game(saved) == BRANCHED
    assert saved.cut(1).variations == ()
    assert saved.cut(2).variations == saved.variations


def test_no_lost_line_makes_other_variations() -> None:
    lines = BRANCHED.splitlines(keepends=True)
    for at in range(len(lines)):
        with pytest.raises(GameFileError):
            parse_games("".join(lines[:at] + lines[at + 1:]))


@pytest.mark.parametrize(("old", "new", "message"), [
    ("  2. W2", "  2. Wa", "line 14, ply 2: .*is no action"),
    ("  3. Nd\n)", "  4. Nd\n)", "line 18, ply 3: .*expected 3"),
    ("3. Nd\n*\n", "", "line 23, ply 3: the text ends within a game"),
    ("(\n  2. Sd", "(\n" * 200 + "  2. Sd", r"'\(' is no move"),
    (")\n(\n  2. Sd\n", "", "line 9: variation-plies is 4, but the variations have 3"),
    ("  2. Sd\n)\n", "  2. Sd\n", "line 22, ply 3: .*the bastion on d3 stands"),
    ("castle-game: 2", "castle-game: 1", "line 1: castle-game is 1, but what it holds is of ver"),
    ("variation-plies: 4\n", "", "tells no variation-plies, but the variations have 4")])
def test_wrong_variations(old: str, new: str, message: str) -> None:
    assert old in BRANCHED
    with pytest.raises(GameFileError, match=message):
        parse_games(BRANCHED.replace(old, new))


def test_deep_nesting_is_refused_not_a_crash() -> None:
    nested = "(\n  2. Sd\n" * 5_000 + ")\n" * 5_000
    with pytest.raises(GameFileError, match=r"'\(' is no move"):
        parse_games(BRANCHED.replace("(\n  2. Sd\n)\n", nested))


def test_what_cannot_be_saved() -> None:
    game = Game(STORM)
    nowhere = game.parse_action("Na")
    with pytest.raises(IllegalActionError):
        record_game(STORM, [nowhere])
    with pytest.raises(IllegalActionError):
        format_game(GameRecord(STORM, (nowhere,), None))
    with pytest.raises(PositionError):
        format_game(GameRecord(STORM, (), None, start=game.initial_state()._replace(own_hand=3)))
    with pytest.raises(GameFileError, match="no UTF-8 form"):
        format_game(GameRecord(STORM, (), None, comment="\udc80"))
    wrong: list[dict[str, Any]] = [
        {"seed": -1}, {"seed": True}, {"seed": 1.0}, {"date": "today"}, {"players": ("a",)},
        {"players": (1, 2)}, {"opening_plies": 1}]
    wrong += [{"variations": (Variation(0, (nowhere,)),)}]
    with pytest.raises(GameRecordError, match="no moves"):
        Variation(0, ())
    for others in wrong:
        with pytest.raises(GameRecordError, match="allowed"):
            record_game(STORM, **others)
    for value in (float("nan"), float("inf")):
        with pytest.raises(CastleError, match="finite"):
            Note(value)
