"""How a value is found by questions that each get a bound as their answer.

A search with a null window is asked "at least `beta`?". Its answer is a lower bound of the value if
it is at least `beta`, and an upper bound if it is less. Each question stands next to the bound that
was found last: MTD(f), Plaat, Schaeffer, Pijls and de Bruin, "Best-first fixed-depth minimax
algorithms", Artificial Intelligence 87, 1996.
"""

from typing import NamedTuple

from castle_env.compiled import kernel


class Window(NamedTuple):
    """A value lies from `low` to `high`; `last` is the bound found last, or at first a guess.

    The value is `last` as soon as `low` and `high` are equal.
    """

    low: int
    high: int
    last: int


@kernel
def next_beta(window: Window) -> int:
    """What to ask next."""
    return window.last + 1 if window.last == window.low else window.last


@kernel
def narrowed(window: Window, beta: int, bound: int) -> Window:
    """The window after the answer `bound` to the question "at least `beta`?"."""
    if bound >= beta:
        return Window(bound, window.high, bound)
    return Window(window.low, bound, bound)
