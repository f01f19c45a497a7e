"""Judged moves as text, line by line."""

from collections.abc import Iterable

from experiments.measure.judged_moves import JudgedMove
from experiments.output import tell


def print_moves(found: Iterable[JudgedMove]) -> list[JudgedMove]:
    """Print a table, each line as soon as its move is known; gives all of them."""
    tell(f"{'ply':>3}  player  {'move':<5} {'value':>5}  {'best':>5}  {'lost':>4}  best moves")
    moves = []
    for move in found:
        moves.append(move)
        tell(line_of(move), flush=True)
    return moves


def line_of(move: JudgedMove) -> str:
    """One move as text."""
    return (f"{move.ply:>3}  {move.player:<6}  {move.move:<5} {move.value:>+5}  "
            f"{move.best_value:>+5}  {move.regret or '-':>4}  {' '.join(move.best_moves)}"
            f"{f'  ({move.mark})' if move.mark else ''}")


def totals(moves: list[JudgedMove]) -> str:
    """What each player threw away in a game."""
    texts = []
    for player in "AB":
        own = [move for move in moves if move.player == player]
        best = sum(not move.regret for move in own)
        texts.append(f"{player} threw away {sum(move.regret for move in own)} VP, "
                     f"{best} of {len(own)} moves best")
    return "\n".join(texts)
