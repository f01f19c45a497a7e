"""`castle evaluate`: how one agent does against another, from both seats."""

from dataclasses import asdict, dataclass
from typing import Annotated

import tyro

from experiments.measure.match import agent_of, check_match, play_pairs
from experiments.options import AgentArgument, MatchOptions
from experiments.report import match_report


@dataclass(frozen=True, kw_only=True)
class Evaluate(MatchOptions):
    """Play two agents against each other and report win rates and VP margins for each seat."""

    agent: AgentArgument
    """The agent that the report is about, such as ppo:PATH."""
    opponent: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="OPPONENT")]
    """Its opponent, such as alphabeta:4."""


def run(options: Evaluate) -> None:
    """Play, print the table and write `results.json` and `report.md` into a new folder."""
    game = options.game()
    check_match(game, options.games, options.opening_plies, options.seed)
    pair = agent_of(game.rules, options.agent), agent_of(game.rules, options.opponent)
    options.start()
    with options.new_folder("evaluate") as folder:
        records = play_pairs(options, game, [(options.agent, options.opponent)],
                             f"{options.agent} against {options.opponent}")
        match_report.write(folder, game, asdict(options), (pair[0].name, pair[1].name), records,
                           options.seed)
    options.write_results_of(folder)
