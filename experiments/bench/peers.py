"""Random play in other libraries, where they are installed, for `castle bench --peers`.

The games differ and so do their branching factors and lengths; what is compared is the same kind
of work: uniformly random legal moves, with as much seen at every ply as in our row beside it.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import numpy as np

from castle_env.errors import CastleError
from experiments.bench.measurements import GAMES, STEPS
from experiments.bench.runs import Measurement, Run, rate

INSTALL: Final = {"pgx": "pip install pgx jax", "open_spiel": "pip install open_spiel"}
PACKAGES: Final = ("pgx", "jax", "open_spiel")

BREAKTHROUGH: Final = "breakthrough(rows=6,columns=6)"
CONNECT_FOUR: Final = "connect_four"


class PeerMissingError(CastleError):
    """A library to compare with is not installed, or cannot be imported."""


def peer_versions() -> dict[str, str]:
    """Versions of those packages of the peers that are installed."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


@contextmanager
def one_core() -> Iterator[int | None]:
    """Keep this process, and those it starts meanwhile, on one core; gives its number.

    None, with nothing changed, where the system has no such call.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield None
        return
    allowed = os.sched_getaffinity(0)
    core = max(allowed)
    os.sched_setaffinity(0, {core})
    try:
        yield core
    finally:
        os.sched_setaffinity(0, allowed)


def _import(module: str, peer: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise PeerMissingError(
            f"{peer} is left out ({error}); to compare: {INSTALL[peer]}") from error


@contextmanager
def pgx_play(plies_per_call: int) -> Iterator[Run]:
    """Connect four on JAX, a batch of games that start anew when they end.

    Every ply makes observations, masks and rewards; `plies_per_call` of them run in one compiled
    loop. A move costs one random number per game, which is faster than `jax.random.categorical`.
    """
    # Read when JAX starts, and only then.
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false"
    os.environ |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags.strip()}
    jax, pgx = _import("jax", "pgx"), _import("pgx", "pgx")
    auto_reset = _import("pgx.experimental", "pgx").auto_reset
    env = pgx.make(CONNECT_FOUR)
    step = jax.vmap(auto_reset(env.step, env.init))

    def play_ply(carry: Any, _: None) -> tuple[Any, None]:
        states, key = carry
        key, choice, reset = jax.random.split(key, 3)
        counts = jax.numpy.cumsum(states.legal_action_mask, axis=1)
        chosen = (jax.random.uniform(choice, (GAMES,)) * counts[:, -1]).astype(int)
        actions = (counts <= chosen[:, None]).sum(axis=1)
        return (step(states, actions, jax.random.split(reset, GAMES)), key), None

    @jax.jit  # type: ignore[untyped-decorator]
    def play(carry: Any) -> Any:
        return jax.lax.scan(play_ply, carry, None, length=plies_per_call)[0]

    key = jax.random.PRNGKey(0)
    carry = jax.jit(jax.vmap(env.init))(jax.random.split(key, GAMES)), key

    def play_plies() -> int:
        nonlocal carry
        carry = jax.block_until_ready(play(carry))
        return GAMES * plies_per_call

    yield rate(play_plies)


@contextmanager
def open_spiel_play(game: str, tensor: bool) -> Iterator[Run]:
    """Games of OpenSpiel from Python: legal actions, then one applied.

    If `tensor`, each ply also makes the legal action mask and the observation tensor.
    """
    start = _import("pyspiel", "open_spiel").load_game(game).new_initial_state
    rng = np.random.default_rng(0)

    def play_game() -> int:
        state, plies = start(), 0
        while not state.is_terminal():
            if tensor:
                state.legal_actions_mask()
                state.observation_tensor()
            legal = state.legal_actions()
            state.apply_action(legal[int(rng.random() * len(legal))])
            plies += 1
        return plies

    yield rate(play_game)


PEERS: Final = {
    "pgx.connect_four.loop": Measurement("plies/s", partial(pgx_play, plies_per_call=STEPS)),
    "pgx.connect_four.step": Measurement("plies/s", partial(pgx_play, plies_per_call=1)),
    "open_spiel.breakthrough":
        Measurement("plies/s", partial(open_spiel_play, BREAKTHROUGH, tensor=False)),
    "open_spiel.connect_four":
        Measurement("plies/s", partial(open_spiel_play, CONNECT_FOUR, tensor=False)),
    "open_spiel.breakthrough.tensor":
        Measurement("plies/s", partial(open_spiel_play, BREAKTHROUGH, tensor=True)),
    "open_spiel.connect_four.tensor":
        Measurement("plies/s", partial(open_spiel_play, CONNECT_FOUR, tensor=True)),
}

# Our row, and those of others that do the same kind of work; the last is always measured with ours.
COMPARISONS: Final[Mapping[str, tuple[str, ...]]] = {
    "core.random_play.storm": ("pgx.connect_four.loop",),
    "game.storm": ("open_spiel.breakthrough", "open_spiel.connect_four"),
    "vector.storm": ("pgx.connect_four.step",),
    "vector.storm.threads2": ("vector.storm.large",),
    "gym.storm": ("open_spiel.breakthrough.tensor", "open_spiel.connect_four.tensor"),
    "aec.storm": ("open_spiel.breakthrough.tensor", "open_spiel.connect_four.tensor"),
    "ppo.storm.learner_steps": ("ppo.storm.learner_steps.sb3",),
    "ppo.storm.rollouts": ("ppo.storm.rollouts.sb3",),
}
