"""Hypothesis strategies: any valid ruleset, and games played at random under it."""

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from castle_env import Game, Position, Ruleset

Keys = dict[str, Any]
Grid = list[list[Any]]

SQUARES = [(row, column) for row in range(6) for column in range(6)]

_UNHURRIED = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]

# An example is a whole game, so `many` are thousands of positions.
many = settings(max_examples=200, deadline=None, suppress_health_check=_UNHURRIED)
some = settings(max_examples=80, deadline=None, suppress_health_check=_UNHURRIED)

# A choice is taken modulo the number of legal moves; 120 has many divisors, so that every legal
# move is about equally likely.
choices = st.integers(0, 119)


def turned(grid: Grid) -> Grid:
    return [list(row) for row in zip(*grid[::-1], strict=True)]


def mirrored(grid: Grid) -> Grid:
    return [row[::-1] for row in grid]


def upended(grid: Grid) -> Grid:
    return grid[::-1]


@st.composite
def grids(draw: st.DrawFn, values: st.SearchStrategy[Any], blank: Any) -> Grid:
    """A 6x6 grid, sparse or dense, half of them with some symmetry of the board."""
    filled = draw(st.dictionaries(st.sampled_from(SQUARES), values, min_size=1, max_size=16))
    grid = [[filled.get((row, column), blank) for column in range(6)] for row in range(6)]
    if draw(st.booleans()):
        for move in draw(st.lists(st.sampled_from([turned, mirrored, upended]), max_size=2)):
            for _ in range(3):
                grid = [[a if a != blank else b for a, b in zip(*rows, strict=True)]
                        for rows in zip(grid, move(grid), strict=True)]
    return grid


def strongholds() -> st.SearchStrategy[list[str]]:
    return grids(st.just("#"), ".").map(lambda grid: ["".join(row) for row in grid])


@st.composite
def victory_points(draw: st.DrawFn) -> Keys:
    rows = ("captured", "besieging", "contact", "controlled", "survivor")
    table: Keys = draw(st.fixed_dictionaries(
        {}, optional={row: st.integers(-2, 9) for row in rows}))
    if draw(st.booleans()):
        table["squares"] = draw(grids(st.integers(-3, 3), 0))
    return table


@st.composite
def any_rulesets(draw: st.DrawFn) -> Keys:
    """Keys of a ruleset file; every key may be missing but `mode`."""
    mode = draw(st.sampled_from(["storm", "sudden_death"]))
    keys: dict[str, st.SearchStrategy[Any]] = {
        "strongholds": strongholds(),
        "factions_per_player": st.integers(1, 8),
        "steps_must_push": st.booleans(),
        "capture_credit": st.sampled_from(["opponent", "enemy_only"]),
        "victory_points": victory_points(),
    }
    if mode == "sudden_death":
        keys |= {
            "max_plies": st.integers(1, 70),
            "entry_lanes": st.sampled_from(["all", "own_axis", "central", "home_edge"]),
            "entry_style": st.sampled_from(["slide", "step"]),
        }
    return {"mode": mode, **draw(st.fixed_dictionaries({}, optional=keys))}


def tight_rulesets() -> st.SearchStrategy[Keys]:
    """Rulesets with so few moves that players often have to pass."""
    return st.fixed_dictionaries({
        "mode": st.just("sudden_death"),
        "strongholds": strongholds(),
        "max_plies": st.integers(10, 40),
        "entry_lanes": st.sampled_from(["own_axis", "home_edge"]),
        "steps_must_push": st.just(True),
        "capture_credit": st.sampled_from(["opponent", "enemy_only"]),
    })


def rulesets() -> st.SearchStrategy[Keys]:
    return st.one_of(any_rulesets(), any_rulesets(), any_rulesets(), tight_rulesets())


def playouts(max_plies: int = 70) -> st.SearchStrategy[list[int]]:
    """Choices for `play`: half the time enough of them to end most games."""
    return st.lists(choices, min_size=max_plies, max_size=max_plies) | st.lists(
        choices, max_size=max_plies)


def play(game: Game, moves: list[int]) -> list[Position]:
    """All positions of a game, start first, in which choice n plays legal move n (modulo)."""
    positions = [game.initial_state()]
    for choice in moves:
        legal = game.legal_actions(positions[-1])
        if not legal:
            break
        positions.append(game.apply(positions[-1], legal[choice % len(legal)]))
    return positions


def game_of(keys: Keys) -> Game:
    return Game(Ruleset.from_dict(keys))
