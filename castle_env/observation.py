"""What an agent sees: planes of 6x6 numbers relative to the player to move.

Plane by plane (float32, shape (PLANES, 6, 6), row 0 is rank 6, column 0 is file a):

     0      own factions (1 where one stands)
     1      opposing factions
     2      strongholds
     3      the bastion (the faction that moved last and may not be pushed now)
     4 - 7  legal entries from the north, south, west, east: 1 on the square where the faction
            would come to stand
     8      own factions that besiege a stronghold
     9      opposing factions that do
    10      strongholds that the mover controls
    11      strongholds that the opponent controls
    12      own hand / factions per player          (planes 12 - 17: one number in all 36 squares)
    13      opposing hand / factions per player
    14      tokens the opponent has lost that score for the mover / factions per player
    15      tokens the mover has lost that score for the opponent / factions per player
    16      turns left / turns in the whole game
    17      1 when the mover is player 1
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from castle_env.board import DIRECTIONS, SIZE, SQUARES
from castle_env.compiled import kernel
from castle_env.kernels import Moves, Rules, controlled_by, neighbours, popcount
from castle_env.position import Position

PLANES: Final = 18
FIRST_ENTRY_PLANE: Final = 4
OBSERVATION_SHAPE: Final = (PLANES, SIZE, SIZE)


@kernel
def write_plane(plane: npt.NDArray[np.float32], bits: int) -> None:
    """Write a bitboard as zeros and ones into a plane of shape (36,)."""
    for square in range(SQUARES):
        plane[square] = (bits >> square) & 1


@kernel
def write_observation(
    rules: Rules,
    position: Position,
    moves: Moves,
    player: int,
    planes: npt.NDArray[np.float32],
) -> None:
    """Write the planes of a position into `planes`, shape (PLANES, 36).

    `position` is seen from `player`; `moves` are that player's legal moves, all empty when it is
    not to move.
    """
    write_plane(planes[0], position.own)
    write_plane(planes[1], position.opposing)
    write_plane(planes[2], position.strongholds)
    write_plane(planes[3], position.bastion)
    for side in range(DIRECTIONS):
        write_plane(planes[FIRST_ENTRY_PLANE + side], moves[side])
    besieged = neighbours(position.strongholds)
    write_plane(planes[8], position.own & besieged)
    write_plane(planes[9], position.opposing & besieged)
    write_plane(planes[10], controlled_by(position.own, position.opposing, position.strongholds))
    write_plane(planes[11], controlled_by(position.opposing, position.own, position.strongholds))
    factions = rules.factions
    own_lost = factions - position.own_hand - popcount(position.own) - position.own_forfeits
    opposing_lost = (factions - position.opposing_hand - popcount(position.opposing)
                     - position.opposing_forfeits)
    planes[12] = position.own_hand / factions
    planes[13] = position.opposing_hand / factions
    planes[14] = opposing_lost / factions
    planes[15] = own_lost / factions
    planes[16] = (rules.max_plies - position.ply) / rules.max_plies
    planes[17] = player
