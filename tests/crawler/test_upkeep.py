"""Tasks that are done from time to time, until the crawl stops."""

import asyncio

import pytest

from recrawl.clock import Clock
from recrawl.crawler.upkeep import Upkeep
from recrawl.errors import StoreError


def test_a_task_is_done_at_once_and_again_until_the_crawl_stops() -> None:
    async def run() -> list[int]:
        stopping, done = asyncio.Event(), list[int]()

        async def task(now: int) -> None:
            done.append(now)
            if len(done) == 3:
                stopping.set()

        await Upkeep(Clock(), stopping).every(0.001, task)
        return done

    done = asyncio.run(run())
    assert len(done) == 3
    assert done == sorted(set(done))


def test_a_task_that_takes_long_is_cancelled_when_the_crawl_stops() -> None:
    async def run() -> str:
        stopping, ended = asyncio.Event(), ["not at all"]

        async def task(_now: int) -> None:
            stopping.set()
            try:
                await asyncio.sleep(3_600.0)
            except asyncio.CancelledError:
                ended[0] = "cancelled"
                raise

        await Upkeep(Clock(), stopping).every(1.0, task)
        # It is told, and need not be waited for.
        await asyncio.sleep(0.0)
        return ended[0]

    assert asyncio.run(run()) == "cancelled"


def test_a_crawl_that_stops_does_not_wait_for_the_next_time() -> None:
    async def run() -> int:
        stopping, done = asyncio.Event(), list[int]()

        async def task(now: int) -> None:
            done.append(now)
            asyncio.get_running_loop().call_soon(stopping.set)

        async with asyncio.timeout(60.0):
            await Upkeep(Clock(), stopping).every(3_600.0, task)
        return len(done)

    assert asyncio.run(run()) == 1


def test_what_a_task_raises_ends_the_crawl() -> None:
    async def task(_now: int) -> None:
        raise StoreError("the disk is full")

    async def run() -> None:
        await Upkeep(Clock(), asyncio.Event()).every(1.0, task)

    with pytest.raises(StoreError, match="full"):
        asyncio.run(run())
