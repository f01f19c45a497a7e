"""What happened in the games of training, kept until it is logged."""

from collections import defaultdict
from typing import Final

import numpy as np
import numpy.typing as npt

from agents.training.tags import tag
from castle_env.game import Game
from castle_env.position import PositionArray

Ints = npt.NDArray[np.int64]

SEAT_NAMES: Final = ("first", "second")


class GameLog:
    """Sums over finished games by opponent and seat of the learner."""

    def __init__(self, game: Game) -> None:
        self._game: Final = game
        self._sums: defaultdict[tuple[str, str], npt.NDArray[np.float64]] = self._empty()

    @staticmethod
    def _empty() -> defaultdict[tuple[str, str], npt.NDArray[np.float64]]:
        return defaultdict(lambda: np.zeros(6))

    def add(self, opponent: str, states: PositionArray, seats: Ints, margins: Ints) -> None:
        """Take in games that ended in `states`, with the learner's seats and margins, (n,) each."""
        rows = np.stack([np.ones(len(states)), margins > 0, margins == 0, margins, states["ply"],
                         self._game.lost_tokens(states).sum(axis=1)], axis=1)
        for seat, name in enumerate(SEAT_NAMES):
            self._sums[opponent, name] += rows[seats == seat].sum(axis=0)

    def take(self) -> dict[str, float]:
        """Means since the last call, by the names under which they are logged.

        By opponent and seat: win rate, draw rate, and margin in VP. Over all games: length in plies
        and the share of plies that captured a token.
        """
        sums, self._sums = self._sums, self._empty()
        found = {key: row for key, row in sums.items() if row[0]}
        if not found:
            return {}
        scalars = {}
        for (opponent, seat), (games, wins, draws, margin, _, _) in found.items():
            scalars[tag("games", opponent, seat, "win_rate")] = wins / games
            scalars[tag("games", opponent, seat, "draw_rate")] = draws / games
            scalars[tag("games", opponent, seat, "margin")] = margin / games
        games, _, _, _, plies, captured = np.sum(list(found.values()), axis=0)
        return scalars | {"games/length": plies / games, "games/captures_per_ply": captured / plies}
