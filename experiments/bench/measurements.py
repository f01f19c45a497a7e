"""What `castle bench` measures: a table of named measurements, a line for each."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, TypeAlias

import gymnasium
import numpy as np

from agents.solve.perfect_play import PerfectPlay
from agents.solve.storm_solver import Solver
from agents.solve.sudden_death_solver import SuddenDeathSolver
from castle_env import Game, Ruleset, castle_v1, load_ruleset
from castle_env.batch import random_playouts
from experiments.commands.dataset import FIRST_PLY
from experiments.web.crowd import play_crowd

if TYPE_CHECKING:
    from sb3_contrib import MaskablePPO

# One counted run: of at least so many seconds, where more work makes it longer; gives its value.
Run: TypeAlias = Callable[[float], float]

# Games at once where they are played in batches, and the steps taken between looks at the clock.
GAMES: Final = 1024
WEB_GAMES: Final = 50
# Positions of each ply of which all moves are valued.
VALUED: Final = 8
STEPS: Final = 100

# Bytes of the table for small solves, which would spend their time on clearing a larger one.
SMALL_TABLE: Final = 1 << 24

WARM_UP_SECONDS: Final = 0.1

# PyTorch's threads while training is measured, or fewer where there are fewer cores.
TRAINING_THREADS: Final = 2
# Random plies before the positions that a network looks at.
NETWORK_PLIES: Final = 6
# What SB3's examples train on: so many single games, each in an environment of its own.
PLAIN_ENVS: Final = 8

# Programs for a process of their own; each prints a number.
IMPORT: Final = """
import time
start = time.perf_counter()
import castle_env
print(time.perf_counter() - start)
"""
FIRST_STEP: Final = """
import time
import gymnasium
import castle_env
start = time.perf_counter()
env = gymnasium.make("castle_env/Storm-v1")
_, info = env.reset(seed=0)
env.step(info["action_mask"].argmax())
print(time.perf_counter() - start)
"""
SERVER: Final = "from experiments.web import serve; serve(port=0, open_browser=False)"
PEAK_MEMORY: Final = """
import sys
from experiments.bench.measurements import peak_megabytes, training
with training(sys.argv[1]) as run:
    run(0)
