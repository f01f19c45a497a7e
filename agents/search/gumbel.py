"""Searches of few visits that improve a policy, for training: Gumbel AlphaZero.

At the root, actions are drawn without replacement from the policy (the greatest logits plus Gumbel
noise), and visits are shared out among them by sequential halving; below it `puct_tree` decides.
What the search makes of the policy is

    improved = softmax(logits + sigma(q)),   sigma(q) = (visit_offset + most visits) * scale * q

where q of an action without visits is a mean of what the network and the visited actions say, v_mix
("completed Q"). All of this is Danihelka, Guez, Schrittwieser and Silver, "Policy improvement by
planning with Gumbel", ICLR 2022: sigma is formula 8, v_mix formula 33. Here q is not stretched to
[0, 1] at each node: what a Victory Point is worth is the same everywhere.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from agents.search.alphabeta import workspace
from agents.search.moves import MAX_MOVES, action_of_code, play_code
from agents.search.puct_tree import (
    NONE,
    Floats,
    Ints,
    Nodes,
    Weights,
    add_waiting,
    descend,
    settle,
)
from castle_env.batch import load
from castle_env.compiled import kernel
from castle_env.kernels import RuleTable
from castle_env.position import PositionArray

Doubles = npt.NDArray[np.float64]


class Sigma(NamedTuple):
    """How much values count against logits: (visit_offset + most visits) * scale for a value of 1.
    """

    visit_offset: float
    scale: float


def halving_plan(most_considered: int, visits: int) -> Ints:
    """Whose turn it is at each visit, (MAX_MOVES + 1, visits) by number of legal actions.

    An entry is a count of visits: the next goes to the best action that has so many. The better
    half of the actions goes on to the next round; each round gets about as many visits.
    """
    plan = np.zeros((MAX_MOVES + 1, visits), dtype=np.int64)
    for actions in range(1, MAX_MOVES + 1):
        plan[actions] = _halving(min(most_considered, actions), visits)
    return plan


def _halving(considered: int, visits: int) -> list[int]:
    rounds = max(1, math.ceil(math.log2(considered)))
    turns: list[int] = []
    each = 0  # visits that every action still in the race has
    while len(turns) < visits:
        for _ in range(max(1, visits // (rounds * considered))):
            turns += [each] * considered
            each += 1
        considered = max(2, considered // 2) if considered > 1 else 1
    return turns[:visits]


@kernel
def complete_values(nodes: Nodes, out_values: Doubles) -> None:
    """Values to the mover of the root's children, those without visits by v_mix.

    out_values: (children,).
    """
    root = nodes[0]
    visits, prior, weighed, below = 0, 0.0, 0.0, 0.0
    for index in range(root.children):
        row = nodes[root.first + index]
        below += row.total
        if row.visits:
            out_values[index] = row.total / row.visits
            visits += row.visits
            prior += row.prior
            weighed += row.prior * out_values[index]
    mixed = -root.total - below  # what the network said of the root
    if visits:
        mixed = (mixed + visits * weighed / max(prior, 1e-300)) / (1 + visits)
    for index in range(root.children):
        if nodes[root.first + index].visits == 0:
            out_values[index] = mixed


@kernel
def improve_logits(nodes: Nodes, sigma: Sigma, out_values: Doubles, out_logits: Doubles) -> None:
    """Completed values of the root's children, and their logits with sigma of these added."""
    root = nodes[0]
    complete_values(nodes, out_values)
    most = 0
    for child in range(root.first, root.first + root.children):
        most = max(most, nodes[child].visits)
    factor = (sigma.visit_offset + most) * sigma.scale
    for index in range(root.children):
        prior = max(nodes[root.first + index].prior, 1e-300)
        out_logits[index] = math.log(prior) + factor * out_values[index]


@kernel
def best_considered(
    nodes: Nodes, visits: int, gumbels: Doubles, sigma: Sigma, values: Doubles, logits: Doubles
) -> int:
    """The best of the root's children with so many visits; the last two arrays are for work."""
    root = nodes[0]
    improve_logits(nodes, sigma, values, logits)
    best, best_score = NONE, -math.inf
    for index in range(root.children):
        score = logits[index] + gumbels[index]
        if nodes[root.first + index].visits == visits and score > best_score:
            best, best_score = root.first + index, score
    return best


@kernel
def gather_halving(
    table: RuleTable, trees: Nodes, states: PositionArray, visits_left: Ints, plan: Ints,
    gumbels: Doubles, sigma: Sigma, weights: Weights, out_states: PositionArray, out_places: Ints,
) -> int:
    """Walk to one leaf in each tree; the number of those that wait for the network.

    As `puct_tree.gather`, with root actions by `plan`, see `halving_plan`. gumbels: (n,
    MAX_MOVES), noise of the root's children. out_states: (n,). out_places: (n, 2).
    """
    rules, count = table[0], 0
    work = workspace(weights.exact_plies)
    values, logits = np.empty(MAX_MOVES), np.empty(MAX_MOVES)
    for tree in range(len(trees)):
        nodes = trees[tree]
        if visits_left[tree] == 0 or nodes[0].children == 1:
            visits_left[tree] = 0
            continue
        visits_left[tree] -= 1
        node, leaf = 0, load(states, tree)
        if nodes[0].children > 0:
            turn = plan[nodes[0].children, nodes[0].visits - 1]
            node = best_considered(nodes, turn, gumbels[tree], sigma, values, logits)
            leaf = play_code(rules, leaf, nodes[node].code)
            node, leaf = descend(rules, nodes, node, leaf, weights)
        if not settle(rules, nodes, node, leaf, weights, work):
            add_waiting(nodes, tree, node, leaf, count, out_states, out_places)
            count += 1
    return count


@kernel
def write_results(
    trees: Nodes, gumbels: Doubles, sigma: Sigma, out_policies: Floats, out_values: Floats,
    out_actions: Ints,
) -> None:
    """What searches found: improved policies (n, num_actions), values and actions (n,).

    The value is the mean of the completed values under the improved policy, to the mover. The
    action is the one that wins the halving, which is as good as a draw from the improved policy.
    """
    out_policies[:] = 0.0
    values, logits = np.empty(MAX_MOVES), np.empty(MAX_MOVES)
    for tree in range(len(trees)):
        nodes = trees[tree]
        first, count = nodes[0].first, nodes[0].children
        improve_logits(nodes, sigma, values, logits)
        policy = np.exp(logits[:count] - logits[:count].max())
        policy /= policy.sum()
        most = 0
        for child in range(first, first + count):
            most = max(most, nodes[child].visits)
        best = best_considered(nodes, most, gumbels[tree], sigma, values, logits)
        out_actions[tree] = action_of_code(nodes[best].code)
        out_values[tree] = (policy * values[:count]).sum()
        for index in range(count):
            out_policies[tree, action_of_code(nodes[first + index].code)] = policy[index]
