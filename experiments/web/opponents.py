"""Who may sit at the board: persons, and agents that read no files and have bounded budgets.

A page can ask for any name, so names are checked against a list before an agent is made of them.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from castle_env import (
    Agent,
    AgentError,
    CastleError,
    Game,
    Ruleset,
    agent_names,
    load_ruleset,
    make_agent,
)
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
    (r"(?:ppo|az)-(?:storm|sudden-death)",
     "ppo-storm, ppo-sudden-death, az-storm, az-sudden-death", 0),
    (r"(?:ppo|az)-(?:storm|sudden-death)\+search:([1-9][0-9]{0,4})",
     "these with +search:N, N up to 10000", 10_000),
)

# What the page offers, from weak to strong: how strong, in a word; a word on how it plays; the key
# of a ruleset that it is for (None: all).
_OFFERED: Final = (
    ("random", "Beginner", "any legal move", None),
    ("greedy", "Novice", "the most points at once", None),
    ("alphabeta:2", "Casual", "looks two turns ahead", None),
    ("mcts:200", "Casual", "tries 200 random games", None),
    ("az-sudden-death", "Club player", "a network trained by search", ("preset", "sudden-death")),
    ("alphabeta:4", "Club player", "looks four turns ahead", None),
    ("ppo-storm", "Club player", "a trained network", ("preset", "storm")),
    ("ppo-sudden-death", "Club player", "a trained network", ("preset", "sudden-death")),
    ("az-storm", "Strong", "a network trained by search", ("preset", "storm")),
    ("mcts:5000", "Strong", "tries 5,000 random games", None),
    ("alphabeta:6", "Strong", "looks six turns ahead", None),
    ("alphabeta:1000ms", "Strong", "looks as far as a second allows", None),
    ("ppo-storm+search:200", "Strong", "a network that looks ahead", ("preset", "storm")),
    ("ppo-sudden-death+search:200", "Strong", "a network that looks ahead",
     ("preset", "sudden-death")),
    ("az-storm+search:200", "Strong", "a network that looks ahead", ("preset", "storm")),
    ("exact", "Perfect", "no better move exists", ("mode", STORM)),
    ("exact:hardest", "Perfect", "and sets traps", ("mode", STORM)),
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
        """Agents to choose from, weak ones first: name, level and a word on it."""
        installed, listed = set(agent_names()), {name for name, *_ in _OFFERED}
        return [{"name": name, "level": level, "about": about}
                for name, level, about, _ in _OFFERED
                if re.split("[:+]", name)[0] in installed] + [
                {"name": name, "level": "", "about": "from the command line"}
                for name in self._extra if name not in listed]

    def fitting(self, rules: Ruleset) -> list[str]:
        """Names of the offered agents that can play a ruleset."""
        only = {name: key for name, _, _, key in _OFFERED}
        return [agent["name"] for agent in self.offered() if _fits(only.get(agent["name"]), rules)]


def _fits(only: tuple[str, str] | None, rules: Ruleset) -> bool:
    if only is None:
        return True
    key, value = only
    return rules.mode == value if key == "mode" else rules.digest == _digest(value)


@lru_cache
def _digest(preset: str) -> str:
    return load_ruleset(preset).digest


def agent_for(name: str, rules: Ruleset) -> Agent:
    """An agent that this thread may use for one move; raises `AgentError`."""
    return _shared_agent(name, rules) or make_agent(name, Game(rules))


def check_seat(name: str, rules: Ruleset) -> None:
    """Make an agent for a ruleset; raises `AgentError` that names no files of this machine."""
    try:
        agent_for(name, rules)
    except AgentError:
        raise
    except CastleError:
        raise AgentError(f"{name!r} cannot play the rules {rules.name!r}, for which it was not "
                         "made; allowed: an agent that fits them") from None


@lru_cache(maxsize=32)
def _shared_agent(name: str, rules: Ruleset) -> Agent | None:
    """The agent of that name, made once; None unless it is one that threads may share."""
    agent = make_agent(name, Game(rules))
    return agent if agent.thread_safe else None
