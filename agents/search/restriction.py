"""Moves that a restricted player never makes while others are legal, in either mode.

Restricted play as a measure of what a rule means for a game: Jaffe, Miller, Andersen, Liu, Karlin
and Popović, "Evaluating Competitive Game Balance with Restricted Play", AIIDE 2012.

Searches take a `Restriction` or None. The type of None is known when they are compiled, so that the
code for unrestricted players contains none of this.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from agents.search.board import Board
from castle_env.compiled import kernel
from castle_env.errors import OptionError
from castle_env.kernels import neighbours, popcount

# What a restricted player never does: push a faction, of either side, off the board; push a
# stronghold; move next to a stronghold that an opposing faction is next to as well; make a move
# that is not among the best one ply ahead.
CAPTURE, PUSH_STRONGHOLD, CONTEST, SECOND_BEST = range(4)

# Each restriction by its name. The restricted player chooses freely among the moves that are left:
# "looks-one-move-ahead" is the best of all players who maximise the margin after their move.
FORBIDDEN: Final[Mapping[str, int]] = MappingProxyType({
    "never-captures": CAPTURE,
    "never-pushes-strongholds": PUSH_STRONGHOLD,
    "never-contests": CONTEST,
    "looks-one-move-ahead": SECOND_BEST,
})
# Uniformly random moves in the first half of the game, perfect ones in the second.
RANDOM_HALF: Final = "random-first-half"
RESTRICTIONS: Final = (*FORBIDDEN, RANDOM_HALF)


class Restriction(NamedTuple):
    """What is forbidden (CAPTURE to SECOND_BEST), and the player, 0 or 1, to whom it is."""

    forbidden: int
    player: int


def check_restriction(
    restriction: str, player: int, allowed: tuple[str, ...] = RESTRICTIONS
) -> None:
    """Raise `OptionError` for what is no restriction or no player."""
    if restriction not in allowed:
        raise OptionError(f"restriction is {restriction!r}; allowed: {', '.join(allowed)}")
    if player not in (0, 1):
        raise OptionError(f"seat of the restricted player is {player!r}; allowed: 0 or 1")


@kernel
def is_restricted(restriction: Restriction | None, ply: int) -> bool:
    """Whether the player to move at a ply is restricted."""
    if restriction is None:
        return False
    return ply & 1 == restriction.player


@kernel
def is_forbidden(forbidden: int, before: Board, after: Board, entered: int, behind: int) -> bool:
    """Whether a restricted mover avoids a legal move.

    before, after: the boards before and after it, both as the mover sees them, the latter with the
    square moved to as its bastion. entered: 1 if a faction came from the hand, else 0. behind: by
    how much the mover's margin after the move is less than after the best one.
    """
    if forbidden == CAPTURE:
        tokens = popcount(before.own | before.opposing) + entered
        return popcount(after.own | after.opposing) < tokens
    if forbidden == PUSH_STRONGHOLD:
        return after.strongholds != before.strongholds
    if forbidden == CONTEST:
        besieged = after.strongholds & neighbours(after.opposing)
        return neighbours(after.bastion) & besieged != 0
    return behind > 0