print(peak_megabytes())
"""
ONE_THREAD: Final = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Measurement:
    """One row: `prepare` opens a context with all made ready and warm, in which runs are taken.

    `threads` are the most that it uses; there may be fewer cores.
    """

    unit: str
    prepare: Callable[[], AbstractContextManager[Run]]
    threads: int = 1


def rate(block: Callable[[], int]) -> Run:
    """Runs that repeat `block`, which tells how many things it did; their value is things/s.

    It has been called before this returns, so that what it needs is compiled.
    """
    def run(seconds: float) -> float:
        done, passed, start = 0, 0.0, time.perf_counter()
        while not done or passed < seconds:
            done += block()
            passed = time.perf_counter() - start
        return done / passed

    block()
    run(WARM_UP_SECONDS)
    return run


@contextmanager
def core_play(preset: str) -> Iterator[Run]:
    """Random games from the start in the compiled core, a batch in one call."""
    game = Game(load_ruleset(preset))
    states = game.initial_states(GAMES)
    ends = np.empty_like(states)
    rng = np.random.default_rng(0)

    def play_games() -> int:
        seeds = rng.integers(np.iinfo(np.int64).max, size=GAMES)
        return random_playouts(game.table, states, seeds, ends)

    yield rate(play_games)


@contextmanager
def game_play(preset: str) -> Iterator[Run]:
    """Random games through `Game`, one position at a time: legal actions, then one applied."""
    game = Game(load_ruleset(preset))
    rng = np.random.default_rng(0)

    def play_game() -> int:
        state = game.initial_state()
        while not game.is_terminal(state):
            legal = game.legal_actions(state)
            state = game.apply(state, legal[int(rng.random() * len(legal))])
        return state.ply

    yield rate(play_game)


@contextmanager
def vector_play(env_id: str, num_threads: int = 1) -> Iterator[Run]:
    """Random self-play in the batched environment: observations, masks, rewards, autoreset."""
    env = gymnasium.make_vec(env_id, num_envs=GAMES, opponent=None, num_threads=num_threads)
    env.reset(seed=0)
    env.action_space.seed(0)
    ended = np.zeros(GAMES, dtype=np.bool_)

    def take_steps() -> int:
        nonlocal ended
        plies = 0
        for _ in range(STEPS):
            # The step after a game's end starts the next one and plays no ply.
            plies += GAMES - int(np.count_nonzero(ended))
            _, _, ended, _, _ = env.step(env.action_space.sample())
        return plies

    with closing(env):
        yield rate(take_steps)


@contextmanager
def gym_play(env_id: str) -> Iterator[Run]:
    """A random learner against the random agent, in the wrappers that `gymnasium.make` puts on."""
    env = gymnasium.make(env_id, opponent="random")
    env.reset(seed=0)
    rng = np.random.default_rng(0)

    def play_game() -> int:
        _, info = env.reset()
        steps, over = 0, False
        while not over:
            legal = info["action_mask"].nonzero()[0]
            _, _, over, _, info = env.step(legal[int(rng.random() * len(legal))])
            steps += 1
        return steps

    with closing(env):
        yield rate(play_game)


@contextmanager
def aec_play(mode: str) -> Iterator[Run]:
    """Random games in PettingZoo's turn-by-turn loop; each player's last, empty step is no ply."""
    env = castle_v1.env(mode=mode)
    env.reset(seed=0)
    rng = np.random.default_rng(0)

    def play_game() -> int:
        env.reset()
        plies = 0
        for _ in env.agent_iter():
            observation, _, over, _, _ = env.last()
            if over:
                env.step(None)
                continue
            legal = observation["action_mask"].nonzero()[0]
            env.step(legal[int(rng.random() * len(legal))])
            plies += 1
        return plies

    with closing(env):
        yield rate(play_game)


@contextmanager
def solver_nodes() -> Iterator[Run]:
    """Positions visited per second while storm with six factions each is solved from the start."""
    game = _small_storm(6)

    def solve() -> int:
        solver = Solver(game, SMALL_TABLE)
        solver.solve(game.initial_state())
        return solver.nodes

    yield rate(solve)


@contextmanager
def sudden_death_nodes() -> Iterator[Run]:
    """Positions visited per second in bounds of sudden death with seven factions each, 14 plies."""
    game = Game(Ruleset.from_dict({"mode": "sudden_death", "factions_per_player": 7}))

    def bound() -> int:
        solver = SuddenDeathSolver(game, SMALL_TABLE)
        solver.solve(game.initial_state(), 14)
        return solver.nodes

    yield rate(bound)


@contextmanager
def solver_solve(preset: str) -> Iterator[Run]:
    """Seconds to prove the value of the empty board, with an empty table of the default size."""
    game, small = Game(load_ruleset(preset)), _small_storm(3)
    Solver(small, SMALL_TABLE).solve(small.initial_state())

    def run(_: float) -> float:
        start = time.perf_counter()
        Solver(game).solve(game.initial_state())
        return time.perf_counter() - start

    yield run


@contextmanager
def dataset_values(preset: str) -> Iterator[Run]:
    """Positions with the exact values of all their moves, as many of each ply from 9 on."""
    game = Game(load_ruleset(preset))
    play, rng = PerfectPlay(game), np.random.default_rng(0)
    states, batches = game.initial_states(VALUED), []
    for ply in range(game.rules.max_plies):
        if ply >= FIRST_PLY:
            batches.append(states)
        states = game.apply_actions(states, game.random_actions(states, rng))
    positions = np.concatenate(batches)

    def value_all() -> int:
        play.values_of_moves(positions)
        return len(positions)

    yield rate(value_all)


@contextmanager
def training(preset: str) -> Iterator[Run]:
    """The learner's decisions in whole iterations, rollout and update, of `castle train`.

    The config is the preset "standard". A pool, where there is one, is full as in mid-run.
    """
    from stable_baselines3.common.logger import Logger

    from agents.training.config import PRESETS
    from agents.training.ppo import PPOLearner

    learner = PPOLearner(Game(load_ruleset(preset)), PRESETS["standard"])
    learner.model.set_logger(Logger(None, []))
    for _ in range(learner.config.pool_size if learner.pool else 0):
        learner.add_snapshot()
    with _training_threads():
        yield rate(partial(_learn, learner.model))


@contextmanager
def plain_training(n_steps: int) -> Iterator[Run]:
    """The same network and settings in plain MaskablePPO on a few games against random in storm.

    `n_steps` are the decisions in each of the games between two updates.
    """
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.logger import Logger

    from agents.networks.network import build_network
    from agents.networks.sb3_policy import NetworkPolicy
    from agents.training.config import PRESETS

    config, game = PRESETS["standard"], Game(load_ruleset("storm"))
    envs = make_vec_env("castle_env/Storm-v1", PLAIN_ENVS, seed=0)
    model = MaskablePPO(
        NetworkPolicy, envs, n_steps=n_steps, seed=0, batch_size=config.batch_size,
        n_epochs=config.n_epochs, learning_rate=config.learning_rate, gamma=config.gamma,
        gae_lambda=config.gae_lambda, ent_coef=config.ent_coef, vf_coef=config.vf_coef,
        policy_kwargs={"make_network": partial(build_network, game, config.network_config)})
    model.set_logger(Logger(None, []))
    with closing(envs), _training_threads():
        yield rate(partial(_learn, model))


@contextmanager
def expert_self_play(preset: str) -> Iterator[Run]:
    """Positions searched or solved in the self-play of `castle train --algorithm az`.

    The config is the preset "standard"; the network has learned nothing.
    """
    from agents.training.az.learner import AZLearner
    from agents.training.config import AZ_PRESETS

    learner = AZLearner(Game(load_ruleset(preset)), AZ_PRESETS["standard"])

    def play_ply() -> int:
        learner.selfplay.play(1)
        return learner.config.num_envs

    with _training_threads():
        yield rate(play_ply)


@contextmanager
def network_evaluations(preset: str) -> Iterator[Run]:
    """Positions that the network of the preset "standard" looks at, a batch in one call."""
    from agents.networks.network import build_network
    from agents.networks.policy import Policy
    from agents.training.config import PRESETS

    game = Game(load_ruleset(preset))
    policy = Policy(game, build_network(game, PRESETS["standard"].network_config), "margin")
    states, rng = game.initial_states(GAMES), np.random.default_rng(0)
    for _ in range(NETWORK_PLIES):
        states = game.apply_actions(states, game.random_actions(states, rng))

    def evaluate() -> int:
        policy.look_at(states)
        return len(states)

    with _training_threads():
        yield rate(evaluate)


def _learn(model: "MaskablePPO") -> int:
    """One rollout and the update that follows; the number of decisions in it."""
    decisions: int = model.n_steps * model.n_envs
    model.learn(decisions, reset_num_timesteps=False)
    return decisions


@contextmanager
def _training_threads() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(usable_threads(TRAINING_THREADS))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def usable_threads(most: int) -> int:
    """`most`, or the number of cores that this process may use if that is less."""
    cores = (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity")
             else os.cpu_count() or 1)
    return min(most, cores)


@contextmanager
def training_memory(preset: str) -> Iterator[Run]:
    """Most memory that a process of its own takes for three iterations of `training`, in MB."""
    yield lambda _: _number_of(PEAK_MEMORY, preset)


def peak_megabytes() -> float:
    """Most memory that this process has taken so far.

    Where the system has /proc, not from `getrusage`: there a process starts with what the one that
    started it has taken.
    """
    status = Path("/proc/self/status")
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(fields["VmHWM"].split()[0]) * 1024 / 1e6
    from resource import RUSAGE_SELF, getrusage

    return getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


@contextmanager
def package_import() -> Iterator[Run]:
    """`import castle_env` in a new process, with its byte code compiled."""
    def run(_: float) -> float:
        return _number_of(IMPORT)

    run(0)
    yield run


@contextmanager
def first_step(warm: bool) -> Iterator[Run]:
    """From `gymnasium.make` to the end of the first step, in a new process.

    With an empty cache of compiled code, or a `warm` one that has been filled by the same program.
    """
    with TemporaryDirectory(prefix="castle-bench-") as folder:
        empty = (Path(folder) / str(number) for number in range(sys.maxsize))

        def run(_: float) -> float:
            return _number_of(FIRST_STEP, NUMBA_CACHE_DIR=folder if warm else str(next(empty)))

        if warm:
            run(0)
        yield run


@contextmanager
def web_moves() -> Iterator[Run]:
    """A person's moves against random over HTTP, each with its answer, many games at once.

    The server runs in a process of its own.
    """
    seeds = count(step=WEB_GAMES)
    with subprocess.Popen([sys.executable, "-P", "-c", SERVER], text=True, stdout=subprocess.PIPE,
                          env=os.environ | ONE_THREAD) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().split()[2]
            yield rate(lambda: play_crowd(url, WEB_GAMES, next(seeds)))
        finally:
            server.kill()


def _small_storm(factions: int) -> Game:
    return Game(Ruleset.from_dict({"mode": "storm", "factions_per_player": factions}))


def _number_of(program: str, *arguments: str, **environment: str) -> float:
    """The number that a Python program prints in a process of its own, with one thread."""
    done = subprocess.run([sys.executable, "-P", "-c", program, *arguments], check=True, text=True,
                          stdout=subprocess.PIPE, env=os.environ | ONE_THREAD | environment)
    return float(done.stdout)


MEASUREMENTS: Final = {
    "core.random_play.storm": Measurement("plies/s", partial(core_play, "storm")),
    "core.random_play.sudden_death": Measurement("plies/s", partial(core_play, "sudden-death")),
    "game.storm": Measurement("plies/s", partial(game_play, "storm")),
    "vector.storm": Measurement("plies/s", partial(vector_play, "castle_env/Storm-v1")),
    "vector.storm.threads2":
        Measurement("plies/s", partial(vector_play, "castle_env/Storm-v1", 2), 2),
    "vector.sudden_death":
        Measurement("plies/s", partial(vector_play, "castle_env/SuddenDeath-v1")),
    "gym.storm": Measurement("learner steps/s", partial(gym_play, "castle_env/Storm-v1")),
    "aec.storm": Measurement("plies/s", partial(aec_play, "storm")),
    "solver.storm.nodes": Measurement("nodes/s", solver_nodes),
    "solver.sudden_death.nodes": Measurement("nodes/s", sudden_death_nodes),
    "solver.storm.solve": Measurement("s", partial(solver_solve, "storm")),
    "dataset.storm": Measurement("positions/s", partial(dataset_values, "storm")),
    "az.storm.positions":
        Measurement("positions/s", partial(expert_self_play, "storm"), TRAINING_THREADS),
    "network.storm":
        Measurement("evaluations/s", partial(network_evaluations, "storm"), TRAINING_THREADS),
    "ppo.storm.learner_steps":
        Measurement("steps/s", partial(training, "storm"), TRAINING_THREADS),
    "ppo.storm.learner_steps.sb3":
        Measurement("steps/s", partial(plain_training, 2048), TRAINING_THREADS),
    "ppo.sudden_death.learner_steps":
        Measurement("steps/s", partial(training, "sudden-death"), TRAINING_THREADS),
    "ppo.storm.peak_memory":
        Measurement("MB", partial(training_memory, "storm"), TRAINING_THREADS),
    "ppo.sudden_death.peak_memory":
        Measurement("MB", partial(training_memory, "sudden-death"), TRAINING_THREADS),
    "web.moves": Measurement("moves/s", web_moves),
    "import.castle_env": Measurement("s", package_import),
    "first_step.cold": Measurement("s", partial(first_step, warm=False)),
    "first_step.warm": Measurement("s", partial(first_step, warm=True)),
}
