"""The program of a fetch process, which visits the pages of its hosts and reports the results.

It paces requests to its hosts, reads their robots.txt, fetches, and compares with the copies in the
store, which it only reads. The process that starts it (`recrawl.crawler.fetch_processes`) makes the
decisions and writes.
"""

import asyncio
import logging
import math
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, final

from recrawl.clock import Clock
from recrawl.crawler.channel import Channel
from recrawl.crawler.fetching import fetcher_of, visitor_of
from recrawl.crawler.host_shares import process_of, share_of
from recrawl.crawler.parse_pool import ParsePool
from recrawl.crawler.polling import MAX_NAP, MIN_NAP
from recrawl.crawler.settings import Settings
from recrawl.crawler.site_access import site_access
from recrawl.crawler.site_readers import site_readers
from recrawl.crawler.visit import Visitor
from recrawl.crawler.visiting import Events, PacedVisit, Visiting
from recrawl.hosts import host_of
from recrawl.http.fetch import Fetcher
from recrawl.http.memory_budget import MAX_BYTES
from recrawl.records import Page, Response
from recrawl.store.sqlite import SqliteStore

#: Results are sent in batches: those of this many seconds, or this many.
SEND_SECONDS, SEND_COUNT = 0.01, 50
#: Seconds between two checks for outages, which take a while with thousands of hosts.
OUTAGES_EVERY = 1.0


class Task(NamedTuple):
    """What a fetch process receives first.

    Attributes:
        settings: The settings of the crawl.
        clock: Its clock.
        number: Which of the processes it is.
        is_restarted: Whether it replaces one that has exited, which may have just made requests.
        log_level: What to log.
    """

    settings: Settings
    clock: Clock
    number: int
    is_restarted: bool
    log_level: int


class Progress(NamedTuple):
    """The progress of a fetch process.

    Attributes:
        received: How many pages it was given so far.
        in_flight: Visits in flight.
        robots: Requests for robots.txt so far.
        files: Requests for other files so far.
        outages: Hosts and folders that are down, and how many of their pages are missing.
    """

    received: int = 0
    in_flight: int = 0
    robots: int = 0
    files: int = 0
    outages: Mapping[str, int] = {}


