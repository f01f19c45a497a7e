"""Imported by the process whose copies are workers: what all of them need is loaded once.

The first compiled function makes numba load what takes half a second.
"""

from castle_env import Game, load_ruleset

_GAME = Game(load_ruleset("storm"))
_GAME.is_terminal(_GAME.initial_state())
