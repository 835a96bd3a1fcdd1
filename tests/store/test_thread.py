"""The store's methods run in order on one thread, and failures are not lost."""

import asyncio
import threading
from contextlib import suppress

import pytest
from crawler.fakes import MemoryStore

from recrawl.errors import StoreError
from recrawl.store.thread import StoreThread


def test_methods_run_in_order_on_another_thread() -> None:
    calls: list[tuple[str, str]] = []

    def note(name: str) -> str:
        calls.append((name, threading.current_thread().name))
        return name

    async def main() -> str:
        thread = StoreThread(MemoryStore())
        thread.call_later(note, "first")
        result = await thread.call(note, "second")
        thread.call_later(note, "third")
        thread.close()
        return result

    assert asyncio.run(main()) == "second"
    assert [name for name, _ in calls] == ["first", "second", "third"]
    assert {thread[:5] for _, thread in calls} == {"store"}


def test_what_fails_later_is_raised_by_the_next_call() -> None:
    def fail() -> None:
        raise StoreError("the disk is full")

    async def main() -> None:
        thread = StoreThread(MemoryStore())
        thread.call_later(fail)
        with suppress(StoreError):
            # It may have failed already, and has when this is done.
            await thread.call(int)
        with pytest.raises(StoreError, match="the disk is full"):
            await thread.call(int)
        thread.close()

    asyncio.run(main())


def test_a_thread_that_has_ended_says_so() -> None:
    async def main() -> None:
        thread = StoreThread(MemoryStore())
        thread.close()
        with pytest.raises(StoreError, match="the crawl has ended"):
            await thread.call(int)

    asyncio.run(main())