@final
class FetchProcess:
    """Visits pages for another process.

    Args:
        settings: The settings of this process.
        clock: The clock for delays.
        channel: Where pages come from and results go.
        fetcher: The HTTP client.
        visitor: Visits pages.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        channel: Channel,
        fetcher: Fetcher,
        visitor: Visitor,
    ) -> None:
        self._clock = clock
        self._channel = channel
        self._fetcher = fetcher
        self._templates = visitor.templates
        self._wake = asyncio.Event()
        events = Events(self._found, self._wake.set, self._must_wait)
        self._visiting = Visiting(
            visitor, settings, fetcher.gate.pacing, clock, fetcher.ahead, events
        )
        self._is_stopping = self._is_full = False
        self._received = 0
        self._paced: list[PacedVisit] = []
        self._sending: asyncio.TimerHandle | None = None
        self._outages: Mapping[str, int] = {}
        self._looked_at = -math.inf

    def add(self, pages: Sequence[Page]) -> None:
        """Visit pages."""
        self._received += len(pages)
        for page in pages:
            self._visiting.add(page)
        self._wake.set()
        self._send_soon()

    def set_full(self, is_full: bool) -> None:  # noqa: FBT001 - it comes as a message
        """Start no visits while too much is waiting to be written."""
        self._is_full = is_full
        self._wake.set()

    def stop(self) -> None:
        """Start nothing new, and exit soon."""
        self._is_stopping = True
        self._wake.set()

    async def run(self) -> None:
        """Visit pages until stopped."""
        visiting, clock = self._visiting, self._clock
        self._channel.notify("ready")
        while not self._is_stopping and visiting.failed is None:
            self._wake.clear()
            visiting.start()
            wait = clock.real(visiting.opens_at - clock.seconds())
            with suppress(TimeoutError):
                async with asyncio.timeout(min(max(wait, MIN_NAP), MAX_NAP)):
                    await self._wake.wait()
        lost = await visiting.end()
        self._send()
        self._channel.notify("done", lost)

    def _must_wait(self) -> bool:
        return self._is_full or self._channel.is_congested

    def _found(self, paced: PacedVisit) -> None:
        visit = paced.visit
        self._templates.learn(visit)
        if visit.sketches is not None:
            paced = paced._replace(visit=replace(visit, sketches=None))
        self._paced.append(paced)
        if len(self._paced) >= SEND_COUNT:
            self._send()
        else:
            self._send_soon()

    def _send_soon(self) -> None:
        if self._sending is None:
            loop = asyncio.get_running_loop()
            self._sending = loop.call_later(SEND_SECONDS, self._send)

    def _send(self) -> None:
        """Send results and progress."""
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None
        visits, self._paced = self._paced, []
        progress = Progress(
            self._received,
            self._visiting.in_flight,
            self._fetcher.robots.requests,
            self._fetcher.files,
            self._current_outages(),
        )
        self._channel.notify("found", visits, self._templates.changed(), progress)

    def _current_outages(self) -> Mapping[str, int]:
        now = asyncio.get_running_loop().time()
        if now - self._looked_at >= OUTAGES_EVERY:
            self._looked_at = now
            self._outages = self._visiting.outages(self._clock.now())
        return self._outages


@final
class _OtherProcesses:
    """Forwards requests for hosts of other processes to those processes."""

    def __init__(self, channel: Channel, number: int, processes: int) -> None:
        self._channel = channel
        self._number = number
        self._processes = processes

    def has(self, host: str) -> bool:
        return process_of(host, self._processes) != self._number

    async def request(self, url: str, max_bytes: int, *, is_robots: bool, pack: bool) -> Response:
        found: Response = await self._channel.ask(
            host_of(url), "fetch_hop", (url, max_bytes), {"is_robots": is_robots, "pack": pack}
        )
        return found


class _Forwarding(logging.Handler):
    """Forwards log records to the process that started this one."""

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        self._channel.notify("log", record.name, record.levelno, record.getMessage())


async def run(connection: socket.socket) -> None:
    """Serve the messages of a connection; exit at once when it is closed."""
    loop = asyncio.get_running_loop()
    handlers: dict[str, Callable[..., object]] = {}
    task = loop.create_future()
    handlers["task"] = task.set_result

    async def asked(what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ANN401
        return await getattr(fetcher, what)(*args, **kwargs)

    # Once the parent process has exited, this one is of no use.
    _, channel = await loop.create_unix_connection(
        lambda: Channel(lambda what, *about: handlers[what](*about), asked, lambda: os._exit(0)),
        sock=connection,
    )
    parts = await task
    _forward_logs(channel, parts.log_level)
    settings, count = share_of(parts.settings, parts.settings.processes), parts.settings.processes
    parse_pool = ParsePool(settings.parse_processes)
    try:
        with SqliteStore.open(settings.store) as reader:
            reader.narrow_cache()
            async with fetcher_of(
                settings,
                parts.clock,
                lambda _origin, found: channel.notify("robots", found),
                reader,
                site_access(settings),
                asked_at=parts.clock.seconds() if parts.is_restarted else None,
                elsewhere=_OtherProcesses(channel, parts.number, count),
                max_memory=MAX_BYTES // count,
            ) as fetcher:
                visitor = visitor_of(settings, fetcher, site_readers(settings), reader, parse_pool)
                process = FetchProcess(settings, parts.clock, channel, fetcher, visitor)
                handlers |= {"pages": process.add, "full": process.set_full, "stop": process.stop}
                await process.run()
    except Exception as error:  # noqa: BLE001 - whatever it is, the crawl is to end with it
        channel.notify("failed", error)
    finally:
        parse_pool.close()
    channel.close()
    # The process exits when everything has been delivered.
    await loop.create_future()


def _forward_logs(channel: Channel, level: int) -> None:
    logger = logging.getLogger("recrawl")
    logger.setLevel(level)
    logger.addHandler(_Forwarding(channel))


def main() -> None:
    """Run a fetch process."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A terminal or a supervisor sends them to all processes; the parent ends this one.
        signal.signal(number, signal.SIG_IGN)
    import uvloop

    connection = socket.socket(fileno=int(sys.argv[1]))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(connection))
