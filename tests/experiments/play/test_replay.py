"""`castle replay`: in the terminal, as pictures, as a page."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from narrow import narrow, present
from PIL import Image
from PIL.GifImagePlugin import GifImageFile

from agents.runs import RunError
from castle_env import Game, OptionError, load_ruleset
from castle_env.board import FILES, PLAYER_NAMES, RANKS
from castle_env.drawing import HEIGHT
from castle_env.game_file import GameFileError, format_game
from castle_env.game_record import GameRecord, Note, record_game
from castle_env.raster import rgb_of_scene
from castle_env.scene import Text
from castle_env.svg import draw_svg
from castle_env.view import view_position
from experiments.commands.replay import Replay, run
from experiments.play import replay
from experiments.play.replay import frame_text, next_index
from experiments.play.replay_pictures import frames, scenes
from experiments.report.replay_page import page

STORM = Game(load_ruleset("storm"))
PLIES = 6


def some_game(plies: int = PLIES, start: int = 0, **others: Any) -> GameRecord:
    states, actions = [STORM.initial_state()], list[int]()
    while len(actions) < plies and not STORM.is_terminal(states[-1]):
        actions.append(STORM.legal_actions(states[-1])[-1])
        states.append(STORM.apply(states[-1], actions[-1]))
    notes = [Note()] * len(actions[start:])
    notes[0] = Note(-4.0, 'a <b>"note"</b> & \x1b[2J more\nof it')
    return record_game(STORM.rules, actions[start:], states[start] if start else None,
                       players=("ana <i>", "bo & co"), notes=tuple(notes), seed=7,
                       date="2026-03-01", **others)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "games.castle"
    path.write_text("\n".join(map(format_game, [some_game(), some_game(99, 2)])), "utf-8")
    return path


@pytest.mark.parametrize(("number", "plies"), [(1, range(PLIES + 1)), (2, range(2, 17))])
def test_without_a_terminal_all_positions_are_printed(
    file: Path, capsys: pytest.CaptureFixture[str], number: int, plies: range
) -> None:
    run(Replay(file, game=number))
    output = capsys.readouterr().out
    assert output.startswith("ana <i> (A) against bo & co (B)\n")
    assert [int(ply) for ply in re.findall(r" ply (\d+) of 16", output)] == list(plies)
    assert output.count("value for A -4; a <b>") == 1
    assert "\x1b" not in output


def test_a_frame_leaves_room_for_the_prompt() -> None:
    saved = some_game(99)
    for index in range(saved.plies + 1):
        lines = frame_text(saved, index, colour=True).split("\n")
        assert len(lines) <= 23


class Typed:
    """A person's answers, and the plies of the positions shown to them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
        self.answers = iter(answers)
        monkeypatch.setattr("builtins.input", self.answer)
        for stream in ("stdin", "stdout"):
            monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True)

    def answer(self, prompt: str) -> str:
        for answer in self.answers:
            return answer
        raise EOFError


