"""Every bad input is a `CastleError` of one line that quotes it and says what is allowed."""

from pathlib import Path
from typing import Any

import pytest

from castle_env import (
    ActionError,
    AgentError,
    CastleError,
    Game,
    OptionError,
    PositionError,
    Ruleset,
    RulesetError,
    load_ruleset,
    make_agent,
)

STORM = Game(load_ruleset("storm"))
SUDDEN_DEATH = Game(load_ruleset("sudden-death"))
ENEMY_ONLY = Game(Ruleset.from_dict({"mode": "storm", "capture_credit": "enemy_only"}))
GRID = '["......", "......", "..##..", "..##..", "......", "......"]'


def check(error: CastleError, *mentioned: str) -> None:
    message = str(error)
    assert isinstance(error, ValueError)
    assert "\n" not in message
    assert "allowed" in message
    for text in mentioned:
        assert text in message


# Rulesets: what stands in the file beside or instead of a mode, and what the message mentions.


@pytest.mark.parametrize(("line", "mentioned"), [
    ("max_turns = 16", ["'max_turns'", "max_plies"]),
    ("Mode = 'storm'", ["'Mode'", "mode"]),
    ("victory_points = {capture = 1}", ["'victory_points.capture'", "victory_points.captured"]),
    ("[victory_points.squares]\na = 1", ["victory_points.squares", "{'a': 1}", "six lists"]),
    ("[[victory_points]]\ncaptured = 1", ["'victory_points'", "[{'captured': 1}]", "a table"]),
    ("victory_points = 3", ["'victory_points'", "3", "a table"]),
    ("victory_points = {captured = true}", ["'victory_points.captured'", "True", "integer"]),
    ("victory_points = {captured = 1.0}", ["'victory_points.captured'", "1.0", "integer"]),
    ("victory_points = {controlled = 101}", ["'victory_points.controlled'", "101", "100"]),
    ("victory_points = {survivor = '1'}", ["'victory_points.survivor'", "'1'", "integer"]),
    ("victory_points = {squares = [[1, 2], [3]]}", ["squares", "[[1, 2], [3]]", "six lists"]),
    (f"victory_points = {{squares = [{'[0, 0, 0, 0, 0, 0], ' * 5}[0, 0, 0, 0, 0, true]]}}",
     ["squares", "True", "integer"]),
    (f"victory_points = {{squares = [{'[0, 0, 0, 0, 0, 0], ' * 5}[0, 0, 0, 0, 0]]}}",
     ["squares", "[0, 0, 0, 0, 0]]", "six integers"]),
    (f"victory_points = {{squares = [{'[0, 0, 0, 0, 0, 0], ' * 6}7]}}", ["squares", "7]", "six"]),
    ("name = 3", ["'name'", "3", "text"]),
    ("name = ' '", ["'name'", "' '", "not empty"]),
    ("factions_per_player = 9", ["'factions_per_player'", "9", "1 to 8"]),
    ("factions_per_player = 0", ["'factions_per_player'", "0", "1 to 8"]),
    ("factions_per_player = -1", ["'factions_per_player'", "-1", "1 to 8"]),
    ("factions_per_player = true", ["'factions_per_player'", "True", "integer"]),
    ("factions_per_player = 8.0", ["'factions_per_player'", "8.0", "integer"]),
    ("factions_per_player = nan", ["'factions_per_player'", "nan", "integer"]),
    ("factions_per_player = '8'", ["'factions_per_player'", "'8'", "integer"]),
    ("factions_per_player = [8]", ["'factions_per_player'", "[8]", "integer"]),
    (f"factions_per_player = {10**40}", ["'factions_per_player'", str(10**40), "1 to 8"]),
    ("max_plies = 15", ["'max_plies'", "15", "16 in storm"]),
    ("factions_per_player = 4\nmax_plies = 16", ["'max_plies'", "16", "8 in storm"]),
    ("max_plies = 0", ["'max_plies'", "0", "integer"]),
    ("max_plies = inf", ["'max_plies'", "inf", "integer"]),
    ("max_plies = 2026-01-01", ["'max_plies'", "2026", "integer"]),
    ("entry_lanes = 'central'", ["'entry_lanes'", "'central'", '"all" in storm']),
    ("entry_lanes = 'some'", ["'entry_lanes'", "'some'", "own_axis"]),
    ("entry_lanes = ['all']", ["'entry_lanes'", "['all']", "own_axis"]),
    ("entry_style = 'step'", ["'entry_style'", "'step'", '"slide" in storm']),
    ("entry_style = 1", ["'entry_style'", "1", "slide"]),
    ("steps_must_push = 1", ["'steps_must_push'", "1", "true or false"]),
    ("steps_must_push = 'false'", ["'steps_must_push'", "'false'", "true or false"]),
    ("capture_credit = 'none'", ["'capture_credit'", "'none'", "enemy_only"]),
    ("capture_credit = false", ["'capture_credit'", "False", "enemy_only"]),
    (f"strongholds = {GRID.replace('#', '.')}", ["'strongholds'", "'......'", "at least one '#'"]),
    ("strongholds = []", ["'strongholds'", "[]", "six strings of six"]),
    ("strongholds = '######'", ["'strongholds'", "'######'", "six strings of six"]),
    (f"strongholds = {GRID[:-1]}, '......']", ["'strongholds'", "six strings of six"]),
    (f"strongholds = {GRID.replace('..##..', '..##.', 1)}", ["'strongholds'", "'..##.'", "six"]),
    (f"strongholds = {GRID.replace('..##..', '..##...', 1)}", ["'strongholds'", "'..##...'"]),
    (f"strongholds = {GRID.replace('#', 'X')}", ["'strongholds'", "'..XX..'", "'.' or '#'"]),
    (f"strongholds = {GRID.replace('#', '＃')}", ["'strongholds'", "'..＃＃..'", "'.' or '#'"]),
    ("strongholds = [0, 0, 0, 0, 0, 0]", ["'strongholds'", "[0, 0, 0, 0, 0, 0]", "six strings"]),
])
def test_ruleset_files_with_a_wrong_key(tmp_path: Path, line: str, mentioned: list[str]) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(f"mode = 'storm'\n{line}\n", encoding="utf-8")
    with pytest.raises(RulesetError) as caught:
        load_ruleset(file)
    check(caught.value, str(file), *mentioned)


