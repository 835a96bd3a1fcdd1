"""What a frontier has learned outlives the crawl, at whatever moment that stops."""

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from recrawl.engine.memory import FrontierMemory
from recrawl.errors import StoreError
from recrawl.store.kept.first_fill import FirstFill
from recrawl.store.sqlite import SqliteStore
from recrawl.store.thread import StoreThread

LEARNED = {"hosts": {"a.example": b"1"}, "folders": {"a.example/b": b"2"}, "nothing": {}}


def test_what_was_learned_is_written_although_the_crawl_stops_before_its_turn() -> None:
    frontier: Any = SimpleNamespace(take_learned=lambda: LEARNED, first_fill=FirstFill())
    is_free = threading.Event()

    async def run(thread: StoreThread) -> None:
        busy = asyncio.ensure_future(thread.call(is_free.wait))
        await asyncio.sleep(0.0)
        keeping = asyncio.ensure_future(FrontierMemory(frontier, thread).keep(0))
        for _ in range(3):
            await asyncio.sleep(0.0)
        keeping.cancel()
        await asyncio.wait([keeping])
        is_free.set()
        await busy
        thread.close()

    with SqliteStore.open(":memory:") as store:
        asyncio.run(run(StoreThread(store)))
        assert {what: store.kept(what) for what in LEARNED} == LEARNED


def test_a_crawl_does_not_write_on_to_a_file_that_was_removed(tmp_path: Path) -> None:
    frontier: Any = SimpleNamespace(take_learned=lambda: LEARNED, first_fill=FirstFill())
    with SqliteStore.open(tmp_path / "recrawl.db", create=True) as store:
        thread = StoreThread(store)
        asyncio.run(FrontierMemory(frontier, thread).keep(0))
        (tmp_path / "recrawl.db").unlink()
        with pytest.raises(StoreError, match="removed or replaced"):
            asyncio.run(FrontierMemory(frontier, thread).keep(0))
        thread.close()
