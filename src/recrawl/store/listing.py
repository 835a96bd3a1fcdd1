"""Read pages to list: numeric columns to filter and sort by, and the texts of those shown."""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from recrawl.estimation.shown.rates import ShownRates
from recrawl.kernels.jit import Floats, Ints
from recrawl.records import MICROSECONDS_A_DAY, NO_TIME, Outcome, State
from recrawl.store.database import Database
from recrawl.store.reading import nan_for_0, numbers_and_evidence, rate_prior
from recrawl.store.rows import LastVisit

#: The query for the first pages, by whether they are in order of URL, and whether reversed.
_FIRST = {
    (False, False): "first_added",
    (False, True): "last_added",
    (True, False): "first_by_url",
    (True, True): "last_by_url",
}
#: Pages close to a bound are read too, as the exact times are computed differently.
ROUNDING = 1.0 - 1e-5
#: More than the rounding error of the closed form, for a shape of 1; it is proportional to a + 1.
SLACK = 1e-14
#: Rows read at a time.
ROWS_PER_BATCH = 20_000


@dataclass(frozen=True, eq=False)
class PageColumns:
    """Pages as columns of numbers, by default in the order in which they were added.

    Attributes:
        number: The page's number.
        host: Its host, a key of ``hosts``.
        state: A `State`.
        last_visit: When it was last found, in microseconds; ``NO_TIME`` if never.
        failures: How many of its latest visits failed in a row.
        visits: How many visits could be compared.
        changes: How many of them found a change.
        retry_at: When a page that is gone or refused is checked again, in microseconds;
            ``NO_TIME`` for others.
        importance: How much its freshness counts.
        shape: The shape of the belief about its change rate; NaN if there is none.
        time: The time of that belief, in days; NaN if there is none.
        hosts: The names of hosts.
        rates: Their change rates, as they are shown.
    """

    number: Ints
    host: Ints
    state: Ints
    last_visit: Ints
    failures: Ints
    visits: Ints
    changes: Ints
    retry_at: Ints
    importance: Floats
    shape: Floats
    time: Floats
    hosts: dict[int, str]
    rates: ShownRates

    @cached_property
    def rate(self) -> Floats:
        """Changes per day, as they are shown; NaN for a page that was never found."""
        return np.where(np.isnan(self.shape), np.nan, self.rates.typical)


#: How the last visit ended: its HTTP status (0 without a response, None without a visit), and why
#: it failed, or why the page is refused.
Answer = tuple[int | None, str | None]


class DueBy(NamedTuple):
    """A bound on when pages are due, to rule out pages without computing when exactly.

    A visit t days after the last one is worth w·∫₀ᵗ s·f(s) ds, where f(s) = (a/b)(1 + s/b)^(−a−1),
    the density of the time of the next change, is at most (a/b)/(1 + (a+1)s/b). As ln(1 + x) is at
    least 2x/(2 + x), the visit is worth at most w·a·t²/(2b + (a+1)t). In closed form it is worth
    w·b·(1 − (1 + ax)(1 + x)^(−a))/(a − 1) with x = t/b.

    Attributes:
        at: The time, in microseconds.
        price: What a visit must be worth; infinity if that is not known.
        max_interval: Days after which a page is visited whatever that is worth.
    """

    at: int
    price: float
    max_interval: float


class PageFilter(NamedTuple):
    """Which pages to read; None for all. Others may be read too, if that is faster.

    Attributes:
        hosts: Only pages of these hosts.
        states: Only pages in these states.
        failing: Whether to read only pages whose last visit failed.
        due: Only pages that can be due this early.
    """

    hosts: Collection[str] | None = None
    states: Collection[int] | None = None
    failing: bool = False
    due: DueBy | None = None


def page_columns(database: Database, wanted: PageFilter) -> PageColumns:
    """Read the numbers of pages, at least of those that are wanted."""
    states = None if wanted.states is None else json.dumps(list(wanted.states))
    values: dict[str, Any] = {"no_time": NO_TIME}
    if wanted.failing or (wanted.states and State.ALIVE not in wanted.states):
        values |= {"states": states, "failing": wanted.failing or None}
        return _columns(database, "page_columns_in_trouble", values)
    if wanted.due is not None:
        return _columns(database, "page_columns_due", values | _due_values(wanted.due))
    values |= {
        "hosts": None if wanted.hosts is None else json.dumps(list(wanted.hosts)),
        "states": states,
    }
    return _columns(database, "page_columns", values)


def _due_values(due: DueBy) -> dict[str, float]:
    return {
        "at": due.at,
        "max_interval": ROUNDING * due.max_interval * MICROSECONDS_A_DAY,
        "price": ROUNDING * due.price * MICROSECONDS_A_DAY,
        "day": MICROSECONDS_A_DAY,
        "slack": SLACK,
    }


