"""Tasks that are done from time to time, until the crawl stops."""

import asyncio
import functools
import statistics
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from crawler.fakes import PER_SECOND, FakeWeb, MemoryStore, crawl, settings_of
from virtual_time import now

from recrawl.clock import Clock
from recrawl.engine.upkeep import Upkeep
from recrawl.errors import StoreError
from recrawl.inspect.explain import PRICE


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


@pytest.mark.parametrize("speed", [1.0, 4.0])
def test_a_crawl_does_each_task_at_its_interval(speed: float) -> None:
    """What writes, or is looked at, by real time, and the rest by the clock of the crawl."""
    store, times = MemoryStore("https://a.example/"), defaultdict[str, list[float]](list)

    def note(name: str) -> None:
        call = getattr(store, name)

        @functools.wraps(call)
        def noted(*given: Any) -> Any:  # noqa: ANN401
            times[PRICE if given[:1] == (PRICE,) else name].append(now())
            return call(*given)

        setattr(store, name, noted)

    for name in ("changes_since", "wake", "keep", "set_meta", "trouble"):
        note(name)
    # Whether it is there is to be looked at when it is woken.
    store.known[0] = replace(store.known[0], retry_at=0)
    web = FakeWeb({"https://a.example/": "A page."})
    crawl(web, store, settings_of(budget=PER_SECOND), seconds=speed * 125.0, speed=speed)
    gaps = {
        name: statistics.median(later - first for first, later in pairwise(sorted(set(found))))
        for name, found in times.items()
        if name != "set_meta"
    }
    by_clock = {"changes_since": 1.0 / speed, "wake": 60.0 / speed}
    by_time = {"keep": 10.0, PRICE: 5.0, "trouble": 10.0}
    assert gaps == pytest.approx(by_clock | by_time, rel=0.01)
