"""Who may sit at the board: persons, and agents that read no files and have bounded budgets.

A page can ask for any name, so names are checked against a list before an agent is made of them.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from castle_env import Agent, AgentError, CastleError, Game, Ruleset, agent_names, make_agent
from castle_env.ruleset import STORM
from experiments.play.game_in_play import HUMAN

# Name as a pattern, how it is told in errors, and the largest number it may hold.
_CHECKED: Final = (
    (r"random", "random", 0),
    (r"greedy", "greedy", 0),
    (r"alphabeta:([1-9][0-9]?)", "alphabeta:D with D up to 6", 6),
    (r"alphabeta:(?:[1-9][0-9]?:)?([1-9][0-9]{0,6})ms", "alphabeta:Tms with T up to 10000", 10_000),
    (r"alphabeta:(?:[1-9][0-9]?:)?nodes=([1-9][0-9]{0,8})",
     "alphabeta:nodes=N with N up to 10000000", 10_000_000),
    (r"mcts:([1-9][0-9]{0,7})", "mcts:N with N up to 100000", 100_000),
    (r"exact(?::hardest)?", "exact", 0),
    (r"ppo-(?:storm|sudden-death)", "ppo-storm, ppo-sudden-death", 0),
    (r"ppo-(?:storm|sudden-death)\+search:([1-9][0-9]{0,4})",
     "both with +search:N, N up to 10000", 10_000),
)

# What the page offers, with a word on each and the key of a ruleset that it is for (None: all).
_OFFERED: Final = (
    ("random", "any legal move", None),
    ("greedy", "the best margin at once", None),
    ("alphabeta:2", "two plies ahead", None),
    ("alphabeta:4", "four plies ahead", None),
    ("alphabeta:6", "six plies ahead", None),
    ("alphabeta:1000ms", "as deep as a second allows", None),
    ("mcts:200", "200 random playouts", None),
    ("mcts:5000", "5,000 random playouts", None),
    ("exact", "perfect play", ("mode", STORM)),
    ("exact:hardest", "perfect play with traps", ("mode", STORM)),
    ("ppo-storm", "a trained network", ("name", "storm")),
    ("ppo-storm+search:200", "the network looks ahead", ("name", "storm")),
    ("ppo-sudden-death", "a trained network", ("name", "sudden-death")),
    ("ppo-sudden-death+search:200", "the network looks ahead", ("name", "sudden-death")),
)


class Opponents:
    """The check of seats; `extra` are names that the command line allows besides."""

    def __init__(self, extra: Iterable[str] = ()) -> None:
        self._extra: Final = tuple(name for name in dict.fromkeys(extra) if name != HUMAN)

    def check(self, name: str) -> str:
        """The name of a seat, if it is allowed; raises `AgentError`."""
        if name == HUMAN or name in self._extra:
            return name
        for pattern, _, most in _CHECKED:
            match = re.fullmatch(pattern, name, re.ASCII)
            if match and (not most or int(match[1]) <= most):
                return name
        allowed = ", ".join([HUMAN, *(told for _, told, _ in _CHECKED), *self._extra])
        raise AgentError(f"no player {name!r}; allowed here: {allowed}")

    def is_agent(self, name: str, rules: Ruleset) -> bool:
        """Whether a name is that of an agent that may sit here and plays by these rules."""
        if name == HUMAN:
            return False
        try:
            self.check(name)
            agent_for(name, rules)
        except CastleError:
            return False
        return True

    def pair(self, names: list[str]) -> tuple[str, str]:
        """Both seats, if they are allowed; raises `AgentError`."""
        first, second = names
        return self.check(first), self.check(second)

    def offered(self) -> list[dict[str, Any]]:
        """Agents to choose from: name, a word on it, the rules it is only for as [key, value]."""
        installed, listed = set(agent_names()), {name for name, _, _ in _OFFERED}
        return [{"name": name, "about": about, "only": only} for name, about, only in _OFFERED
                if re.split("[:+]", name)[0] in installed] + [
                {"name": name, "about": "from the command line", "only": None}
                for name in self._extra if name not in listed]


def agent_for(name: str, rules: Ruleset) -> Agent:
    """An agent that this thread may use for one move; raises `AgentError`."""
    return _shared_agent(name, rules) or make_agent(name, Game(rules))


@lru_cache(maxsize=32)
def _shared_agent(name: str, rules: Ruleset) -> Agent | None:
    """The agent of that name, made once; None unless it is one that threads may share."""
    agent = make_agent(name, Game(rules))
    return agent if agent.thread_safe else None