def test_stepping(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    Typed(monkeypatch, "", "n", "b", "b", "b", "what", "5", "99", "n", "n", "6")
    replay.show(some_game())
    output = capsys.readouterr().out
    assert re.findall(r" ply (\d+) of", output) == list("01210056")
    assert output.count(replay.HELP) == 2
    assert "\x1b" not in output


@pytest.mark.parametrize(("answers", "plies"), [(("2", "q", "n"), "02"), ((), "0")])
def test_quitting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answers: Any, plies: str
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    Typed(monkeypatch, *answers)
    replay.show(some_game())
    output = capsys.readouterr().out
    assert re.findall(r" ply (\d+) of", output) == list(plies)
    assert "\x1b[" in output


def test_numbers_are_plies_of_the_game() -> None:
    saved = some_game(8, 3)
    answers = ("2", "3", "8", "9", "3.0", "-1", "1" * 99)
    assert [next_index(saved, 0, answer) for answer in answers] == [
        None, 0, 5, None, None, None, None]


def test_gif(file: Path, tmp_path: Path) -> None:
    run(Replay(file, gif=tmp_path / "game.gif", seconds=0.5))
    saved = some_game()
    with Image.open(tmp_path / "game.gif") as picture:
        count = narrow(picture, GifImageFile).n_frames
        assert count == saved.plies + 1
        for index in range(count):
            picture.seek(index)
            assert picture.info["duration"] == (1500 if index == saved.plies else 500)
        shown = np.asarray(picture.convert("RGB")).astype(int)
    wanted = rgb_of_scene(list(scenes(saved))[-1]).astype(int)
    # 256 colours are nearly all there are in the drawing.
    assert (np.abs(shown - wanted).max(axis=2) > 40).mean() < 0.001


def test_each_picture_of_a_gif_tells_the_game() -> None:
    """Names, seats, hands, captures, points, ply, move and value, in type for a telephone."""
    saved = some_game(99)
    words = [[shape for shape in scene.shapes if isinstance(shape, Text)]
             for scene in scenes(saved)]
    assert len(words) == 17
    for ply, (shapes, state) in enumerate(zip(words, saved.states(), strict=True)):
        said = "\n".join(shape.text for shape in shapes)
        view = view_position(STORM, state, None, None)
        for player, name in enumerate(("ana <i>", "bo & co")):
            assert f"{name}\n{PLAYER_NAMES[player]} · {view.hands[player]} in hand" in said
            assert f"captured {view.captures[player]}\n{view.totals[player]} VP" in said
        assert f"ply {ply} of 16 · " in said
        assert (f"played {STORM.format_action(saved.actions[ply - 1])}" in said) == (ply > 0)
        assert ("value -4 for the first player" in said) == (ply == 1)
    board = {*FILES, *RANKS}
    # A telephone is about 390 points wide, and the picture as wide as its board.
    assert min(shape.size for shapes in words for shape in shapes
               if shape.text not in board) * 390 / HEIGHT > 10
    for shapes in words:
        for shape in shapes:  # bold letters are about 0.6 of their size wide
            assert shape.anchor != "start" or shape.x + 0.6 * shape.size * len(
                shape.text) < HEIGHT + 20, shape.text


def test_long_names_stay_in_the_picture() -> None:
    saved = some_game()
    long = record_game(STORM.rules, list(saved.actions), players=("x" * 99, "塔\x1b" * 40))
    names = [shape.text for shape in next(iter(scenes(long))).shapes
             if isinstance(shape, Text) and shape.text.endswith("...")]
    assert [len(name) for name in names] == [30, 30]
    assert "\x1b" not in draw_svg(*next(iter(frames(long))), long.players)


def test_svg(file: Path, tmp_path: Path) -> None:
    run(Replay(file, game=2, svg=tmp_path / "pictures"))
    saved = some_game(99, 2)
    states = saved.states()
    assert sorted(path.name for path in (tmp_path / "pictures").iterdir()) == [
        f"ply-{ply:03}.svg" for ply in range(2, 17)]
    drawn = (tmp_path / "pictures" / "ply-003.svg").read_text("utf-8")
    assert drawn == draw_svg(STORM, states[1], saved.actions[0], states[0], saved.players)
    assert ">ana &lt;i&gt;<" in drawn
    assert ">bo &amp; co<" in drawn


class Page(HTMLParser):
    """What a page consists of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_html(file: Path, tmp_path: Path) -> None:
    run(Replay(file, html=tmp_path / "game.html"))
    text = (tmp_path / "game.html").read_text("utf-8")
    found, saved = Page(text), some_game()
    assert text == page(saved)
    assert found.tags.count("figure") == found.tags.count("li") == saved.plies + 1
    assert {"ana <i>", "bo & co"} <= set(found.texts)
    assert saved.note(0).comment in found.texts
    assert not {"b2", "i2", "link", "img", "iframe"} & set(found.tags)
    assert not {"src", "href"} & {name for name, _ in found.attributes}
    outside = set(re.findall(r"\w+://[^\"' ]+", text))
    assert outside == {"http://www.w3.org/2000/svg"}
    for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ElementTree.fromstring(svg)
    assert "first player's margin" in text
    assert "first player's margin" not in page(record_game(STORM.rules, [2]))


def test_the_page_tells_each_position_in_text_beside_its_board() -> None:
    """A telephone shrinks a drawing, but not text: none but the board's names are in drawings."""
    saved = some_game(99)
    text = page(saved)
    figures = re.findall(r"<figure.*?</figure>", text, re.DOTALL)
    assert len(figures) == 17
    for figure, state in zip(figures, saved.states(), strict=True):
        drawing, _, beside = figure.partition("</svg>")
        assert f'viewBox="0 0 {HEIGHT} {HEIGHT}"' in drawing
        assert set(re.findall(r"<text[^>]*>(.*?)</text>", drawing)) == {*FILES, *RANKS}
        view = view_position(STORM, state, None, None)
        assert beside.index("ana &lt;i&gt;") < beside.index("bo &amp; co")
        assert re.findall(r"<b>(\d+) VP</b>", beside) == list(map(str, view.totals))
        assert re.findall(r"in hand (\d)", beside) == list(map(str, view.hands))
    size = int(present(re.search(r"figure svg text \{ font-size: (\d+)px", text))[1])
    assert size * 358 / HEIGHT > 10  # on a telephone 390 points wide, with its margins


@pytest.mark.parametrize(("options", "error"), [
    ({"game": 3}, GameFileError), ({"game": 0}, GameFileError), ({"seconds": 0.0}, OptionError),
    ({"seconds": float("nan")}, OptionError), ({"gif": Path("no/x.gif")}, RunError),
    ({"html": Path("no/x.html")}, RunError), ({"svg": Path("no/x")}, RunError),
    ({"svg": Path(".")}, RunError)])
def test_what_cannot_be_drawn(
    file: Path, monkeypatch: pytest.MonkeyPatch, options: Any, error: type[Exception]
) -> None:
    monkeypatch.chdir(file.parent)
    with pytest.raises(error):
        run(Replay(file, **options))
    assert [path.name for path in file.parent.iterdir()] == [file.name]
