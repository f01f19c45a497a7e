"""`ppo-storm` and `ppo-sudden-death`: trained agents that come with the package.

Their cards beside the weights, `agents/data/ppo-*.json`, say how they were made.
"""

from importlib import resources
from pathlib import Path
from typing import Final

from agents.networks.agent import SAMPLE, make_from_checkpoint
from agents.networks.checkpoint import Checkpoint, load_checkpoint
from agents.search.puct import SEARCH, split_search
from castle_env.agent import Agent
from castle_env.errors import AgentError
from castle_env.game import Game

STORM: Final = "ppo-storm"
SUDDEN_DEATH: Final = "ppo-sudden-death"


def load_shipped(name: str, game: Game | None = None) -> Checkpoint:
    """Weights and card of a shipped agent; `CheckpointError` for a game of other rules."""
    with resources.as_file(resources.files("agents") / "data" / f"{name}.pt") as path:
        return load_checkpoint(Path(path), game)


def make_storm(arguments: str, game: Game) -> Agent:
    """`ppo-storm`, for default storm: see `make_shipped`."""
    return make_shipped(STORM, arguments, game)


def make_sudden_death(arguments: str, game: Game) -> Agent:
    """`ppo-sudden-death`, for default Sudden Death: see `make_shipped`."""
    return make_shipped(SUDDEN_DEATH, arguments, game)


def make_shipped(name: str, arguments: str, game: Game) -> Agent:
    """The agent `name`, `name:sample`, `name+search:N` or `name+search:Tms`, as for `ppo:PATH`.

    Raises `AgentError` for other arguments and `CheckpointError` for a game of other rules.
    """
    before, limits = split_search(arguments)
    if before not in ("", SAMPLE) or (before and limits):
        raise AgentError(f"agent {f'{name}:{arguments}'!r}; allowed: {name}, {name}:{SAMPLE}, "
                         f"{name}{SEARCH}:N or {name}{SEARCH}:Tms")
    full_name = name + (f":{before}" if before else arguments)
    return make_from_checkpoint(full_name, load_shipped(name, game), game, bool(before), limits)
