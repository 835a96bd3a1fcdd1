"""Read the status of a crawl from its store, during a run or after it."""

import math
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np

from recrawl.config.intervals import Intervals, IntervalsOf, unlimited
from recrawl.estimation.shown.rates import expected_freshness
from recrawl.inspect.explain import BUDGET, PRICE, Price
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.records import MICROSECONDS_A_DAY, NO_TIME
from recrawl.scheduling.value import due_after, value_of_belief
from recrawl.store.kept.first_fill import FirstFill
from recrawl.store.kept.host_memory import closed_hosts
from recrawl.store.listing import HostCounts
from recrawl.store.locking import runner_of
from recrawl.store.reading import MAX_READ, SAMPLED
from recrawl.store.recording import HOUR
from recrawl.store.rows import Outlook, SitemapFile, Spending, Totals, Trouble
from recrawl.store.sqlite import SqliteStore

#: Pages and hosts that are listed.
SHOWN = 10
DAY = 24 * HOUR
#: A host's freshness is shown if the sample has this number of its pages.
MIN_SAMPLED = 100
#: Suffixes of the files that make up a store.
SUFFIXES = ("", "-wal")


@final
@dataclass(frozen=True)
class Due:
    """A page that is due soon.

    Attributes:
        url: Its address.
        at: When a visit is worth its price, in microseconds; None for a page without a copy.
        change_rate: Changes per day, NaN where nothing is known.
        stale: The chance that the copy is stale.
        value: What a visit now is worth, importance times days; NaN without a copy.
    """

    url: str
    at: int | None
    change_rate: float
    stale: float
    value: float


@final
@dataclass(frozen=True)
class HostPages:
    """A host's pages.

    Attributes:
        name: The host.
        pages: How many pages it has, including those that are gone or refused.
        without_copy: Pages without a copy yet.
        missing: Pages that were not found at the last visit.
        failing: Other pages whose last visit failed.
        gone: Pages that are gone.
        refused: Pages that are refused.
        expected_freshness: The share of their importance whose copies are believed to be current;
            NaN if they have none, or too few were read.
    """

    name: str
    pages: int
    without_copy: int
    missing: int
    failing: int
    gone: int
    refused: int
    expected_freshness: float


@final
@dataclass(frozen=True)
class Status:
    """Pages, spending, and upcoming visits of a crawl.

    Attributes:
        now: The present, in microseconds.
        budget: Requests per day, by the settings.
        run_budget: Requests per day of the present or the last run; None before the first.
        totals: Pages, visits and copies.
        last_day: What was spent in the last 24 hours, in whole hours.
        ever: What was spent since the store was created.
        filled: How many of the last day's requests were first visits outside the budget.
        expected_freshness: The share of importance whose copies are believed to be current; None
            without a copy.
        sampled: How many pages that is estimated from, if there are too many to read them all; None
            if it is from all.
        trouble: How many pages are in trouble.
        reasons: Why pages are refused, and how many for each reason, the most frequent first.
        price: What a visit must be worth; None before the first run.
        due: The next pages; without a price, only those without a copy. None if freshness is
            estimated: with that many pages, several are due each second.
        hosts: The hosts with the most pages.
        other_hosts: How many more hosts there are.
        sitemaps: Sitemaps and feeds, those that cannot be read first.
        size: Bytes of the file.
        runner: The process of the present run; None if none is running.
    """

    now: int
    budget: float
    run_budget: float | None
    totals: Totals
    last_day: Spending
    ever: Spending
    filled: int
    expected_freshness: float | None
    sampled: int | None
    trouble: Trouble
    reasons: list[tuple[str, int]]
    price: Price | None
    due: list[Due]
    hosts: list[HostPages]
    other_hosts: int
    sitemaps: list[SitemapFile]
    size: int
    runner: int | None

    @property
    def budget_now(self) -> float:
        """Requests per day: those of a run that is active, or those that the next one may make."""
        if self.runner is None or self.run_budget is None:
            return self.budget
        return self.run_budget


def read_status(
    store: SqliteStore,
    path: str | os.PathLike[str],
    budget: float,
    now: int,
    intervals: IntervalsOf = unlimited,
) -> Status:
    """Read the status of a crawl.

    Args:
        store: The store.
        path: Its file.
        budget: Requests per day, by the settings.
        now: The present, in microseconds.
        intervals: Limits on the time between two visits to a page.
    """
    totals = store.totals()
    is_sample = totals.pages > MAX_READ
    fleet = store.outlook(SAMPLED if is_sample else None)
    fresh = fleet.fresh(now)
    runner = runner_of(path)
    price = price_of(store, is_now=runner is not None)
    ran_with = store.meta(BUDGET)
    return Status(
        now=now,
        budget=budget,
        run_budget=None if ran_with is None else float(ran_with),
        totals=totals,
        last_day=store.spent(now - DAY + HOUR),
        ever=store.spent(0),
        filled=FirstFill.of(store).last_day(now),
        expected_freshness=expected_freshness(fresh, fleet.importance),
        sampled=fleet.number.size if is_sample else None,
        trouble=store.trouble(),
        reasons=store.reasons(SHOWN),
        price=price,
        due=[]
        if is_sample
        else next_due(store, fleet, fresh, price, intervals(store, fleet.number), now),
        hosts=host_pages(store.largest_hosts(SHOWN), fleet, fresh, is_sample=is_sample),
        other_hosts=max(store.count_hosts() - SHOWN, 0),
        sitemaps=store.sitemaps.all(),
        size=size_of(path),
        runner=runner,
    )


