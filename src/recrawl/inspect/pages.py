"""List pages, filtered and sorted, for `recrawl pages`.

Only numbers are held in memory for all pages; texts are read in batches, for the pages listed.
"""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import final

import numpy as np

from recrawl.config.intervals import Intervals, IntervalsOf, unlimited
from recrawl.inspect.explain import Price, is_guess
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.records import MICROSECONDS_A_DAY, NO_TIME, RESTING, State
from recrawl.scheduling.value import due_after
from recrawl.store.kept.host_memory import closed_hosts
from recrawl.store.listing import Answer, DueBy, PageColumns, PageFilter
from recrawl.store.sqlite import SqliteStore

#: What pages can be sorted by.
ORDERS = (
    "added",
    "url",
    "host",
    "state",
    "importance",
    "rate",
    "last-visit",
    "next-visit",
    "failures",
    "error",
)
#: Orders that the store has an index for.
INDEXED = ("added", "url")
#: States, by the names that users type.
STATES = {state.name.lower(): state for state in State}
#: The states of pages that are visited regularly.
VISITED = (State.ALIVE, State.MISSING)


@final
@dataclass(frozen=True)
class Wanted:
    """Which pages to list, and in which order.

    Attributes:
        states: Only pages in these states; empty for all.
        hosts: Only pages of these hosts; empty for all.
        error: Only pages whose error, as in `ListedPage`, contains this text, ignoring case; None
            for all.
        failing: Whether to list only pages whose last visit failed.
        min_rate: Only pages that are believed to change at least this often, per day.
        max_rate: Only pages that are believed to change at most this often, per day.
        due_within: Only pages that are due within this many days; pages without a copy are due.
        order: One of `ORDERS`.
        reverse: Whether to reverse the order.
        limit: The maximum number of pages; None for all.
    """

    states: Collection[State] = ()
    hosts: Collection[str] = ()
    error: str | None = None
    failing: bool = False
    min_rate: float | None = None
    max_rate: float | None = None
    due_within: float | None = None
    order: str = "added"
    reverse: bool = False
    limit: int | None = None


