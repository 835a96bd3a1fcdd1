"""Periodic tasks of a crawl, whether it visits pages itself or leases them to other crawlers."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import final

from recrawl.clock import Clock
from recrawl.engine.discovery.discovery import Discovery
from recrawl.engine.memory import FrontierMemory
from recrawl.engine.recheck import Waking

#: Seconds between two runs of each task, by the crawl's clock...
EDITS_EVERY, WAKING_EVERY = 1.0, 60.0
#: ...and in real time, for tasks that write, or whose result is displayed.
KEEP_EVERY, PUBLISH_EVERY, TROUBLE_EVERY = 10.0, 5.0, 10.0

#: A periodic task, given the present in microseconds.
Task = Callable[[int], Awaitable[None]]


@final
class Upkeep:
    """Runs periodic tasks until the crawl stops.

    Args:
        clock: The clock of the crawl.
        stopping: Set when it stops.
    """

    def __init__(self, clock: Clock, stopping: asyncio.Event) -> None:
        self._clock = clock
        self._stopping = stopping

    def start(
        self,
        group: asyncio.TaskGroup,
        discovery: Discovery,
        waking: Waking,
        memory: FrontierMemory,
        count_trouble: Task,
    ) -> None:
        """Start the tasks of every crawl, whoever visits the pages."""
        passing = self._clock.passing
        group.create_task(self.every(EDITS_EVERY, discovery.apply_edits))
        group.create_task(self.every(WAKING_EVERY, waking.wake))
        group.create_task(self.every(passing(KEEP_EVERY), memory.keep))
        group.create_task(self.every(passing(PUBLISH_EVERY), memory.publish))
        group.create_task(self.every(passing(TROUBLE_EVERY), count_trouble))

    async def every(self, seconds: float, task: Task) -> None:
        """Run a task now, and again so many seconds after it is done, by the crawl's clock.

        When the crawl stops, an unfinished task is cancelled.
        """
        while not self._stopping.is_set():
            running = asyncio.ensure_future(task(self._clock.now()))
            stopping = asyncio.ensure_future(self._stopping.wait())
            await asyncio.wait([running, stopping], return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if not running.done():
                running.cancel()
                return
            running.result()
            await self.sleep(self._clock.wait(seconds))

    async def sleep(self, seconds: float) -> None:
        """Sleep for some seconds by the crawl's clock, or until the crawl stops."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._clock.real(seconds)):
                await self._stopping.wait()
