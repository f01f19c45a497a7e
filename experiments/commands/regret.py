"""`castle regret`: how far the moves of agents are from perfect play in storm."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import rich
import tyro

from agents.openings import check_opening_plies
from agents.solve.perfect_play import PerfectPlay
from castle_env import Game, OptionError, make_agent
from castle_env.agent import Agent
from experiments.measure.decisions import (
    SOURCES,
    Choice,
    Decision,
    RegretRow,
    choices_in_own_games,
    choices_in_random_play,
    judge_all,
    summarise_decisions,
)
from experiments.options import GameOptions, command_line
from experiments.progress import progress_bar
from experiments.report import plots
from experiments.report import run_report as report
from experiments.report.tables import SEAT_NAMES, Table, percent, plain, to_markdown, to_rich

# How the tables are to be read.
READING: Final = """\
Every legal move has an exact value: the Victory Point margin for the mover under best play by both
after it. Regret is the value of the best move minus that of the move chosen; an optimal move has
none. A win is lost where the best move wins and the chosen one only draws or loses: as a share of
all moves, and as a count of the positions that were won.

Positions come from own games (the agent in both seats, after random opening plies) and from random
play (the same positions for all agents). Positions that are the same up to symmetry count once for
each agent, with one choice. Intervals are 95% bootstrap intervals over games. Seat "first" moves at
even plies.
"""


@dataclass(frozen=True, kw_only=True)
class Regret(GameOptions):
    """Measure agents against perfect play in storm: regret per move, optimal moves, lost wins."""

    agents: tyro.conf.Positional[tuple[str, ...]]
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
        _measure_and_report(options, play, agents, folder)


def _measure_and_report(
    options: Regret, play: PerfectPlay, agents: list[Agent], folder: Path
) -> None:
    game = play.game
    decisions = measure(options, play, agents)
    rows = summarise_decisions(decisions, options.seed)
    title = f"Regret in {game.rules.name}"
    report.write_results(folder, asdict(options), game, {
        "rows": rows, "decisions": [asdict(decision) for decision in decisions]})
    path = report.write_report(folder, [
        report.intro(title, command_line(), game, options.seed), READING,
        "## Summary\n", to_markdown(summary_table(rows, (None,), "")),
        _draw(folder, rows, game.rules.name),
        "## By seat\n", to_markdown(summary_table(rows, (0, 1), "")), *_by_ply(rows),
    ])
    rich.print(to_rich(terminal_table(rows, title)))
    print(f"report: {path}")


def _check(options: Regret, game: Game) -> None:
    """Raise `OptionError` for numbers with which nothing can be measured."""
    for name in ("games", "positions"):
        if getattr(options, name) < 1:
            raise OptionError(f"{name} is {getattr(options, name)}; allowed: an integer from 1 on")
    if options.seed < 0:
        raise OptionError(f"seed is {options.seed}; allowed: an integer from 0 on")
    check_opening_plies(game, options.opening_plies)
    if not 0 <= options.from_ply < game.rules.max_plies:
        raise OptionError(f"from_ply is {options.from_ply}; allowed: 0 to "
                          f"{game.rules.max_plies - 1} in ruleset {game.rules.name!r}")


def measure(options: Regret, play: PerfectPlay, agents: Sequence[Agent]) -> list[Decision]:
    """Let the agents choose, then judge what they chose, ply by ply."""
    game, seed = play.game, options.seed
    own = range(options.opening_plies, game.rules.max_plies)
    random = range(options.from_ply, game.rules.max_plies)
    choices: list[Choice] = []
    with progress_bar("agents choose", 2 * len(agents)) as advance:
        for agent in agents:
            choices += choices_in_own_games(game, agent, options.games, own, seed)
            advance(1)
            choices += choices_in_random_play(game, agent, options.positions, random, seed)
            advance(1)
    choices = [choice for choice in choices if choice.position.ply >= options.from_ply]
    choices.sort(key=lambda choice: choice.position.ply)
    with progress_bar("exact values", len(choices)) as advance:
        return judge_all(play, choices, advance)


# Tables and pictures


def _all_plies(rows: Sequence[RegretRow], seats: Sequence[int | None]) -> list[RegretRow]:
    """The rows of whole games, those of one source after those of the other."""
    return [row for source in SOURCES for row in rows
            if row.source == source and row.ply is None and row.seat in seats]


def summary_table(rows: Sequence[RegretRow], seats: Sequence[int | None], title: str) -> Table:
    """All plies together, a line per source, agent and seat."""
    cells = tuple(
        (row.source, row.agent, SEAT_NAMES[row.seat], str(row.moves), plain(row.regret),
         percent(row.optimal), percent(row.loses_win), f"{row.lost_wins} of {row.won}")
        for row in _all_plies(rows, seats))
    columns = ("positions", "agent", "seat", "moves", "regret in VP per move", "optimal moves",
               "moves that lose a win", "wins lost")
    return Table(title, columns, cells, frozenset(range(3, 8)))


def terminal_table(rows: Sequence[RegretRow], title: str) -> Table:
    """The same for both seats in the 80 columns of a terminal."""
    cells = tuple((row.source, row.agent, plain(row.regret), percent(row.optimal, 0),
                   f"{row.lost_wins} of {row.won}") for row in _all_plies(rows, (None,)))
    columns = ("positions", "agent", "VP per move", "optimal", "wins lost")
    return Table(title, columns, cells, frozenset(range(2, 5)))


def _by_ply(rows: Sequence[RegretRow]) -> list[str]:
    """Markdown of a table per measure, with a line per source and ply and a column per agent."""
    return [text for heading, cell in (
        ("Regret in VP per move, by ply", lambda row: plain(row.regret)),
        ("Optimal moves, by ply", lambda row: percent(row.optimal, 0)),
        ("Moves that lose a win, by ply", lambda row: percent(row.loses_win, 0)),
    ) for text in (f"## {heading}\n", to_markdown(_ply_table(rows, cell)))]


def _ply_table(rows: Sequence[RegretRow], cell: Callable[[RegretRow], str]) -> Table:
    found = {(row.source, row.ply, row.agent): row for row in rows if row.ply is not None}
    agents = tuple(dict.fromkeys(row.agent for row in rows))
    lines = sorted({(SOURCES.index(source), ply) for source, ply, _ in found})
    cells = tuple(
        (SOURCES[source], str(ply), SEAT_NAMES[ply & 1],
         *(cell(found[SOURCES[source], ply, agent]) for agent in agents))
        for source, ply in lines)
    return Table("", ("positions", "ply", "seat", *agents), cells,
                 frozenset({1, *range(3, 3 + len(agents))}))


def _draw(folder: Path, rows: Sequence[RegretRow], subject: str) -> str:
    """Draw regret and optimal moves by ply; Markdown that shows them."""
    regret: plots.PlyCurves = {}
    optimal: plots.PlyCurves = {}
    for row in rows:
        if row.ply is not None:
            for curves, value in ((regret, row.regret), (optimal, row.optimal)):
                curves.setdefault(row.agent, {}).setdefault(row.source, []).append((row.ply, value))
    plots.regret_by_ply(regret, folder / "regret.png", subject)
    plots.optimal_by_ply(optimal, folder / "optimal-moves.png", subject)
    return "![Regret by ply](regret.png)\n\n![Optimal moves by ply](optimal-moves.png)\n"
