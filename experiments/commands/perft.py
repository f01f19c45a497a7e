"""`castle perft`: count the action sequences of a length, to check a rules engine by."""

from dataclasses import dataclass
from time import perf_counter
from typing import Annotated, Final

import tyro

from castle_env import Game, load_ruleset
from experiments.limits import check_range
from experiments.options import OptionalText, OutputOptions, RulesetArgument
from experiments.output import tell

# Counts of longer sequences do not fit into 64 bits, nor into a lifetime.
MAX_DEPTH: Final = 30


@dataclass(frozen=True)
class Perft(OutputOptions):
    """Count the action sequences of exactly `depth` plies; a forced pass counts as one ply."""

    ruleset: RulesetArgument
    """A preset's name or the path of a TOML file."""
    depth: Annotated[int, tyro.conf.arg(aliases=["-d"])] = 5
    """Length of the sequences in plies."""
    divide: bool = False
    """Also show how many of them begin with each action."""
    position: OptionalText = None
    """Text of the position to count from; the start when left out."""


def run(options: Perft) -> None:
    """Print the count, with `divide` by first action."""
    check_range("depth", options.depth, 0, MAX_DEPTH)
    game = Game(load_ruleset(options.ruleset))
    state = (game.initial_state() if options.position is None
             else game.parse_position(options.position))
    started = perf_counter()
    by_action: dict[str, int] = {}
    if options.divide and options.depth > 0:
        by_action = {game.format_action(action): game.perft(game.apply(state, action),
                                                            options.depth - 1)
                     for action in game.legal_actions(state)}
    count = sum(by_action.values()) if by_action else game.perft(state, options.depth)
    for name, leaves in by_action.items():
        tell(f"{name:>6} {leaves:>15,}")
    seconds = perf_counter() - started
    tell(f"perft({options.depth}) of {game.rules.name} = {count:,} in {seconds:.3f} s")
    options.write_json({"ruleset": game.rules.name, "position": game.format_position(state),
                        "depth": options.depth, "count": count, "divide": by_action})
