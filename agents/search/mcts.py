"""`mcts:N`: N simulations of UCT (Kocsis and Szepesvari 2006) with random playouts."""

import math
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.arguments import positive_integer
from agents.search.compiled_agent import CompiledAgent
from agents.search.moves import PASS_CODE, action_of_code, play_code
from agents.seeds import below, derived
from castle_env.agent import Agent
from castle_env.batch import load, random_playout
from castle_env.compiled import kernel
from castle_env.game import Game
from castle_env.kernels import (
    KINDS,
    Rules,
    RuleTable,
    count_moves,
    is_over,
    legal_moves,
    mover_margin,
    nth_move,
    square_of,
)
from castle_env.position import Position, PositionArray

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MAX_SIMULATIONS: Final = 1_000_000
# Measured against alphabeta:3 and alphabeta:4 in both modes: 0.2 to 0.45 are about equal.
EXPLORATION: Final = 0.3
NONE: Final = -1


class Tree(NamedTuple):
    """Nodes of a search tree; the root is node 0, and every simulation adds at most one.

    untried: (nodes, KINDS) int64, the moves that have no child yet, as bitboards. The others have
    shape (nodes,), `total` float64 and the rest int64. waiting: the number of those moves; 1 where
    only the pass is left, with empty bitboards. code: the move that leads to the node. parent,
    child, sibling: nodes or NONE; child is the newest one, sibling the next older. visits, total:
    number and sum of the playouts' values for the player who moved to the node.
    """

    untried: Ints
    waiting: Ints
    code: Ints
    parent: Ints
    child: Ints
    sibling: Ints
    visits: Ints
    total: Floats


@kernel
def new_tree(nodes: int) -> Tree:
    """Memory for a tree."""
    return Tree(np.empty((nodes, KINDS), dtype=np.int64), np.empty(nodes, dtype=np.int64),
                np.empty(nodes, dtype=np.int64), np.empty(nodes, dtype=np.int64),
                np.empty(nodes, dtype=np.int64), np.empty(nodes, dtype=np.int64),
                np.empty(nodes, dtype=np.int64), np.empty(nodes, dtype=np.float64))


@kernel
def write_node(
    rules: Rules, tree: Tree, node: int, position: Position, parent: int, code: int
) -> None:
    """Make a fresh node, without visits, of the position that a move from `parent` leads to."""
    tree.code[node], tree.parent[node] = code, parent
    tree.child[node], tree.sibling[node] = NONE, NONE
    if parent != NONE:
        tree.sibling[node], tree.child[parent] = tree.child[parent], node
    tree.visits[node], tree.total[node], tree.waiting[node] = 0, 0.0, 0
    if is_over(rules, position):
        return
    moves = legal_moves(rules, position)
    for kind in range(KINDS):
        tree.untried[node, kind] = moves[kind]
    tree.waiting[node] = max(1, count_moves(moves))


@kernel
def take_untried(tree: Tree, node: int, seed: int) -> int:
    """Code of a random move without a child, which is no longer untried."""
    row = tree.untried[node]
    moves = row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]
    number = below(seed, tree.waiting[node])
    tree.waiting[node] -= 1
    if count_moves(moves) == 0:
        return PASS_CODE
    kind, bit = nth_move(moves, number)
    row[kind] &= ~bit
    return kind << 6 | square_of(bit)


@kernel
def best_child(tree: Tree, node: int) -> int:
    """The child with the largest upper confidence bound for the player to move at `node`."""
    spread = EXPLORATION * math.sqrt(math.log(tree.visits[node]))
    best, best_bound = NONE, -math.inf
    child = tree.child[node]
    while child != NONE:
        visits = tree.visits[child]
        bound = tree.total[child] / visits + spread / math.sqrt(visits)
        if bound > best_bound:
            best, best_bound = child, bound
        child = tree.sibling[child]
    return best


@kernel
def playout_value(rules: Rules, position: Position, seed: int) -> float:
    """What a random end of the game is worth to the mover.

    That is margin / (10 + |margin|), between -1 and 1. Where the game is over already a won margin
    counts 1 more and a lost one 1 less, so that a win in hand outweighs every promise of playouts.
    """
    end = random_playout(rules, position, seed)
    plies = end.ply - position.ply
    margin = -mover_margin(rules, end) if plies & 1 else mover_margin(rules, end)
    value = margin / (10.0 + abs(margin))
    if plies == 0 and margin != 0:
        value += 1.0 if margin > 0 else -1.0
    return value


@kernel
def simulate(rules: Rules, tree: Tree, size: int, position: Position, seed: int) -> int:
    """One simulation from the root, where `position` stands; the number of nodes after it.

    Every ply of a path, passes too, is a ply of the game, so cycles of positions end.
    """
    node = 0
    while tree.waiting[node] == 0 and tree.child[node] != NONE:
        node = best_child(tree, node)
        position = play_code(rules, position, tree.code[node])
    if tree.waiting[node]:
        code = take_untried(tree, node, derived(seed, 0))
        position = play_code(rules, position, code)
        write_node(rules, tree, size, position, node, code)
        node = size
        size += 1
    value = playout_value(rules, position, derived(seed, 1))
    while node != NONE:
        value = -value
        tree.visits[node] += 1
        tree.total[node] += value
        node = tree.parent[node]
    return size


@kernel
def grow(rules: Rules, tree: Tree, position: Position, simulations: int, seed: int) -> None:
    """Write a new tree of that many simulations from a position; `tree` holds one node more."""
    write_node(rules, tree, 0, position, NONE, PASS_CODE)
    size = 1
    for number in range(simulations):
        size = simulate(rules, tree, size, position, derived(seed, number))


@kernel
def most_visited(tree: Tree) -> int:
    """The root's child with the most visits, among equals the one with the best total.

    It is the root itself, whose code is `PASS_CODE`, when the game is over there.
    """
    best: int = max(tree.child[0], 0)
    child = tree.sibling[best]
    while child != NONE:
        ahead = tree.visits[child] - tree.visits[best]
        if ahead > 0 or (ahead == 0 and tree.total[child] > tree.total[best]):
            best = child
        child = tree.sibling[child]
    return best


@kernel
def choose_by_playouts(
    table: RuleTable, simulations: int, states: PositionArray, seeds: Ints, out_actions: Ints
) -> None:
    """The most visited action after that many simulations for each position."""
    tree = new_tree(simulations + 1)
    for index in range(len(states)):
        grow(table[0], tree, load(states, index), simulations, seeds[index])
        out_actions[index] = action_of_code(tree.code[most_visited(tree)])


def make(arguments: str, game: Game) -> Agent:
    """The agent that runs as many simulations for each move as its argument says."""
    simulations = positive_integer("mcts", arguments, MAX_SIMULATIONS)
    choose = partial(choose_by_playouts, game.table, simulations)
    return CompiledAgent(f"mcts:{simulations}", choose)
