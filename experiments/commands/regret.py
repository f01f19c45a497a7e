"""`castle regret`: how far the moves of agents are from perfect play in storm."""

from dataclasses import asdict, dataclass
from typing import Final

from agents.openings import check_opening_plies
from agents.solve.perfect_play import PerfectPlay
from castle_env import Game, OptionError, make_agent
from experiments.limits import check_range, check_seed
from experiments.measure.decisions import choose_and_judge
from experiments.options import AgentsArgument, GameOptions
from experiments.report import regret_report

# Each takes milliseconds to minutes to judge.
MAX_POSITIONS: Final = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Regret(GameOptions):
    """Measure agents against perfect play in storm: regret per move, optimal moves, lost wins."""

    agents: AgentsArgument
    """One or more agents, such as random greedy alphabeta:2 ppo:PATH."""
    games: int = 24
    """Games of each agent against itself."""
    positions: int = 24
    """Positions of random play at each ply, the same for all agents."""
    from_ply: int = 4
    """First ply to measure; in default storm a position before ply 4 takes 5 to 40 s to solve."""
    opening_plies: int = 4
    """Random plies before an agent's own games."""
    seed: int = 0
    """Seed of positions, agents and bootstrap."""


def run(options: Regret) -> None:
    """Measure, print the summary and write results, report and pictures into a new folder."""
    game = options.game()
    play = PerfectPlay(game)
    _check(options, game)
    agents = [make_agent(spec, game) for spec in options.agents]
    if not agents or len({agent.name for agent in agents}) < len(agents):
        raise OptionError(f"agents are {' '.join(options.agents) or 'none'}; allowed: one or more, "
                          "all different")
    with options.new_folder("regret") as folder:
        decisions = choose_and_judge(play, agents, options.games, options.positions,
                                     options.from_ply, options.opening_plies, options.seed)
        regret_report.write(folder, game, asdict(options), decisions, options.seed)
    options.write_results_of(folder)


def _check(options: Regret, game: Game) -> None:
    """Raise `OptionError` for numbers with which nothing can be measured."""
    for name in ("games", "positions"):
        check_range(name, getattr(options, name), 1, MAX_POSITIONS)
    check_seed(options.seed)
    check_opening_plies(game, options.opening_plies)
    if not 0 <= options.from_ply < game.rules.max_plies:
        raise OptionError(f"from_ply is {options.from_ply}; allowed: 0 to "
                          f"{game.rules.max_plies - 1} in ruleset {game.rules.name!r}")
