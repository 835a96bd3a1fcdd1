"""What came back is learned from and kept: belief, log and copy together."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import final

import numpy as np

from recrawl.crawler.load import days
from recrawl.crawler.store_thread import StoreThread
from recrawl.records import MICROSECONDS_A_DAY, Outcome, State, Visit
from recrawl.scheduling.frontier import Frontier
from recrawl.store.rows import Spent

#: A page that says it was modified within so many microseconds of the visit is made up on the fly.
JUST_NOW = 2_000_000


@final
class Recorder:
    """Teaches the frontier what visits found and writes them down.

    The frontier hears first, as a visit is written with the belief it leads to. Should the writing
    fail the crawl ends, and what the frontier had heard is forgotten with it.

    Args:
        frontier: Who learns.
        shelf: Where visits are kept.
    """

    def __init__(self, frontier: Frontier, shelf: StoreThread) -> None:
        self._frontier = frontier
        self._shelf = shelf

    async def keep(self, visits: Sequence[Visit], spent: Spent) -> list[Visit]:
        """Learn from visits to different pages and write them in one transaction.

        Where nobody was asked, because it was not the time, nothing is written.
        """
        learned = [visit for visit in self.learn(visits) if not visit.response.postponed]
        await self._shelf.use(self._shelf.store.record, learned, spent)
        return learned

    def learn(self, visits: Sequence[Visit]) -> list[Visit]:
        """Tell the frontier, and give the visits with what is believed now."""
        if not visits:
            return []
        pages = np.array([visit.page.number for visit in visits], np.int64)
        now = days(max(visit.response.at for visit in visits))
        failed = np.array([visit.outcome in (Outcome.FAILED, Outcome.GONE) for visit in visits])
        changed = np.array([visit.outcome is Outcome.CHANGED for visit in visits])
        age = np.array([told_age(visit) for visit in visits])
        self._frontier.report(pages, now, changed, failed=failed, age=age)
        # A visit is paid for when it is taken; robots.txt may have made it cost nothing.
        self._frontier.spend(sum(visit.response.requests - 1 for visit in visits))
        belief = self._frontier.belief(pages)
        shape, time = belief.columns(pages.size)
        gone = pages[[visit.page.state is State.GONE for visit in visits]]
        if gone.size:
            self._frontier.remove(gone)
        return [
            replace(visit, belief=(float(shape[row]), float(time[row])))
            for row, visit in enumerate(visits)
        ]


def told_age(visit: Visit) -> float:
    """Give the days since the page changed last, if its server tells and can be believed.

    A date that contradicts what the visit found, or that is always the present, tells nothing.

    >>> from recrawl.records import Response, Page
    >>> day = 86_400_000_000
    >>> response = Response("https://example.org/", 200, at=10 * day)
    >>> page = Page(0, "https://example.org/", "example.org")
    >>> visit = Visit(page, Outcome.CHANGED, response, previous=2 * day, last_modified=7 * day)
    >>> told_age(visit), told_age(replace(visit, outcome=Outcome.UNCHANGED))
    (3.0, nan)
    """
    told, at = visit.last_modified, visit.response.at
    if told is None or visit.previous is None or at - told < JUST_NOW:
        return math.nan
    if (told > visit.previous) != (visit.outcome is Outcome.CHANGED):
        return math.nan
    return (at - told) / MICROSECONDS_A_DAY
