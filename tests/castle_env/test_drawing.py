"""Pictures of positions: each form shows what there is, and only a window needs a display."""

import os
import pickle
import random
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from castle_env import ActionError, Game, Position, Ruleset, load_ruleset, preset_names
from castle_env.ansi import draw_ansi
from castle_env.board import OFFSETS, PASS, PLAYER_NAMES, SQUARE_NAMES
from castle_env.raster import Window, draw_rgb, load_pygame
from castle_env.svg import draw_svg
from castle_env.view import view_position

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")

# What the drawing functions take: game, position, last action, previous position.
Played = tuple[Game, Position, int, Position]


def played(game: Game, text: str, action: str) -> Played:
    before, number = game.parse_position(text), game.parse_action(action)
    return game, game.apply(before, number), number, before


@pytest.fixture
def capture() -> Played:
    """B slides in from the east on rank 4, pushes three tokens and A's a4 off the board."""
    game = Game(load_ruleset("storm"))
    return played(game, "A5/6/AA##2/2##2/5B/5B B a6 5,6 0,0 5", "E4")


@pytest.fixture
def step() -> Played:
    """A steps from c2 to c3 and pushes two strongholds north."""
    game = Game(load_ruleset("sudden-death"))
    return played(game, "6/6/2##2/2##2/2A3/B5 A a1 7,7 0,0 2", "c2c3")


@pytest.fixture
def passed() -> Played:
    """No lane of player 0's holds a token, so that the game begins with a pass."""
    game = Game(Ruleset.from_dict({
        "name": "corner", "mode": "sudden_death", "strongholds": [*["......"] * 5, "#....."]}))
    start = game.initial_state()
    return game, game.apply(start, PASS), PASS, start


def random_plies(ruleset: str, games: int) -> Iterator[Played]:
    game, rng = Game(load_ruleset(ruleset)), random.Random(1)
    for _ in range(games):
        state = game.initial_state()
        while not game.is_terminal(state):
            before, action = state, rng.choice(game.legal_actions(state))
            state = game.apply(before, action)
            yield game, state, action, before


def ended_game() -> Played:
    return list(random_plies("storm", 1))[-1]


# The last move


def test_last_move_of_a_capture(capture: Played) -> None:
    view = view_position(*capture)
    move = view.last_move
    assert move is not None
    assert move.captured == "A"
    assert [SQUARE_NAMES[square] for square in move.path] == ["f4", "e4"]
    assert [SQUARE_NAMES[square] for square in move.pushed] == ["c4", "b4", "a4"]
    assert view.captures == (0, 1)


def test_without_the_position_before_no_push_is_claimed(capture: Played) -> None:
    move = view_position(*capture[:3], None).last_move
    assert move is not None
    assert (move.pushed, move.captured) == ((), "")


def test_a_last_action_that_leads_elsewhere_is_refused(capture: Played) -> None:
    game, position, _, before = capture
    with pytest.raises(ActionError, match=r"'Na' does not lead to position 'A5/.*bastion"):
        view_position(game, position, game.parse_action("Na"), before)


@pytest.mark.parametrize("ruleset", preset_names())
def test_pushed_tokens_account_for_every_change(ruleset: str) -> None:
    for game, position, action, before in random_plies(ruleset, 5):
        view = view_position(game, position, action, before)
        move, tokens = view.last_move, list(view_position(game, before, None, None).tokens)
        assert move is not None
        if move.target is not None:
            if not move.enters:
                tokens[move.path[0]] = "."
            run = [square - OFFSETS[move.direction] for square in move.pushed]
            pushed = [tokens[square] for square in run]
            for square, token in zip(move.pushed, pushed, strict=True):
                tokens[square] = token
            tokens[move.target] = "AB"[move.player]
        assert "".join(tokens) == view.tokens
        lost = sum(game.rules.factions_per_player - hand - view.tokens.count(faction)
                   for hand, faction in zip(view.hands, "AB", strict=True))
        assert sum(view.captures) + sum(view.forfeits) == lost


# Pixels


def test_rgb_is_a_picture(capture: Played) -> None:
    frame = draw_rgb(*capture)
    assert frame.dtype == np.uint8
    assert frame.ndim == 3
    assert frame.shape[2] == 3
    assert len(np.unique(frame.reshape(-1, 3), axis=0)) > 20
    assert np.array_equal(frame, draw_rgb(*capture))


def test_different_positions_give_different_frames() -> None:
    frames = {draw_rgb(game, position).tobytes()
              for game, position, _, _ in random_plies("storm", 1)}
    assert len(frames) == 16


