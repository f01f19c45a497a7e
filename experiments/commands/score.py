"""`castle score`: how strong an agent is, by one fixed protocol whose figures can be compared."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import rich

from castle_env import Game, load_ruleset
from castle_env.ruleset import STORM
from experiments.measure.match import PANEL, agent_of
from experiments.measure.records import SummaryRow
from experiments.measure.score import VERSION, MoveRow, Score, chance, score, task_count
from experiments.measure.truth_set import shipped_truth_set
from experiments.options import (
    AgentArgument,
    BackendOptions,
    ModeOption,
    RunOptions,
    command_line,
)
from experiments.output import tell
from experiments.progress import progress_bar
from experiments.report import run_report as report
from experiments.report.tables import Table, percent, plain, signed, to_markdown, to_rich

CHANCE: Final = "random"

READING: Final = f"""\
Protocol: {VERSION}, `docs/score.md`. Points: wins plus half the draws in distinct games against
each agent of the panel, both seats together, with the 95% interval. Regret: Victory Points
thrown away per move, by exact values, on the shipped truth set; optimal: the share of moves that
throw nothing away; each ply counts alike, with 95% normal intervals. Beside each figure stands
that of the player who draws each legal move alike.
"""


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(RunOptions, BackendOptions):
    """Score an agent by one fixed protocol: points against a panel and, in storm, regret.

    The same agent has the same figures anywhere, whatever the number of workers.
    """

    agent: AgentArgument
    """The agent, such as ppo-storm, alphabeta:4 or ppo:PATH."""
    mode: ModeOption = "storm"
    """Which mode's default ruleset to play."""
    markdown: bool = False
    """Print the row of the agent for the table in docs/score.md, and nothing else."""


def run(options: ScoreOptions) -> None:
    """Score, print the table and write results and report into a new folder."""
    game = Game(load_ruleset(options.mode))
    agent_of(game.rules, options.agent)
    options.start()
    with options.new_folder("score") as folder:
        _score(options, game, folder)


def _score(options: ScoreOptions, game: Game, folder: Path) -> None:
    ours = _measured(options, game, options.agent)
    random = ours if options.agent == CHANCE else _measured(options, game, CHANCE)
    moves_by_chance = chance(shipped_truth_set()) if game.rules.mode == STORM else ()
    title = f"{ours.agent} in {game.rules.name}, {VERSION}"
    tables = score_tables(ours, random, moves_by_chance)
    results = {**ours.to_dict(), "chance": {
        "points": [row.to_dict() for row in random.points],
        "moves": [row.to_dict() for row in moves_by_chance]}}
    report.write_results(folder, asdict(options), game, results)
    path = report.write_report(folder, [
        report.intro(title, command_line(), game, 0), READING, *map(to_markdown, tables),
        "The row for the table in `docs/score.md`:\n", score_row(options, ours)])
    options.write_json(results)
    if options.markdown:
        tell(score_row(options, ours), end="")
        return
    tell(title)
    for table in tables:
        rich.print(to_rich(table))
    tell(f"report: {path}")


def _measured(options: ScoreOptions, game: Game, agent: str) -> Score:
    with progress_bar(f"scoring {agent}", task_count(game, agent)) as advance:
        return score(game, agent, options.start().map, advance)


def score_tables(
    ours: Score, random: Score, moves_by_chance: Sequence[MoveRow]
) -> list[Table]:
    """Points and, in storm, moves, with the figures of chance beside them."""
    points = tuple(_points_line(ours.against(opponent), random.against(opponent), opponent)
                   for opponent in PANEL)
    tables = [Table("", ("against", "distinct", "points", "VP margin", "random's points"), points,
                    frozenset(range(1, 5)))]
    if ours.moves:
        lines = tuple(
            (f"{row.first}–{row.last}", f"{row.moves:,}", plain(row.regret),
             percent(row.optimal), plain(by_lot.regret), percent(by_lot.optimal))
            for row, by_lot in zip(ours.moves, moves_by_chance, strict=True))
        columns = ("plies", "moves", "regret", "optimal", "random's regret", "random's optimal")
        tables.append(Table("", columns, lines, frozenset(range(1, len(columns)))))
    return tables


def _points_line(
    row: SummaryRow | None, by_lot: SummaryRow | None, opponent: str
) -> tuple[str, ...]:
    chances = "itself" if by_lot is None else percent(by_lot.win_rate)
    if row is None:
        return opponent, "", "itself", "", chances
    return (opponent, f"{row.distinct_games:,} of {row.games:,}", percent(row.win_rate),
            signed(row.margin), chances)


def score_row(options: ScoreOptions, ours: Score) -> str:
    """A row of the table in `docs/score.md`, as Markdown that ends with a line end."""
    return to_markdown(Table("", row_columns(bool(ours.moves)), (_row_cells(options, ours),))
                       ).splitlines(keepends=True)[-1]


def row_columns(has_moves: bool) -> tuple[str, ...]:
    """Columns of the table in `docs/score.md`, for storm with the moves' figures."""
    moves = ("regret", "regret from ply 6", "optimal moves") if has_moves else ()
    return ("agent", *PANEL, *moves, "command")


def _row_cells(options: ScoreOptions, ours: Score) -> tuple[str, ...]:
    rows = (ours.against(opponent) for opponent in PANEL)
    points = tuple("itself" if row is None else percent(row.win_rate) for row in rows)
    moves: tuple[str, ...] = ()
    if ours.moves:
        everything, later = ours.moves[:2]
        moves = plain(everything.regret), plain(later.regret), percent(everything.optimal)
    command = f"castle score {shlex.quote(options.agent)} --mode {options.mode}"
    return f"`{ours.agent}`", *points, *moves, f"`{command}`"