@pytest.mark.parametrize(("text", "given"), [
    ("", "mode"), ("name = 'mine'", "mode"), ("mode = 'Storm'", "'Storm'"), ("mode = ''", "''"),
    ("mode = true", "True"), ("mode = ['storm']", "['storm']"),
])
def test_ruleset_files_without_a_mode(tmp_path: Path, text: str, given: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(RulesetError) as caught:
        load_ruleset(str(file))
    check(caught.value, str(file), "'mode'", given, "storm, sudden_death")


@pytest.mark.parametrize("content", [
    b"mode = ", b"mode storm", b"mode = 'storm", b"[victory_points", b"\x00", b"mode = 'storm'\x00",
    b"mode = 'storm'\nmode = 'storm'", b"name = '\xff'\nmode = 'storm'",
    "mode = 'storm'".encode("utf-16"),
    b"{\"mode\": \"storm\"}", b"mode = " + b"[" * 100_000, b"max_plies = 1" + b"0" * 10_000,
    bytes(range(256)),
], ids=lambda content: repr(content[:20]))
def test_files_that_are_no_toml(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(content)
    with pytest.raises(RulesetError, match="not a readable TOML file") as caught:
        load_ruleset(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("source", [
    "", " ", "Storm", "storm ", "storm.toml", "storm\n", "chess", "a" * 5000, "a\0b", "../storm",
    None, 5, True, b"storm", ["storm"], {"mode": "storm"}, Path("nowhere.toml"), Path(),
], ids=lambda source: repr(source)[:20])
def test_no_such_ruleset(source: Any) -> None:
    with pytest.raises(RulesetError) as caught:
        load_ruleset(source)
    assert repr(str(source)) in str(caught.value)
    assert "storm, storm-towers, sudden-death, sudden-death-central" in str(caught.value)


def test_a_folder_is_no_ruleset(tmp_path: Path) -> None:
    with pytest.raises(RulesetError, match="neither a file nor one of storm"):
        load_ruleset(tmp_path)


@pytest.mark.parametrize("keys", [None, "storm", 5, ["mode", "storm"], [("mode", "storm")]])
def test_what_is_no_dict_of_keys(keys: Any) -> None:
    with pytest.raises(RulesetError) as caught:
        Ruleset.from_dict(keys)
    assert repr(keys) in str(caught.value)


@pytest.mark.parametrize("key", [1, None, ("mode",), b"mode"])
def test_keys_that_are_no_text(key: Any) -> None:
    with pytest.raises(RulesetError) as caught:
        Ruleset.from_dict({"mode": "storm", key: 1})
    check(caught.value, str(key), "max_plies")


# Positions


START = "6/6/2##2/2##2/6/6 A - 8,8 0,0 0"
AFTER_NC = "6/6/2A#2/2##2/2#3/6 B c4 7,8 0,0 1"
BAD_POSITIONS = {
    "none": None,
    "number": 5,
    "bytes": START.encode(),
    "list": START.split(" "),
    "empty": "",
    "blank": "     ",
    "truncated": "6/6/2##2/2##2/6/6 A - 8,8 0,0",
    "board only": "6/6/2##2/2##2/6/6",
    "cut in the board": "6/6/2##2",
    "seventh field": f"{START} 0,0",
    "leading space": f" {START}",
    "trailing space": f"{START} ",
    "trailing newline": f"{START}\n",
    "double space": START.replace(" ", "  ", 1),
    "tab": START.replace(" ", "\t", 1),
    "no-break space": START.replace(" ", "\u00a0", 1),
    "nul": START.replace(" A", "\0 A"),
    "five ranks": START.replace("6/6/", "6/", 1),
    "seven ranks": f"6/{START}",
    "empty rank": START.replace("6/6/", "6//", 1),
    "backslashes": START.replace("/", "\\"),
    "rank of 5": START.replace("6/", "5/", 1),
    "rank of 7": START.replace("6/", "6A/", 1),
    "digit 7": START.replace("6/", "7/", 1),
    "digit 0": START.replace("6/", "06/", 1),
    "rank of a million": START.replace("6/", "A" * 1_000_000 + "/", 1),
    "adjacent digits": START.replace("6/", "33/", 1),
    "two digits": START.replace("6/", "15/", 1),
    "arabic digit": START.replace("6/", "٦/", 1),
    "full-width digit": START.replace("6/", "６/", 1),
    "superscript digit": START.replace("2##2", "²##2", 1),
    "small letters": AFTER_NC.replace("A", "a"),
    "unknown token": START.replace("6/", "C5/", 1),
    "full-width stronghold": START.replace("#", "＃", 1),
    "three strongholds": START.replace("2##2", "3#2", 1),
    "five strongholds": START.replace("2##2", "1###2", 1),
    "no mover": START.replace(" A ", "  "),
    "unknown mover": START.replace(" A ", " C "),
    "mover in small letters": START.replace(" A ", " a "),
    "two movers": START.replace(" A ", " AB "),
    "wrong mover at the start": START.replace(" A ", " B "),
    "wrong mover for the ply": AFTER_NC.replace(" B ", " A "),
    "two bastions": AFTER_NC.replace(" c4 ", " c4d4 "),
    "two bastions with a comma": AFTER_NC.replace(" c4 ", " c4,d4 "),
    "two bastions as fields": AFTER_NC.replace(" c4 ", " c4 d4 "),
    "bastion off the board": AFTER_NC.replace(" c4 ", " g7 "),
    "bastion in capitals": AFTER_NC.replace(" c4 ", " C4 "),
    "no bastion field": AFTER_NC.replace(" c4 ", " "),
    "bastion on a free square": AFTER_NC.replace(" c4 ", " a1 "),
    "bastion on a stronghold": AFTER_NC.replace(" c4 ", " d4 "),
    "bastion of the mover": "6/6/2AB2/2##2/2##2/6 A c4 7,7 0,0 2",
    "bastion at the start": START.replace(" - ", " c4 "),
    "bastion with a unicode digit": AFTER_NC.replace(" c4 ", " c４ "),
    "a faction without a turn": AFTER_NC.replace(" c4 ", " - "),
    "nine factions": "AAA3/AAA3/2##2/2##2/AAA3/6 B a6 0,8 0,0 15",
    "nine in hand": START.replace("8,8", "9,8"),
    "nine lost": "6/6/2##2/2##2/6/6 A - 0,0 9,8 16",
    "seven factions": START.replace("8,8", "7,8"),
    "lost too many": START.replace("0,0", "1,0"),
    "more entered than turns": "AA4/6/2##2/2##2/6/6 B a6 6,8 0,0 1",
    "lost without a turn": "6/6/2##2/2##2/6/6 A - 7,8 1,0 0",
    "one hand": START.replace("8,8", "8"),
    "three hands": START.replace("8,8", "8,8,8"),
    "hands of two digits": START.replace("8,8", "08,8"),
    "negative hand": START.replace("8,8", "-8,8"),
    "hands with a semicolon": START.replace("8,8", "8;8"),
    "unicode digits in hands": START.replace("8,8", "８,8"),
    "unicode digits in losses": START.replace("0,0", "٠,0"),
    "unicode digits in plies": START[:-1] + "٠",
    "no plies": START[:-1],
    "negative plies": START[:-1] + "-1",
    "plus": START[:-1] + "+0",
    "leading zero": START[:-1] + "00",
    "float plies": START[:-1] + "0.0",
    "hexadecimal plies": START[:-1] + "0x0",
    "underscore": START[:-1] + "1_0",
    "huge plies": START[:-1] + "9" * 5000,
    "plies after the end": START[:-1] + "18",
}
VALID_POSITIONS = (START, AFTER_NC, "A5/6/2##2/2##2/6/6 B a6 7,8 0,0 1")


@pytest.mark.parametrize("text", BAD_POSITIONS.values(), ids=BAD_POSITIONS)
def test_bad_positions(text: Any) -> None:
    with pytest.raises(PositionError) as caught:
        STORM.parse_position(text)
    check(caught.value, repr(text))


@pytest.mark.parametrize("text", VALID_POSITIONS)
def test_the_positions_that_the_bad_ones_are_made_of_are_good(text: str) -> None:
    assert STORM.format_position(STORM.parse_position(text)) == text


@pytest.mark.parametrize("text", [
    "AA4/AA4/2##2/2##2/AA4/AA4 A a6 0,4 0,4 42",
    "AA4/AA4/2##2/2##2/AA4/AA4 B - 0,4 0,4 41",
    "BB4/BB4/2##2/2##2/BB4/BB4 B - 8,0 0,0 41",
    "BB4/BB4/2##2/2##2/BB4/BB4 B - 8,0 0,0 121",
])
def test_positions_that_sudden_death_cannot_reach(text: str) -> None:
    SUDDEN_DEATH.parse_position("AA4/AA4/2##2/2##2/AA4/AA4 B a6 0,4 0,4 41")
    with pytest.raises(PositionError) as caught:
        SUDDEN_DEATH.parse_position(text)
    check(caught.value, repr(text))


@pytest.mark.parametrize("text", [
    START, f"{START} ", f"{START} 0", f"{START} 0,0 0", f"{START} 0,0\n", f"{START} 1,0",
    f"{START} ０,0", f"{START} -,-",
])
def test_own_losses_are_the_seventh_field_under_enemy_only(text: str) -> None:
    assert ENEMY_ONLY.parse_position(f"{START} 0,0") == STORM.parse_position(START)
    with pytest.raises(PositionError) as caught:
        ENEMY_ONLY.parse_position(text)
    check(caught.value, repr(text))


# Actions


@pytest.mark.parametrize("text", [
    "", " ", "nc", "NC", "N", "Ng", "N3", "W0", "W7", "Wc", "Nc ", " Nc", "Nc\n", "Nc\0", "Nc Nd",
    "W６", "Ｎc", "PASS", "Pass", "-", "c3", "c3c3", "c3c5", "c3d4", "a6a7", "a6`6", "f1g1", "C3C4",
    "c3-c4", "c3c4c5", "24", "0", "N" * 10_000, None, 0, 2.0, True, b"Nc", ["Nc"], {"Nc"},
], ids=lambda text: repr(text)[:20])
def test_bad_action_texts(text: Any) -> None:
    for game in (STORM, SUDDEN_DEATH):
        with pytest.raises(ActionError) as caught:
            game.parse_action(text)
        check(caught.value, repr(text), "Na-Nf", "pass")


def test_steps_are_no_actions_of_storm() -> None:
    with pytest.raises(ActionError, match="'c3c4' is no action; allowed: Na-Nf"):
        STORM.parse_action("c3c4")
    assert SUDDEN_DEATH.parse_action("c3c4") == 25 + 20 * 4


@pytest.mark.parametrize("action", [-1, 25, 10**30, True, 2.0, None, "Nc", [2], float("nan")])
def test_numbers_without_a_text(action: Any) -> None:
    with pytest.raises(ActionError) as caught:
        STORM.format_action(action)
    check(caught.value, repr(action), "0 to 24")


def test_steps_off_the_board_have_no_text() -> None:
    with pytest.raises(ActionError) as caught:
        SUDDEN_DEATH.format_action(25)
    check(caught.value, "25", "without steps off the board")


# The rest


@pytest.mark.parametrize("depth", [-1, 1.0, 1.5, None, True, "3", [3], float("inf")])
def test_bad_depths(depth: Any) -> None:
    with pytest.raises(OptionError) as caught:
        STORM.perft(STORM.initial_state(), depth)
    check(caught.value, repr(depth), "from 0 on")


@pytest.mark.parametrize("spec", ["", ":", ":4", "nobody", "nobody:4", "Random", " random", "rand"])
def test_unknown_agents(spec: str) -> None:
    with pytest.raises(AgentError) as caught:
        make_agent(spec, STORM)
    check(caught.value, repr(spec), "alphabeta", "random")
