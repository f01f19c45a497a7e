"""Draw the diagrams of README and docs: `python docs/draw_pictures.py` writes them anew.

`move.svg` shows a position before and after one slide, `storm.svg` and `sudden-death.svg` a
position of each mode, `architecture.svg` the way that data takes.
"""

from functools import partial
from pathlib import Path

from castle_env import Game, Position, load_ruleset
from castle_env.drawing import CARD, FACES, HEIGHT, INK, PAPER, QUIET, draw_scene
from castle_env.scene import Line, Polygon, Rect, Scene, Shape, Text
from castle_env.svg import draw_svg, svg_of_scene

IMAGES = Path(__file__).parent / "images"

# A game up to the slide that the picture of a move shows, and that slide.
OPENING = ("Sc", "Sd", "W5", "W3", "Ne", "W3", "Sd", "Nc")
SLIDE = "W3"
BOARD_SIDE = 420
CAPTIONS = (
    ("A slides in from the west on rank 3: W3.",
     "a3 and b3 are free; c3 to f3 are an unbroken run."),
    ("The run moves one square east; A is on c3.",
     "B's faction on f3 is off the board: captured."),
)

# A position of each mode, and the move that leads to what is drawn.
POSITIONS = {
    "storm": ("4#1/2ABA1/BB#BA1/1ABAA1/1A##2/3B2 B b2 1,2 0,0 13", "Sd"),
    "sudden-death": ("6/6/4B#/1B##AB/ABB2A/1BB#2 B f2 4,1 1,0 29", "b3b2")}

# Package, title, what happens there, and where it is, along the way of the data.
STATIONS = (
    ("castle_env", "position", ("one small value;", "a batch is one array"),
     ("position.py", "notation.py")),
    ("castle_env", "kernel", ("legal moves, pushes,", "points; compiled"),
     ("kernels.py", "batch.py, game.py")),
    ("castle_env", "environment", ("observation, mask,", "reward, end of game"),
     ("env.py, vector_env.py", "castle_v1.py")),
    ("agents", "agent", ("positions in,", "actions out"),
     ("search/ solve/", "networks/ training/")),
    ("experiments", "match", ("both seats, same", "openings; records"),
     ("measure/ play/", "studies/")),
    ("experiments", "report", ("tables, pictures,", "intervals, JSON"),
     ("report/ commands/", "web/ bench/")),
)
BOX_WIDTH, BOX_HEIGHT, GAP = 178, 148, 34
TOP, LEFT = 66, 24
PACKAGE_COLOURS = {"castle_env": FACES[0], "agents": FACES[1], "experiments": "#4d535e"}


def move_picture() -> str:
    """SVG of a position before and after a slide."""
    game = Game(load_ruleset("storm"))
    before = game.initial_state()
    for action in OPENING:
        before = game.apply(before, game.parse_action(action))
    action = game.parse_action(SLIDE)
    after = game.apply(before, action)
    width, height = 2 * BOARD_SIDE + 60, BOARD_SIDE + 76
    shapes: list[Shape] = [Rect(0, 0, width, height, PAPER)]
    shapes += _arrow((BOARD_SIDE + 10, BOARD_SIDE / 2), (BOARD_SIDE + 50, BOARD_SIDE / 2))
    for column, lines in enumerate(CAPTIONS):
        middle = BOARD_SIDE / 2 + column * (BOARD_SIDE + 60)
        for row, line in enumerate(lines):
            shapes.append(Text(middle, BOARD_SIDE + 20 + 24 * row, line, 14,
                               QUIET if row else INK, "middle"))
    frame = Scene(width, height, "How a move works", " ".join(sum(CAPTIONS, ())), tuple(shapes))
    boards = [_board(game, before, None, None, 0),
              _board(game, after, action, before, BOARD_SIDE + 60)]
    return svg_of_scene(frame).replace("</svg>\n", "".join(boards) + "</svg>\n")


