"""Check pages that are gone or refused again now and then, for a small share of the budget."""

from collections.abc import Iterable
from typing import final

from recrawl.engine.frontier import CrawlFrontier
from recrawl.records import MICROSECONDS_A_DAY, Visit
from recrawl.store.thread import StoreThread

#: The share of the budget for checking pages that are gone or refused.
WAKING_SHARE = 0.05
#: How many of them are checked at a time.
MAX_WOKEN = 100
#: Microseconds after which a page is checked again if the check did not happen.
AGAIN = 86_400_000_000


@final
class Waking:
    """Brings pages back to the frontier when it is time to check them again.

    Args:
        frontier: Where they are scheduled.
        store: The store, which knows when that is.
        budget: Requests per day, of which a small share is for this.
    """

    def __init__(self, frontier: CrawlFrontier, store: StoreThread, budget: float) -> None:
        self._frontier = frontier
        self._store = store
        self._budget = WAKING_SHARE * budget
        self._credit = 0.0
        self._until = frontier.loaded_at
        self._woken: set[int] = set()

    def set_budget(self, budget: float) -> None:
        """Change the requests per day, a share of which pays for this."""
        self._budget = WAKING_SHARE * budget

    async def wake(self, now: int) -> None:
        """Bring back the pages that are due, as many as the share of the budget pays for."""
        passed = max(now - self._until, 0) / MICROSECONDS_A_DAY
        self._until = now
        self._credit = min(self._credit + self._budget * passed, MAX_WOKEN)
        if self._credit < 1.0:
            return
        store, out = self._store.store, frozenset(self._frontier.out)
        pages = await self._store.call(store.wake, now, now + AGAIN, int(self._credit))
        # A page that is out is being checked, or was while this waited for the store.
        out |= self._frontier.out
        woken = [page for page in pages if page.number not in out]
        self._credit -= len(woken)
        self._woken.update(page.number for page in woken)
        self._frontier.remove(page.number for page in woken)
        self._frontier.add(woken, now, first=True)

    def settle(self, visits: Iterable[Visit]) -> None:
        """Refund what was not spent: a page that robots.txt forbids is not requested."""
        for visit in visits:
            if visit.page.number in self._woken:
                self._woken.discard(visit.page.number)
                self._credit += not visit.response.requests
