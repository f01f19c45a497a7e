"""What `castle bench` measures: a table of named measurements, a line for each."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import gymnasium
import numpy as np

from agents.solve.perfect_play import PerfectPlay
from agents.solve.storm_solver import Solver
from agents.solve.sudden_death_solver import SuddenDeathSolver
from castle_env import Game, Ruleset, castle_v1, load_ruleset
from castle_env.batch import random_playouts
from experiments.bench.learning import (
    TRAINING_THREADS,
    expert_self_play,
    network_evaluations,
    plain_training,
    training,
    training_memory,
)
from experiments.bench.runs import ONE_THREAD, Measurement, Run, number_of, rate
from experiments.commands.dataset import FIRST_PLY
from experiments.web.crowd import play_crowd

# Games at once where they are played in batches, and the steps taken between looks at the clock.
GAMES: Final = 1024
# As many as two threads pay for: what one of them does alone, in Python, is then a small part.
LARGE_BATCH: Final = 4096
WEB_GAMES: Final = 50
# Positions of each ply of which all moves are valued.
VALUED: Final = 8
STEPS: Final = 100

# Bytes of the table for small solves, which would spend their time on clearing a larger one.
SMALL_TABLE: Final = 1 << 24

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
def vector_play(env_id: str, games: int = GAMES, num_threads: int = 1) -> Iterator[Run]:
    """Random self-play in the batched environment: observations, masks, rewards, autoreset."""
    env = gymnasium.make_vec(env_id, num_envs=games, opponent=None, num_threads=num_threads)
    env.reset(seed=0)
    env.action_space.seed(0)
    ended = np.zeros(games, dtype=np.bool_)

    def take_steps() -> int:
        nonlocal ended
        plies = 0
        for _ in range(STEPS):
            # The step after a game's end starts the next one and plays no ply.
            plies += games - int(np.count_nonzero(ended))
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
def package_import() -> Iterator[Run]:
    """`import castle_env` in a new process, with its byte code compiled."""
    def run(_: float) -> float:
        return number_of(IMPORT)

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
            return number_of(FIRST_STEP, NUMBA_CACHE_DIR=folder if warm else str(next(empty)))

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


MEASUREMENTS: Final = {
    "core.random_play.storm": Measurement("plies/s", partial(core_play, "storm")),
    "core.random_play.sudden_death": Measurement("plies/s", partial(core_play, "sudden-death")),
    "game.storm": Measurement("plies/s", partial(game_play, "storm")),
    "vector.storm": Measurement("plies/s", partial(vector_play, "castle_env/Storm-v1")),
    "vector.storm.large":
        Measurement("plies/s", partial(vector_play, "castle_env/Storm-v1", LARGE_BATCH)),
    "vector.storm.threads2":
        Measurement("plies/s", partial(vector_play, "castle_env/Storm-v1", LARGE_BATCH, 2), 2),
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
    "ppo.storm.rollouts":
        Measurement("steps/s", partial(training, "storm", updates=False), TRAINING_THREADS),
    "ppo.storm.rollouts.sb3":
        Measurement("steps/s", partial(plain_training, 2048, updates=False), TRAINING_THREADS),
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
