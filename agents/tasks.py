"""`MapTasks`, the type of functions that run many tasks, and one that runs them in this process.

Others in `experiments.backend` share the tasks among processes or machines.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


class MapTasks(Protocol):
    """Calls a function with each task, several at once where it can.

    Function and tasks must be picklable. Returns the results in the order of the tasks, and raises
    what the function raises. `on_done` is called with the index of each task and its result as soon
    as that is known, in any order, in the caller's thread.
    """

    def __call__(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        on_done: Callable[[int, Result], None] = ...,
    ) -> list[Result]: ...


def ignore(index: int, result: object) -> None:
    """An `on_done` that does nothing."""


def map_here(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    on_done: Callable[[int, Result], None] = ignore,
) -> list[Result]:
    """`MapTasks` with one task after the other, in this process."""
    results = []
    for index, task in enumerate(tasks):
        results.append(function(task))
        on_done(index, results[-1])
    return results