def first_pages(
    database: Database, limit: int, *, by_url: bool, reverse: bool
) -> tuple[int, PageColumns]:
    """Return how many pages there are, and the numbers of the first or last of them, in order."""
    query = _FIRST[by_url, reverse]
    found = [number for (number,) in database.rows(query, limit)]
    (count,) = database.rows("count_all_pages")[0]
    values = {"no_time": NO_TIME, "pages": json.dumps(found)}
    return count, _columns(database, "page_columns_of", values)


def _columns(database: Database, query: str, values: dict[str, Any]) -> PageColumns:
    with database.transaction("begin_read"):
        columns, evidence = numbers_and_evidence(database, query, values, 11)
        prior = rate_prior(database)
        names: dict[int, str] = dict(database.rows("hosts"))
    number, host, state, last_visit, failures, visits, changes, retry_at = columns[:8].astype(
        np.int64
    )
    importance, shape, time = columns[8], nan_for_0(columns[9]), nan_for_0(columns[10])
    return PageColumns(
        number,
        host,
        state,
        last_visit,
        failures,
        visits,
        changes,
        retry_at,
        importance,
        shape,
        time,
        names,
        ShownRates(evidence, prior),
    )


def numbers_by_url(database: Database) -> Ints:
    """Return the numbers of all pages in order of URL."""
    batches = [
        np.array(rows, np.int64)[:, 0]
        for rows in database.batches("numbers_by_url", {}, ROWS_PER_BATCH)
    ]
    return np.concatenate([np.empty(0, np.int64), *batches])


def urls_after(database: Database, number: int) -> Iterator[list[tuple[int, str]]]:
    """Yield batches of number and URL of the pages after a number, in order."""
    yield from database.batches("urls_after", {"number": number}, ROWS_PER_BATCH)


def beliefs(database: Database, numbers: Ints) -> dict[int, tuple[float, float]]:
    """Return shape and time of the beliefs about some pages, without those that have none."""
    rows = database.rows("beliefs", json.dumps(numbers.tolist()))
    return {number: (shape, days) for number, shape, days in rows}


class HostCounts(NamedTuple):
    """How many pages a host has.

    Attributes:
        name: The host.
        pages: All of its pages.
        missing: Those that were not found at the last visit.
        gone: Those that are gone.
        refused: Those that are refused.
        failing: Others whose last visit failed.
        unvisited: Those that are to be visited but never have been.
    """

    name: str
    pages: int
    missing: int
    gone: int
    refused: int
    failing: int
    unvisited: int


def host_counts(database: Database) -> list[HostCounts]:
    """Count the pages of each host."""
    return [HostCounts(*row) for row in database.rows("host_rows")]


def largest_hosts(database: Database, limit: int) -> list[HostCounts]:
    """Count the pages of the hosts with the most pages to visit."""
    return [HostCounts(*row) for row in database.rows("largest_hosts", limit)]


def last_answers(database: Database, numbers: Ints) -> Iterator[tuple[int, Answer]]:
    """Yield how the last visit to each of some pages ended."""
    for start in range(0, numbers.size, ROWS_PER_BATCH):
        wanted = json.dumps(numbers[start : start + ROWS_PER_BATCH].tolist())
        for number, status, error in database.rows("last_answers", wanted):
            yield number, (status, error)


def last_visits(database: Database, numbers: Ints) -> Iterator[tuple[int, LastVisit]]:
    """Yield the last visit to each of some pages, of those that were visited."""
    for start in range(0, numbers.size, ROWS_PER_BATCH):
        wanted = json.dumps(numbers[start : start + ROWS_PER_BATCH].tolist())
        for number, at, outcome, status in database.rows("last_visits", wanted):
            yield number, LastVisit(at, Outcome(outcome), status)


class PageText(NamedTuple):
    """The texts of a page in a list.

    Attributes:
        number: The page's number.
        url: Its URL.
        answer: How its last visit ended.
        no_text: Whether its copy has next to no text.
    """

    number: int
    url: str
    answer: Answer
    no_text: bool


def page_texts(database: Database, numbers: Ints) -> Iterator[PageText]:
    """Yield the texts of some pages, in this order."""
    for start in range(0, numbers.size, ROWS_PER_BATCH):
        batch = numbers[start : start + ROWS_PER_BATCH]
        rows = database.rows("urls_of", json.dumps(batch.tolist()))
        urls = {number: (url, bool(no_text)) for number, url, no_text in rows}
        answers = dict(last_answers(database, batch))
        for number in batch.tolist():
            # A page may have been removed since its numbers were read.
            if number in urls and number in answers:
                url, no_text = urls[number]
                yield PageText(number, url, answers[number], no_text)
