"""Text forms of positions and actions, read strictly: what is wrong is said, nothing is guessed.

    6/6/2##2/2##2/6/6 A - 8,8 0,0 0
    board             | | |   |   plies played
                      | | |   tokens lost by player 0, 1
                      | | hands of player 0, 1
                      | bastion square or -
                      mover

Ranks run from 6 to 1; `A` and `B` are factions of players 0 and 1, `#` strongholds, digits runs of
free squares. Under `capture_credit = "enemy_only"` a seventh field gives each player's own losses.
"""

import re
from itertools import groupby
from typing import Final

from castle_env.board import (
    ACTION_NAMES,
    ACTION_NUMBERS,
    PLAYER_NAMES,
    SIZE,
    SQUARE_NAMES,
    SQUARES,
    squares_of,
)
from castle_env.errors import ActionError, PositionError
from castle_env.kernels import lost_tokens
from castle_env.position import Position
from castle_env.ruleset import STORM, Ruleset

_PAIR: Final = re.compile(r"([0-9]),([0-9])")
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,4}")
_TOKENS: Final = "AB#"


def parse_action(text: str, num_actions: int) -> int:
    """Action index below `num_actions` from its text; raises `ActionError`."""
    action = ACTION_NUMBERS.get(text) if isinstance(text, str) else None
    if action is None or action >= num_actions:
        raise ActionError(f"{text!r} is no action; allowed: {_allowed_actions(num_actions)}")
    return action


def format_action(action: int, num_actions: int) -> str:
    """Text of an action index below `num_actions`; raises `ActionError`."""
    if action not in ACTION_NAMES or action >= num_actions:
        raise ActionError(f"action {action!r} has no text; allowed: 0 to {num_actions - 1}, "
                          "without steps off the board")
    return ACTION_NAMES[action]


def _allowed_actions(num_actions: int) -> str:
    entries = "Na-Nf, Sa-Sf, W6-W1, E6-E1, pass"
    return entries if len(ACTION_NAMES) > num_actions else f"{entries}, steps like c3c4"


def format_position(rules: Ruleset, position: Position) -> str:
    """Text form of a position of a ruleset."""
    mover = position.ply & 1
    own, opposing = position.own, position.opposing
    boards = (opposing, own) if mover else (own, opposing)
    hands = (position.own_hand, position.opposing_hand)
    lost = lost_tokens(rules.factions_per_player, position)
    forfeits = (position.own_forfeits, position.opposing_forfeits)
    bastion = squares_of(position.bastion)
    parts = [
        _format_board((*boards, position.strongholds)),
        "AB"[mover],
        SQUARE_NAMES[bastion[0]] if bastion else "-",
        *(f"{pair[mover]},{pair[1 - mover]}" for pair in (hands, lost)),
        str(position.ply),
    ]
    if rules.capture_credit == "enemy_only":
        parts.append(f"{forfeits[mover]},{forfeits[1 - mover]}")
    return " ".join(parts)


def _format_board(boards: tuple[int, ...]) -> str:
    squares = ["."] * SQUARES
    for token, board in zip(_TOKENS, boards, strict=True):
        for square in squares_of(board):
            squares[square] = token
    ranks = ("".join(squares[row * SIZE:(row + 1) * SIZE]) for row in range(SIZE))
    return "/".join(
        "".join(str(len(list(run))) if token == "." else "".join(run)
                for token, run in groupby(rank))
        for rank in ranks
    )


def parse_position(rules: Ruleset, text: str) -> Position:
    """Position of a ruleset from its text form; raises `PositionError` that quotes the text."""
    try:
        return _parse(rules, text)
    except PositionError as error:
        raise PositionError(f"position {text!r}: {error}") from None


