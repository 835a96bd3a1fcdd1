"""Fetching in several processes: each visits the pages of its hosts, and this one writes."""

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
            RestartingProcess(number, self, settings, clock) for number in range(settings.processes)
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
        """Note that pages of a host do not wait any more."""
        self._queued[host] -= pages
        if self._queued[host] <= 0:
            del self._queued[host]

    def wake(self) -> None:
        """Have the crawl look what there is to do."""
        if self._events is not None:
            self._events.wake()

    def learned(self, templates: Mapping[str, bytes]) -> None:
        """Have what a process learned about sites written."""
        self.templates.receive(templates)

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

    def _process_of(self, host: str) -> RestartingProcess:
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


def _ended(url: str, now: int) -> Response:
    """Return that nothing was fetched, as the process that would have fetched it has ended."""
    problem = "the process that fetches from this host died"
    return Response(url, 0, now, requests=0, error=problem, postponed=True)
