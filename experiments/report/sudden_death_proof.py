"""What `castle solve` proves of a sudden-death position, as text and as plain values."""

from typing import Any

from agents.search.horizon_table import HIGHEST, LOWEST
from agents.solve.sudden_death_solver import Proof
from castle_env import Game, Position


def progress_text(proof: Proof) -> str:
    """One line about a search under way; margins are the mover's."""
    low = "any" if proof.low == LOWEST else f"at least {proof.low:+d}"
    high = "any" if proof.high == HIGHEST else f"at most {proof.high:+d}"
    return (f"{proof.horizon} plies ahead: {low}, {high}  {proof.nodes:,} nodes in "
            f"{proof.seconds:.0f} s")


def report(game: Game, position: Position, proof: Proof) -> str:
    """What is proven, as text."""
    mover, other = "AB" if position.ply & 1 == 0 else "BA"
    lines = [f"position: {game.format_position(position)}"]
    if proof.value is None:
        bounds = [f"at least {proof.low:+d}"] * (proof.low != LOWEST)
        bounds += [f"at most {proof.high:+d}"] * (proof.high != HIGHEST)
        lines.append(f"result:   margin {' and '.join(bounds) or 'not bounded yet'} for {mover}")
    else:
        verb = {1: "wins", 0: "draws", -1: "loses"}[(proof.value > 0) - (proof.value < 0)]
        lines.append(f"result:   {mover} to move {verb}, margin {proof.value:+d} for {mover}, "
                     f"{proof.length} plies")
    for player, bound, within, word in ((mover, proof.low, proof.mover_within, "at least"),
                                        (other, proof.high, proof.opponent_within, "at most")):
        if within is not None:
            lines.append(f"proof:    {player} can end the game within {within} plies with a margin "
                         f"of {word} {bound:+d} for {mover}")
    lines.append(f"search:   {proof.horizon} plies ahead, {proof.nodes:,} nodes in "
                 f"{proof.seconds:.1f} s")
    return "\n".join(lines)


def to_dict(game: Game, position: Position, proof: Proof) -> dict[str, Any]:
    """What is proven, as plain values; margins are the mover's."""
    return {
        "ruleset": game.rules.to_dict(),
        "position": game.format_position(position),
        "value": proof.value,
        "length": proof.length,
        "low": None if proof.low == LOWEST else proof.low,
        "high": None if proof.high == HIGHEST else proof.high,
        "mover_within": proof.mover_within,
        "opponent_within": proof.opponent_within,
        "horizon": proof.horizon,
        "nodes": proof.nodes,
        "seconds": proof.seconds,
    }
