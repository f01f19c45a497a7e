"""OpenSpiel: its algorithms on our games, which `castle_env.openspiel_game` registers.

    pip install -e '.[openspiel]'
    python examples/openspiel_game.py --games 10
"""

import numpy as np
import pyspiel
import tyro
from open_spiel.python.algorithms.cfr import CFRSolver
from open_spiel.python.algorithms.evaluate_bots import evaluate_bots
from open_spiel.python.algorithms.exploitability import exploitability
from open_spiel.python.algorithms.generate_playthrough import playthrough
from open_spiel.python.algorithms.mcts import MCTSBot, RandomRolloutEvaluator
from open_spiel.python.bots.uniform_random import UniformRandomBot
from open_spiel.python.policy import UniformRandomPolicy

from castle_env.openspiel_game import NAME

SMALL = f"{NAME}(factions_per_player=1)"


def main(games: int = 4, simulations: int = 30, iterations: int = 10, seed: int = 1) -> None:
    """Play Sudden Death by MCTS against random, and solve storm with one faction each by CFR."""
    rng = np.random.RandomState(seed)
    game = pyspiel.load_game(f"{NAME}(ruleset=sudden-death)")
    points = 0.0
    for number in range(games):
        seat = number % 2
        bots = [UniformRandomBot(1 - seat, rng)] * 2
        bots[seat] = MCTSBot(game, 2.0, simulations, RandomRolloutEvaluator(1, rng),
                             random_state=rng)
        points += (evaluate_bots(game.new_initial_state(), bots, rng)[seat] + 1) / 2
    print(f"MCTS has {points} points of {games} games against random")

    small = pyspiel.load_game(SMALL)
    print(f"exploitability of random: {exploitability(small, UniformRandomPolicy(small)):.3f}")
    solver = CFRSolver(small)
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
    print(f"exploitability after CFR: {exploitability(small, solver.average_policy()):.3f}")
    print(playthrough(SMALL, None, seed=seed).splitlines()[-1])


if __name__ == "__main__":
    tyro.cli(main)
