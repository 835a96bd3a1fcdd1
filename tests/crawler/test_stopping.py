"""What signals do to a crawl."""

import asyncio
import os
import signal

import pytest

from recrawl.crawler import stopping
from recrawl.crawler.stopping import stop_on_signals

#: Far more seconds than a busy machine takes to deliver a signal.
HANGS = 60.0


class Endless:
    """A crawl that does not end by itself when it is stopped."""

    def __init__(self) -> None:
        self.stopped = asyncio.Event()

    @property
    def stopping(self) -> bool:
        return self.stopped.is_set()

    def stop(self) -> None:
        self.stopped.set()

    async def run(self) -> None:
        stop_on_signals(self)
        await asyncio.Event().wait()


def test_the_first_signal_asks_a_crawl_to_stop_and_the_second_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stopping, "STOP_SECONDS", 10 * HANGS)

    async def main() -> None:
        crawl = Endless()
        running = asyncio.create_task(crawl.run())
        await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(HANGS):
            await crawl.stopped.wait()
        assert not running.done()
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait({running}, timeout=HANGS)
        assert running.cancelled()

    asyncio.run(main())
