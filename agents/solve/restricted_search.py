"""Proofs in storm against a player who never makes certain moves.

`search` answers as `agents.solve.storm_search.search` does, but where the restricted player is to
move, forbidden slides do not exist; a player left with forbidden slides only plays any of them.
What a slide is allowed or not depends on the board alone, so positions may be joined by symmetry as
ever.
"""


from agents.search.position_key import Key, Symmetries, canonical_key
from agents.solve.ordering import look_ahead, take_best, write_order
from agents.solve.slides import (
    CREDIT,
    MARGIN,
    NEVER,
    NO_LANE,
    OPPOSING,
    OWN,
    STRONGHOLDS,
    TARGET,
    Board,
    best_slide,
    last_slide,
    slide_to,
    write_slides,
)
from agents.solve.storm_search import LOOK_AHEAD_DEPTH, TABLE_DEPTH, Ints, Records, Work
from agents.solve.transposition import HIGHEST, LOWEST, Entry, find, store
from castle_env.board import ENTRIES
from castle_env.compiled import kernel
from castle_env.kernels import Rules, RuleTable, neighbours, popcount

# What a restricted player never does: push a faction, of either side, off the board; push a
# stronghold; enter next to a stronghold that an opposing faction is next to as well; make a move
# that is not among the best one ply ahead.
CAPTURE, PUSH_STRONGHOLD, CONTEST, SECOND_BEST = range(4)


@kernel
def is_forbidden(restriction: int, board: Board, after: Ints, lane: int, best: int) -> bool:
    """Whether a restricted player avoids a legal slide; `best` is the largest margin of all."""
    if restriction == CAPTURE:
        before = popcount(board.own) + popcount(board.opposing)
        return bool(popcount(after[OWN, lane]) + popcount(after[OPPOSING, lane]) == before)
    if restriction == PUSH_STRONGHOLD:
        return bool(after[STRONGHOLDS, lane] != board.strongholds)
    if restriction == CONTEST:
        besieged = after[STRONGHOLDS, lane] & neighbours(after[OPPOSING, lane])
        return bool(neighbours(after[TARGET, lane]) & besieged != 0)
    return bool(after[MARGIN, lane] < best)


@kernel
def forbid(restriction: int, board: Board, after: Ints) -> None:
    """Make forbidden slides illegal, unless no others are legal."""
    best = best_slide(after)[1]
    allowed = 0
    for lane in range(ENTRIES):
        if after[TARGET, lane]:
            allowed += not is_forbidden(restriction, board, after, lane, best)
    for lane in range(ENTRIES if allowed else 0):
        if after[TARGET, lane] and is_forbidden(restriction, board, after, lane, best):
            after[TARGET, lane] = 0


@kernel
def search(
    rules: Rules, work: Work, symmetries: Symmetries, table: Ints, restriction: int, seat: int,
    board: Board, left: int, depth: int, beta: int
) -> int:
    """Whether the mover can force `beta`, answered by a bound.

    The restricted player has seat `seat`, and so moves when `left` is of its parity. Meaningless,
    and nothing is stored, once `work.stop` is set.
    """
    work.nodes += 1
    after = work.after[depth]
    is_restricted = left & 1 == seat
    if depth == 1 and not is_restricted:
        return last_slide(rules, board, after)
    key, symmetry, hint = Key(0, 0), 0, NO_LANE
    if depth >= TABLE_DEPTH:
        key, symmetry = canonical_key(symmetries, board, left)
        known = find(table, key)
        if known.depth == depth and known.lower >= beta:
            return known.lower
        if known.depth == depth and known.upper < beta:
            return known.upper
        hint = symmetries.lanes[symmetries.inverse[symmetry], known.lane]
    write_slides(rules, board, after)
    if is_restricted:
        forbid(restriction, board, after)
    if depth == 1:
        margin = best_slide(after)[1]
        return margin if margin != NEVER else after[MARGIN, 0]
    if depth >= LOOK_AHEAD_DEPTH:
        look_ahead(rules, after, work.after[1])
    order = work.order[depth]
    # To pass, any lane will do where none is legal, since all of them leave the board as it is.
    count = max(write_order(after, hint, work.history[left], order), 1)
    best, best_lane, index = NEVER, NO_LANE, 0
    while index < count and best < beta:
        lane = take_best(order, index, count)
        credit = after[CREDIT, lane]
        value = credit - search(rules, work, symmetries, table, restriction, seat,
                                slide_to(after, lane), left - 1, depth - 1, credit - beta + 1)
        if work.stop:
            return 0
        if value > best:
            best, best_lane = value, lane
        index += 1
    if best >= beta:
        work.history[left, best_lane] += 1
    if depth >= TABLE_DEPTH:
        store(table, key, Entry(depth, best if best >= beta else LOWEST,
                                best if best < beta else HIGHEST,
                                symmetries.lanes[symmetry, best_lane]), left - depth)
    return best


@kernel
def ask(
    rule_table: RuleTable, work: Records, symmetries: Records, table: Ints, restriction: int,
    seat: int, board: Board, left: int, depth: int, beta: int
) -> int:
    """`search` for callers outside: rules, work and symmetries come as arrays of one record."""
    return search(rule_table[0], work[0], symmetries[0], table, restriction, seat, board, left,
                  depth, beta)


@kernel
def write_allowed(
    rule_table: RuleTable, restriction: int, board: Board, after: Ints, out_allowed: Ints
) -> None:
    """Write 1 for each lane that a restricted mover may use, and 0 for the others."""
    write_slides(rule_table[0], board, after)
    forbid(restriction, board, after)
    for lane in range(ENTRIES):
        out_allowed[lane] = after[TARGET, lane] != 0
