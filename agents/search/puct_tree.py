"""Trees of PUCT for many positions at once: flat arrays, searched in lock-step by compiled loops.

One step of a search has two halves, between which a network looks at all new leaves together:

    gather   walk from each root to leaves; those whose exact value is known get it at once: games
             that are over, and positions near the turn limit (see `agents.search.endgame`)
    expand   give the other leaves children with priors, and send their values up to the root

A child is chosen by its mean value plus exploration x prior x sqrt(N) / (1 + n), where N and n
count visits of parent and child: PUCT as in AlphaGo Zero (Silver et al. 2017), to which AlphaZero's
formula (Silver et al. 2018) comes down in searches far below its c_base of 19,652. A child without
visits has the parent's mean value less reduction x sqrt(sum of the priors of visited siblings), the
first-play urgency of Leela Chess Zero.
"""

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.search.alphabeta import Workspace, workspace
from agents.search.endgame import exact_margin, plies_left
from agents.search.moves import MAX_MOVES, PASS_CODE, action_of_code, list_codes, play_code
from agents.seeds import below, derived
from castle_env.batch import load, store
from castle_env.compiled import kernel
from castle_env.kernels import Rules, RuleTable, is_over, mover_margin
from castle_env.position import Position, PositionArray

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

NONE: Final = -1
# Leaves that one tree has waiting for the network: one more for each so many visits of the root, so
# that small trees, in which each visit counts, grow as if leaves came one by one.
VISITS_PER_LEAF: Final = 16
MAX_LEAVES: Final = 16

# Values are those of the player who moved into the node. `children` is NONE until the node is
# expanded, and 0 where the value is known exactly; they stand side by side from `first` on, the
# largest prior first. `pending` counts leaves below that wait for the network.
NODE_DTYPE: Final = np.dtype([
    ("parent", np.int32),
    ("first", np.int32),
    ("children", np.int32),
    ("code", np.int32),
    ("visits", np.int32),
    ("pending", np.int32),
    ("prior", np.float64),
    ("total", np.float64),
])
# A tree is a row of NODE_DTYPE with the root at 0; trees of a batch are a matrix.
Nodes = npt.NDArray[np.void]


class Weights(NamedTuple):
    """How a search weighs what it knows; values are in units of `value_unit`.

    value_unit: VP that count as 1, or 0 where only winning counts and values lie between -1 and 1.
    virtual_loss: what each pending leaf counts as instead of its unknown value, below 0.
    exact_plies: leaves with so few plies left before the turn limit get their exact value.
    """

    value_unit: float
    exploration: float
    reduction: float
    virtual_loss: float
    exact_plies: int


@kernel
def worth(margin: int, weights: Weights) -> float:
    """Value of an ended game to the player who leads by `margin`."""
    if weights.value_unit:
        return margin / weights.value_unit
    return float(min(1, max(-1, margin)))


@kernel
def best_child(nodes: Nodes, node: int, weights: Weights) -> int:
    """The child with the largest upper bound for the player to move at an expanded node.

    Children come in the order of their priors, so none behind the first unvisited one can be best.
    """
    parent = nodes[node]
    spread = weights.exploration * math.sqrt(parent.visits + parent.pending)
    mean = -parent.total / parent.visits
    seen, best, best_bound = 0.0, NONE, -math.inf
    for child in range(parent.first, parent.first + parent.children):
        row = nodes[child]
        visits = row.visits + row.pending
        if visits:
            value = (row.total + weights.virtual_loss * row.pending) / visits
        else:
            value = mean - weights.reduction * math.sqrt(seen)
        bound = value + spread * row.prior / (1 + visits)
        if bound > best_bound:
            best, best_bound = child, bound
        if visits == 0:
            break
        seen += row.prior
    return best


@kernel
def descend(
    rules: Rules, nodes: Nodes, node: int, position: Position, weights: Weights
) -> tuple[int, Position]:
    """A node without children, and its position, on the most promising way down from a node.

    Every ply of the way, passes too, is a ply of the game, so cycles of positions end.
    """
    while nodes[node].children > 0:
        node = best_child(nodes, node, weights)
        position = play_code(rules, position, nodes[node].code)
    return node, position


@kernel
def back_up(nodes: Nodes, node: int, value: float, waited: int) -> None:
    """Count a visit of a node and all above it; `value` is that of the player to move there.

    `waited` is 1 for leaves that were pending, else 0.
    """
    while node != NONE:
        value = -value
        row = nodes[node]
        row.visits += 1
        row.pending -= waited
        row.total += value
        node = row.parent


@kernel
def add_pending(nodes: Nodes, node: int) -> None:
    """Count a pending leaf at a node and all above it."""
    while node != NONE:
        nodes[node].pending += 1
        node = nodes[node].parent


