"""Random openings: how many plies may be played before the agents take over."""

from castle_env.errors import OptionError
from castle_env.game import Game


def longest_opening(game: Game) -> int:
    """The most plies that surely leave a game to play."""
    # No game can end before one player has made as many turns as there are factions.
    return min(2 * game.rules.factions_per_player - 1, game.rules.max_plies) - 1


def check_opening_plies(game: Game, plies: int) -> None:
    """Raise `OptionError` for openings that are of no length or as long as a game."""
    if not 0 <= plies <= longest_opening(game):
        raise OptionError(f"opening_plies is {plies}; allowed: 0 to {longest_opening(game)} in "
                          f"ruleset {game.rules.name!r}")
