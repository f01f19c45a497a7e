"""Random openings: how many plies may be played before the agents take over."""

from castle_env.errors import OptionError
from castle_env.game import Game


def longest_opening(game: Game) -> int:
    """The greatest number of plies after which no game can be over."""
    # A game ends at the earliest when a player has brought on all factions, one in each turn.
    return min(2 * game.rules.factions_per_player - 1, game.rules.max_plies) - 1


def check_opening_plies(game: Game, plies: int) -> None:
    """Raise `OptionError` unless games always go on after so many plies."""
    if not 0 <= plies <= longest_opening(game):
        raise OptionError(f"opening_plies is {plies}; allowed: 0 to {longest_opening(game)} in "
                          f"ruleset {game.rules.name!r}")
