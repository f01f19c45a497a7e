"""`castle tournament`: all pairs of several agents, from both seats, with ratings."""

from dataclasses import asdict, dataclass
from itertools import combinations

from castle_env import OptionError
from experiments.measure.match import agent_of, check_match, play_pairs
from experiments.options import AgentsArgument, MatchOptions
from experiments.report import tournament_report


@dataclass(frozen=True, kw_only=True)
class Tournament(MatchOptions):
    """Play all pairs of agents from both seats; cross-table and Bradley–Terry ratings."""

    agents: AgentsArgument
    """Two or more agents, such as random greedy alphabeta:2 ppo:PATH."""


def run(options: Tournament) -> None:
    """Play, print cross-table and ratings, and write them with pictures into a new folder."""
    game = options.game()
    check_match(game, options.games, options.opening_plies, options.seed)
    options.start()
    agents = [agent_of(game.rules, spec) for spec in options.agents]
    if len({agent.name for agent in agents}) < max(2, len(agents)):
        raise OptionError(f"agents are {' '.join(options.agents) or 'none'}; allowed: two or more, "
                          "all different")
    with options.new_folder("tournament") as folder:
        records = play_pairs(options, game, list(combinations(options.agents, 2)), "tournament")
        tournament_report.write(folder, game, asdict(options), [agent.name for agent in agents],
                                records, options.seed)
    options.write_results_of(folder)
