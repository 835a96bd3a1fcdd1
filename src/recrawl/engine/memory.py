"""Persist what a frontier has learned, for the next run and for other processes."""

import asyncio
from collections.abc import Mapping
from typing import final

from recrawl.config.intervals import OF_RUN
from recrawl.config.settings import Settings
from recrawl.engine.frontier import CrawlFrontier
from recrawl.inspect.explain import BUDGET, PRICE
from recrawl.store.kept.first_fill import FILLED
from recrawl.store.reading import RATE_PRIOR
from recrawl.store.thread import StoreThread


@final
class FrontierMemory:
    """Writes everything but the beliefs about pages, which are written with their visits.

    Args:
        frontier: The frontier.
        store: Where it is kept.
    """

    def __init__(self, frontier: CrawlFrontier, store: StoreThread) -> None:
        self._frontier = frontier
        self._thread = store
        self._store = store.store

    async def keep(self, _now: int) -> None:
        """Store what was learned about hosts and folders, for the next run."""
        learned = self._frontier.take_learned()
        # `take_learned` returns it only once, so it must be written even if the crawl stops now.
        await asyncio.shield(self._thread.call(self._keep, learned, self._frontier.first_fill.text))

    def _keep(self, learned: Mapping[str, Mapping[str, bytes]], filled: str) -> None:
        # Runs in the store's thread.
        self._store.check_not_moved()
        for what, by_name in learned.items():
            if by_name:
                self._store.keep(what, by_name)
        if filled:
            self._store.set_meta(FILLED, filled)

    async def publish(self, _now: int) -> None:
        """Publish to other processes what a visit must be worth, and how often pages change."""
        prior = self._frontier.freshness.learn()
        await self._thread.call(self._store.set_meta, RATE_PRIOR, prior.text())
        price = self._frontier.frontier.price
        if price > 0.0:
            await self._thread.call(self._store.set_meta, PRICE, repr(price))

    async def publish_settings(self, budget: float, settings: Settings) -> None:
        """Publish the requests per day, and how often a page may be visited, to other processes."""
        limits = f"{settings.min_interval!r} {settings.max_interval!r}"
        await self._thread.call(self._store.set_meta, BUDGET, repr(budget))
        await self._thread.call(self._store.set_meta, OF_RUN, limits)
