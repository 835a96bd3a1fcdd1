"""The program of a worker process: it leases pages over a socket, and reports its visits.

It paces requests to the hosts whose pages it has, reads their robots.txt, fetches, and compares
with the copies in the store, which it only reads. The process that starts it
(`recrawl.fetching.worker_processes`) has the engine, which decides and writes.
"""

import asyncio
import logging
import math
import os
import signal
import socket
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple, final

from recrawl.clock import Clock
from recrawl.config.access import site_access
from recrawl.config.readers import site_readers
from recrawl.config.settings import Settings
from recrawl.engine.host_queue import MAX_WAIT, HostQueue
from recrawl.engine.leases import Leased, LeaseRequest
from recrawl.engine.lessee import Events
from recrawl.engine.polling import MAX_NAP, MIN_NAP, Polling
from recrawl.fetching.channel import Channel, ChannelClosedError
from recrawl.fetching.client import fetcher_of, visitor_of
from recrawl.fetching.visit import Visitor
from recrawl.fetching.worker import Worker
from recrawl.http.fetch import Fetcher
from recrawl.http.memory_budget import MAX_BYTES
from recrawl.parsing.pool import ParsePool
from recrawl.records import Response, Visit
from recrawl.store.sqlite import SqliteStore

#: Results are sent in batches: those of this many seconds, or this many.
SEND_SECONDS, SEND_COUNT = 0.01, 50
#: Seconds between two checks for outages, which take a while with thousands of hosts.
OUTAGES_EVERY = 1.0
#: Pages of one host on a lease: while they are out, no other process has any of that host.
PAGES_PER_HOST = 4


class Task(NamedTuple):
    """What a worker process receives first.

    Attributes:
        settings: The settings of the crawl, with this process's share of connections.
        processes: How many processes there are.
        clock: The clock of the crawl.
        log_level: What to log.
    """

    settings: Settings
    processes: int
    clock: Clock
    log_level: int


class ReportedVisit(NamedTuple):
    """A visit to a leased page.

    Attributes:
        lease: The lease that the page was on.
        visit: The visit.
        delay: Seconds between two requests that the page's host asks for.
    """

    lease: str
    visit: Visit
    delay: float


class Progress(NamedTuple):
    """The progress of a worker process.

    Attributes:
        in_flight: Visits in flight.
        robots: Requests for robots.txt so far.
        files: Requests for other files so far.
        outages: Hosts and folders that are down, and how many of their pages are missing.
    """

    in_flight: int = 0
    robots: int = 0
    files: int = 0
    outages: Mapping[str, int] = {}


