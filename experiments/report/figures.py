"""What all pictures of results share: colours, sizes, titles, legends, and how they are written.

They use matplotlib's figures directly, without pyplot: no display and no global state. Colours are
those of Okabe and Ito, told apart by colour-blind people too, and series differ in their markers
and line styles as well.
"""

import textwrap
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from agents.runs import atomic_path
from experiments.report.plain_text import printable_lines

BLUE: Final = "#0072B2"
ORANGE: Final = "#E69F00"
GREEN: Final = "#009E73"
PURPLE: Final = "#CC79A7"
RED: Final = "#D55E00"
SKY: Final = "#56B4E9"
BLACK: Final = "#222222"
GREY: Final = "#767676"
FAINT: Final = "#E4E4E4"

COLOURS: Final = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK)
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
LINES: Final = ("-", "--", "-.", ":")

_EXPLANATION: Final = "explanation"
# Where a label may stand, in points from what it names: the nearest places first.
_OFFSETS: Final = tuple((reach * x, reach * y) for reach in (9, 16, 25) for x, y in (
    (1, 0.6), (1, -0.6), (-1, 0.6), (-1, -0.6), (0, 1.1), (0, -1.1), (1.2, 0), (-1.2, 0)))


def bare_figure(width: float, height: float) -> Figure:
    """Empty figure of this size in inches."""
    return Figure(figsize=(width, height), dpi=150, layout="constrained", facecolor="white")


def new_figure(title: str, explanation: str, width: float, height: float) -> tuple[Figure, Axes]:
    """Figure of one picture with what it shows above it, and how to read it in small below that."""
    figure = bare_figure(width, height)
    axes = figure.subplots()
    style(axes)
    lines = _folded(explanation, int(15.5 * width))
    axes.set_title(lines, loc="left", fontsize=8.5, color=GREY, gid=_EXPLANATION)
    headline(figure, title)
    return figure, axes


def headline(figure: Figure, text: str) -> None:
    """Title of the whole picture, in as many lines as its width asks for."""
    lines = _folded(text, int(9.5 * figure.get_figwidth()))
    figure.suptitle(lines, x=0.01, ha="left", fontsize=11.5, weight="bold", color=BLACK)


def footnote(figure: Figure, text: str) -> None:
    """How to read a picture of several panels, below them."""
    lines = _folded(text, int(13 * figure.get_figwidth()))
    figure.supxlabel(lines, fontsize=9, color=GREY)


def _folded(text: str, width: int) -> str:
    """The text in lines of at most so many letters, names with hyphens whole where they fit."""
    return textwrap.fill(text, width, break_on_hyphens=False)


def style(axes: Axes) -> None:
    """Frame, grid and type of one panel; the grid is that of values on the y axis."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GREY)
    axes.grid(visible=True, axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=9, color=GREY, labelcolor=BLACK)


def share_axis(axes: Axes, which: str, label: str) -> None:
    """Make the axis "x" or "y" one of percentages, with the only grid."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(lambda share, _: f"{100 * share:.3g}%")
    axis.set_label_text(label)
    only_grid(axes, which)


def only_grid(axes: Axes, which: str) -> None:
    """Grid of the axis "x" or "y" alone."""
    axes.grid(visible=False)
    (axes.xaxis if which == "x" else axes.yaxis).grid(visible=True, color=FAINT, linewidth=0.8)


def name_rows(axes: Axes, names: Sequence[str], title: str) -> None:
    """A row for each name, from top to bottom, with a title that says what the names are."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_ylabel(title)
    axes.tick_params(axis="y", length=0)


def label_points(
    figure: Figure, axes: Axes, labels: Mapping[tuple[float, float], str],
    points: Iterable[tuple[float, float]],
) -> None:
    """Write labels beside some of the points, where they cover no point and no other label.

    Both are in the units of the axes, which must have their limits. A label for which there is no
    such place stands at the nearest one.
    """
    with _text_as_it_is(figure):
        figure.draw_without_rendering()
    size = 7.0 * figure.dpi / 72
    centres = axes.transData.transform([*labels, *points])
    taken = [Bbox.from_bounds(x - size, y - size, 2 * size, 2 * size) for x, y in centres]
    for point, text in labels.items():
        note = axes.annotate(text, point, xytext=_OFFSETS[0], fontsize=8, color=BLACK,
                             textcoords="offset points", ha="center", va="center",
                             parse_math=False)
        boxes = {}
        for offset in _OFFSETS:
            note.xyann = offset
            boxes[offset] = note.get_window_extent()
            if not any(boxes[offset].overlaps(other) for other in taken):
                break
        else:
            note.xyann = _OFFSETS[0]
        taken.append(boxes[note.xyann])


def legend(figure: Figure, axes: Axes, title: str | None = None) -> None:
    """Legend of the axes below the picture, if there is anything to tell apart."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        width = figure.get_figwidth()
        longest = 0.9 + max(map(len, labels)) / 13
        title = title and _folded(title, int(13 * width))
        figure.legend(handles, labels, title=title, loc="outside lower center", frameon=False,
                      ncols=max(1, min(3, len(handles), int(width / longest))), fontsize=9,
                      title_fontsize=9)


def short_count(number: float) -> str:
    """A count as it stands on an axis: 750, 20k, 1.5M."""
    for unit, sign in ((1e6, "M"), (1e3, "k")):
        if abs(number) >= unit:
            return f"{number / unit:g}{sign}"
    return f"{number:g}"


def shown(name: str, longest: int = 30) -> str:
    """A name, shortened in its middle to at most so many letters."""
    if len(name) <= longest:
        return name
    start = 2 * longest // 5
    return f"{name[:start - 1]}…{name[start - longest:]}"


def save(figure: Figure, path: Path) -> None:
    """Write the picture; raises `RunError` where the file cannot be written."""
    with _text_as_it_is(figure):
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # all has its place now, which took the time
        _pull_left(figure)
        with atomic_path(path) as temporary:
            figure.savefig(temporary, format="png", metadata={"Software": None})


@contextmanager
def _text_as_it_is(figure: Figure) -> Iterator[None]:
    """Draw text without reading formulas in it; letters that the font lacks are boxes."""
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_parse_math(False)
        text.set_text(printable_lines(text.get_text()))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        yield


def _pull_left(figure: Figure) -> None:
    """Let explanations begin at the left of the picture, where they have its whole width."""
    for text in figure.findobj(lambda artist: artist.get_gid() == _EXPLANATION):
        assert isinstance(text, Text)
        assert text.axes is not None
        box = text.axes.get_window_extent()
        text.set_x((0.01 * figure.bbox.width - box.x0) / box.width)
