"""Fetch in several processes: each visits the pages of its hosts, and this one writes."""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Self, final

from recrawl.clock import Clock
from recrawl.crawler.channel import ChannelClosedError
from recrawl.crawler.host_queues import MAX_QUEUED, QUEUED_PER_CONNECTION
from recrawl.crawler.host_shares import process_of
from recrawl.crawler.restarting_process import RestartingProcess
from recrawl.crawler.settings import Settings
from recrawl.crawler.visiting import Events, PacedVisit
from recrawl.hosts import host_of
from recrawl.records import Page, Response, RobotsText, Validators, Visit


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

    A host belongs to one process, so that processes need not coordinate its pace. A process that
    exits is restarted: its pages are released, and its hosts count as just visited. When this
    process exits, for whatever reason, so do the others.

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
            RestartingProcess(number, self, settings, clock) for number in range(settings.processes)
        ]

    async def __aenter__(self) -> Self:
        for process in self._processes:
            await process.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cancel()

    def use(self, events: Events) -> Self:
        """Report to a crawl from now on."""
        self._events = events
        return self

    # Visits

    @property
    def in_flight(self) -> int:
        """How many visits are in flight."""
        return sum(process.in_flight for process in self._processes)

    @property
    def opens_at(self) -> float:
        """Never: processes say when there is something to do."""
        return math.inf

    @property
    def pids(self) -> list[int]:
        """The process ids."""
        return [process.pid for process in self._processes]

    def wanted(self) -> int:
        """Return how many pages to add now, by the rule of `HostQueues`, over all processes."""
        connections, in_flight = self._settings.connections, self.in_flight
        most = QUEUED_PER_CONNECTION * connections
        waiting = sum(len(process.out) for process in self._processes) - in_flight
        return max(most - waiting if 2 * waiting <= most else 0, connections - in_flight)

    def add(self, page: Page) -> bool:
        """Queue a page to be visited; return whether its host's queue is now full."""
        self._process_of(page.host).add(page)
        self._queued[page.host] += 1
        return self._queued[page.host] >= self._max_queued

    def start(self) -> None:
        """Send pages to the processes, or pause them while too much is waiting to be written."""
        is_full = self._events is not None and self._events.is_full()
        for process in self._processes:
            process.send(is_full=is_full)

    def delay_of(self, host: str) -> float:
        """Return the seconds between two requests to a host."""
        return self._delays.get(host, self._settings.delay_of(host))

    def outages(self, _now: int) -> Mapping[str, int]:
        """Return the hosts and folders that are down, and how many of their pages are missing."""
        return {
            name: pages for one in self._processes for name, pages in one.progress.outages.items()
        }

    async def end(self) -> int:
        """Have all processes exit, and return how many visits are lost."""
        self._is_ending = True
        ends = [process.end() for process in self._processes]
        lost = sum(await asyncio.gather(*ends))
        if self.failed is not None:
            raise self.failed
        return lost + self._lost

    def cancel(self) -> None:
        """Kill all processes."""
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
        """Call a method of the `Fetcher` in the process of a host.

        Raises:
            ChannelClosedError: The process has exited.
        """
        return await self._process_of(host).ask(what, args, kwargs)

    async def ask_for_another(
        self, host: str, what: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:  # noqa: ANN401
        """Call a method of the `Fetcher` in the process of a host, for another process."""
        try:
            return await self.ask(host, what, args, kwargs)
        except ChannelClosedError:
            return _ended(args[0], self._clock.now())

    # Messages from processes

    def found(self, paced: PacedVisit) -> None:
        """Pass on a visit."""
        host = paced.visit.page.host
        if paced.delay != self._settings.delay_of(host):
            self._delays[host] = paced.delay
        else:
            self._delays.pop(host, None)
        self.forget(host, 1 + len(paced.dropped))
        if self._events is not None:
            self._events.found(paced)

    def forget(self, host: str, pages: int) -> None:
        """Note that pages of a host are no longer queued."""
        self._queued[host] -= pages
        if self._queued[host] <= 0:
            del self._queued[host]

    def wake(self) -> None:
        """Wake the crawl loop."""
        if self._events is not None:
            self._events.wake()

    def learned(self, templates: Mapping[str, bytes]) -> None:
        """Have the templates that a process learned written."""
        self.templates.receive(templates)

    def remember(self, found: RobotsText) -> None:
        """Have a robots.txt written."""
        self._remember(found.origin, found)

    def fail(self, error: BaseException) -> None:
        """End the crawl with an error: visits cannot be made."""
        self.failed = self.failed or error
        self.wake()

    def lose(self, pages: Mapping[int, Page], requests: int) -> None:
        """Release the pages of a process that has exited unexpectedly."""
        for page in pages.values():
            self.forget(page.host, 1)
        self._lost += requests
        if self._events is not None:
            self._events.released(list(pages))
        self.wake()

    @property
    def is_ending(self) -> bool:
        """Whether processes should exit rather than be restarted."""
        return self._is_ending

    def _process_of(self, host: str) -> RestartingProcess:
        return self._processes[process_of(host, len(self._processes))]


@final
class LearnedElsewhere:
    """Site templates that other processes learned, to be written here."""

    def __init__(self) -> None:
        self._changed: dict[str, bytes] = {}

    def learn(self, _visit: Visit) -> None:
        """Learn nothing: the process that made the visit has."""

    def receive(self, learned: Mapping[str, bytes]) -> None:
        """Have templates learned elsewhere written."""
        self._changed |= learned

    def changed(self) -> dict[str, bytes]:
        """Return the templates learned since the last call, by host."""
        changed, self._changed = self._changed, {}
        return changed


def _ended(url: str, now: int) -> Response:
    """Return that nothing was fetched, as the process that would have fetched it has ended."""
    problem = "the process that fetches from this host died"
    return Response(url, 0, now, requests=0, error=problem, postponed=True)
