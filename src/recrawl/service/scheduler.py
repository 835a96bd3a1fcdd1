"""A scheduler for other crawlers: it knows which page is next, and fetches none itself."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import final

from recrawl.clock import Clock
from recrawl.crawler.explain import BUDGET, PRICE
from recrawl.crawler.load import CrawlFrontier
from recrawl.crawler.settings import Settings
from recrawl.crawler.stats import Stats
from recrawl.crawler.store_thread import StoreThread
from recrawl.crawler.waking import Waking
from recrawl.errors import RecrawlError
from recrawl.store.sqlite import SqliteStore

#: Real seconds between two runs of each periodic task.
EDITS_EVERY, WAKING_EVERY, PRICE_EVERY = 1.0, 60.0, 5.0


@final
class Scheduler:
    """Leases pages to other crawlers and learns from what they report.

    Args:
        frontier: The frontier of the store's pages.
        store: Where everything is recorded.
        reading: The store, for reading in the event loop.
        settings: The crawler's settings.
        clock: What budget and delays go by.

    Attributes:
        stats: Counts of this run.
    """

    def __init__(
        self,
        frontier: CrawlFrontier,
        store: StoreThread,
        reading: SqliteStore,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._frontier = frontier
        self._store = store
        self._reading = reading
        self._clock = clock
        self._serial = frontier.serial
        self._waking = Waking(frontier, store, settings.budget)
        self._stopping = asyncio.Event()
        self.stats = Stats(frontier.loaded_at, settings.budget)

    @property
    def stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """Stop soon."""
        self._stopping.set()

    async def run(self) -> None:
        """Do what is to be done from time to time, until stopped."""
        await self._store.call(self._store.store.set_meta, BUDGET, repr(self.stats.budget))
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._every(EDITS_EVERY, self._apply_edits))
                group.create_task(self._every(WAKING_EVERY, self._waking.wake))
                group.create_task(self._every(PRICE_EVERY, self._publish_price))
        except* RecrawlError as failed:
            raise failed.exceptions[0] from None
        finally:
            self._store.close()

    async def _every(self, seconds: float, task: Callable[[int], Awaitable[None]]) -> None:
        while not self.stopping:
            await task(self._clock.now())
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._stopping.wait()

    async def _apply_edits(self, now: int) -> None:
        """Take over what others changed in the store."""
        edits = await self._store.call(self._store.store.changes_since, self._serial)
        self._serial = edits.serial
        self._frontier.remove(edits.removed)
        new = [page for page in (*edits.added, *edits.revived) if page.number not in self._frontier]
        if new:
            self._frontier.add(new, now)
        for number, importance in edits.importance:
            if number in self._frontier:
                self._frontier.frontier.set_importance([number], importance)

    async def _publish_price(self, _now: int) -> None:
        """Let other processes know what a visit must be worth."""
        price = self._frontier.frontier.price
        if price > 0.0:
            await self._store.call(self._store.store.set_meta, PRICE, repr(price))
