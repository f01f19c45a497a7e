"""Makes a truth set: `python -m experiments.measure.truth_making OUT.npz`.

Positions come from games that each source plays against itself from two to four random plies on;
a game gives one position, at the ply that it was started for. Plies 2 and 3 hold all positions that
there are up to symmetry. The same seed, sources and counts give the same file.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import tyro

from agents.networks.checkpoint import load_checkpoint
from agents.networks.shipped import SHIPPED, shipped_path
from agents.runs import check_writable, environment_info
from agents.solve.book import Key, key_of, positions_by_ply
from agents.solve.exact_values import Values
from agents.solve.perfect_play import perfect_play_of
from agents.tasks import MapTasks, map_here
from castle_env import Agent, Game, Position, Ruleset, load_ruleset, make_agent
from castle_env.errors import CastleError
from castle_env.position import PositionArray, stack, unstack
from experiments.measure.truth_set import TruthSet, TruthSetError, save_truth_set
from experiments.options import BackendOptions
from experiments.output import tell
from experiments.progress import progress_bar

# Of these plies every position up to symmetry is taken.
WHOLE_PLIES: Final = (2, 3)
EVERY: Final = "every position"
SOURCES: Final = ("random", "greedy", "alphabeta:2", "alphabeta:4", "mcts:100", "ppo-storm:sample")
# Of later plies. A position of ply 5 takes five seconds, one of ply 9 twenty milliseconds.
COUNTS: Final[Mapping[int, int]] = MappingProxyType(
    {4: 18, 5: 50, 6: 160, 7: 320, 8: 800, 9: 2400} | dict.fromkeys(range(10, 16), 3000))
OPENING_PLIES: Final = (2, 3, 4)

# Games started for each position wanted, since some reach a position that is there already.
_SPARE: Final = 1.4
_AT_ONCE: Final = 16


@dataclass(frozen=True, kw_only=True)
class Making(BackendOptions):
    """Make the truth set of default storm."""

    out: tyro.conf.Positional[Path]
    """File to write (.npz); its card goes beside it."""
    sources: tuple[str, ...] = SOURCES
    """Agents whose games the positions come from."""
    seed: int = 0
    """Seed of the games."""


@dataclass(frozen=True)
class Found:
    """A position and the index of the source that played up to it; 0 is `EVERY`."""

    position: Position
    source: int


def make_truth_set(
    game: Game, sources: Sequence[str], seed: int, counts: Mapping[int, int] = COUNTS,
    map_tasks: MapTasks = map_here, advance: Callable[[int], None] = lambda done: None,
) -> TruthSet:
    """Positions of the sources with the exact value of every move; `advance` counts those valued.

    counts: how many of each ply, shared out among the sources.
    """
    found = sample_positions(game, sources, seed, counts)
    states = stack([one.position for one in found])
    tasks = [(game.rules, states[start:start + _AT_ONCE])
             for start in range(0, len(states), _AT_ONCE)]
    values = map_tasks(_value, tasks, lambda index, result: advance(len(result)))
    names = (EVERY, *sources)
    return TruthSet(states, np.concatenate(values),
                    np.array([one.source for one in found], dtype=np.uint8),
                    {"ruleset": game.rules.to_dict(), "ruleset_digest": game.rules.digest,
                     "seed": seed, "sources": {name: _about(name) for name in names},
                     "by_ply": _counted(found, names)})


def _value(task: tuple[Ruleset, PositionArray]) -> Values:
    rules, states = task
    return perfect_play_of(rules).values_of_moves(states)


def sample_positions(
    game: Game, sources: Sequence[str], seed: int, counts: Mapping[int, int]
) -> list[Found]:
    """Distinct positions in which there is a choice, in the order of plies, shuffled in each."""
    whole = positions_by_ply(game, max(WHOLE_PLIES))
    layers = {ply: [Found(position, 0) for position in whole[ply].values()] for ply in WHOLE_PLIES}
    wanted = {ply: -(-count // len(sources)) for ply, count in counts.items()}
    played = [play_to_plies(game, make_agent(name, game), wanted, np.random.default_rng([seed, i]))
              for i, name in enumerate(sources, start=1)]
    for ply, count in wanted.items():
        seen: set[Key] = set()
        layers[ply] = []
        for source, by_ply in enumerate(played, start=1):
            fresh = distinct(game, by_ply[ply], seen, count)
            layers[ply] += [Found(position, source) for position in fresh]
    rng = np.random.default_rng([seed, 0])
    return [layers[ply][index] for ply in sorted(layers)
            for index in rng.permutation(len(layers[ply]))]


def play_to_plies(
    game: Game, agent: Agent, wanted: Mapping[int, int], rng: np.random.Generator
) -> dict[int, list[Position]]:
    """For each ply so many positions and some spare, each from a game of the agent with itself."""
    ends = np.repeat(list(wanted), [int(_SPARE * count) + 1 for count in wanted.values()])
    openings = rng.choice(OPENING_PLIES, size=len(ends))
    states = game.initial_states(len(ends))
    for ply in range(max(wanted)):
        by_lot = np.flatnonzero((ends > ply) & (openings > ply))
        by_agent = np.flatnonzero((ends > ply) & (openings <= ply))
        actions = np.zeros(len(ends), dtype=np.int64)
        actions[by_lot] = game.random_actions(states[by_lot], rng)
        if len(by_agent):
            actions[by_agent] = agent.select_actions(states[by_agent], rng)
        going_on = np.concatenate([by_lot, by_agent])
        states[going_on] = game.apply_actions(states[going_on], actions[going_on])
    return {ply: unstack(states[ends == ply]) for ply in wanted}


def distinct(
    game: Game, positions: Sequence[Position], seen: set[Key], count: int
) -> list[Position]:
    """The first `count` positions with a choice whose keys are not in `seen`, which gains them."""
    fresh: list[Position] = []
    for position in positions:
        key = key_of(game, position)
        if len(fresh) < count and key not in seen and len(game.legal_actions(position)) > 1:
            seen.add(key)
            fresh.append(position)
    return fresh


def _about(source: str) -> dict[str, Any]:
    """What a source is beyond its name: of a network its steps, config and checksum."""
    name, _, path = source.removesuffix(":sample").partition(":")
    if name not in ("ppo", "az", *SHIPPED):
        return {}
    card = load_checkpoint(path or shipped_path(name)).card
    return {key: card[key] for key in ("steps", "config", "sha256") if key in card}


def _counted(found: Sequence[Found], names: Sequence[str]) -> dict[str, dict[str, int]]:
    """Positions by ply and source."""
    counted: dict[str, dict[str, int]] = {}
    for one in found:
        row = counted.setdefault(str(one.position.ply), dict.fromkeys(names, 0))
        row[names[one.source]] += 1
    return counted


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the set and write it; raises `TruthSetError` and what a backend raises."""
    options = tyro.cli(Making, args=arguments)
    if options.out.suffix != ".npz":
        raise TruthSetError(f"truth set {str(options.out)!r}; allowed: a file name that ends in "
                            ".npz")
    check_writable(options.out)
    game = Game(load_ruleset("storm"))
    with progress_bar("exact values", sum(COUNTS.values())) as advance:
        truth = make_truth_set(game, options.sources, options.seed, COUNTS, options.start().map,
                               advance)
    command = " ".join(["python -m experiments.measure.truth_making", *sys.argv[1:]])
    save_truth_set(options.out, TruthSet(
        truth.states, truth.values, truth.sources,
        {**truth.card, "command": command, "environment": environment_info()}))
    tell(f"{options.out}: {len(truth):,} positions")


if __name__ == "__main__":
    try:
        main()
    except CastleError as error:
        sys.exit(f"truth_making: {error}")
