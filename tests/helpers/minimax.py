"""Games of many rulesets, positions from random play, and a search that cuts nothing off."""

from typing import Any

import numpy as np
import numpy.typing as npt

from castle_env import Game, Position, Ruleset, load_ruleset, preset_names
from castle_env.position import PositionArray, stack

GAMES = {name: Game(load_ruleset(name)) for name in preset_names()}
SPECIAL: dict[str, dict[str, Any]] = {
    "enemy-only": {"mode": "storm", "capture_credit": "enemy_only", "factions_per_player": 5},
    "enemy-only-steps": {"mode": "sudden_death", "capture_credit": "enemy_only",
                         "entry_style": "step", "factions_per_player": 3, "max_plies": 20},
    "one-faction": {"mode": "sudden_death", "factions_per_player": 1, "entry_lanes": "all"},
    "points": {"mode": "storm", "factions_per_player": 3, "victory_points": {
        "captured": -1, "contact": 2, "survivor": 1, "squares": [[0, 1, -2, 3, 0, 0]] * 6}},
    "push": {"mode": "sudden_death", "steps_must_push": True, "entry_lanes": "central",
             "factions_per_player": 4, "max_plies": 30},
    # One player's entries end in strongholds that cannot leave, until the other moves them.
    "passes": {"mode": "sudden_death", "entry_lanes": "home_edge", "factions_per_player": 4,
               "strongholds": ["......"] * 5 + [".####."]},
    "passes-north": {"mode": "sudden_death", "entry_lanes": "home_edge", "factions_per_player": 4,
                     "strongholds": [".####."] + ["......"] * 5},
}
GAMES |= {name: Game(Ruleset.from_dict(keys)) for name, keys in SPECIAL.items()}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def random_positions(game: Game, games: int, seed: int = 0) -> PositionArray:
    """Every position, but the ends, of games played at random."""
    states, source, seen = game.initial_states(games), rng(seed), []
    while len(states):
        seen.append(states)
        states = game.apply_actions(states, game.random_actions(states, source))
        states = states[~game.terminals(states)]
    return np.concatenate(seen)


def sample(game: Game, count: int, seed: int = 0) -> PositionArray:
    """`count` positions from random games."""
    return rng(seed).choice(random_positions(game, count, seed), count)


def minimax(game: Game, states: PositionArray, depth: int) -> npt.NDArray[np.int64]:
    """Margin of player 0 after `depth` plies of best play, or earlier ends: nothing is cut off."""
    values = game.margins(states)
    inner = np.flatnonzero(~game.terminals(states))
    if depth == 0 or len(inner) == 0:
        return values
    rows, actions = np.nonzero(game.legal_action_masks(states[inner]))
    children = game.apply_actions(states[inner][rows], actions)
    below = minimax(game, children, depth - 1)
    starts = np.searchsorted(rows, np.arange(len(inner)))
    values[inner] = np.where(states["ply"][inner] % 2, np.minimum.reduceat(below, starts),
                             np.maximum.reduceat(below, starts))
    return values


def action_values(game: Game, state: Position, depth: int) -> dict[int, int]:
    """Value of each legal action for the player to move, `depth` plies deep."""
    actions = game.legal_actions(state)
    children = stack([game.apply(state, action) for action in actions])
    sign = -1 if game.current_player(state) else 1
    values = sign * minimax(game, children, depth - 1)
    return dict(zip(actions, values.tolist(), strict=True))


def best_actions(values: dict[int, int]) -> set[int]:
    best = max(values.values())
    return {action for action, value in values.items() if value == best}


def winning_now(game: Game, state: Position) -> set[int]:
    """Actions that end the game and win it."""
    player = game.current_player(state)
    outcomes = {action: game.outcome(game.apply(state, action))
                for action in game.legal_actions(state)}
    return {action for action, outcome in outcomes.items()
            if outcome is not None and outcome.winner == player}
