"""A list of pages as a table, CSV, JSON or JSON lines, written while it is read."""

import csv
import io
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from recrawl.cli.output import json_text, say, say_as_is
from recrawl.cli.render.numbers import count
from recrawl.cli.render.show import NO_TEXT
from recrawl.cli.render.terminal import Table, add_page, page_table, show
from recrawl.cli.render.units import iso, until
from recrawl.escaping import cell, printable
from recrawl.inspect.explain import how_often
from recrawl.inspect.pages import ListedPage, PageList
from recrawl.records import RESTING, State

UNKNOWN = "–"
COLUMNS = (
    "page",
    "host",
    "state",
    "importance",
    "change_rate",
    "is_guess",
    "visits",
    "changes",
    "last_visit",
    "next_visit",
    "failures",
    "status",
    "error",
    "no_text",
)
#: Rows that are printed at a time.
ROWS_PER_WRITE = 1_000


def print_pages(found: PageList, now: int) -> None:
    """Print a table and the total number of pages."""
    table = pages_table(found.rows, now)
    if table.row_count:
        show(table)
    if table.row_count < found.found:
        say(f"These are {table.row_count:,} of {count(found.found, 'page')}; --limit shows more.")
    else:
        say(count(found.found, "page"))


def pages_table(rows: Iterable[ListedPage], now: int) -> Table:
    """Return pages as a table."""
    table = page_table("state", "changes", "visits", "next visit", "failures", "remarks")
    table.columns[-1].justify = "left"
    for row in rows:
        cells = [row.state.name.lower(), _rate(row), f"{row.visits:,}", _next(row, now)]
        remarks = [row.error] if row.error else []
        remarks += [NO_TEXT] if row.no_text else []
        add_page(table, row.url, [*cells, f"{row.failures:,}", "; ".join(remarks)])
    return table


def _rate(row: ListedPage) -> str:
    if row.change_rate is None:
        return UNKNOWN
    often = how_often(row.change_rate)
    return f"{often} (a guess)" if row.is_guess else often


def _next(row: ListedPage, now: int) -> str:
    if row.next_visit is not None:
        return until(row.next_visit, now)
    if row.failures and row.state not in RESTING:
        return "retried"
    return "now" if row.last_visit is None and row.state is State.ALIVE else UNKNOWN


def as_object(row: ListedPage) -> dict[str, Any]:
    """Return a page as an object for JSON and CSV."""
    values = (
        row.url,
        row.host,
        row.state.name.lower(),
        row.importance,
        row.change_rate,
        row.is_guess,
        row.visits,
        row.changes,
        iso(row.last_visit),
        iso(row.next_visit),
        row.failures,
        row.status,
        row.error,
        row.no_text,
    )
    return dict(zip(COLUMNS, values, strict=True))


def write_csv(rows: Iterable[ListedPage]) -> None:
    """Print pages as CSV; on a terminal, escaped."""
    terminal = sys.stdout.isatty()
    say_as_is(",".join(COLUMNS))
    for batch in _batches(rows):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(_cells(row) for row in batch)
        written = text.getvalue()
        say_as_is(printable(written, lines=True) if terminal else written, nl=False)


def _cells(row: ListedPage) -> list[object]:
    return [_cell(value) for value in as_object(row).values()]


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return cell(value) if isinstance(value, str) else value


def write_json(rows: Iterable[ListedPage]) -> None:
    """Print pages as a JSON list with one object per line."""
    before = "[\n"
    for batch in _batches(rows):
        lines = ",\n".join(json_text(as_object(row), indent=None) for row in batch)
        say_as_is(f"{before}{lines}", nl=False)
        before = ",\n"
    say_as_is("[]" if before == "[\n" else "\n]")


def write_json_lines(rows: Iterable[ListedPage]) -> None:
    """Print pages as JSON objects, one per line."""
    for batch in _batches(rows):
        say_as_is("\n".join(json_text(as_object(row), indent=None) for row in batch))


def _batches(rows: Iterable[ListedPage]) -> Iterator[list[ListedPage]]:
    batch = []
    for row in rows:
        batch.append(row)
        if len(batch) == ROWS_PER_WRITE:
            yield batch
            batch = []
    if batch:
        yield batch


WRITERS: dict[str, Callable[[Iterable[ListedPage]], None]] = {
    "csv": write_csv,
    "json": write_json,
    "jsonl": write_json_lines,
}