@kernel
def settle(
    rules: Rules, nodes: Nodes, node: int, leaf: Position, weights: Weights, work: Workspace
) -> bool:
    """Count a visit of a leaf if its exact value is known, and say so.

    A root whose game goes on is left to the network, since its moves are what is asked for.
    """
    row = nodes[node]
    if row.children == 0:
        back_up(nodes, node, -row.total / row.visits, 0)
        return True
    over = is_over(rules, leaf)
    if not over and (node == 0 or plies_left(rules, leaf) > weights.exact_plies):
        return False
    row.children = 0
    margin = mover_margin(rules, leaf) if over else exact_margin(rules, leaf, work)
    back_up(nodes, node, worth(margin, weights), 0)
    return True


@kernel
def add_waiting(
    nodes: Nodes, tree: int, node: int, leaf: Position, place: int, out_states: PositionArray,
    out_places: Ints,
) -> None:
    """Put a leaf that waits for the network at a place of the outputs, as `gather` has them."""
    add_pending(nodes, node)
    store(out_states, place, leaf)
    out_places[place, 0], out_places[place, 1] = tree, node


@kernel
def gather(
    table: RuleTable, trees: Nodes, states: PositionArray, visits_left: Ints, weights: Weights,
    out_states: PositionArray, out_places: Ints,
) -> int:
    """Walk to the next leaves of all trees; the number of those that wait for the network.

    trees: (n, nodes). states: (n,), their roots' positions. visits_left: (n,), lessened here by
    the visits begun, and set to 0 where the root has only one child. out_states:
    (n * MAX_LEAVES,), the leaves' positions. out_places: (n * MAX_LEAVES, 2), tree and node.
    """
    rules, count = table[0], 0
    work = workspace(weights.exact_plies)
    for tree in range(len(trees)):
        nodes = trees[tree]
        if nodes[0].children == 1:
            visits_left[tree] = 0
        leaves = min(MAX_LEAVES, 1 + nodes[0].visits // VISITS_PER_LEAF)
        for _ in range(min(leaves, visits_left[tree])):
            node, leaf = descend(rules, nodes, 0, load(states, tree), weights)
            if nodes[node].pending:
                break
            visits_left[tree] -= 1
            if not settle(rules, nodes, node, leaf, weights, work):
                add_waiting(nodes, tree, node, leaf, count, out_states, out_places)
                count += 1
    return count


@kernel
def write_children(nodes: Nodes, size: int, node: int, codes: Ints, logits: Floats) -> None:
    """Append the children of a node from `size` on; priors are the softmax of their logits.

    codes: (children,), all legal moves. logits: (num_actions,).
    """
    priors = np.empty(len(codes), dtype=np.float64)
    for index in range(len(codes)):
        priors[index] = logits[action_of_code(codes[index])]
    priors = np.exp(priors - priors.max())
    priors /= priors.sum()
    nodes[node].first, nodes[node].children = size, len(codes)
    for index in np.argsort(-priors, kind="mergesort"):
        row = nodes[size]
        row.parent, row.first, row.children, row.code = node, NONE, NONE, codes[index]
        row.visits, row.pending, row.prior, row.total = 0, 0, priors[index], 0.0
        size += 1


@kernel
def expand(
    table: RuleTable, trees: Nodes, sizes: Ints, states: PositionArray, places: Ints,
    logits: Floats, values: Floats,
) -> None:
    """Give leaves children, and send their values up.

    sizes: (n,), nodes in each tree. states, places: what `gather` wrote, (leaves,) and (leaves, 2).
    logits: (leaves, num_actions). values: (leaves,), in units of the search, of the player to move.
    """
    codes = np.empty(MAX_MOVES, dtype=np.int64)
    for leaf in range(len(places)):
        tree, node = places[leaf, 0], places[leaf, 1]
        count = list_codes(table[0], load(states, leaf), codes)
        write_children(trees[tree], sizes[tree], node, codes[:count], logits[leaf])
        sizes[tree] += count
        back_up(trees[tree], node, values[leaf], 1)


@kernel
def most_visited(nodes: Nodes, seed: int) -> int:
    """The root's child with the most visits, among equals the best mean value, then by lot.

    It is the root itself, whose code is `PASS_CODE`, when the game is over there.
    """
    best, ties = 0, 1
    first: int = nodes[0].first
    for child in range(first, first + nodes[0].children):
        ahead = nodes[child].visits - nodes[best].visits if best else 1
        gain = nodes[child].total - nodes[best].total
        if ahead > 0 or (ahead == 0 and gain > 0):
            best, ties = child, 1
        elif ahead == 0 and gain == 0:
            ties += 1
            if below(derived(seed, child), ties) == 0:
                best = child
    return best


@kernel
def choose(trees: Nodes, seeds: Ints, out_actions: Ints) -> None:
    """The most visited action of each tree; seeds and actions have shape (n,)."""
    for tree in range(len(trees)):
        out_actions[tree] = action_of_code(trees[tree, most_visited(trees[tree], seeds[tree])].code)


def new_trees(count: int, nodes: int) -> Nodes:
    """Memory for `count` trees of so many nodes, each with a root that is not expanded."""
    trees = np.empty((count, nodes), dtype=NODE_DTYPE)
    reset(trees)
    return trees


def reset(trees: Nodes) -> None:
    """Make trees new again."""
    trees[:, 0] = (NONE, 0, NONE, PASS_CODE, 0, 0, 1.0, 0.0)
