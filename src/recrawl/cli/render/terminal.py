"""Tables for terminals and for redirected output."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from rich import box, table
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from recrawl.cli.output import complain
from recrawl.cli.render.numbers import count
from recrawl.escaping import printable
from recrawl.records import LogFacts

#: Maximum number of pages in a table.
SHOWN = 20
#: How narrow a column gets in which lines may break.
MIN_FOLDED = 20
#: Wide enough for any URL where no terminal limits the width.
ANY_WIDTH = 10_000


class Table(table.Table):
    """A table whose cells are plain text: escaped, and without Rich markup."""

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:  # noqa: ANN401
        """Add a row."""
        super().add_row(*map(_cell, cells), **options)


def _cell(cell: RenderableType | None) -> RenderableType | None:
    if isinstance(cell, Text) and not cell.plain.isprintable():
        return Text(printable(cell.plain), cell.style)
    return Text(printable(cell)) if isinstance(cell, str) else cell


def show(table: Table, *, err: bool = False) -> None:
    """Print a table; without a terminal, plain and without line breaks in cells.

    A terminal that is too narrow gets the rows one below the other, each as a list.
    """
    terminal = (sys.stderr if err else sys.stdout).isatty()
    table.box = box.SIMPLE_HEAD if terminal else None
    table.pad_edge = terminal
    console = Console(width=None if terminal else ANY_WIDTH, stderr=err)
    if _least_width(table) <= console.width:
        console.print(table)
        return
    for record in _records(table):
        console.print(record)
        console.print()


def _least_width(table: Table) -> int:
    """Return how wide a terminal has to be for a table to be read."""
    widths = [
        natural if column.no_wrap else min(natural, MIN_FOLDED)
        for column in table.columns
        for natural in [max(cell_len(str(cell)) for cell in (column.header, *column.cells))]
    ]
    # Each column has a space on both sides, and one between it and the next or the edge.
    return sum(widths) + 3 * len(widths) + 1


def _records(table: Table) -> Iterator[RenderableType]:
    """Yield each row of a table as a list of what is in its columns, but for what is empty."""
    headings = [str(column.header) for column in table.columns]
    for row in zip(*(column.cells for column in table.columns), strict=True):
        record = Table.grid(padding=(0, 2))
        record.add_column(no_wrap=True)
        record.add_column(overflow="fold")
        for heading, cell in zip(headings, row, strict=True):
            if str(cell).strip():
                record.add_row(Text(heading, style="bold"), cell)
        yield record


def page_table(*headings: str) -> Table:
    """Return an empty table with a column for pages, which may be long, and other columns."""
    table = Table()
    table.add_column("page", overflow="fold")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def add_page(table: Table, page: object, cells: Iterable[str]) -> None:
    """Add the row of a page."""
    table.add_row(Text(printable(str(page))), *cells)


def log_summary(log: LogFacts, *, unknown: int) -> str:
    """Return one line about what was read, and how many pages have no visit to learn from."""
    counts = f"{count(log.pages, 'page')}, {count(log.visits, 'visit')}"
    parts = [f"{counts} from {_date(log.first)} to {_date(log.last)}"]
    if unknown:
        parts.append(f"{count(unknown, 'page')} with no visit to learn from")
    if log.duplicates:
        parts.append(f"{count(log.duplicates, 'repeated row')} dropped")
    return "; ".join(parts)


def say_notes(log: LogFacts) -> None:
    """Print on standard error what users should know about how a log was read."""
    for note in log.notes:
        complain(f"{log.source}: {note}")


def _date(microseconds: int) -> str:
    # Reading a log has already imported it.
    import numpy as np

    return str(np.datetime64(microseconds, "us"))[:10]
