"""How tables and numbers look on a terminal, and in files that their output is sent to."""

import sys
from collections.abc import Iterable

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from recrawl.records import Visits

#: How many pages a table shows.
SHOWN = 20
#: Wide enough for any address where no terminal limits the width.
ANY_WIDTH = 10_000
#: From here on, numbers are told without a fraction.
WHOLE = 99.5


def show(table: Table, *, err: bool = False) -> None:
    """Print a table; plain and unbroken where no terminal shows it."""
    terminal = (sys.stderr if err else sys.stdout).isatty()
    table.box = box.SIMPLE_HEAD if terminal else None
    table.pad_edge = terminal
    Console(width=None if terminal else ANY_WIDTH, stderr=err).print(table)


def page_table(*headings: str) -> Table:
    """Give an empty table with a column for pages, which may be long, and others after it."""
    table = Table()
    table.add_column("page", overflow="fold")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def add_page(table: Table, page: object, cells: Iterable[str]) -> None:
    """Add a page's row."""
    table.add_row(Text(printable(str(page))), *cells)


def printable(name: str) -> str:
    r"""Show what would steer a terminal instead of sending it there.

    >>> print(printable("https://example.org/ü\x1b[2J"))
    https://example.org/ü\x1b[2J
    """
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in name)


def log_summary(visits: Visits, *, unknown: int) -> str:
    """Say in one line what was read, and of how many pages nothing could be learned."""
    first, last = int(visits.time.min()), int(visits.time.max())
    counts = f"{count(len(visits.names), 'page')}, {count(visits.page.size, 'visit')}"
    parts = [f"{counts} from {_date(first)} to {_date(last)}"]
    if unknown:
        parts.append(f"{count(unknown, 'page')} with no visit to learn from")
    if visits.duplicates:
        parts.append(f"{count(visits.duplicates, 'repeated row')} dropped")
    return "; ".join(parts)


def count(number: int, thing: str) -> str:
    """Say how many there are of a thing.

    >>> count(1, "page"), count(2_000, "page")
    ('1 page', '2,000 pages')
    """
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def number(value: float) -> str:
    """Say a number with three digits, or as a whole one with thousands set apart.

    >>> number(0.12345), number(4.0), number(12345.6)
    ('0.123', '4', '12,346')
    """
    return f"{value:.3g}" if value < WHOLE else f"{value:,.0f}"


def a_day(visits: float) -> str:
    """Say a number of visits a day, which another number can be compared with.

    >>> a_day(1.0), a_day(2_400.0)
    ('1 visit a day', '2,400 visits a day')
    """
    said = number(visits)
    return f"{said} visit a day" if said == "1" else f"{said} visits a day"


def percent(share: float) -> str:
    """Say a share in percent, with digits enough to tell it from all.

    >>> percent(0.95), percent(0.99996), percent(1.0)
    ('95.0 %', '99.996 %', '100.0 %')
    """
    digits = 1
    while share < 1 and digits < 12 and round(100 * share, digits) >= 100:  # noqa: PLR2004
        digits += 1
    return f"{100 * share:.{digits}f} %"


def _date(microseconds: int) -> str:
    return str(np.datetime64(microseconds, "us"))[:10]
