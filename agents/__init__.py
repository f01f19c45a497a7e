"""Whoever chooses moves; `make_agent("alphabeta:4", game)` makes any of them by name."""

from castle_env.agent import make_agent

__all__ = ["make_agent"]
