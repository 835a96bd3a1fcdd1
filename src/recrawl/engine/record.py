"""Record visits in batches: the frontier learns from them, and the store keeps them."""

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import final

import numpy as np

from recrawl.engine.beliefs import pack_octaves
from recrawl.engine.frontier import CrawlFrontier, days
from recrawl.engine.retries import pause_after
from recrawl.engine.templates import Templates
from recrawl.http.memory_budget import MemoryBudget
from recrawl.records import MICROSECONDS_A_DAY, RESTING, Outcome, State, Visit
from recrawl.store.rows import Spent
from recrawl.store.thread import StoreThread

LOGGER = logging.getLogger("recrawl.crawler")

#: Visits are written in batches: this many, or those of this many real seconds.
BATCH, BATCH_SECONDS = 100, 0.05
#: No page is taken while more visits than this are unwritten.
MAX_BACKLOG = 1_000
#: No page is fetched while this many bytes of bodies are unwritten. Long bodies have waited for
#: memory before that.
MAX_UNWRITTEN = 20_000_000
#: A page is generated on the fly if it claims to have been modified while it was fetched, or at
#: most this many real seconds before: dates are in whole seconds.
JUST_NOW = 2.0


@final
class Recorder:
    """Updates the frontier with visits and writes them to the store.

    The frontier learns first, as a visit is written with the belief it leads to. If writing fails,
    the crawl ends, and what the frontier learned is lost with it.

    Args:
        frontier: The frontier to update.
        store: Where visits are recorded.
        memory: Accounts for unwritten bodies.
        gone_time: How long a page must be missing to be gone, in microseconds.
        passing: Converts real seconds to seconds of the crawl's clock.
        templates: Learn what the pages of a host have in common.
    """

    def __init__(
        self,
        frontier: CrawlFrontier,
        store: StoreThread,
        memory: MemoryBudget,
        gone_time: int = round(MICROSECONDS_A_DAY),
        passing: Callable[[float], float] = float,
        templates: Templates | None = None,
    ) -> None:
        self._pages = frontier
        self._frontier = frontier.frontier
        self._store = store
        self._memory = memory
        self._gone_time = gone_time
        self._passing = passing
        self._templates = Templates() if templates is None else templates
        self._waiting: list[Visit] = []
        self._unwritten = 0

    def __len__(self) -> int:
        """How many visits are unwritten."""
        return len(self._waiting)

    @property
    def has_backlog(self) -> bool:
        """Whether so many visits are unwritten that no page should be taken."""
        return len(self._waiting) > MAX_BACKLOG

    @property
    def is_full(self) -> bool:
        """Whether so many bytes are unwritten that no page should be fetched."""
        return self._unwritten >= MAX_UNWRITTEN

    def add(self, visit: Visit) -> None:
        """Queue a visit to be written; what it teaches about its site is learned at once."""
        self._templates.learn(visit)
        self._waiting.append(visit if visit.sketches is None else replace(visit, sketches=None))
        self._hold(_size(visit))

    def take_batch(self) -> list[Visit]:
        """Return the unwritten visits; their bodies are accounted for until `release`."""
        batch, self._waiting = self._waiting, []
        return batch

    def release(self, batch: Sequence[Visit]) -> None:
        """Note that the bodies of a batch are no longer needed."""
        for visit in batch:
            self._hold(-_size(visit))

    async def write(self, visits: Sequence[Visit], spent: Spent) -> list[Visit]:
        """Learn from visits, record them in one transaction and return them.

        Postponed visits, which made no request, are not recorded. Requests for pages that were
        removed meanwhile still count.
        """
        learned = self.learn(visits)
        written = [visit for visit in learned if not visit.response.postponed]
        lost = spent.lost + _requests(visits) - _requests(learned)
        templates = self._templates.changed()
        spent = replace(spent, lost=lost)
        await self._store.call(self._store.store.record, written, spent, templates)
        return written

    def learn(self, visits: Sequence[Visit]) -> list[Visit]:
        """Update the frontier; return the visits that count, with the new beliefs."""
        expected = [visit for visit in visits if self._is_expected(visit)]
        known = [visit for visit in expected if visit.page.number in self._frontier]
        free = self._free(known)
        # One request is paid for when a page is taken; robots.txt may have made it cost nothing.
        paid = [visit for visit in expected if visit.page.number not in free]
        self._frontier.spend(_requests(visits) - _requests(free.values()) - len(paid))
        self._frontier.spend_free(_requests(free.values()) - len(free))
        for visit in free.values():
            self._pages.first_fill.count(visit.response.at, visit.response.requests)
        return self._learn(known) if known else []

    def _free(self, visits: Sequence[Visit]) -> dict[int, Visit]:
        """Return the visits of a first fill, which the budget does not pay for, by page."""
        pages = [visit.page.number for visit in visits]
        is_free = self._frontier.is_free(pages).tolist() if pages else []
        return {
            visit.page.number: visit for visit, free in zip(visits, is_free, strict=True) if free
        }

    def _is_expected(self, visit: Visit) -> bool:
        """Whether a page was out to be visited; one that was not is logged.

        Such a visit was compared with a copy that another has replaced by now.
        """
        was_out = self._pages.end_visit(visit.page.number)
        if not was_out:
            page, response = visit.page, visit.response
            LOGGER.error(
                "a visit to page %d, %s, is not recorded, as none was due: it was %s with status "
                "%d at %d, after a visit at %s",
                page.number,
                page.url,
                visit.outcome.name.lower(),
                response.status,
                response.at,
                visit.previous,
            )
        return was_out

    def _learn(self, visits: Sequence[Visit]) -> list[Visit]:
        """Update the frontier with visits to different pages that it has."""
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
            # A missing page is checked again after its pause, whatever a visit is worth.
            if visit.page.state is State.MISSING:
                self._pages.hurry(visit.page)
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


def _requests(visits: Iterable[Visit]) -> int:
    return sum(visit.response.requests for visit in visits)


def _size(visit: Visit) -> int:
    """Return the bytes in memory; for a page fetched twice, the first body may be held as well."""
    body, content = visit.response.body or b"", visit.content or b""
    return len(body) + (0 if content is body else len(content))


def credible_age(visit: Visit, just_now: float = JUST_NOW) -> float:
    """Return the days since the page last changed, if its server's date is credible, else NaN.

    A date that contradicts what the visit found, or that is always the present, is not.

    Args:
        visit: The visit.
        just_now: Seconds, by the crawl's clock; a date this recent is ignored.

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
