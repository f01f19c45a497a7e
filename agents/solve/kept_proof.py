"""Proofs of sudden-death positions in a file, from which a later run goes on.

The file is an uncompressed NumPy archive: `table`, the table of the search, and `card`, JSON as
bytes that tells the ruleset, the position and what is proven. The archive has a checksum of each.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np

from agents.runs import atomic_path
from agents.solve.sudden_death_solver import Proof, SuddenDeathSolver
from castle_env.errors import CastleError
from castle_env.position import Position

FORMAT: Final = 1


class ProofError(CastleError):
    """A kept proof is damaged, or one of another position, ruleset or size of table."""


def save(path: Path, solver: SuddenDeathSolver, position: Position) -> None:
    """Write the table and the proof, whole or not at all; raises `RunError`.

    A search may go on meanwhile: what it writes halfway counts as missing.
    """
    card = json.dumps({**_asked(solver, position), "proof": asdict(solver.proof)}).encode()
    with atomic_path(path) as temporary, open(temporary, "xb") as file:
        np.savez(file, table=solver.table, card=np.frombuffer(card, dtype=np.uint8))


def load(path: Path, solver: SuddenDeathSolver, position: Position) -> Proof:
    """Fill the solver's table from a file, and give what was proven; raises `ProofError`."""
    try:
        # NumPy would leave a file open that is no archive.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            card = json.loads(archive["card"].tobytes())
            asked = _asked(solver, position)
            found = {name: card.get(name) for name in asked}
            if found != asked:
                raise ProofError(f"proof {str(path)!r} is of {found}; allowed: {asked}; remove it "
                                 "to start anew")
            solver.table[:] = archive["table"]
            return Proof(**card["proof"])
    except OSError as error:
        raise ProofError(f"cannot read proof {str(path)!r}: {error.strerror or error}") from error
    except (BadZipFile, EOFError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, ProofError):
            raise
        raise ProofError(f"proof {str(path)!r} is damaged: {error}; remove it to start "
                         "anew") from error


def _asked(solver: SuddenDeathSolver, position: Position) -> dict[str, Any]:
    """What a proof is one of."""
    return {"format": FORMAT, "ruleset": solver.game.rules.digest,
            "position": solver.game.format_position(position),
            "memory_bytes": solver.table.nbytes}