def _parse(rules: Ruleset, text: str) -> Position:
    forfeits_count = rules.capture_credit == "enemy_only"
    fields = text.split(" ") if isinstance(text, str) else []
    if len(fields) != 6 + forfeits_count:
        raise PositionError(f"{len(fields)} fields; allowed: {6 + forfeits_count} separated by one "
                            "space: board, mover, bastion, hands, lost, plies"
                            + (", own losses" if forfeits_count else ""))
    boards = _parse_board(fields[0])
    hands, lost = _parse_pair("hands", fields[3]), _parse_pair("lost tokens", fields[4])
    forfeits = _parse_pair("own losses", fields[6]) if forfeits_count else (0, 0)
    if not _NUMBER.fullmatch(fields[5]):
        raise PositionError(f"plies {fields[5]!r}; allowed: a number such as 0 or 12")
    ply = int(fields[5])
    mover = ply & 1
    if fields[1] != "AB"[mover]:
        raise PositionError(f"mover {fields[1]!r}; allowed after {ply} plies: {'AB'[mover]!r}")
    bastion = _parse_bastion(fields[2], boards[1 - mover], ply)
    _check_counts(rules, boards, hands, lost, forfeits)
    _check_turns(rules, hands, ply, bastion)
    return Position(boards[mover], boards[1 - mover], boards[2], bastion, hands[mover],
                    hands[1 - mover], forfeits[mover], forfeits[1 - mover], ply)


def _parse_board(text: str) -> tuple[int, int, int]:
    ranks = text.split("/")
    if len(ranks) != SIZE:
        raise PositionError(f"board {text!r} has {len(ranks)} ranks; allowed: {SIZE} joined by '/'")
    boards = dict.fromkeys(_TOKENS, 0)
    for row, rank in enumerate(ranks):
        column, after_digit = 0, False
        for character in rank:
            digit = character in "123456"
            if after_digit if digit else character not in _TOKENS:
                raise PositionError(f"rank {rank!r} has {character!r}; allowed: A, B, # and single "
                                    "digits 1-6 for runs of free squares")
            if digit:
                column += int(character)
            elif column < SIZE:
                boards[character] |= 1 << (row * SIZE + column)
                column += 1
            else:
                column += 1
            after_digit = digit
        if column != SIZE:
            raise PositionError(f"rank {rank!r} has {column} squares; allowed: {SIZE}")
    return boards["A"], boards["B"], boards["#"]


def _parse_pair(what: str, text: str) -> tuple[int, int]:
    match = _PAIR.fullmatch(text)
    if match is None:
        raise PositionError(f"{what} {text!r}; allowed: two digits such as 8,8")
    return int(match[1]), int(match[2])


def _parse_bastion(text: str, previous_mover: int, ply: int) -> int:
    if text == "-":
        return 0
    if text not in SQUARE_NAMES:
        raise PositionError(f"bastion {text!r}; allowed: one square a6 to f1, or -")
    bit = 1 << SQUARE_NAMES.index(text)
    if ply == 0 or not previous_mover & bit:
        raise PositionError(f"bastion {text!r}; allowed: a faction of the player who moved last")
    return bit


def _check_counts(
    rules: Ruleset,
    boards: tuple[int, int, int],
    hands: tuple[int, int],
    lost: tuple[int, int],
    forfeits: tuple[int, int],
) -> None:
    strongholds = "".join(rules.strongholds).count("#")
    if boards[2].bit_count() != strongholds:
        raise PositionError(f"{boards[2].bit_count()} strongholds; allowed: {strongholds}")
    factions = rules.factions_per_player
    for player in range(2):
        on_board = boards[player].bit_count()
        if on_board + hands[player] + lost[player] != factions:
            raise PositionError(
                f"the {PLAYER_NAMES[player]} has {on_board} factions on the board, {hands[player]} "
                f"in hand and {lost[player]} lost; allowed: {factions} in all")
        if forfeits[player] > lost[player]:
            raise PositionError(f"the {PLAYER_NAMES[player]} pushed off {forfeits[player]} own "
                                f"tokens but lost {lost[player]}; allowed: at most as many")


def _check_turns(rules: Ruleset, hands: tuple[int, int], ply: int, bastion: int) -> None:
    if ply > rules.max_plies:
        raise PositionError(f"{ply} plies played; allowed: at most {rules.max_plies}")
    previous = 1 - (ply & 1)
    for player in range(2):
        turns = (ply + 1 - player) // 2
        # A turn without a bastion afterwards was a pass, which brought nothing on.
        entries = turns - 1 if player == previous and not bastion and ply else turns
        brought_on = rules.factions_per_player - hands[player]
        if brought_on > entries:
            raise PositionError(f"the {PLAYER_NAMES[player]} brought on {brought_on} factions "
                                f"after {ply} plies; allowed: at most {entries}")
        if rules.mode != STORM and hands[player] == 0 and (player != previous or not bastion):
            raise PositionError(f"the {PLAYER_NAMES[player]} has no faction in hand; allowed: only "
                                "after its last one has entered, which ends the game")
