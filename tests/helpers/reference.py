"""A slow second reading of the rules: a grid of characters, lists and dictionaries.

It shares no code with `castle_env`, so that agreement of the two says something. A ruleset is a
dictionary with the keys of a ruleset file; squares are (row, column) pairs, row 0 is rank 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

FILES, RANKS, TOKENS = "abcdef", "654321", "AB"
MOVES = {"N": (-1, 0), "S": (1, 0), "W": (0, -1), "E": (0, 1)}
OPPOSITE = {"N": "S", "S": "N", "W": "E", "E": "W"}
ROWS = ("captured", "besieging", "contact", "controlled", "survivor", "squares")

Square = tuple[int, int]
Pair = tuple[int, int]

STRONGHOLDS = ["......", "......", "..##..", "..##..", "......", "......"]
VICTORY_POINTS = {"captured": 1, "besieging": 1, "contact": 0, "controlled": 2, "survivor": 0}


@dataclass
class State:
    """A position.

    `lost` counts each player's lost tokens, `own_lost` those that the owner pushed off; the latter
    stays 0 where it does not matter (`capture_credit = "opponent"`).
    """

    grid: list[list[str]]
    bastion: Square | None
    hands: list[int]
    lost: list[int]
    own_lost: list[int]
    ply: int


def on_board(square: Square) -> bool:
    return 0 <= square[0] < 6 and 0 <= square[1] < 6


def line(start: Square, direction: str) -> list[Square]:
    """The squares from `start` to the edge of the board, `start` first."""
    rows, columns = MOVES[direction]
    squares = [(start[0] + i * rows, start[1] + i * columns) for i in range(6)]
    return [square for square in squares if on_board(square)]


def name(square: Square) -> str:
    return FILES[square[1]] + RANKS[square[0]]


def square(text: str) -> Square:
    return RANKS.index(text[1]), FILES.index(text[0])


def edge_square(entry: str) -> Square:
    """The first square of the lane of an entry such as "Nc" or "E3"."""
    side, lane = entry[0], entry[1]
    if side in "NS":
        return (0 if side == "N" else 5), FILES.index(lane)
    return RANKS.index(lane), (0 if side == "W" else 5)


def action_texts(mode: str) -> list[str | None]:
    """Text of every action by index; None for a step over the edge, which has no text."""
    texts: list[str | None] = [side + lane for side in "NS" for lane in FILES]
    texts += [side + lane for side in "WE" for lane in RANKS]
    texts.append("pass")
    if mode == "storm":
        return texts
    for start in [(row, column) for row in range(6) for column in range(6)]:
        for direction in "NSWE":
            ahead = line(start, direction)[1:]
            texts.append(name(start) + name(ahead[0]) if ahead else None)
    return texts


class ReferenceGame:
    """The rules for one ruleset; missing keys have their defaults."""

    def __init__(self, ruleset: dict[str, Any]) -> None:
        storm = ruleset["mode"] == "storm"
        self.mode: str = ruleset["mode"]
        self.strongholds: list[str] = ruleset.get("strongholds", STRONGHOLDS)
        self.factions: int = ruleset.get("factions_per_player", 8)
        self.max_plies: int = 2 * self.factions if storm else ruleset.get("max_plies", 120)
        self.entry_lanes: str = ruleset.get("entry_lanes", "all" if storm else "own_axis")
        self.entry_style: str = ruleset.get("entry_style", "slide")
        self.steps_must_push: bool = ruleset.get("steps_must_push", False)
        self.enemy_only: bool = ruleset.get("capture_credit", "opponent") == "enemy_only"
        self.table: dict[str, Any] = {**VICTORY_POINTS, **ruleset.get("victory_points", {})}
        self.actions = action_texts(self.mode)

    # -- positions and their text ---------------------------------------------------------------

    def initial(self) -> State:
        grid = [[mark.replace(".", " ") for mark in rank] for rank in self.strongholds]
        return State(grid, None, [self.factions] * 2, [0, 0], [0, 0], 0)

    def parse(self, text: str) -> State:
        ranks, _, bastion, hands, lost, ply, *own_lost = text.split()
        for digit in "123456":
            ranks = ranks.replace(digit, " " * int(digit))
        grid = [list(rank) for rank in ranks.split("/")]
        in_hand, off, own_off = (
            [int(n) for n in pair.split(",")] for pair in (hands, lost, *(own_lost or ["0,0"])))
        return State(grid, None if bastion == "-" else square(bastion), in_hand, off, own_off,
                     int(ply))

    def format(self, state: State) -> str:
        ranks = "/".join("".join(rank) for rank in state.grid)
        for free in range(6, 0, -1):
            ranks = ranks.replace(" " * free, str(free))
        bastion = name(state.bastion) if state.bastion else "-"
        pairs = [f"{p[0]},{p[1]}" for p in (state.hands, state.lost, state.own_lost)]
        fields = [ranks, TOKENS[self.mover(state)], bastion, pairs[0], pairs[1], str(state.ply)]
        return " ".join(fields + [pairs[2]] * self.enemy_only)

    def mover(self, state: State) -> int:
        return state.ply % 2

    # -- moves ----------------------------------------------------------------------------------

    def legal(self, state: State) -> list[str]:
        """Texts of the legal actions in the order of their indices; none once the game is over."""
        if self.is_terminal(state):
            return []
        texts = [text for text in self.actions if text and text != "pass"]
        return [text for text in texts if self._moved(state, text) is not None] or ["pass"]

    def apply(self, state: State, action: str) -> State:
        assert action in self.legal(state), f"{action} in {self.format(state)}"
        if action != "pass":
            after = self._moved(state, action)
            assert after is not None
            return after
        return State(state.grid, None, state.hands, state.lost, state.own_lost, state.ply + 1)

    def may_enter(self, player: int, entry: str) -> bool:
        """Whether the lane of an entry such as "Nc" belongs to the player."""
        side, lane = entry[0], entry[1]
        middle = lane in "bcde2345"
        if self.entry_lanes == "all":
            return True
        if self.entry_lanes == "central":
            return middle
        if self.entry_lanes == "own_axis":
            return middle and side in ("NS" if player == 0 else "WE")
        return middle and side == ("S" if player == 0 else "N")

    def _moved(self, state: State, action: str) -> State | None:
        """The position after an entry or a step, or None if it is illegal."""
        mover = self.mover(state)
        entering = len(action) == 2
        if entering:
            if state.hands[mover] == 0 or not self.may_enter(mover, action):
                return None
            direction = OPPOSITE[action[0]]
            ahead = line(edge_square(action), direction)
            if self.entry_style == "slide":
                while ahead and state.grid[ahead[0][0]][ahead[0][1]] == " ":
                    ahead = ahead[1:]
                if not ahead:
                    return None
        else:
            start, target = square(action[:2]), square(action[2:])
            if state.grid[start[0]][start[1]] != TOKENS[mover]:
                return None
            if state.grid[target[0]][target[1]] == " " and self.steps_must_push:
                return None
            direction = next(d for d in MOVES if line(start, d)[1:2] == [target])
            ahead = line(target, direction)
        after = self._pushed(state, ahead)
        if after is not None and entering:
            after.hands[mover] -= 1
        elif after is not None:
            after.grid[start[0]][start[1]] = " "
        return after

    def _pushed(self, state: State, ahead: list[Square]) -> State | None:
        """The mover's token pushes the run at the start of `ahead` and stands on its first square.

        Where that square is free nothing is pushed. None if the push is illegal.
        """
        mover = self.mover(state)
        tokens = [state.grid[row][column] for row, column in ahead]
        length = tokens.index(" ") if " " in tokens else len(tokens)
        if state.bastion in ahead[:length]:
            return None
        lost, own_lost = list(state.lost), list(state.own_lost)
        if length == len(tokens):
            if tokens[-1] == "#":
                return None
            owner = TOKENS.index(tokens[-1])
            lost[owner] += 1
            own_lost[owner] += self.enemy_only and owner == mover
        grid = [list(rank) for rank in state.grid]
        moved = [TOKENS[mover], *tokens[:length]]
        for (row, column), token in zip(ahead, moved, strict=False):
            grid[row][column] = token
        return State(grid, ahead[0], list(state.hands), lost, own_lost, state.ply + 1)

    # -- end and Victory Points -----------------------------------------------------------------

    def end_reason(self, state: State) -> str | None:
        if self.mode == "storm":
            return "all_turns_played" if state.ply >= self.max_plies else None
        if 0 in state.hands:
            return "last_faction_entered"
        return "turn_limit" if state.ply >= self.max_plies else None

    def is_terminal(self, state: State) -> bool:
        return self.end_reason(state) is not None

    def by_row(self, state: State) -> dict[str, Pair]:
        """Victory Points of players 0 and 1 for each row of the table."""
        rows = [self._points(state, player) for player in (0, 1)]
        return {row: (rows[0][row], rows[1][row]) for row in ROWS}

    def victory_points(self, state: State) -> Pair:
        pairs = self.by_row(state).values()
        return sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)

    def _points(self, state: State, player: int) -> dict[str, int]:
        own, other = self._squares(state, TOKENS[player]), self._squares(state, TOKENS[1 - player])
        forts = self._squares(state, "#")
        captured = state.lost[1 - player]
        if self.enemy_only:
            captured -= state.own_lost[1 - player]
        counts = {
            "captured": captured,
            "besieging": sum(any(adjacent(a, fort) for fort in forts) for a in own),
            "contact": sum(adjacent(a, fort) for a in own for fort in forts),
            "controlled": sum(
                sum(adjacent(a, fort) for a in own) > sum(adjacent(a, fort) for a in other)
                for fort in forts
            ),
            "survivor": len(own),
        }
        points = {row: count * self.table[row] for row, count in counts.items()}
        squares = self.table.get("squares") or [[0] * 6] * 6
        points["squares"] = sum(squares[row][column] for row, column in own)
        return points

    def _squares(self, state: State, token: str) -> list[Square]:
        return [(r, c) for r in range(6) for c in range(6) if state.grid[r][c] == token]


def adjacent(one: Square, two: Square) -> bool:
    """Whether two squares are orthogonal neighbours."""
    return abs(one[0] - two[0]) + abs(one[1] - two[1]) == 1
