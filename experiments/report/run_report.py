"""Reports of finished runs: results as JSON, Markdown with pictures, tables in the terminal."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import rich

from agents.runs import environment_info, write_json_atomic, write_text_atomic
from castle_env import Game
from castle_env.game_record import GameRecord
from experiments.measure.intervals import Interval
from experiments.measure.records import Summary, SummaryRow, distinct_games
from experiments.measure.weights import weights_of
from experiments.options import RESULTS, command_line
from experiments.output import tell
from experiments.report.gain import gain_markdown
from experiments.report.plain_text import markdown_code, markdown_prose, markdown_text
from experiments.report.plots import learning_curve, margin_distribution, regret_curve, win_rates
from experiments.report.tables import (
    SEAT_NAMES,
    summary_table,
    terminal_table,
    to_markdown,
    to_rich,
)


def write_results(folder: Path, config: Mapping[str, Any], game: Game, results: Any) -> None:
    """Write `results.json`: command, config, weights of agents, ruleset, versions, machine, git
    commit and results.
    """
    write_json_atomic(folder / RESULTS, {
        "command": command_line(), "config": config, "weights": weights_of(_agents_of(config)),
        "ruleset": game.rules.to_dict(),
        "ruleset_digest": game.rules.digest, "environment": environment_info(), "results": results,
    })


def _agents_of(config: Mapping[str, Any]) -> list[str]:
    """Names of the agents that a command's options name."""
    names = [config.get("agent"), config.get("opponent"), *config.get("agents", ()),
             *config.get("baselines", ())]
    return [name for name in names if name is not None]


def draw_summaries(
    folder: Path, name: str, subject: str, summaries: Sequence[Summary],
    records: Sequence[GameRecord],
) -> str:
    """Draw win rates and margins of one agent against its opponents; Markdown that shows them."""
    win_rates({summary.opponent: {SEAT_NAMES[row.seat]: row.win_rate for row in summary.rows}
               for summary in summaries}, folder / f"{name}-win-rates.png",
              f"Win rate of {subject} by opponent and seat")
    margin_distribution({summary.opponent: _margins(summary, records) for summary in summaries},
                        folder / f"{name}-margins.png", subject)
    text = markdown_text(subject)
    return (f"![Win rates of {text}]({name}-win-rates.png)\n\n"
            f"![VP margins of {text}]({name}-margins.png)\n")


def draw_learning(
    folder: Path, name: str, subject: str, evaluations: Sequence[Mapping[str, Any]]
) -> str:
    """Draw win rates against the panel, and regret, over training; Markdown that shows them.

    It begins with what training gained.

    evaluations: those that `experiments.measure.panel` makes, each with its "steps".
    """
    curves: dict[str, list[tuple[int, Interval]]] = {}
    for evaluation in evaluations:
        for row in evaluation["rows"]:
            point = evaluation["steps"], Interval(*row["win_rate_interval"])
            curves.setdefault(row["opponent"], []).append(point)
    learning_curve(curves, folder / f"{name}-curve.png", subject)
    shown = (f"{gain_markdown(evaluations)}\n"
             f"![Win rate of {markdown_text(subject)} while it learned]({name}-curve.png)\n")
    regrets = [(evaluation["steps"], Interval.from_dict(evaluation["regret"]))
               for evaluation in evaluations if evaluation["regret"]]
    if regrets:
        regret_curve(regrets, folder / f"{name}-regret.png", subject)
        shown += f"\n![Regret of {markdown_text(subject)} while it learned]({name}-regret.png)\n"
    return shown


def _margins(summary: Summary, records: Sequence[GameRecord]) -> dict[str, list[int]]:
    games = distinct_games(records)
    return {
        SEAT_NAMES[seat]: [
            game.margin_of(seat) for game in games
            if game.players[seat] == summary.agent and game.players[1 - seat] == summary.opponent
        ]
        for seat in (0, 1)
    }


def summary_markdown(summaries: Sequence[Summary]) -> str:
    """The table of results, a line for each opponent and seat."""
    return to_markdown(summary_table([row for summary in summaries for row in summary.rows], ""))


def print_summaries(summaries: Sequence[Summary], title: str) -> None:
    """Show the results in the terminal, and how the games ended."""
    rows = [row for summary in summaries for row in summary.rows]
    rich.print(to_rich(terminal_table(rows, title)))
    endings = count_endings(rows)
    tell("ended by: " + ", ".join(f"{reason} {count}" for reason, count in endings.items()))


def count_endings(rows: Iterable[SummaryRow]) -> Counter[str]:
    """How many distinct games ended for which reason, each game once.

    A game of an agent against itself stands in the rows of both seats.
    """
    endings: Counter[str] = Counter()
    for row in rows:
        if row.seat == 0 or (row.seat == 1 and row.agent != row.opponent):
            endings.update(row.reasons)
    return endings


def intro(title: str, command: str, game: Game, seed: int) -> str:
    """The head of a report: what was run, on which rules, with which versions."""
    return (f"# {markdown_text(title)}\n\n"
            f"Ruleset {markdown_code(game.rules.name)} (`{game.rules.digest}`), seed {seed}; "
            f"all numbers come from {markdown_code(command)} and stand in `results.json`.\n\n"
            f"{circumstances()}")


def circumstances() -> str:
    """Versions, machine and git commit of this process in small print."""
    return circumstances_text(environment_info())


def circumstances_text(environment: Mapping[str, Any] | None) -> str:
    """The same of anything that was made with what `environment_info` gave, if that was kept."""
    if environment is None:
        return "<sub>made by an earlier version, which did not keep its commit</sub>\n"
    versions = ", ".join(f"{name} {version}" for name, version in environment["packages"].items())
    machine = environment["machine"]
    text = (f"{versions}; Python {environment['python']}; {machine['processor']}, "
            f"{machine['cores']} cores, {machine['os']}; "
            f"commit {environment['git_commit'] or 'unknown'}")
    return f"<sub>{markdown_prose(text)}</sub>\n"


def write_report(folder: Path, parts: Sequence[str]) -> Path:
    """Write `report.md` from parts, with a blank line between them; its path."""
    path = folder / "report.md"
    write_text_atomic(path, "\n".join(parts))
    return path


# How the tables are to be read, once in each report.
READING = """\
Games are counted once: two games with the same moves are one distinct game, and all rates and
intervals rest on distinct games. Win rate: wins plus half the draws, with the 95% Wilson interval;
VP margin: own Victory Points minus the opponent's, with the 95% bootstrap interval of the mean.
Seat "first" moves first.
"""
