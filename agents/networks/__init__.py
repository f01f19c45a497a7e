"""Policy networks: what they are made of, their files, and the agents that play by them.

A forked process inherits PyTorch without the threads that PyTorch had started, and hangs as soon
as it waits for one of them. Processes that are forked where this package is imported, and worker
processes in which it is imported, therefore compute on one thread unless they ask for more.
"""

import multiprocessing
import os
import sys

from agents.networks.policy import Policy, load_policy

__all__ = ["Policy", "load_policy"]


def _use_one_thread() -> None:
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_use_one_thread)
if multiprocessing.parent_process() is not None:
    _use_one_thread()
