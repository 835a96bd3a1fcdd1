"""Priors learned while the crawl runs, so that it sees as clearly as after a restart.

What is believed about a page before its visits comes from the other pages of its host and of the
fleet. While those are being visited for the first time there is nothing to learn it from, so the
priors are fitted again and again as observations come in, off the event loop, for a small share of
the time. A page's new prior takes the place of its old one; what its own visits taught stays.
"""

import asyncio
import time
from array import array
from collections.abc import Callable, Iterable
from typing import final

import numpy as np

from recrawl.crawler.cost_share import CostShare
from recrawl.crawler.load import MAX_OBSERVATIONS, MIN_OBSERVATIONS, CrawlFrontier, Priors, fitted
from recrawl.crawler.store_thread import StoreThread
from recrawl.estimation import Observations
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.records import MICROSECONDS_A_DAY, Outcome, Visit
from recrawl.store.rows import Observed

#: Priors are fitted again when there are this many observations more, as a share.
GROWTH = 0.1
#: The share of the time that fitting them, and using them, may take.
MAX_SHARE = 0.01
#: Pages whose prior is replaced in one go, so that the event loop is not blocked.
PIECE = 10_000


@final
class ObservationSample:
    """The observations of a sample of pages: every n-th page, so that there are not too many.

    Args:
        limit: When there are twice as many, half of the pages are dropped.

    >>> sample = ObservationSample(limit=4)
    >>> for page in range(8):
    ...     sample.add(page, 1.0, changed=False)
    >>> len(sample)
    8
    >>> sample.add(8, 1.0, changed=True)
    >>> len(sample), sample.columns()[0].tolist()
    (5, [0, 2, 4, 6, 8])
    """

    def __init__(self, limit: int = MAX_OBSERVATIONS) -> None:
        self._limit = limit
        self._stride = 1
        self._page, self._elapsed, self._changed = array("q"), array("d"), array("b")

    def __len__(self) -> int:
        """How many observations there are."""
        return len(self._page)

    def add(self, page: int, elapsed: float, *, changed: bool) -> None:
        """Add an observation: whether a page had changed after so many days."""
        if page % self._stride == 0 and elapsed > 0.0:
            self._page.append(page)
            self._elapsed.append(elapsed)
            self._changed.append(changed)
            if len(self._page) > 2 * self._limit:
                self._halve()

    def add_all(self, observed: Observed) -> None:
        """Add the observations of earlier runs."""
        rows = zip(observed.page, observed.elapsed, observed.changed, strict=True)
        for page, elapsed, changed in rows:
            self.add(int(page), elapsed / MICROSECONDS_A_DAY, changed=bool(changed))

    def columns(self) -> tuple[Ints, Floats, Bools]:
        """Return pages, days elapsed, and whether the page had changed."""
        return (
            np.array(self._page, np.int64),
            np.array(self._elapsed, np.float64),
            np.array(self._changed, np.bool_),
        )

    def _halve(self) -> None:
        self._stride *= 2
        page, elapsed, changed = self.columns()
        kept = page % self._stride == 0
        self._page = array("q", page[kept].tolist())
        self._elapsed = array("d", elapsed[kept].tolist())
        self._changed = array("b", changed[kept].tolist())


@final
class PriorLearning:
    """Fits the priors of fleet and hosts again as visits bring observations.

    Args:
        frontier: Where the priors are used.
        thread: Where they are fitted: the store can wait for the tenth of a second.
        cpu_time: Returns the seconds that this thread has computed.
    """

    def __init__(
        self,
        frontier: CrawlFrontier,
        thread: StoreThread,
        cpu_time: Callable[[], float] = time.thread_time,
    ) -> None:
        self._frontier = frontier
        self._thread = thread
        self._cpu_time = cpu_time
        self._sample = ObservationSample()
        if frontier.observed is not None:
            self._sample.add_all(frontier.observed)
            frontier.observed = None
        self._new = 0
        self._cost = CostShare(MAX_SHARE)
        self._is_warm = False

    def note(self, visits: Iterable[Visit]) -> None:
        """Note what visits found."""
        for visit in visits:
            if visit.outcome in (Outcome.CHANGED, Outcome.UNCHANGED) and visit.previous is not None:
                elapsed = (visit.response.at - visit.previous) / MICROSECONDS_A_DAY
                self.observe(visit.page.number, elapsed, changed=visit.outcome is Outcome.CHANGED)

    def observe(self, page: int, elapsed: float, *, changed: bool) -> None:
        """Note that a page had changed, or not, so many days after the visit before."""
        self._sample.add(page, elapsed, changed=changed)
        self._new += 1

    @property
    def is_worthwhile(self) -> bool:
        """Whether enough was observed since the last time that fitting priors may tell more."""
        return self._new >= max(GROWTH * len(self._sample), MIN_OBSERVATIONS * GROWTH)

    async def refit(self, _now: int = 0) -> None:
        """Fit the priors again, if that is worthwhile and not too much of the time goes there."""
        began = asyncio.get_running_loop().time()
        if not self.is_worthwhile or not self._cost.is_due(began):
            return
        seen = self.observations()
        if seen is None:
            return
        fit, seconds = await self._thread.call(self._fit, *seen)
        using = self._cpu_time()
        for _ in self._frontier.use_priors(fit, PIECE):
            await asyncio.sleep(0)
        # What others computed in between is counted too, which errs on the right side.
        seconds += self._cpu_time() - using
        self._cost.spend(asyncio.get_running_loop().time(), seconds)

    def observations(self) -> tuple[Observations, Ints] | None:
        """Return what to learn from, with the host of each page; None if it is too little."""
        self._new = 0
        page, elapsed, changed = self._sample.columns()
        numbers, index = np.unique(page, return_inverse=True)
        hosts = self._frontier.hosts_of(numbers)
        there = hosts[index] >= 0
        if int(there.sum()) < MIN_OBSERVATIONS:
            return None
        known = np.cumsum(hosts >= 0) - 1
        seen = Observations.of(
            elapsed[there],
            changed[there],
            page=known[index[there]],
            pages=int(known[-1]) + 1,
        )
        return seen, hosts[hosts >= 0]

    def _fit(self, seen: Observations, hosts: Ints) -> tuple[Priors, float]:
        """Fit priors, and return how many seconds of computing that took.

        Loading or compiling what it takes is done once, and puts off no later fit: by a clock that
        runs fast, that would be for months.
        """
        if not self._is_warm:
            fitted(Observations.of([1.0, 1.0], [True, False], page=[0, 1]), np.zeros(2, np.int64))
            self._is_warm = True
        began = self._cpu_time()
        _, priors = fitted(seen, hosts)
        return priors, self._cpu_time() - began
