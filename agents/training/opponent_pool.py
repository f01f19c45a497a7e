"""The opponents of self-play: baselines, the learner itself and snapshots of its past.

Opponents are drawn by prioritised fictitious self-play: one against whom the learner has the
average result p (win 1, draw 1/2) is drawn with a weight of p (1 - p), so that opponents about as
strong as the learner come up most often (the "var" weighting of Vinyals et al., "Grandmaster level
in StarCraft II using multi-agent reinforcement learning", Nature 575, 2019, methods). Their "hard"
weighting (1 - p)^2 gives most games to opponents that a beginner never beats and so learns
nothing from.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from castle_env.agent import Agent
from castle_env.errors import OptionError

Ints = npt.NDArray[np.int64]
Sampling: TypeAlias = Literal["prioritised", "uniform", "latest"]

# A result counts one part in this many games, or in all games so far while they are fewer.
MEMORY: Final = 400
# Names of past selves start with this; in logs they go under one name.
SNAPSHOT_PREFIX: Final = "step-"
PAST_SELVES: Final = "past selves"
# No opponent is forgotten altogether.
LEAST_WEIGHT: Final = 0.02


@dataclass
class Member:
    """One opponent with the learner's average result against it, in [0, 1]."""

    agent: Agent
    games: int = 0
    average: float = 0.5

    @property
    def kind(self) -> str:
        """Its name, one for all past selves."""
        return PAST_SELVES if self.agent.name.startswith(SNAPSHOT_PREFIX) else self.agent.name

    def record(self, points: npt.NDArray[np.float64]) -> None:
        """Take in the learner's results of games that ended together: 1, 1/2 or 0 each."""
        self.games += len(points)
        weight = min(1.0, len(points) / min(self.games, MEMORY))
        self.average += (float(points.mean()) - self.average) * weight


class OpponentPool:
    """Opponents by number; numbers stay valid while games against them are going on.

    `size` is the number of snapshots kept: a new one replaces the oldest. `sampling`: "prioritised"
    as above, "uniform", or "latest": the newest snapshot alone, the first of `fixed` before there
    is one.
    """

    def __init__(
        self, fixed: list[Agent], size: int, sampling: Sampling = "prioritised"
    ) -> None:
        self.members: dict[int, Member] = {
            number: Member(agent) for number, agent in enumerate(fixed)
        }
        self._fixed: Final = len(fixed)
        self._size: Final = size
        self._sampling: Final = sampling
        self._active: list[int] = list(self.members)
        self._next: int = len(fixed)

    def add_snapshot(self, agent: Agent, in_use: Ints) -> None:
        """Add a past self; `in_use` are the numbers of opponents in unfinished games."""
        self.members[self._next] = Member(agent)
        self._active.append(self._next)
        self._next += 1
        if len(self._active) > self._fixed + self._size:
            del self._active[self._fixed]
        for number in set(self.members) - set(self._active) - set(in_use.tolist()):
            del self.members[number]

    def active(self) -> list[Member]:
        """The opponents that new games are played against."""
        return [self.members[number] for number in self._active]

    def past_selves(self) -> dict[int, Agent]:
        """Snapshots by number, those among them that only unfinished games still need."""
        return {number: member.agent for number, member in self.members.items()
                if number >= self._fixed}

    def probabilities(self) -> npt.NDArray[np.float64]:
        """Probability of each active opponent to be drawn, shape (active,)."""
        weights = self._weights()
        probabilities: npt.NDArray[np.float64] = weights / weights.sum()
        return probabilities

    def _weights(self) -> npt.NDArray[np.float64]:
        """Weight of each active opponent, shape (active,)."""
        count = len(self._active)
        if self._sampling == "uniform":
            return np.ones(count)
        if self._sampling == "latest":
            newest = count - 1 if count > self._fixed else 0
            only: npt.NDArray[np.float64] = (np.arange(count) == newest).astype(np.float64)
            return only
        averages = np.array([member.average for member in self.active()])
        weights: npt.NDArray[np.float64] = np.maximum(averages * (1.0 - averages), LEAST_WEIGHT)
        return weights

    def sample(self, count: int, rng: np.random.Generator) -> Ints:
        """Numbers of opponents for new games, shape (count,)."""
        return rng.choice(np.array(self._active), size=count, p=self.probabilities())

    def table(self) -> list[dict[str, Any]]:
        """Name, games and average result of each active opponent, as plain values."""
        return [{"name": member.agent.name, "games": member.games, "average": member.average}
                for member in self.active()]

    def get_state(self) -> dict[str, Any]:
        """Who is in the pool and the results against each, as plain values without the agents."""
        return {
            "active": list(self._active),
            "next": self._next,
            "results": {number: [member.agent.name, member.games, member.average]
                        for number, member in self.members.items()},
        }

    def set_state(self, state: dict[str, Any], snapshots: dict[int, Agent]) -> None:
        """Take up what `get_state` gave, with the agents of its past selves by number."""
        fixed = {number: self.members[number].agent for number in range(self._fixed)}
        members = {
            number: Member((fixed | snapshots)[number], games, average)
            for number, (_, games, average) in state["results"].items()
        }
        active, following = list(state["active"]), state["next"]
        numbers = {*fixed, *active}
        if not numbers <= members.keys() or type(following) is not int or not all(
                number < following and type(member.games) is int and 0 <= member.average <= 1
                and isinstance(member.agent.name, str) for number, member in members.items()):
            raise OptionError(f"a pool with members {sorted(members)}, of whom {active} are active "
                              f"and the next is {following!r}; allowed: active members with "
                              "results, numbered below the next")
        self.members, self._active, self._next = members, active, following
