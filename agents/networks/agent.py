"""Agents that play by a network: `ppo:PATH` and the shipped ones, such as `ppo-storm`.

`NAME:sample` draws from the policy, `NAME+search:N` lets it guide a tree search, see
`agents.search.puct`.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from agents.networks.checkpoint import load_checkpoint
from agents.networks.policy import Policy, policy_of
from agents.networks.shipped import shipped_path
from agents.search.puct import SEARCH, Limits, PUCTAgent, split_search
from castle_env.agent import Agent, BaseAgent
from castle_env.errors import AgentError
from castle_env.game import Game
from castle_env.options import REWARDS, Reward
from castle_env.position import PositionArray

SAMPLE: Final = "sample"


class NetworkAgent(BaseAgent):
    """Plays the most probable legal action, or with `sample` one that the policy draws.

    The network is called once for the whole batch.
    """

    thread_safe = True

    def __init__(self, name: str, policy: Policy, sample: bool = False) -> None:
        self.name = name
        self.policy = policy
        self._sample: Final = sample

    def select_actions(
        self, states: PositionArray, rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """A legal action for each position, shape (n,)."""
        observations, masks = self.policy.game.encode(states)
        return self.policy.choose(observations, masks, rng if self._sample else None)


def make(arguments: str, game: Game) -> Agent:
    """The agent of a checkpoint: `ppo:PATH`, `ppo:PATH:sample`, `ppo:PATH+search:N` or
    `ppo:PATH+search:Tms`.

    PATH is a checkpoint file or a run's folder, which stands for its newest checkpoint, whatever
    algorithm trained it. Raises `AgentError` without a path or for wrong limits, and
    `CheckpointError` for a file that cannot be used.
    """
    before, limits = split_search(arguments)
    path, _, suffix = before.rpartition(":")
    sample = suffix == SAMPLE and bool(path)
    source = path if sample else before
    if not source or (sample and limits):
        raise AgentError(f"agent {'ppo:' + arguments!r}; allowed: ppo:PATH, ppo:PATH:{SAMPLE}, "
                         f"ppo:PATH{SEARCH}:N or ppo:PATH{SEARCH}:Tms")
    return _make(f"ppo:{arguments}", policy_of(load_checkpoint(source, game)), sample, limits)


def make_ppo_storm(arguments: str, game: Game) -> Agent:
    """`ppo-storm`, for default storm: see `make_shipped`."""
    return make_shipped("ppo-storm", arguments, game)


def make_ppo_sudden_death(arguments: str, game: Game) -> Agent:
    """`ppo-sudden-death`, for default Sudden Death: see `make_shipped`."""
    return make_shipped("ppo-sudden-death", arguments, game)


def make_az_storm(arguments: str, game: Game) -> Agent:
    """`az-storm`, for default storm: see `make_shipped`."""
    return make_shipped("az-storm", arguments, game)


def make_az_sudden_death(arguments: str, game: Game) -> Agent:
    """`az-sudden-death`, for default Sudden Death: see `make_shipped`."""
    return make_shipped("az-sudden-death", arguments, game)


def make_shipped(name: str, arguments: str, game: Game) -> Agent:
    """The agent `name`, `name:sample`, `name+search:N` or `name+search:Tms`, as for `ppo:PATH`.

    Raises `AgentError` for other arguments and `CheckpointError` for a game of other rules.
    """
    before, limits = split_search(arguments)
    if before not in ("", SAMPLE) or (before and limits):
        raise AgentError(f"agent {f'{name}:{arguments}'!r}; allowed: {name}, {name}:{SAMPLE}, "
                         f"{name}{SEARCH}:N or {name}{SEARCH}:Tms")
    full_name = name + (f":{before}" if before else arguments)
    policy = policy_of(load_checkpoint(shipped_path(name), game))
    return _make(full_name, policy, bool(before), limits)


def _make(name: str, policy: Policy, sample: bool, limits: Limits | None) -> Agent:
    """The agent that searches where it has limits, and else plays by its policy."""
    if limits is None:
        return NetworkAgent(name, policy, sample)
    if policy.reward not in REWARDS:
        raise AgentError(f"agent {name!r} cannot search: its network was trained for the reward "
                         f"{policy.reward!r}; allowed: {', '.join(REWARDS)}")
    reward: Reward = "margin" if policy.reward == "margin" else "outcome"
    return PUCTAgent(name, policy.game, policy.look_at, reward, limits)
