"""What a person would find wrong with a picture of matplotlib, told from what it is made of."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Affine2D

Corners: TypeAlias = npt.NDArray[np.float64]

# In points; smaller type cannot be read at the picture's real size.
SMALLEST_TYPE = 8
# Of what is measured in pixels.
SLACK = 1.0


@contextmanager
def kept_figures() -> Iterator[list[Figure]]:
    """The figures that are written inside the block, laid out; the files stay empty."""
    figures: list[Figure] = []

    def keep(figure: Figure, path: Path, **_: Any) -> None:
        path.touch()
        figures.append(figure)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", keep)
        yield figures


def faults(figure: Figure) -> list[str]:
    """One line for each fault of a figure that has been drawn."""
    corners = {text: _corners(text) for text in shown_texts(figure)}
    return [*_cut(figure, corners), *_overlaps(corners), *_covered(figure, corners),
            *_small(corners), *_untitled(figure), *_beyond_all(figure)]


def _corners(text: Text) -> Corners:
    """The four corners of what is written, in pixels, shape (4, 2); turned as the text is."""
    angle = text.get_rotation()
    text.set_rotation(0)
    box = text.get_window_extent()
    text.set_rotation(angle)
    corners = np.array([(box.x0, box.y0), (box.x1, box.y0), (box.x1, box.y1), (box.x0, box.y1)])
    if not angle:
        return corners
    if text.get_rotation_mode() == "anchor":
        x, y = text.get_transform().transform(text.get_unitless_position())
        return Affine2D().rotate_deg_around(x, y, angle).transform(corners)
    # The turned text is set so that its frame is where the frame of the other would be.
    turned, frame = Affine2D().rotate_deg(angle).transform(corners), text.get_window_extent()
    placed: Corners = turned - turned.min(axis=0) + (frame.x0, frame.y0)
    return placed


def shown_texts(figure: Figure) -> list[Text]:
    """All that is written, without tick labels that lie outside their axis and are not drawn."""
    hidden = {text for axes in figure.axes for text in _hidden_in(axes)}
    return [text for text in figure.findobj(Text)
            if isinstance(text, Text) and text.get_visible() and text.get_text().strip()
            and text not in hidden]


def _hidden_in(axes: Axes) -> Iterator[Text]:
    if not axes.get_visible() or not axes.axison:
        hidden = [axes.xaxis, axes.yaxis] if axes.get_visible() else [axes]
        yield from (text for part in hidden for text in part.findobj(Text)
                    if isinstance(text, Text))
        return
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
            inside = low - 1e-9 <= tick.get_loc() <= high + 1e-9
            yield from ([] if inside and tick.label1.get_visible() else [tick.label1])
            yield tick.label2


def _cut(figure: Figure, corners: dict[Text, Corners]) -> list[str]:
    size = np.array([figure.bbox.width, figure.bbox.height])
    return [f"cut at the edge: {text.get_text()!r}" for text, place in corners.items()
            if (place < -SLACK).any() or (place > size + SLACK).any()]


def _overlaps(corners: dict[Text, Corners]) -> list[str]:
    return [f"{one.get_text()!r} and {other.get_text()!r} overlap"
            for (one, first), (other, second) in combinations(corners.items(), 2)
            if _gap(first, second) < -SLACK]


def _gap(one: Corners, other: Corners) -> float:
    """How far two turned boxes are apart, negative where they overlap: along the best of the
    directions of their sides, one of which parts them if anything does.
    """
    gaps = []
    for box in (one, other):
        for side in (box[1] - box[0], box[2] - box[1]):
            along = side / max(float(np.hypot(*side)), 1e-9)
            first, second = one @ along, other @ along
            gaps.append(max(first.min() - second.max(), second.min() - first.max()))
    return float(max(gaps))


def _covered(figure: Figure, corners: dict[Text, Corners]) -> list[str]:
    """Texts that stand on a point."""
    square = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    return [f"{text.get_text()!r} covers a point" for axes in figure.axes
            for x, y, reach in _points(axes) for text, place in corners.items()
            if _gap(place, square * reach + (x, y)) < -SLACK]


def _points(axes: Axes) -> Iterator[tuple[float, float, float]]:
    """Middle of each marker in pixels, and half of its width."""
    if not axes.get_visible():
        return
    scale = axes.figure.dpi / 72
    for line in axes.lines:
        if line.get_marker() not in ("None", "", None, "|", "none") and line.get_visible():
            for x, y in line.get_transform().transform(line.get_xydata()):
                yield x, y, 0.8 * line.get_markersize() / 2 * scale
    for points in axes.collections:
        if isinstance(points, PathCollection):
            reach = 0.8 * np.asarray(points.get_sizes())[0] ** 0.5 / 2 * scale
            for x, y in axes.transData.transform(points.get_offsets()):
                yield x, y, reach


def _small(texts: Iterable[Text]) -> list[str]:
    return [f"type of {text.get_fontsize():g} points: {text.get_text()!r}" for text in texts
            if float(text.get_fontsize()) < SMALLEST_TYPE]


def _untitled(figure: Figure) -> list[str]:
    """Axes with numbers or names along them, of which nothing says what they are."""
    return [f"axis {_letter(axes, axis)} without a title: {labels[:3]}"
            for axes in figure.axes if axes.get_visible() and axes.axison
            for axis in (axes.xaxis, axes.yaxis) if (labels := _labels(axis))
            and not axis.get_label_text() and not _is_titled_elsewhere(axes, axis)]


def _letter(axes: Axes, axis: Axis) -> str:
    return "x" if axis is axes.xaxis else "y"


def _labels(axis: Axis) -> list[str]:
    return [label.get_text() for label in axis.get_majorticklabels()
            if label.get_visible() and label.get_text()]


def _is_titled_elsewhere(axes: Axes, axis: Axis) -> bool:
    """Whether another panel, which shares the axis, has its title."""
    letter = _letter(axes, axis)
    shared = axes.get_shared_x_axes() if letter == "x" else axes.get_shared_y_axes()
    return any(getattr(other, f"{letter}axis").get_label_text()
               for other in shared.get_siblings(axes) if other is not axes)


def _beyond_all(figure: Figure) -> list[str]:
    """What reaches below 0% or above 100%."""
    found = []
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if not any(label.endswith("%") for label in _labels(axis)):
                continue
            column = 0 if axis is axes.xaxis else 1
            data = [value for line in axes.lines if line.get_transform() == axes.transData
                    for value in np.asarray(line.get_xydata())[:, column]]
            data += [value for band in axes.collections for path in band.get_paths()
                     if band.get_transform() == axes.transData
                     for value in np.asarray(path.vertices)[:, column]]
            found += [f"{value:.1%} of all" for value in data if not -1e-9 <= value <= 1 + 1e-9
                      and value == value]
    return found