def _board(
    game: Game, position: Position, action: int | None, previous: Position | None, x: float
) -> str:
    """The board of a position, without the cards beside it, as an SVG element at `x`."""
    scene = draw_scene(game, position, action, previous)
    whole = svg_of_scene(scene)
    old = f'viewBox="0 0 {scene.width} {scene.height}" width="{scene.width}" '
    assert whole.count(f'{old}height="{scene.height}"') == 1
    return whole.replace(
        f'{old}height="{scene.height}"',
        f'viewBox="0 0 {HEIGHT} {HEIGHT}" x="{x:g}" y="0" width="{BOARD_SIDE}" '
        f'height="{BOARD_SIDE}" overflow="hidden"')


def position_picture(ruleset: str) -> str:
    """SVG of a position of a mode, as `castle replay --svg` draws it."""
    game = Game(load_ruleset(ruleset))
    text, move = POSITIONS[ruleset]
    before, action = game.parse_position(text), game.parse_action(move)
    return draw_svg(game, game.apply(before, action), action, before)


def architecture_picture() -> str:
    """SVG of the way from a position to a report."""
    width = 2 * LEFT + len(STATIONS) * (BOX_WIDTH + GAP) - GAP
    height = TOP + BOX_HEIGHT + 60
    shapes: list[Shape] = [Rect(0, 0, width, height, PAPER)]
    for index, (package, title, what, where) in enumerate(STATIONS):
        x = LEFT + index * (BOX_WIDTH + GAP)
        colour = PACKAGE_COLOURS[package]
        if index == 0 or package != STATIONS[index - 1][0]:
            shapes.append(Text(x, TOP - 24, f"{package}/", 18, colour))
        shapes += [Rect(x, TOP, BOX_WIDTH, BOX_HEIGHT, colour, 12),
                   Rect(x + 3, TOP + 3, BOX_WIDTH - 6, BOX_HEIGHT - 6, CARD, 10),
                   Text(x + 14, TOP + 32, title, 19, INK)]
        shapes += [Text(x + 14, TOP + 60 + 20 * row, line, 13, INK)
                   for row, line in enumerate(what)]
        shapes += [Text(x + 14, TOP + 110 + 20 * row, line, 12, QUIET)
                   for row, line in enumerate(where)]
        if index:
            shapes += _arrow((x - GAP + 5, TOP + BOX_HEIGHT / 2), (x - 5, TOP + BOX_HEIGHT / 2))
    shapes += _actions_go_back()
    words = " → ".join(title for _, title, _, _ in STATIONS)
    return svg_of_scene(Scene(width, height, "The way of the data", words, tuple(shapes)))


def _actions_go_back() -> list[Shape]:
    """The arrow of actions, from the agent back to the environment."""
    bottom = TOP + BOX_HEIGHT
    middles = [LEFT + index * (BOX_WIDTH + GAP) + BOX_WIDTH / 2 for index in (3, 2)]
    return [Line(((middles[0], bottom + 6), (middles[0], bottom + 30), (middles[1], bottom + 30)),
                 QUIET, 3),
            *_arrow((middles[1], bottom + 30), (middles[1], bottom + 4)),
            Text(sum(middles) / 2, bottom + 48, "actions", 14, QUIET, "middle")]


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> list[Shape]:
    """A horizontal or vertical arrow."""
    (x, y), size = end, 9
    step = (1 if end[0] > start[0] else 0, -1 if end[1] < start[1] else 0)
    back = x - size * step[0], y - size * step[1]
    corners = ((x, y), (back[0] + step[1] * size * 0.7, back[1] + step[0] * size * 0.7),
               (back[0] - step[1] * size * 0.7, back[1] - step[0] * size * 0.7))
    return [Line((start, back), QUIET, 3), Polygon(corners, QUIET, 1)]


PICTURES = {"move.svg": move_picture, "architecture.svg": architecture_picture,
            **{f"{name}.svg": partial(position_picture, name) for name in POSITIONS}}


def main() -> None:
    """Write all pictures."""
    for name, draw in PICTURES.items():
        (IMAGES / name).write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
