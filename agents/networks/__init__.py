"""Policy networks: what they are made of, their files, and the agents that play by them."""

from agents.networks.policy import Policy, load_policy

__all__ = ["Policy", "load_policy"]
