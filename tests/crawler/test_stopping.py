"""What signals do to a crawl."""

import asyncio
import logging
import os
import signal

import pytest
from virtual_time import until

from recrawl.config.reload import Reload
from recrawl.config.settings import Settings
from recrawl.crawler import stopping
from recrawl.crawler.stopping import stop_on_signals
from recrawl.errors import SettingsError

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

    async def run(self, reload: Reload | None = None) -> None:
        stop_on_signals(self, reload)
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


@pytest.mark.parametrize("is_valid", [True, False])
def test_a_hangup_has_settings_read_again_and_a_signal_after_it_ends_the_crawl(
    is_valid: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopping, "STOP_SECONDS", 10 * HANGS)
    reads = asyncio.Queue[None]()

    def read() -> Settings:
        reads.put_nowait(None)
        if not is_valid:
            raise SettingsError("budget: it is negative")
        return Settings(store="a.db", budget=7.0)

    async def main() -> None:
        crawl, reload = Endless(), Reload(read, "a.db")
        running = asyncio.create_task(crawl.run(reload))
        await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGHUP)
        async with asyncio.timeout(HANGS):
            await reads.get()
        assert crawl.stopping is is_valid
        assert (reload.settings is not None) is is_valid
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(HANGS):
            await crawl.stopped.wait()
            await until(lambda: reload.settings is None)
        # It is not to start anew, and it has time to end.
        assert not running.done()
        running.cancel()

    asyncio.run(main())


def test_a_hangup_ends_a_crawl_whose_settings_cannot_be_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stopping, "STOP_SECONDS", 10 * HANGS)

    async def main() -> None:
        crawl = Endless()
        running = asyncio.create_task(crawl.run())
        await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGHUP)
        async with asyncio.timeout(HANGS):
            await crawl.stopped.wait()
        running.cancel()

    asyncio.run(main())


def test_settings_that_cannot_be_used_leave_those_that_are() -> None:
    found = [
        Settings(store="other.db"),
        Settings(store="a.db", fingerprint="selector", selector="[["),
        Settings(store="a.db", budget=7.0),
    ]
    reload = Reload(lambda: found.pop(0), "a.db")
    assert [reload(), reload()] == [False, False]
    assert reload.take() is None
    assert reload()
    assert [one and one.budget for one in (reload.take(), reload.take())] == [7.0, None]


def test_a_process_that_does_not_stop_in_time_is_ended(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    codes = list[int]()
    monkeypatch.setattr(logging, "shutdown", lambda: codes.append(0))
    monkeypatch.setattr(os, "_exit", codes.append)
    stopping._end_at_once()  # noqa: SLF001
    assert codes == [0, 1]
    assert "stopping took more than 5.5 s" in caplog.text


def test_a_hangup_that_is_ignored_stays_so() -> None:
    """As under nohup, where a terminal that is closed is not to end a crawl."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)

    async def main() -> None:
        running = asyncio.create_task(Endless().run())
        await asyncio.sleep(0)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        running.cancel()

    try:
        asyncio.run(main())
    finally:
        signal.signal(signal.SIGHUP, before)
