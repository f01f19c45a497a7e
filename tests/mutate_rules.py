"""Break the rules in small ways, and see that the tests notice: `python tests/mutate_rules.py`.

Each mutation is one edit to a copy of `castle_env`, which those tests of the rules that need no
agent then run as plain Python. Prints caught or SURVIVED for each; exit status 1 if one survives,
or if the tests fail without any mutation. Names given as arguments choose mutations.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
# Whole games first: most mutations are noticed there, within a second.
TESTS: Final = ("tests/castle_env/test_game_conformance.py::test_game",
                "tests/castle_env/test_game.py")
# A counterexample is enough; none is made smaller.
PLUGIN: Final = """
from hypothesis import Phase, settings

settings.register_profile("first", phases=(Phase.explicit, Phase.generate))
settings.load_profile("first")
"""


class Mutation(NamedTuple):
    """`old`, which stands once in a file of castle_env, becomes `new`."""

    old: str
    new: str
    file: str = "kernels.py"


MUTATIONS: Final = {
    # Pushing.
    "the bastion may be pushed": Mutation(
        "fixed = bastion | (strongholds & _EDGE[direction])",
        "fixed = strongholds & _EDGE[direction]"),
    "a stronghold may leave the board": Mutation(
        "fixed = bastion | (strongholds & _EDGE[direction])", "fixed = bastion"),
    "tokens wrap round the board": Mutation(
        ">> _RIGHT[direction]) & _KEEP[direction]", ">> _RIGHT[direction]) & BOARD"),
    "long runs lose their end": Mutation(
        "    seeds |= shift(seeds, direction) & through\n    return seeds", "    return seeds"),
    "opposing factions stay where they are": Mutation(
        "opposing = opposing & ~run | shift(opposing & run, direction)",
        "opposing = opposing & ~target"),
    "pushed strongholds are doubled": Mutation(
        "strongholds = strongholds & ~run | shift", "strongholds = strongholds | shift"),
    # Entering and stepping.
    "a token on the edge cannot be met": Mutation(
        "return (doors | shift(travelled, direction)) & occupied",
        "return shift(travelled, direction) & occupied"),
    "entries ignore what cannot be pushed": Mutation(
        "return first_met(occupied, doors, direction) & pushed",
        "return first_met(occupied, doors, direction)"),
    "entries from the west ask what goes west": Mutation(
        "rules.doors[player, 2], to_east, 3)", "rules.doors[player, 2], to_west, 3)"),
    "stepping in never pushes": Mutation("doors & (~occupied | pushed)", "doors & ~occupied"),
    "steps to the north never push": Mutation(
        "steps(rules, own, occupied, to_north, 0)", "steps(rules, own, occupied, 0, 0)"),
    "steps need not push": Mutation(
        "free = 0 if rules.steps == STEPS_PUSHING else BOARD & ~occupied",
        "free = BOARD & ~occupied"),
    "entries are checked as the first player's": Mutation(
        "rules.doors[position.ply & 1, kind]", "rules.doors[0, kind]"),
    "a step leaves its faction behind": Mutation("        own &= ~bit\n", "        own |= bit\n"),
    "an entry costs nothing": Mutation("hand -= 1", "hand -= 0"),
    "both players enter as the first": Mutation("player = position.ply & 1\n    to_north",
                                               "player = 0\n    to_north"),
    "the second player's own axis is the first's": Mutation(
        "(0, 0, west & middle_ranks, east & middle_ranks)),",
        "(north & middle_files, south & middle_files, 0, 0)),", "rule_table.py"),
    "central lanes reach the corners": Mutation(
        "west & middle_ranks, east & middle_ranks),) * 2", "west, east),) * 2",
        "rule_table.py"),
    "home edges are exchanged": Mutation(
        '"home_edge": ((0, south & middle_files, 0, 0), (north & middle_files, 0, 0, 0))',
        '"home_edge": ((north & middle_files, 0, 0, 0), (0, south & middle_files, 0, 0))',
        "rule_table.py"),
    # Turns and ends.
    "a move leaves no bastion": Mutation(
        "Position(opposing, own, strongholds, target,", "Position(opposing, own, strongholds, 0,"),
    "a pass keeps the bastion": Mutation(
        "position.own, position.strongholds, 0,", "position.own, position.strongholds, "
        "position.bastion,"),
    "a pass is always legal": Mutation(
        "if count_moves(legal_moves(rules, position)) == 0:",
        "if count_moves(legal_moves(rules, position)) >= 0:"),
    "a pass is never in the mask": Mutation(
        "out_mask[PASS] = any_move == 0 and not over", "out_mask[PASS] = False", "batch.py"),
    "a pass is in the mask of a game that is over": Mutation(
        "out_mask[PASS] = any_move == 0 and not over", "out_mask[PASS] = any_move == 0",
        "batch.py"),
    "one turn too many": Mutation(
        "position.ply >= rules.max_plies or", "position.ply > rules.max_plies or"),
    "the last entry ends nothing": Mutation(
        "position.ply >= rules.max_plies or last_entry", "position.ply >= rules.max_plies"),
    "the last entry ends the game of the other": Mutation(
        "!= 0 and position.opposing_hand == 0", "!= 0 and position.own_hand == 0"),
    # Victory Points.
    "equal numbers control": Mutation(
        "popcount(side & around) > popcount(other & around)",
        "popcount(side & around) >= popcount(other & around)"),
    "only north and south besiege": Mutation(
        "weights[1] * popcount(side & neighbours(strongholds))",
        "weights[1] * popcount(side & (shift(strongholds, 0) | shift(strongholds, 1)))"),
    "contact on one side alone": Mutation(
        "contact += popcount(side & shift(strongholds, direction))",
        "contact = popcount(side & shift(strongholds, direction))"),
    "survivors score for the other": Mutation(
        "weights[4] * popcount(side)", "weights[4] * popcount(other)"),
    "squares are upside down": Mutation(
        "rules.squares[square_of(remaining & -remaining)]",
        "rules.squares[35 - square_of(remaining & -remaining)]"),
    "captures score for those who lose": Mutation(
        "return opposing_lost - position.opposing_forfeits, own_lost - position.own_forfeits",
        "return own_lost - position.own_forfeits, opposing_lost - position.opposing_forfeits"),
    "tokens pushed off by their owner score": Mutation(
        "return opposing_lost - position.opposing_forfeits, own_lost - position.own_forfeits",
        "return opposing_lost, own_lost"),
    "pushing off the other's token forfeits it": Mutation(
        "if rules.enemy_only and own & run", "if rules.enemy_only and opposing & run"),
    "capture credit is exchanged": Mutation(
        'rules.capture_credit == "enemy_only"', 'rules.capture_credit != "enemy_only"',
        "rule_table.py"),
}


def survives(mutation: Mutation | None) -> bool:
    """Whether the tests pass with a mutation, or without any."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "castle_env"
        shutil.copytree(ROOT / "castle_env", copy, ignore=shutil.ignore_patterns("__pycache__"))
        if mutation is not None:
            file = copy / mutation.file
            text = file.read_text(encoding="utf-8")
            assert text.count(mutation.old) == 1, f"{mutation.old!r} is not once in {file.name}"
            file.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
        (Path(folder) / "first_counterexample.py").write_text(PLUGIN, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-P", "-m", "pytest", "-qx", "-p", "no:cacheprovider",
             "-p", "first_counterexample", *TESTS],
            cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
            env=os.environ | {"PYTHONPATH": folder, "NUMBA_DISABLE_JIT": "1"})
        assert done.returncode in (0, 1), f"pytest ended with {done.returncode}"
        return done.returncode == 0


def main(names: list[str]) -> int:
    """Try the mutations called `names`, or all of them, on all cores; the exit status."""
    if not survives(None):
        print("the tests fail without any mutation")
        return 1
    names, killed = names or list(MUTATIONS), 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(survives, map(MUTATIONS.__getitem__, names))
        for name, survived in zip(names, found, strict=True):
            print("SURVIVED" if survived else "caught  ", name, flush=True)
            killed += not survived
    print(f"killed {killed} of {len(names)}")
    return int(killed < len(names))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
