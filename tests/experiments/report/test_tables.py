"""Tables: one description, two forms."""

import io
import math

import pytest
import rich.console

from castle_env import Outcome, load_ruleset
from castle_env.errors import OptionError
from castle_env.game_record import GameRecord
from experiments.measure.intervals import Interval
from experiments.measure.ratings import cross_table, rate
from experiments.measure.records import summarise
from experiments.report.tables import (
    Table,
    cross_table_table,
    percent,
    plain,
    ratings_table,
    signed,
    summary_table,
    to_markdown,
    to_rich,
)

RECORDS = [GameRecord(load_ruleset("storm"), (action,),
                      Outcome(winner, margin, (4, 3), {}, "turn_limit"), ("a", "b"))
           for action, winner, margin in ((1, 0, 1), (2, None, 0), (3, 0, 2))]

UNKNOWN = Interval(2, float("nan"), float("nan"))


def shown(table: Table) -> str:
    """What the terminal would show."""
    written = io.StringIO()
    rich.console.Console(file=written, width=200, color_system=None).print(to_rich(table))
    return written.getvalue()


def test_markdown() -> None:
    table = Table("results", ("player", "points"), (("a|b", "3"), ("c\nd", "12.5")),
                  frozenset({1}))
    assert to_markdown(table) == ("| player | points |\n| :-- | --: |\n| a\\|b | 3 |\n"
                                  "| c d | 12.5 |\n")


def test_rich_shows_text_and_no_markup() -> None:
    text = shown(Table("[b]title", ("player",), (("[red]a[/red]",),)))
    assert "[b]title" in text
    assert "[red]a[/red]" in text


def test_row_of_another_length_is_refused() -> None:
    with pytest.raises(OptionError, match="has 1 cells; allowed: 2"):
        Table("t", ("a", "b"), (("x",),))


def test_intervals_as_text() -> None:
    assert percent(Interval(0.625, 0.581, 0.667)) == "62.5% [58.1, 66.7]"
    assert signed(Interval(1.25, -0.5, 3)) == "+1.25 [-0.50, +3.00]"
    assert plain(Interval(1.25, 0.9, 1.6)) == "1.25 [0.90, 1.60]"
    assert signed(Interval(300, 261.2, math.inf), 0) == "+300 [at least +261]"
    assert signed(Interval(-300, -math.inf, -261.2), 0) == "-300 [at most -261]"
    assert signed(UNKNOWN) == "+2.00"
    assert plain(UNKNOWN) == "2.00"
    assert percent(UNKNOWN) == "200.0%"


def test_tables_of_results() -> None:
    summary = to_markdown(summary_table(summarise(RECORDS, "a", "b").rows, "results"))
    assert "| storm | a | b | both | 3 | 3 | 2 / 1 / 0 | 83.3% [" in summary
    assert "turn_limit 3 |" in summary
    table = cross_table(RECORDS)
    assert to_markdown(cross_table_table(table, "cross")).endswith(
        "| a | – | 2.5 of 3 |\n| b | 0.5 of 3 | – |\n")
    ratings = to_markdown(ratings_table(rate(table), "ratings"))
    assert ratings.splitlines()[2].startswith("| 1 | a | +")
