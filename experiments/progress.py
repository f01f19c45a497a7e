"""A progress bar for long work, in the terminal only."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from experiments.report.plain_text import printable


@contextmanager
def progress_bar(description: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar on standard error while the block works; it gets a function to move it on."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
               TimeRemainingColumn())
    console = Console(stderr=True, force_jupyter=False)
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(printable(description), total=total)
        yield lambda done: progress.advance(task, done)
