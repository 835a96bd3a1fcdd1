"""What a frontier has learned, kept in the store: for the next run, and for other processes."""

import asyncio
from collections.abc import Mapping
from typing import final

from recrawl.crawler.explain import BUDGET, PRICE
from recrawl.crawler.intervals import OF_RUN
from recrawl.crawler.load import CrawlFrontier
from recrawl.crawler.settings import Settings
from recrawl.crawler.store_thread import StoreThread


@final
class FrontierMemory:
    """Writes what is not a belief about one page, which visits are written with.

    Args:
        frontier: The frontier.
        store: Where it is kept.
    """

    def __init__(self, frontier: CrawlFrontier, store: StoreThread) -> None:
        self._frontier = frontier
        self._thread = store
        self._store = store.store

    async def keep(self, _now: int) -> None:
        """Keep what was learned about hosts and folders, for the next run."""
        learned = self._frontier.take_learned()
        # It is not returned a second time, so that it is written even if the crawl stops now.
        await asyncio.shield(self._thread.call(self._keep, learned))

    def _keep(self, learned: Mapping[str, Mapping[str, bytes]]) -> None:
        # In the store's thread.
        self._store.check_not_moved()
        for what, by_name in learned.items():
            if by_name:
                self._store.keep(what, by_name)

    async def publish_price(self, _now: int) -> None:
        """Let other processes know what a visit must be worth."""
        price = self._frontier.frontier.price
        if price > 0.0:
            await self._thread.call(self._store.set_meta, PRICE, repr(price))

    async def publish_settings(self, budget: float, settings: Settings) -> None:
        """Let other processes know the requests per day, and how often a page may be visited."""
        limits = f"{settings.min_interval!r} {settings.max_interval!r}"
        await self._thread.call(self._store.set_meta, BUDGET, repr(budget))
        await self._thread.call(self._store.set_meta, OF_RUN, limits)
