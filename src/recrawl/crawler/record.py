"""Visits wait here to be written; then they teach the frontier and are recorded in batches."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, final

import numpy as np

from recrawl.crawler.beliefs import pack_octaves
from recrawl.crawler.load import CrawlFrontier, days
from recrawl.crawler.retries import pause_after
from recrawl.crawler.store_thread import StoreThread
from recrawl.crawler.templates import Templates
from recrawl.http.memory_budget import MemoryBudget
from recrawl.records import MICROSECONDS_A_DAY, RESTING, Outcome, State, Visit
from recrawl.store.rows import Spent

#: Visits are written together: this many, or those of this many real seconds.
BATCH, BATCH_SECONDS = 100, 0.05
#: No page is taken while more visits than this wait to be written.
MAX_BACKLOG = 1_000
#: No page is fetched while this many bytes of bodies wait to be written. Long ones wait before that
#: for memory.
MAX_UNWRITTEN = 20_000_000
#: A page is made on the fly if it claims to be modified while it was fetched, or no longer before
#: than this many real seconds: dates are in whole seconds.
JUST_NOW = 2.0


class LearnedTemplates(Protocol):
    """What visits teach about the templates of sites; `Templates` documents the methods."""

    def learn(self, visit: Visit) -> None:
        """Learn what a page has in its elements."""

    def changed(self) -> dict[str, bytes]:
        """Return what was learned since the last call, by host."""


@final
class Recorder:
    """Teaches the frontier what visits found and writes them to the store.

    The frontier learns first, as a visit is written with the belief it leads to. If writing fails
    the crawl ends, and what the frontier learned is forgotten with it.

    Args:
        frontier: What learns.
        store: Where visits are recorded.
        memory: Accounts for the bodies that wait to be written.
        gone_time: How long a page must be missing to be gone, in microseconds.
        passing: Returns how many seconds of the crawl's clock pass in some real seconds.
        templates: Learn what pages have in common with others of their host.
    """

    def __init__(
        self,
        frontier: CrawlFrontier,
        store: StoreThread,
        memory: MemoryBudget,
        gone_time: int = round(MICROSECONDS_A_DAY),
        passing: Callable[[float], float] = float,
        templates: LearnedTemplates | None = None,
    ) -> None:
        self._pages = frontier
        self._frontier = frontier.frontier
        self._store = store
        self._memory = memory
        self._gone_time = gone_time
        self._passing = passing
        self._templates: LearnedTemplates = Templates() if templates is None else templates
        self._waiting: list[Visit] = []
        self._unwritten = 0

    def __len__(self) -> int:
        """How many visits wait to be written."""
        return len(self._waiting)

    @property
    def has_backlog(self) -> bool:
        """Whether so many visits wait that no page should be taken."""
        return len(self._waiting) > MAX_BACKLOG

    @property
    def is_full(self) -> bool:
        """Whether so many bytes wait that no page should be fetched."""
        return self._unwritten >= MAX_UNWRITTEN

    def add(self, visit: Visit) -> None:
        """Let a visit wait to be written; what it teaches about its site is learned at once."""
        self._templates.learn(visit)
        self._waiting.append(visit if visit.sketches is None else replace(visit, sketches=None))
        self._hold(_size(visit))

    def take_batch(self) -> list[Visit]:
        """Return the visits that wait; their bodies are accounted for until `release`."""
        batch, self._waiting = self._waiting, []
        return batch

    def release(self, batch: Sequence[Visit]) -> None:
        """Note that the bodies of a batch are not needed any more."""
        self._hold(-sum(map(_size, batch)))

    async def write(self, visits: Sequence[Visit], spent: Spent) -> list[Visit]:
        """Learn from visits to different pages, record them in one transaction and return them.

        Visits that were postponed, so that no host was asked, are not recorded.
        """
        written = [visit for visit in self.learn(visits) if not visit.response.postponed]
        learned = self._templates.changed()
        await self._store.call(self._store.store.record, written, spent, learned)
        return written

    def learn(self, visits: Sequence[Visit]) -> list[Visit]:
        """Teach the frontier; return the visits with what is believed now."""
        if not visits:
            return []
        pages = np.array([visit.page.number for visit in visits], np.int64)
        now = days(max(visit.response.at for visit in visits))
        outcome = np.array([visit.outcome for visit in visits])
        failed = (outcome == Outcome.FAILED) | (outcome == Outcome.GONE)
        changed = outcome == Outcome.CHANGED
        age = np.array([self._age(visit) for visit in visits])
        pause = np.zeros(len(visits))
        for row in np.flatnonzero(failed).tolist():
            pause[row] = pause_after(visits[row], self._gone_time)
        self._frontier.report(
            pages, now, changed, failed=failed, age=age, pause=pause / MICROSECONDS_A_DAY
        )
        self._pages.hurried(pages.tolist())
        for visit in visits:
            # Whether the page is there is to be known after its pause, whatever a visit is worth.
            if visit.page.state is State.MISSING:
                self._pages.hurry(visit.page)
        # A visit is paid for when it is taken; robots.txt may have made it cost nothing.
        self._frontier.spend(sum(visit.response.requests - 1 for visit in visits))
        shape, time = self._frontier.belief(pages).columns(pages.size)
        octaves = pack_octaves(self._frontier.octaves(pages))
        resting = [visit.page.number for visit in visits if visit.page.state in RESTING]
        if resting:
            self._frontier.remove(resting)
        believed = zip(shape.tolist(), time.tolist(), strict=True)
        return list(map(Visit.with_belief, visits, believed, octaves))

    def _age(self, visit: Visit) -> float:
        if visit.previous is None or visit.last_modified is None:
            return math.nan
        return credible_age(visit, self._passing(JUST_NOW + visit.response.seconds))

    def _hold(self, size: int) -> None:
        self._unwritten += size
        self._memory.hold(size)


def _size(visit: Visit) -> int:
    """Return the bytes in memory: of a page fetched twice, the first body may be kept as well."""
    body, content = visit.response.body or b"", visit.content or b""
    return len(body) + (0 if content is body else len(content))


def credible_age(visit: Visit, just_now: float = JUST_NOW) -> float:
    """Return the days since the page last changed, if its server says so credibly, else NaN.

    A date that contradicts what the visit found, or that is always the present, is not credible.

    Args:
        visit: The visit.
        just_now: Seconds, by the clock of the crawl; a date this recent says nothing.

    >>> from recrawl.records import Response, Page
    >>> day = 86_400_000_000
    >>> response = Response("https://example.org/", 200, at=10 * day)
    >>> page = Page(0, "https://example.org/", "example.org")
    >>> visit = Visit(page, Outcome.CHANGED, response, previous=2 * day, last_modified=7 * day)
    >>> credible_age(visit), credible_age(replace(visit, outcome=Outcome.UNCHANGED))
    (3.0, nan)
    """
    modified, at = visit.last_modified, visit.response.at
    is_just_now = modified is not None and at - modified < just_now * 1e6
    if modified is None or visit.previous is None or is_just_now:
        return math.nan
    if (modified > visit.previous) != (visit.outcome is Outcome.CHANGED):
        return math.nan
    return (at - modified) / MICROSECONDS_A_DAY
