"""Fetching in several processes: each visits the pages of its hosts, and this one writes."""

import asyncio
import logging
import math
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Self, final

from recrawl.clock import Clock
from recrawl.crawler.channel import Channel, ChannelClosedError
from recrawl.crawler.fetch_process import Progress, Task
from recrawl.crawler.host_queues import MAX_QUEUED, QUEUED_PER_CONNECTION
from recrawl.crawler.host_shares import process_of, share_of
from recrawl.crawler.settings import Settings
from recrawl.crawler.visiting import GRACE, Events, Finding
from recrawl.errors import RecrawlError
from recrawl.hosts import host_of
from recrawl.records import Page, Response, RobotsText, Validators, Visit

LOGGER = logging.getLogger("recrawl.crawler")

#: Seconds after which a process that ended is started again; each further time doubles them, up to
#: the maximum, until one has run for so long.
FIRST_PAUSE, MAX_PAUSE = 0.1, 60.0
#: Processes that end in a row before one was ready; then the crawl ends as well.
MAX_STARTS = 3
#: Seconds beyond those for visits in flight that a process has to end.
END_SECONDS = 1.0

#: Not with -m: what the two processes send one another would be of different classes.
_PROGRAM = "from recrawl.crawler.fetch_process import main; main()"

#: Have glibc return the memory of long bodies to the system, as the crawl itself does.
_MALLOC = {
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_TRIM_THRESHOLD_": "1048576",
}