@final
class WorkerProcess:
    """Leases pages, visits them, and reports what it found.

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
        self._pacing = fetcher.gate.pacing
        self._templates = visitor.templates
        self._budget = settings.budget
        self._wake = asyncio.Event()
        self._queue = HostQueue(
            self._pacing,
            settings.connections,
            settings.host_connections,
            max_wait=clock.passing(MAX_WAIT),
            now=clock.seconds,
        )
        events = Events(self._found, self._wake.set, lambda: channel.is_congested)
        self._worker = Worker(
            visitor, self._queue, settings.connections, fetcher.ahead, events, clock.now
        )
        self._polling = Polling(clock)
        self._is_stopping = self._had_pages = False
        #: The lease of each page that this process has, and how many it has of each host.
        self._leases: dict[int, str] = {}
        self._hosts = Counter[str]()
        self._reported: list[ReportedVisit] = []
        self._sending: asyncio.TimerHandle | None = None
        self._outages: Mapping[str, int] = {}
        self._looked_at = -math.inf

    def stop(self) -> None:
        """Start nothing new, and exit soon."""
        self._is_stopping = True
        self._wake.set()

    async def run(self) -> None:
        """Visit pages until stopped."""
        worker, polling = self._worker, self._polling
        self._channel.notify("ready")
        leasing: asyncio.Task[None] | None = None
        try:
            while not self._is_stopping and worker.failed is None:
                self._wake.clear()
                worker.start()
                wanted = 0 if polling.is_resting else worker.wanted()
                if wanted > 0 and (leasing is None or leasing.done()):
                    leasing = asyncio.create_task(self._lease(wanted))
                # Those that were due may have been first visits, which cost no budget.
                budget = math.inf if self._had_pages else self._budget
                nap = polling.nap(budget, worker.opens_at)
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(max(nap, MIN_NAP), MAX_NAP)):
                        await self._wake.wait()
                polling.end_nap(is_woken=self._wake.is_set())
            lost = await worker.end()
        finally:
            if leasing is not None:
                leasing.cancel()
        self._send()
        self._channel.notify("done", lost)

    async def _lease(self, wanted: int) -> None:
        """Lease pages, and queue them."""
        request = LeaseRequest(wanted, pages_per_host=PAGES_PER_HOST, seconds=math.inf)
        try:
            leased: Leased = await self._channel.ask("lease", request)
        except ChannelClosedError:
            return
        self._polling.note_taken(len(leased.pages))
        self._had_pages = bool(leased.pages)
        for page, delay in zip(leased.pages, leased.delays, strict=True):
            self._leases[page.number] = leased.id
            if not self._hosts[page.host]:
                # Others may have asked the host since, and learned about its pages.
                self._pacing.set_delay(page.host, delay)
                self._templates.forget(page.host)
            self._hosts[page.host] += 1
            self._queue.add(page)
        if leased.pages:
            self._wake.set()

    def _found(self, visit: Visit) -> tuple[int, ...]:
        number, host = visit.page.number, visit.page.host
        self._templates.learn(visit)
        if visit.sketches is not None:
            visit = replace(visit, sketches=None)
        self._hosts[host] -= 1
        if not self._hosts[host]:
            del self._hosts[host]
        delay = self._pacing.delay_of(host)
        self._reported.append(ReportedVisit(self._leases.pop(number), visit, delay))
        if len(self._reported) >= SEND_COUNT:
            self._send()
        else:
            self._send_soon()
        return ()

    def _send_soon(self) -> None:
        if self._sending is None:
            loop = asyncio.get_running_loop()
            self._sending = loop.call_later(SEND_SECONDS, self._send)

    def _send(self) -> None:
        """Send results and progress."""
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None
        reported, self._reported = self._reported, []
        progress = Progress(
            self._worker.in_flight,
            self._fetcher.robots.requests,
            self._fetcher.files,
            self._current_outages(),
        )
        self._channel.notify("report", reported, self._templates.changed(), progress)

    def _current_outages(self) -> Mapping[str, int]:
        now = asyncio.get_running_loop().time()
        if now - self._looked_at >= OUTAGES_EVERY:
            self._looked_at = now
            self._outages = self._worker.outages(self._clock.now())
        return self._outages


@final
class _OtherHosts:
    """Has redirects to other hosts than a page's followed by the engine's process.

    This process may have pages of that host too, but may give them back at any time.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def request(self, url: str, max_bytes: int, *, is_robots: bool, pack: bool) -> Response:
        found: Response = await self._channel.ask("hop", url, max_bytes, is_robots, pack)
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

    async def asked(_what: str, url: str, max_bytes: int, is_robots: bool, pack: bool) -> Response:  # noqa: FBT001 - as asked
        # A redirect of another process led to a host of which this one has pages.
        return await fetcher.fetch_hop(url, max_bytes, is_robots=is_robots, pack=pack)

    # Once the parent process has exited, this one is of no use.
    _, channel = await loop.create_unix_connection(
        lambda: Channel(lambda what, *about: handlers[what](*about), asked, lambda: os._exit(0)),
        sock=connection,
    )
    parts: Task = await task
    _forward_logs(channel, parts.log_level)
    settings = parts.settings
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
                elsewhere=_OtherHosts(channel),
                max_memory=MAX_BYTES // parts.processes,
            ) as fetcher:
                visitor = visitor_of(settings, fetcher, site_readers(settings), reader, parse_pool)
                process = WorkerProcess(settings, parts.clock, channel, fetcher, visitor)
                handlers["stop"] = process.stop
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
    """Run a worker process."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A terminal or a supervisor sends them to all processes; the parent ends this one.
        signal.signal(number, signal.SIG_IGN)
    import uvloop

    connection = socket.socket(fileno=int(sys.argv[1]))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(connection))
