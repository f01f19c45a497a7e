"""`exact`: perfect play in storm from the first move, ties by lot.

`exact:hardest` first chooses, among the best moves, those after which the smallest share of the
opponent's replies is best: an opponent who replied at random would most likely lose something. Ties
that are left are settled by lot.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.search.board import Board, board_of
from agents.seeds import below, derived
from agents.solve.exact_values import LAST_MEMORY, LAST_PLIES, Tools, exact_value
from agents.solve.perfect_play import PerfectPlay
from agents.solve.slides import CREDIT, MARGIN, ROWS, TARGET, slide_to, write_slides
from agents.solve.storm_search import Arrays, new_arrays, search
from castle_env.agent import Agent, BaseAgent
from castle_env.batch import load
from castle_env.board import ENTRIES, PASS
from castle_env.compiled import kernel
from castle_env.errors import AgentError
from castle_env.game import Game
from castle_env.position import Position, PositionArray, unstack

Ints = npt.NDArray[np.int64]

HARDEST: Final = "hardest"


class Node(NamedTuple):
    """Memory for one position.

    after: its slides, (ROWS, 24) int64. lanes: some of them, (24,) int64.
    """

    after: Ints
    lanes: Ints


@kernel
def keeps(tools: Tools, after: Ints, lane: int, plies_left: int, value: int) -> bool:
    """Whether a legal slide is worth at least `value`; `plies_left` are those before it."""
    if plies_left == 1:
        return bool(after[MARGIN, lane] >= value)
    most = after[CREDIT, lane] - value
    return bool(search(tools.rules, tools.work, tools.symmetries, tools.table, tools.busy, None,
                       slide_to(after, lane), plies_left - 1, plies_left - 1, most + 1) <= most)


@kernel
def write_best(
    tools: Tools, board: Board, plies_left: int, value: int, limit: float, node: Node
) -> tuple[int, float]:
    """List in `node` the lanes of slides that keep `value`; their number, and share of all slides.

    Stops as soon as the share is above `limit`. With only the pass: 0 lanes, a share of 1.
    """
    after, lanes = node
    write_slides(tools.rules, board, after)
    legal, count = 0, 0
    for lane in range(ENTRIES):
        legal += after[TARGET, lane] != 0
    for lane in range(ENTRIES):
        if after[TARGET, lane] and keeps(tools, after, lane, plies_left, value):
            lanes[count] = lane
            count += 1
            if count / legal > limit:
                break
    return count, count / legal if legal else 1.0


@kernel
def keep_hardest(
    tools: Tools, plies_left: int, value: int, count: int, node: Node, reply: Node
) -> int:
    """Keep of the first `count` lanes in `node` those with the smallest share of good replies.

    Returns their number; `plies_left` are those before the slides.
    """
    least, kept = 2.0, 0
    for index in range(count):
        lane = node.lanes[index]
        share = write_best(tools, slide_to(node.after, lane), plies_left - 1,
                           node.after[CREDIT, lane] - value, least, reply)[1]
        if share < least:
            least, kept = share, 0
        if share == least:
            node.lanes[kept] = lane
            kept += 1
    return kept


@kernel
def choose_exactly(
    arrays: Arrays, hardest: bool, states: PositionArray, seeds: Ints, out_actions: Ints
) -> None:
    """A best action for each position.

    states: (n,), with at least one ply left. seeds, out_actions: (n,) int64.
    """
    tools = Tools(arrays.rule_table[0], arrays.work[0], arrays.symmetries[0], arrays.table,
                  arrays.busy)
    node = Node(np.zeros((ROWS, ENTRIES), dtype=np.int64), np.zeros(ENTRIES, dtype=np.int64))
    reply = Node(np.zeros((ROWS, ENTRIES), dtype=np.int64), np.zeros(ENTRIES, dtype=np.int64))
    for index in range(len(states)):
        position = load(states, index)
        plies_left = tools.rules.max_plies - position.ply
        board = board_of(position)
        value = exact_value(tools, board, plies_left)
        count = write_best(tools, board, plies_left, value, 1.0, node)[0]
        if hardest and plies_left > 1:
            count = keep_hardest(tools, plies_left, value, count, node, reply)
        out_actions[index] = PASS
        if count:
            out_actions[index] = node.lanes[below(derived(seeds[index], 0), count)]


class ExactAgent(BaseAgent):
    """An `Agent` that plays storm perfectly; an action depends on the position and its own seed.

    Raises `AgentError` for other modes. Without a shipped book of the ruleset, the first moves take
    as long as solving the game.
    """

    def __init__(self, name: str, game: Game, hardest: bool = False) -> None:
        self.name = name
        self._hardest: Final = hardest
        self._play: Final = PerfectPlay(game)
        self._arrays: Final = new_arrays(game, LAST_MEMORY)

    def __repr__(self) -> str:
        return f"ExactAgent({self.name!r})"

    def select_actions(self, states: PositionArray, rng: np.random.Generator) -> Ints:
        """A best action for each position, shape (n,)."""
        seeds = rng.integers(np.iinfo(np.int64).max, size=len(states))
        actions = np.empty(len(states), dtype=np.int64)
        last = states["ply"] >= self._play.game.rules.max_plies - LAST_PLIES
        chosen = np.empty(np.count_nonzero(last), dtype=np.int64)
        choose_exactly(self._arrays, self._hardest, states[last], seeds[last], chosen)
        actions[last] = chosen
        for index, position in zip(np.flatnonzero(~last), unstack(states[~last]), strict=True):
            actions[index] = self._choose(position, np.random.default_rng(seeds[index]))
        return actions

    def stop(self) -> None:
        """Make `select_actions` raise `SearchStoppedError`, for good; for other threads to call."""
        self._play.solver.stop()

    def _choose(self, position: Position, rng: np.random.Generator) -> int:
        """A best action: the first in random order, so that all are equally likely."""
        play = self._play
        value, chosen, least = play.value(position), PASS, 2.0
        for action in rng.permutation(play.game.legal_actions(position)).tolist():
            if not play.keeps(position, action, value):
                continue
            if not self._hardest:
                return int(action)
            share = play.share_kept(play.game.apply(position, action), -value, least)
            if share < least:
                chosen, least = action, share
        return chosen


def make(arguments: str, game: Game) -> Agent:
    """The perfect player; with `hardest`, the one whose best moves are hardest to answer."""
    if arguments not in ("", HARDEST):
        raise AgentError(f"agent {f'exact:{arguments}'!r}; allowed: exact, exact:{HARDEST}")
    name = f"exact:{arguments}" if arguments else "exact"
    return ExactAgent(name, game, arguments == HARDEST)
