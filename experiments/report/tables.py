"""Tables described once, as rows of text, and shown as Markdown or in the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import rich.box
import rich.table
from rich.text import Text

from castle_env.errors import OptionError
from experiments.report.plain_text import markdown_prose, printable

# What is measured needs statistics; a table of rulesets does without.
if TYPE_CHECKING:
    from experiments.measure.intervals import Interval
    from experiments.measure.ratings import CrossTable, Rating
    from experiments.measure.records import SummaryRow

SEAT_NAMES: Final = {0: "first", 1: "second", None: "both"}


@dataclass(frozen=True)
class Table:
    """Columns and rows of plain text. Columns whose numbers are in `numeric` are set to the right.

    Raises `OptionError` for a row that has not as many cells as there are columns.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise OptionError(f"row {row!r} of table {self.title!r} has {len(row)} cells; "
                                  f"allowed: {len(self.columns)}, one per column")


def to_markdown(table: Table) -> str:
    """The table in Markdown, without its title, ending with a line end."""
    rules = ["--:" if i in table.numeric else ":--" for i in range(len(table.columns))]
    lines = [map(_markdown_cell, table.columns), rules,
             *(map(_markdown_cell, row) for row in table.rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _markdown_cell(text: str) -> str:
    """A cell that may have code in it, but neither tags nor links."""
    return markdown_prose(text).replace("|", "\\|")


def to_rich(table: Table) -> rich.table.Table:
    """The table for `rich.print`; its text is shown as it is, without markup."""
    shown = rich.table.Table(title=Text(printable(table.title)), title_justify="left",
                             box=rich.box.SIMPLE_HEAD, pad_edge=False,
                             padding=(0, 1, 0, 0))
    for i, column in enumerate(table.columns):
        shown.add_column(Text(printable(column)), justify="right" if i in table.numeric else "left",
                         overflow="fold")
    for row in table.rows:
        shown.add_row(*(Text(printable(cell)) for cell in row))
    return shown


def percent(share: Interval, digits: int = 1) -> str:
    """A share with its interval: "62.5% [58.1, 66.7]"."""
    ends = _ends(share, f".{digits}%").replace("%", "")
    return f"{share.estimate:.{digits}%}{ends}"


def plain(value: Interval, digits: int = 2) -> str:
    """A value with its interval: "1.25 [0.90, 1.60]"."""
    return f"{value.estimate:.{digits}f}{_ends(value, f'.{digits}f')}"


def signed(value: Interval, digits: int = 2) -> str:
    """A signed value with its interval: "+1.25 [+0.90, +1.60]"."""
    return f"{value.estimate:+.{digits}f}{_ends(value, f'+.{digits}f')}"


def _ends(value: Interval, form: str) -> str:
    """Both ends, or the one limit that there is: "[at least +261]"."""
    if not value.is_known:
        return ""
    if math.isinf(value.high):
        return f" [at least {value.low:{form}}]"
    if math.isinf(value.low):
        return f" [at most {value.high:{form}}]"
    return f" [{value.low:{form}}, {value.high:{form}}]"


def summary_table(rows: Iterable[SummaryRow], title: str) -> Table:
    """Results of agents against opponents, a line per ruleset and seat."""
    cells = tuple(
        (row.ruleset, row.agent, row.opponent, SEAT_NAMES[row.seat], str(row.games),
         str(row.distinct_games), f"{row.wins} / {row.draws} / {row.losses}", percent(row.win_rate),
         signed(row.margin), f"{row.mean_plies:.1f}",
         ", ".join(f"{reason} {count}" for reason, count in row.reasons.items()))
        for row in rows)
    columns = ("ruleset", "agent", "opponent", "seat", "games", "distinct", "won / drawn / lost",
               "win rate", "VP margin", "plies", "ended by")
    return Table(title, columns, cells, frozenset(range(4, 10)))


def terminal_table(rows: Iterable[SummaryRow], title: str) -> Table:
    """The same results in the 80 columns of a terminal; agent and ruleset go into the title."""
    cells = tuple(
        (row.opponent, SEAT_NAMES[row.seat], f"{row.distinct_games} of {row.games}",
         f"{row.wins}/{row.draws}/{row.losses}", percent(row.win_rate, 0), signed(row.margin, 1))
        for row in rows)
    columns = ("opponent", "seat", "distinct", "w/d/l", "win rate", "VP margin")
    return Table(title, columns, cells, frozenset(range(2, 6)))


def ratings_table(ratings: Iterable[Rating], title: str) -> Table:
    """Ratings in the order given."""
    cells = tuple((str(place), rating.player, signed(rating.rating, digits=0),
                   "" if rating.lead is None else signed(rating.lead, digits=0),
                   f"{rating.points:g}", str(rating.games))
                  for place, rating in enumerate(ratings, start=1))
    columns = ("place", "player", "rating", "ahead of the next", "points", "distinct games")
    return Table(title, columns, cells, frozenset(range(2, 6)) | {0})


def cross_table_table(table: CrossTable, title: str) -> Table:
    """Points of row against column and the distinct games they come from."""
    points, games = table.points(), table.games()
    cells = tuple((player, *(f"{points[i, j]:g} of {games[i, j]}" if games[i, j] else "–"
                             for j in range(len(table.players))))
                  for i, player in enumerate(table.players))
    return Table(title, ("player", *table.players), cells,
                 frozenset(range(1, len(table.players) + 1)))
