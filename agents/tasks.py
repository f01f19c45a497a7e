"""The shape of a function that runs tasks, here or on many machines, and the simplest such one."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


class MapTasks(Protocol):
    """Runs a function of a module on tasks, side by side where it can; both must be picklable.

    Returns the results in the order of the tasks; `on_done` is told the index and the result of
    each as soon as it is there, in any order, in the caller's thread. What the function raises is
    raised.
    """

    def __call__(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        on_done: Callable[[int, Result], None] = ...,
    ) -> list[Result]: ...


def ignore(index: int, result: object) -> None:
    """The `on_done` of a caller who waits for the end."""


def map_here(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    on_done: Callable[[int, Result], None] = ignore,
) -> list[Result]:
    """One task after the other in this process."""
    results = []
    for index, task in enumerate(tasks):
        results.append(function(task))
        on_done(index, results[-1])
    return results