@final
class FetchProcesses:
    """Visits pages in other processes; `recrawl.crawler.visiting.Visits` documents the methods.

    ::

        this process                          each fetch process, for the hosts that are its own
          frontier: pages due      -- pages ->  HostQueues, HostPacing, Gate, robots.txt
                                                Visitor: fetch, compare with the copy in the store
          frontier learns, store  <- findings -  visits, delays, templates, robots.txt files
          writes
          Discovery                -- asks --->  sitemaps and feeds of its hosts
          (passed on)             <-- asks ----  a redirect led to a host of another process

    A host belongs to one process, so that processes need not agree on its pace. A process that ends
    is started anew: its pages are released, and its hosts count as just asked. When this process
    ends, however that comes about, the others do.

    Args:
        settings: The settings of the crawl.
        clock: Its clock.
        remember: Called with each robots.txt found.

    Attributes:
        templates: What the processes learned about sites.
    """

    def __init__(
        self, settings: Settings, clock: Clock, remember: Callable[[str, RobotsText], None]
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._remember = remember
        self._max_queued = MAX_QUEUED * settings.host_connections
        self._queued = Counter[str]()
        self._delays: dict[str, float] = {}
        self._events: Events | None = None
        self._is_full = self._is_ending = False
        self._lost = 0
        self.failed: BaseException | None = None
        self.templates = LearnedElsewhere()
        self._processes = [
            _Process(number, self, settings, clock) for number in range(settings.processes)
        ]

    async def __aenter__(self) -> Self:
        for process in self._processes:
            await process.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cancel()

    def use(self, events: Events) -> Self:
        """Tell a crawl what happens."""
        self._events = events
        return self

    # Visits

    @property
    def in_flight(self) -> int:
        """How many visits are in flight."""
        return sum(process.in_flight for process in self._processes)

    @property
    def opens_at(self) -> float:
        """When there is something to do, unless a process says so before: never."""
        return math.inf

    @property
    def pids(self) -> list[int]:
        """The numbers of the processes."""
        return [process.pid for process in self._processes]

    def wanted(self) -> int:
        """Return how many pages to add now; the same rule as in `HostQueues`, for all together."""
        connections, in_flight = self._settings.connections, self.in_flight
        most = QUEUED_PER_CONNECTION * connections
        waiting = sum(len(process.out) for process in self._processes) - in_flight
        return max(most - waiting if 2 * waiting <= most else 0, connections - in_flight)

    def add(self, page: Page) -> bool:
        """Let a page wait for its visit; return whether its host has as many as it may have."""
        self._process_of(page.host).add(page)
        self._queued[page.host] += 1
        return self._queued[page.host] >= self._max_queued

    def start(self) -> None:
        """Send pages to the processes, or have them wait while too much is to be written."""
        is_full = self._events is not None and self._events.is_full()
        for process in self._processes:
            process.send(is_full=is_full)

    def delay_of(self, host: str) -> float:
        """Return the seconds between two requests to a host."""
        return self._delays.get(host, self._settings.delay_of(host))

    def outages(self, _now: int) -> Mapping[str, int]:
        """Return hosts and folders whose pages are all not found, and how many of them lately."""
        return {
            name: pages for one in self._processes for name, pages in one.progress.outages.items()
        }

    async def end(self) -> int:
        """Have all processes end, and return how many visits are lost."""
        self._is_ending = True
        ends = [process.end() for process in self._processes]
        lost = sum(await asyncio.gather(*ends))
        if self.failed is not None:
            raise self.failed
        return lost + self._lost

    def cancel(self) -> None:
        """End all processes at once."""
        self._is_ending = True
        for process in self._processes:
            process.kill()

    # Files

    async def fetch_file(
        self,
        url: str,
        max_bytes: int,
        validators: Validators | None = None,
        *,
        stay_on_site: bool = False,
    ) -> Response:
        """Fetch a file that is not a page, such as a sitemap."""
        try:
            found: Response = await self.ask(
                host_of(url),
                "fetch_file",
                (url, max_bytes, validators),
                {"stay_on_site": stay_on_site},
            )
        except ChannelClosedError:
            return _ended(url, self._clock.now())
        return found

    async def named_sitemaps(self, url: str) -> tuple[str, ...] | None:
        """Return the sitemaps that the robots.txt of a URL's host names; None if not known."""
        try:
            found: tuple[str, ...] | None = await self.ask(
                host_of(url), "named_sitemaps", (url,), {}
            )
        except ChannelClosedError:
            return None
        return found

    def other_requests(self) -> tuple[int, int]:
        """Return how many requests were made so far for robots.txt and for sitemaps."""
        robots = sum(process.robots for process in self._processes)
        return robots, sum(process.files for process in self._processes)

    async def ask(
        self, host: str, what: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:  # noqa: ANN401
        """Have the process of a host fetch something; `Fetcher` says what.

        Raises:
            ChannelClosedError: The process has ended.
        """
        return await self._process_of(host).ask(what, args, kwargs)

    async def ask_for_another(
        self, host: str, what: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:  # noqa: ANN401
        """Have the process of a host fetch what another process was redirected to."""
        try:
            return await self.ask(host, what, args, kwargs)
        except ChannelClosedError:
            return _ended(args[0], self._clock.now())

    # What processes send

    def found(self, finding: Finding) -> None:
        """Pass on a visit."""
        host = finding.visit.page.host
        if finding.delay != self._settings.delay_of(host):
            self._delays[host] = finding.delay
        else:
            self._delays.pop(host, None)
        self.forget(host, 1 + len(finding.dropped))
        if self._events is not None:
            self._events.found(finding)

    def forget(self, host: str, pages: int) -> None:
        """Note that pages of a host do not wait any more."""
        self._queued[host] -= pages
        if self._queued[host] <= 0:
            del self._queued[host]

    def wake(self) -> None:
        """Have the crawl look what there is to do."""
        if self._events is not None:
            self._events.wake()

    def remember(self, found: RobotsText) -> None:
        """Have a robots.txt written."""
        self._remember(found.origin, found)

    def fail(self, error: BaseException) -> None:
        """Have the crawl end: visits cannot be made."""
        self.failed = self.failed or error
        self.wake()

    def lose(self, pages: Mapping[int, Page], requests: int) -> None:
        """Take back the pages of a process that has ended unexpectedly."""
        for page in pages.values():
            self.forget(page.host, 1)
        self._lost += requests
        if self._events is not None:
            self._events.released(list(pages))
        self.wake()

    @property
    def is_ending(self) -> bool:
        """Whether processes are to end."""
        return self._is_ending

    def _process_of(self, host: str) -> "_Process":
        return self._processes[process_of(host, len(self._processes))]


@final
class LearnedElsewhere:
    """What other processes learned about the templates of sites, to be written here."""

    def __init__(self) -> None:
        self._changed: dict[str, bytes] = {}

    def learn(self, _visit: Visit) -> None:
        """Learn nothing: whoever made the visit has."""

    def receive(self, learned: Mapping[str, bytes]) -> None:
        """Have what was learned elsewhere written."""
        self._changed |= learned

    def changed(self) -> dict[str, bytes]:
        """Return what was learned since the last call, by host."""
        changed, self._changed = self._changed, {}
        return changed


@final
class _Process:
    """One fetch process after another: when one ends, the next is started."""

    def __init__(
        self, number: int, owner: FetchProcesses, settings: Settings, clock: Clock
    ) -> None:
        self._number = number
        self._owner = owner
        self._settings = settings
        self._clock = clock
        self._connections = share_of(settings, settings.processes).connections
        self._channel: Channel | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = asyncio.Event()
        self._ended = asyncio.Event()
        self._pause = FIRST_PAUSE
        self._began = -math.inf
        self._starts = 0
        self._sent = 0
        self._outbox: list[Page] = []
        self._is_full = False
        self._left: int | None = None
        self._before = (0, 0)
        self._restarting: asyncio.Task[None] | None = None
        self.out: dict[int, Page] = {}
        self.progress = Progress()

    @property
    def pid(self) -> int:
        return -1 if self._process is None else self._process.pid

    @property
    def in_flight(self) -> int:
        """Visits in flight; what it has not seen yet may be, too."""
        unseen = self._sent - self.progress.received + len(self._outbox)
        return min(self.progress.in_flight + unseen, self._connections)

    @property
    def robots(self) -> int:
        return self._before[0] + self.progress.robots

    @property
    def files(self) -> int:
        return self._before[1] + self.progress.files

    async def start(self) -> None:
        """Start a process.

        Raises:
            RecrawlError: It cannot be started.
        """
        ours, its = socket.socketpair()
        path = os.pathsep.join(filter(None, sys.path))
        try:
            self._process = subprocess.Popen(  # noqa: ASYNC220, S603 - our own program, at once
                [sys.executable, "-P", "-c", _PROGRAM, str(its.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=(its.fileno(),),
                env=os.environ | _MALLOC | {"PYTHONPATH": path},
            )
        except OSError as error:
            ours.close()
            raise RecrawlError(f"cannot start a process to fetch pages: {error}") from None
        finally:
            its.close()
        loop = asyncio.get_running_loop()
        self._starts += 1
        self._began = time.monotonic()
        _, self._channel = await loop.create_unix_connection(
            lambda: Channel(self._notified, self._owner.ask_for_another, self._lost), sock=ours
        )
        level = logging.getLogger("recrawl").getEffectiveLevel()
        is_restarted = self._starts > 1
        task = Task(self._settings, self._clock, self._number, is_restarted, level)
        self._channel.notify("task", task)

    def add(self, page: Page) -> None:
        self.out[page.number] = page
        self._outbox.append(page)

    def send(self, *, is_full: bool) -> None:
        """Send the pages that wait, and whether to go on."""
        if self._channel is None or not self._ready.is_set():
            return
        if self._outbox:
            pages, self._outbox = self._outbox, []
            self._sent += len(pages)
            self._channel.notify("pages", pages)
        if is_full != self._is_full:
            self._is_full = is_full
            self._channel.notify("full", is_full)

    async def ask(self, *message: object) -> Any:  # noqa: ANN401
        await self._ready.wait()
        if self._channel is None:
            raise ChannelClosedError
        return await self._channel.ask(*message)

    async def end(self) -> int:
        """Have the process end; return how many visits are lost."""
        if self._restarting is not None:
            self._restarting.cancel()
        if self._channel is not None and self._ready.is_set():
            self._channel.notify("stop")
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE + END_SECONDS):
                    await self._ended.wait()
        return self.progress.in_flight if self._left is None else self._left

    def kill(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._channel is not None:
            self._channel.close()

    def _notified(self, what: str, *about: Any) -> None:  # noqa: ANN401
        if what == "found":
            self._found(*about)
        elif what == "robots":
            self._owner.remember(*about)
        elif what == "log":
            name, level, text = about
            logging.getLogger(name).log(level, "%s", text)
        elif what == "ready":
            self._ready.set()
            self._starts = 1
            self._owner.wake()
        elif what == "failed":
            self._owner.fail(*about)
        elif what == "done":
            (self._left,) = about

    def _found(
        self, findings: list[Finding], learned: Mapping[str, bytes], progress: Progress
    ) -> None:
        self.progress = progress
        self._owner.templates.receive(learned)
        for finding in findings:
            for number in (finding.visit.page.number, *finding.dropped):
                self.out.pop(number, None)
            self._owner.found(finding)
        self._owner.wake()

    def _lost(self) -> None:
        """Notice that the process has ended, or is about to."""
        self._channel = None
        self._ended.set()
        self._ready.clear()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._owner.is_ending or self._left is not None or self._owner.failed is not None:
            return
        if self._starts >= MAX_STARTS:
            self._owner.fail(RecrawlError("processes that fetch pages end as soon as they start"))
            return
        LOGGER.warning("a process that fetches pages ended; its %d pages wait", len(self.out))
        self._before = self.robots, self.files
        out, in_flight = self.out, self.progress.in_flight
        self.out, self._outbox, self._sent = {}, [], 0
        self.progress, self._is_full = Progress(), False
        self._owner.lose(out, in_flight)
        self._restarting = asyncio.create_task(self._start_again())

    async def _start_again(self) -> None:
        if time.monotonic() - self._began > MAX_PAUSE:
            self._pause = FIRST_PAUSE
        await asyncio.sleep(self._pause)
        self._pause = min(2.0 * self._pause, MAX_PAUSE)
        try:
            await self.start()
        except RecrawlError as error:
            self._owner.fail(error)


def _ended(url: str, now: int) -> Response:
    """Return that nothing was fetched, as the process that would have fetched it has ended."""
    problem = "the process that fetches from this host has ended"
    return Response(url, 0, now, requests=0, error=problem, postponed=True)
