"""Pictures of one pixel, where a test is not about what they show: drawing takes most of its time.

`tests/experiments/report/test_plots.py` looks at every picture as it is drawn.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from PIL import Image


def pixel() -> bytes:
    """A PNG file."""
    file = io.BytesIO()
    Image.new("RGB", (1, 1)).save(file, "PNG")
    return file.getvalue()


@contextmanager
def quick_pictures() -> Iterator[pytest.MonkeyPatch]:
    """Figures are put together, but neither laid out nor drawn, inside the block.

    What else is changed by what it gives is undone at its end too.
    """
    def write(figure: Figure, path: Path, **_: Any) -> None:
        Path(path).write_bytes(pixel())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "draw_without_rendering", lambda figure: None)
        patch.setattr(Figure, "savefig", write)
        yield patch
