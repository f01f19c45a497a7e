"""A ruleset as the numbers that the compiled rules read."""

import numpy as np
import numpy.typing as npt

from castle_env.board import EDGES, FIRST_COLUMN, SIZE, SQUARES, TOP_ROW
from castle_env.compiled import COMPILED
from castle_env.kernels import RULES_DTYPE, STEPS_ALL, STEPS_PUSHING, RuleTable
from castle_env.ruleset import SUDDEN_DEATH, Ruleset


def rule_table(rules: Ruleset) -> RuleTable:
    """The numbers of a ruleset, in the form that the compiled functions take."""
    points = rules.victory_points
    sudden_death = rules.mode == SUDDEN_DEATH
    layout = "".join(rules.strongholds)
    table = np.zeros(1, dtype=RULES_DTYPE)
    table["factions"] = rules.factions_per_player
    table["max_plies"] = rules.max_plies
    table["strongholds"] = sum(1 << square for square in range(SQUARES) if layout[square] == "#")
    table["ends_at_last_entry"] = sudden_death
    table["enters_by_step"] = rules.entry_style == "step"
    if sudden_death:
        table["steps"] = STEPS_PUSHING if rules.steps_must_push else STEPS_ALL
    table["enemy_only"] = rules.capture_credit == "enemy_only"
    table["doors"] = _doors(rules.entry_lanes)
    table["points"] = (points.captured, points.besieging, points.contact, points.controlled,
                       points.survivor)
    if points.squares is not None:
        table["uses_squares"] = 1
        table["squares"] = np.array(points.squares).reshape(-1)
    # Compiled code reads the fields of any row as attributes, plain Python those of a record.
    return table if COMPILED else table.view(np.recarray)


def _doors(entry_lanes: str) -> npt.NDArray[np.int64]:
    """Edge squares open to each player by side, shape (2, 4), for a value of `entry_lanes`."""
    middle_files = TOP_ROW & ~FIRST_COLUMN & ~(FIRST_COLUMN << (SIZE - 1))
    middle_files |= middle_files << (SIZE * (SIZE - 1))
    middle_ranks = (FIRST_COLUMN | FIRST_COLUMN << (SIZE - 1)) & ~TOP_ROW & ~EDGES[1]
    north, south, west, east = EDGES
    by_player = {
        "all": (EDGES, EDGES),
        "central": ((north & middle_files, south & middle_files,
                     west & middle_ranks, east & middle_ranks),) * 2,
        "own_axis": ((north & middle_files, south & middle_files, 0, 0),
                     (0, 0, west & middle_ranks, east & middle_ranks)),
        "home_edge": ((0, south & middle_files, 0, 0), (north & middle_files, 0, 0, 0)),
    }
    return np.array(by_player[entry_lanes], dtype=np.int64)
