"""Agents that choose moves, and their training; `make_agent("alphabeta:4", game)` makes one."""

from castle_env.agent import make_agent

__all__ = ["make_agent"]