def price_of(store: SqliteStore, *, is_now: bool) -> Price | None:
    """Return what a visit must be worth in the present or the last run."""
    found = store.meta(PRICE)
    value = 0.0 if found is None else float(found)
    return Price(value, is_now=is_now) if value > 0.0 else None


def host_pages(
    counts: Sequence[HostCounts], fleet: Outlook, fresh: Floats, *, is_sample: bool
) -> list[HostPages]:
    """Return hosts with the freshness of their pages.

    Args:
        counts: How many pages each host has.
        fleet: The pages that are visited, or a sample of them.
        fresh: The chance that the copy of each is fresh.
        is_sample: Whether it is a sample, which may have too few pages of some hosts.
    """
    hosts, number = len(fleet.hosts), {name: host for host, name in enumerate(fleet.hosts)}
    read = np.bincount(fleet.host, minlength=hosts)
    weight = np.bincount(fleet.host, fleet.importance, hosts)
    kept = np.bincount(fleet.host, fleet.importance * fresh, hosts)
    found = []
    for one in counts:
        host = number.get(one.name)
        is_known = host is not None and kept[host] > 0.0
        if is_sample and is_known:
            is_known = read[host] >= MIN_SAMPLED
        share = float(kept[host] / weight[host]) if is_known else math.nan
        found.append(
            HostPages(
                one.name,
                one.pages,
                one.unvisited,
                one.missing,
                one.failing,
                one.gone,
                one.refused,
                share,
            )
        )
    return found


def next_due(
    store: SqliteStore,
    fleet: Outlook,
    fresh: Floats,
    price: Price | None,
    limits: Intervals,
    now: int,
) -> list[Due]:
    """Return the pages to visit next: those without a copy, those due, then the others in order.

    Pages whose last visit failed are left out: only a run knows when they are retried.
    """
    well = fleet.failures == 0
    without = np.flatnonzero(well & (fleet.last_visit == NO_TIME))
    order = np.argsort(-fleet.importance[without], kind="stable")
    rows = without[order[:SHOWN]]
    due = np.full(rows.size, np.nan)
    left = SHOWN - rows.size
    if price is not None and left:
        known = np.flatnonzero(well & has_belief(fleet))
        at = _due_times(fleet, known, price.value, limits)
        at = np.maximum(at, _opened_at(fleet, closed_hosts(store.kept, now))[fleet.host[known]])
        first = _in_order(fleet, known, at - now / MICROSECONDS_A_DAY, now)[:left]
        rows, due = np.concatenate([rows, known[first]]), np.concatenate([due, at[first]])
    urls = {text.number: text.url for text in store.page_texts(fleet.number[rows])}
    return [
        _due(fleet, row, urls[number], at, fresh, now)
        for row, number, at in zip(
            rows.tolist(), fleet.number[rows].tolist(), due.tolist(), strict=True
        )
        # A page may have been removed since.
        if number in urls
    ]


def has_belief(fleet: Outlook) -> Bools:
    """Whether each page has a copy and a belief."""
    found: Bools = (fleet.last_visit != NO_TIME) & ~np.isnan(fleet.shape)
    return found


def _due_times(fleet: Outlook, pages: Ints, price: float, limits: Intervals) -> Floats:
    """Return when visits are worth the price and allowed, in days since 1970."""
    importance = fleet.importance[pages]
    after = due_after(importance, fleet.shape[pages], fleet.time[pages], price)
    after = limits.at(pages).applied(after, importance)
    return fleet.last_visit[pages] / MICROSECONDS_A_DAY + after


def _opened_at(fleet: Outlook, closed: Mapping[str, int]) -> Floats:
    """Return until when each host is left alone, in days since 1970; −∞ for those that are not."""
    until = [closed.get(name, -math.inf) for name in fleet.hosts]
    return np.array(until, np.float64) / MICROSECONDS_A_DAY


def _in_order(fleet: Outlook, pages: Ints, ahead: Floats, now: int) -> Ints:
    """Order pages that are due by what a visit is worth, then the others by time."""
    late = np.flatnonzero(ahead <= 0.0)
    # Few are listed: of very many overdue pages, only the longest overdue are compared.
    late = late[np.argsort(ahead[late], kind="stable")[: SHOWN * SHOWN]]
    value = np.array([_value(fleet, int(page), now) for page in pages[late]])
    soon = np.flatnonzero((ahead > 0.0) & np.isfinite(ahead))
    soon = soon[np.argsort(ahead[soon], kind="stable")[:SHOWN]]
    return np.concatenate([late[np.argsort(-value, kind="stable")], soon])


def _due(fleet: Outlook, page: int, url: str, due: float, fresh: Floats, now: int) -> Due:
    if math.isnan(due):
        return Due(url, None, math.nan, 1.0, math.nan)
    return Due(
        url,
        round(due * MICROSECONDS_A_DAY),
        float(fleet.rates.of(np.array([page])).typical[0]),
        1.0 - float(fresh[page]),
        _value(fleet, page, now),
    )


def _value(fleet: Outlook, page: int, now: int) -> float:
    elapsed = max(now - int(fleet.last_visit[page]), 0) / MICROSECONDS_A_DAY
    shape, time = float(fleet.shape[page]), float(fleet.time[page])
    return float(fleet.importance[page]) * value_of_belief(shape, time, elapsed)


def size_of(path: str | os.PathLike[str]) -> int:
    """Return the size of a store on disk, in bytes."""
    size = 0
    for ending in SUFFIXES:
        with suppress(OSError):
            size += Path(f"{os.fspath(path)}{ending}").stat().st_size
    return size