def test_the_last_move_is_in_the_frame(capture: Played) -> None:
    game, position, action, before = capture
    frames = [draw_rgb(game, position), draw_rgb(game, position, action),
              draw_rgb(game, position, action, before)]
    assert len({frame.tobytes() for frame in frames}) == 3


def test_rgb_needs_no_display_and_greets_nobody() -> None:
    code = ("from castle_env import Game, load_ruleset\n"
            "from castle_env.raster import draw_rgb\n"
            "import sys; assert 'pygame' not in sys.modules\n"
            "game = Game(load_ruleset('storm'))\n"
            "frame = draw_rgb(game, game.initial_state())\n"
            "import pygame; assert not pygame.display.get_init()\n"
            "assert frame.min() < 60 < 200 < frame.max()\n")
    hidden = {"DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "PYGAME_HIDE_SUPPORT_PROMPT"}
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True,
                         check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_rgb_survives_pygame_quit(step: Played) -> None:
    first = draw_rgb(*step)
    load_pygame().quit()
    assert np.array_equal(first, draw_rgb(*step))
    game, position, _, _ = step
    assert draw_rgb(game, position).shape == first.shape


# SVG


def titled(svg: str) -> dict[str, str]:
    """Title of each titled element -> its tag."""
    found = {}
    for element in ET.fromstring(svg).iter():
        title = element.find("{*}title")
        if title is not None and title.text:
            found[title.text] = element.tag.rpartition("}")[2]
    return found


def words(svg: str) -> str:
    return "\n".join(element.text or "" for element in ET.fromstring(svg).findall("{*}text"))


def test_svg_names_what_it_shows(capture: Played) -> None:
    svg = draw_svg(*capture)
    titles = titled(svg)
    assert {f"square {name}" for name in SQUARE_NAMES} <= set(titles)
    assert {"faction B on d4, bastion", "faction A on a6", "faction B on f2", "stronghold on b4",
            "last move E4", "pushed to c4", "pushed to a4", "pushed off the board",
            "faction A captured", "b4 controlled by A"} <= titles.keys()
    for text in ("First player to move", "ply 6 of 16", "In hand 5", "Captured 1",
                 "B played E4 to d4, pushed 4, captured A",
                 *(f"{points} VP" for points in capture[0].victory_points(capture[1]))):
        assert text in words(svg)


def test_svg_stands_alone(capture: Played) -> None:
    svg = draw_svg(*capture)
    root = ET.fromstring(svg)
    assert root.tag.endswith("svg")
    assert root.get("viewBox", "").startswith("0 0 ")
    assert [child.tag.rpartition("}")[2] for child in root[:2]] == ["title", "desc"]
    assert svg.count("http") == 1
    assert "href" not in svg


def test_svg_takes_any_ruleset_name() -> None:
    keys = load_ruleset("storm").to_dict() | {"name": 'a <b> & "c"\0\n' + "long " * 20}
    game = Game(Ruleset.from_dict(keys))
    ET.fromstring(draw_svg(game, game.initial_state()))
    assert draw_rgb(game, game.initial_state()).any()
    assert draw_ansi(game, game.initial_state())


def test_players_differ_in_shape(capture: Played) -> None:
    tags = {title[:9]: tag for title, tag in titled(draw_svg(*capture)).items()
            if title.startswith("faction")}
    assert tags == {"faction A": "circle", "faction B": "polygon"}


def test_svg_of_a_step_shows_where_it_came_from(step: Played) -> None:
    titles = titled(draw_svg(*step))
    assert {"last move c2c3", "pushed to c4", "pushed to c5", "faction A on c3, bastion"} <= set(
        titles)
    assert "faction A on c2" not in titles


def test_pass_and_result_are_told(passed: Played) -> None:
    assert "A passed" in words(draw_svg(*passed))
    assert "A passed" in draw_ansi(*passed)
    over = ended_game()
    outcome = over[0].outcome(over[1])
    assert outcome is not None
    winner = outcome.winner
    result = "Draw" if winner is None else f"{PLAYER_NAMES[winner].capitalize()} wins"
    assert result in words(draw_svg(*over))
    assert f"{result}, {max(outcome.victory_points)} to" in draw_ansi(*over)


# Text


def assert_fits_a_terminal(text: str) -> None:
    lines = ESCAPES.sub("", text).split("\n")
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert text.isascii()


@pytest.mark.parametrize("ruleset", preset_names())
def test_ansi_fits_a_terminal(ruleset: str) -> None:
    for ply in random_plies(ruleset, 2):
        text, coloured = draw_ansi(*ply), draw_ansi(*ply, colour=True)
        assert_fits_a_terminal(text)
        assert ESCAPES.sub("", coloured) == text
        assert "\x1b[" in coloured


def test_ansi_fits_with_every_row_of_the_table() -> None:
    points: dict[str, Any] = dict.fromkeys(
        ("captured", "besieging", "contact", "controlled", "survivor"), -100)
    points["squares"] = [[-100] * 6] * 6
    game = Game(Ruleset.from_dict({"mode": "storm", "name": "x" * 99, "victory_points": points}))
    state = game.initial_state()
    while not game.is_terminal(state):
        state = game.apply(state, game.legal_actions(state)[0])
    assert_fits_a_terminal(draw_ansi(game, state))


def test_ansi_shows_what_there_is(capture: Played) -> None:
    text = draw_ansi(*capture)
    assert "(A) 4 |<A |<#a|<#b|[B]| - | - | 4  < " in text
    assert "6 | A |   |   |   |   |   | 6" in text
    assert text.count("a   b   c   d   e   f") == 2
    for shown in ("ply 6 of 16", "First player to move", "hand 5      A A A A A", "captured 1  A",
                  "B played E4 to d4, pushed 4, captured A",
                  "captured 1 x 1 = 1", "controlled 1 x 2 = 2",
                  *(f"{points} VP" for points in capture[0].victory_points(capture[1]))):
        assert shown in text


@pytest.mark.parametrize("ruleset", ["storm", "sudden-death"])
def test_ansi_marks_the_lanes_to_enter(ruleset: str) -> None:
    for game, state, action, before in random_plies(ruleset, 2):
        text = draw_ansi(game, state, action, before, show_lanes=True)
        assert_fits_a_terminal(text)
        assert ESCAPES.sub("", draw_ansi(game, state, action, before, True, True)) == text
        north, *ranks, south = (line[3:33] for line in text.split("\n")[2:17]
                                if not line.startswith("      +"))
        marked = {f"{side}{label}" for side, line in (("N", north), ("S", south))
                  for label in re.findall(r"([a-f])\+", line)}
        marked |= {f"W{line[1]}" for line in ranks if line[2] == "+"}
        marked |= {f"E{line[1]}" for line in ranks if line.endswith(f"|+{line[1]}")}
        assert marked == {name for name in map(game.format_action, game.legal_actions(state))
                          if name[0] in "NSWE"}


def test_ansi_of_a_step(step: Played) -> None:
    text = draw_ansi(*step)
    for rank in ("5 |   |   | #^|", "4 |   |   |#a^| # |", "3 |   |   |[A]| #a|",
                 "2 |   |   | : |   |"):
        assert rank in text


# Window


@pytest.fixture
def pygame(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    module = load_pygame()
    yield module
    module.display.quit()


def crowd(pygame: Any) -> None:
    """Put events into the queue, as a mouse over an idle window does."""
    for _ in range(200):
        pygame.event.post(pygame.event.Event(pygame.MOUSEMOTION, pos=(1, 1), rel=(0, 0),
                                             buttons=(0, 0, 0)))


def test_window_shows_the_frame_and_leaves_no_events(pygame: Any, step: Played) -> None:
    window, frame = Window(fps=1000), draw_rgb(*step)
    window.show(frame)
    screen = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    assert np.array_equal(screen, frame)
    for drain in (partial(window.show, frame), window.pump):
        crowd(pygame)
        assert pygame.event.peek()
        drain()
        assert not pygame.event.peek()
    window.close()
    assert not pygame.display.get_init()


def test_a_dismissed_window_stays_away(pygame: Any, step: Played) -> None:
    window, frame = Window(fps=1000), draw_rgb(*step)
    window.show(frame)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    window.show(frame)
    window.show(frame)
    assert not pygame.display.get_init()
    window.close()
    window.show(frame)
    assert pygame.display.get_surface() is not None


def test_window_copies_have_no_window_yet(pygame: Any, step: Played) -> None:
    window, frame = Window(fps=1000), draw_rgb(*step)
    window.show(frame)
    copy = pickle.loads(pickle.dumps(window))
    copy.close()
    assert pygame.display.get_surface() is not None
    copy.show(frame)
    window.close()
    copy.show(frame)
    assert pygame.display.get_surface() is not None


def test_closing_an_unopened_window_is_nothing() -> None:
    window = Window(fps=2)
    window.pump()
    window.close()