@final
@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page in the list.

    Attributes:
        url: Its address.
        host: Its host.
        state: Whether it still exists.
        importance: How much its freshness counts.
        change_rate: Changes per day; None where nothing is believed yet.
        visits: How many visits found the page and could be compared.
        changes: How many of them found a change.
        last_visit: When it was last found, in microseconds; None if never.
        next_visit: When a visit is worth its price and allowed by the settings, or when a page that
            is gone or refused is checked again; None without a copy, without a price, and for a
            page whose last visit failed, whose retry only a run knows.
        failures: How many of its latest visits failed in a row.
        status: The HTTP status of the last visit; None without a visit, 0 without a response.
        error: Why the last visit failed or did not find the page, or why it is refused.
        no_text: Whether its copy has next to no text, as if scripts were to write it.
    """

    url: str
    host: str
    state: State
    importance: float
    change_rate: float | None
    visits: int
    changes: int
    last_visit: int | None
    next_visit: int | None
    failures: int
    status: int | None
    error: str | None
    no_text: bool = False

    @property
    def is_guess(self) -> bool:
        """Whether the change rate comes from other pages alone: no two visits were compared."""
        return self.change_rate is not None and is_guess(self.visits)


@final
@dataclass(frozen=True)
class PageList:
    """The pages that were requested.

    Attributes:
        found: How many pages match, including those beyond the limit.
        rows: The pages, read lazily.
    """

    found: int
    rows: Iterator[ListedPage]


def list_pages(
    store: SqliteStore,
    wanted: Wanted,
    price: Price | None,
    now: int,
    intervals: IntervalsOf = unlimited,
) -> PageList:
    """Return the pages that were requested, in order.

    Args:
        store: The store.
        wanted: Which pages.
        price: What a visit must be worth, as of the last run; None if not known.
        now: The present, in microseconds.
        intervals: Limits on the time between two visits.
    """
    if wanted.limit is not None and wanted.order in INDEXED and is_unfiltered(wanted):
        by_url = wanted.order == "url"
        found, pages = store.first_pages(wanted.limit, by_url=by_url, reverse=wanted.reverse)
        due = next_visits(pages, price, intervals(store, pages.number))
        due = after_pauses(due, pages, closed_hosts(store.kept, now))
        rows = np.arange(pages.number.size)
        return PageList(found, listed_rows(store, pages, due, rows))
    pages = store.page_columns(
        PageFilter(
            wanted.hosts or None,
            wanted.states or None,
            wanted.failing,
            _due_by(wanted, price, now, intervals(store, np.empty(0, np.int64))),
        )
    )
    due = next_visits(pages, price, intervals(store, pages.number))
    due = after_pauses(due, pages, closed_hosts(store.kept, now))
    found, rows = select_rows(store, pages, wanted, due, now)
    return PageList(found, listed_rows(store, pages, due, rows))


def _due_by(wanted: Wanted, price: Price | None, now: int, limits: Intervals) -> DueBy | None:
    """Return the filter on due pages that the store can apply; None if it cannot."""
    if wanted.due_within is None or not isinstance(limits.high, float):
        # Limits that differ by site are known only once the pages are.
        return None
    at = now + math.ceil(wanted.due_within * MICROSECONDS_A_DAY)
    return DueBy(at, math.inf if price is None else price.value, limits.high)


def select_rows(
    store: SqliteStore, pages: PageColumns, wanted: Wanted, due: Floats, now: int
) -> tuple[int, Ints]:
    """Return how many pages match, and the rows of those that were requested, in order.

    Args:
        store: The store.
        pages: All pages.
        wanted: Which pages.
        due: As `next_visits` returns it.
        now: The present, in microseconds.
    """
    needs_errors = wanted.error is not None or wanted.order == "error"
    errors = last_errors(store, pages) if needs_errors else {}
    by_url = store.numbers_by_url() if wanted.order == "url" else np.empty(0, np.int64)
    matches = matching(pages, wanted, due, errors, now)
    rows = np.arange(pages.number.size) if matches is None else np.flatnonzero(matches)
    end = rows.size if wanted.limit is None else min(wanted.limit, rows.size)
    keys = sort_keys(pages, wanted.order, due, errors, by_url)
    chosen = None if keys is None else keys[rows]
    return rows.size, _first(rows, chosen, end, reverse=wanted.reverse)


def _first(rows: Ints, keys: Floats | None, end: int, *, reverse: bool) -> Ints:
    """Return the first rows in order of their keys; ties stay in the order they were added."""
    if reverse:
        rows, keys = rows[::-1], None if keys is None else -keys[::-1]
    if keys is None:
        return rows[:end]
    # Unknown values come last, so they come first in reverse order.
    keys = np.where(np.isnan(keys), -math.inf if reverse else math.inf, keys)
    if 0 < end < rows.size:
        # Few of a million rows are wanted: they are found without sorting all.
        near = np.flatnonzero(keys <= np.partition(keys, end - 1)[end - 1])
        rows, keys = rows[near], keys[near]
    return rows[np.argsort(keys, kind="stable")][:end]


def next_visits(pages: PageColumns, price: Price | None, limits: Intervals) -> Floats:
    """Return when pages are visited next, in microseconds: −∞ without a copy, NaN if unknown."""
    turn = np.isin(pages.state, VISITED) & (pages.failures == 0)
    due = np.full(pages.number.size, np.nan)
    resting = np.isin(pages.state, RESTING) & (pages.retry_at != NO_TIME)
    due[resting] = pages.retry_at[resting]
    due[turn & (pages.last_visit == NO_TIME)] = -math.inf
    known = np.flatnonzero(turn & (pages.last_visit != NO_TIME) & ~np.isnan(pages.shape))
    if price is not None and known.size:
        importance = pages.importance[known]
        after = due_after(importance, pages.shape[known], pages.time[known], price.value)
        after = limits.at(known).applied(after, importance)
        due[known] = pages.last_visit[known] + after * MICROSECONDS_A_DAY
    return due


def after_pauses(due: Floats, pages: PageColumns, closed: Mapping[str, int]) -> Floats:
    """Postpone visits, where their time is known, until their hosts may be visited again.

    Args:
        due: As returned by `next_visits`.
        pages: The pages.
        closed: When hosts that are in backoff may be visited again, in microseconds.
    """
    paused = sorted((host, closed[name]) for host, name in pages.hosts.items() if name in closed)
    if not paused:
        return due
    numbers, until = np.array(paused, np.int64).T
    at = np.minimum(np.searchsorted(numbers, pages.host), numbers.size - 1)
    # Comparisons with NaN, for unknown times, are false.
    late = (numbers[at] == pages.host) & np.isfinite(due) & (due < until[at])
    return np.where(late, until[at], due)


def last_errors(store: SqliteStore, pages: PageColumns) -> dict[int, str]:
    """Return the errors of pages, as in `ListedPage`, by page number."""
    troubled = (pages.failures > 0) | (pages.state != State.ALIVE)
    states = dict(zip(pages.number[troubled].tolist(), pages.state[troubled].tolist(), strict=True))
    # Few errors are distinct, so each is held once.
    known: dict[str, str] = {}
    return {
        number: known.setdefault(error, error)
        for number, answer in store.last_answers(pages.number[troubled])
        if (error := _error(State(states[number]), answer))
    }


def _error(state: State, answer: Answer) -> str | None:
    """Return what is wrong with a page, in a few words, or None.

    >>> _error(State.MISSING, (404, None)), _error(State.GONE, (200, None))
    ('status 404', 'redirected to the front page')
    """
    status, error = answer
    if error or state is State.ALIVE or not status:
        return error
    is_error = status >= HTTPStatus.BAD_REQUEST
    return f"status {status}" if is_error else "redirected to the front page"


def is_unfiltered(wanted: Wanted) -> bool:
    """Whether all pages match, as there is no filter."""
    limits = wanted.error, wanted.min_rate, wanted.max_rate, wanted.due_within
    any_limit = any(limit is not None for limit in limits)
    return not (wanted.states or wanted.hosts or wanted.failing or any_limit)


def matching(
    pages: PageColumns, wanted: Wanted, due: Floats, errors: dict[int, str], now: int
) -> Bools | None:
    """Return which pages match; None if all of them do, as there is no filter."""
    if is_unfiltered(wanted):
        return None
    matches = np.ones(pages.number.size, np.bool_)
    if wanted.states:
        matches &= np.isin(pages.state, list(wanted.states))
    if wanted.hosts:
        known = [number for number, name in pages.hosts.items() if name in wanted.hosts]
        matches &= np.isin(pages.host, known)
    if wanted.failing:
        matches &= pages.failures > 0
    if wanted.error is not None:
        text = wanted.error.casefold()
        failed = [number for number, error in errors.items() if text in error.casefold()]
        matches &= np.isin(pages.number, failed)
    # Comparisons with NaN, for unknown values, are false: such pages are not listed.
    if wanted.min_rate is not None:
        matches &= pages.rate >= wanted.min_rate
    if wanted.max_rate is not None:
        matches &= pages.rate <= wanted.max_rate
    if wanted.due_within is not None:
        matches &= due <= now + wanted.due_within * MICROSECONDS_A_DAY
    return matches


def _ranks_in(by_url: Ints, numbers: Ints) -> Floats:
    """Return the ranks of pages in an order; NaN for pages that are not in it."""
    ranks = np.full(max(int(by_url.max(initial=-1)), int(numbers.max(initial=-1))) + 1, np.nan)
    ranks[by_url] = np.arange(by_url.size)
    return ranks[numbers]


def sort_keys(
    pages: PageColumns, order: str, due: Floats, errors: dict[int, str], by_url: Ints
) -> Floats | None:
    """Return what to sort pages by, NaN where unknown; None for the order they were added in.

    Args:
        pages: All pages.
        order: One of `ORDERS`.
        due: As `next_visits` returns it.
        errors: As `last_errors` returns them, to sort by error.
        by_url: The numbers of all pages in order of URL, to sort by URL.
    """
    if order == "added":
        return None
    if order == "url":
        return _ranks_in(by_url, pages.number)
    if order == "host":
        return _ranks(pages.hosts, pages.host)
    if order == "error":
        return _ranks(errors, pages.number)
    return _number_keys(pages, order, due)


def _number_keys(pages: PageColumns, order: str, due: Floats) -> Floats:
    """Return numbers to sort pages by; NaN, for unknown values, sorts last."""
    if order == "next-visit":
        return due
    if order == "rate":
        return -pages.rate
    if order == "importance":
        return -pages.importance
    if order == "last-visit":
        last = pages.last_visit.astype(np.float64)
        last[pages.last_visit == NO_TIME] = np.nan
        return last
    counts = pages.state if order == "state" else -pages.failures
    return counts.astype(np.float64)


def _ranks(names: dict[int, str], keys: Ints) -> Floats:
    """Return the rank of each key's name among the names; NaN for a key without one."""
    rank_of = {name: rank for rank, name in enumerate(sorted(set(names.values())))}
    ranks = np.full(max(names, default=-1) + 2, np.nan)
    ranks[list(names)] = [rank_of[name] for name in names.values()]
    return ranks[np.minimum(keys, ranks.size - 1)]


def listed_rows(
    store: SqliteStore, pages: PageColumns, due: Floats, rows: Ints
) -> Iterator[ListedPage]:
    """Yield some of the pages, with their texts."""
    where = dict(zip(pages.number[rows].tolist(), rows.tolist(), strict=True))
    for number, url, answer, no_text in store.page_texts(pages.number[rows]):
        row = where[number]
        state = State(int(pages.state[row]))
        last, at = int(pages.last_visit[row]), float(due[row])
        yield ListedPage(
            url=url,
            host=pages.hosts[int(pages.host[row])],
            state=state,
            importance=float(pages.importance[row]),
            change_rate=_known(float(pages.rate[row])),
            visits=int(pages.visits[row]),
            changes=int(pages.changes[row]),
            last_visit=None if last == NO_TIME else last,
            next_visit=None if not math.isfinite(at) else round(at),
            failures=int(pages.failures[row]),
            status=answer[0],
            error=_error(state, answer),
            no_text=no_text,
        )


def _known(number: float) -> float | None:
    return number if math.isfinite(number) else None
