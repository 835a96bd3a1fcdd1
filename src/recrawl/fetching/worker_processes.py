"""Workers in other processes of this machine, which lease pages from the engine over a socket."""

import asyncio
import logging
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, final

from recrawl.clock import Clock
from recrawl.config.settings import Settings
from recrawl.engine.engine import Engine
from recrawl.engine.lending import Lending
from recrawl.engine.templates import Templates
from recrawl.fetching.channel import ChannelClosedError
from recrawl.fetching.restarting_process import RestartingProcess
from recrawl.fetching.worker_process import ReportedVisit, Task
from recrawl.hosts import host_of
from recrawl.http.fetch import Fetcher
from recrawl.records import Response, RobotsText


@final
class WorkerProcesses:
    """Visits pages in other processes; `recrawl.engine.lessee.Lessee` documents the methods.

    ::

        this process                              each worker process
          Lending.lease              <-- asks --   pages that are due, of hosts that may be asked
                                     -- pages ->   HostQueue, HostPacing, Gate, robots.txt
                                                   Visitor: fetch, compare with the stored copy
          Lending.returned           <- reports -  visits, delays, templates, robots.txt files
          Fetcher.fetch_hop          <-- asks --   a redirect led to another host

    A process that exits is restarted: its pages are released, and their hosts count as just asked.
    When this process exits, for whatever reason, so do the others.

    Args:
        settings: The settings of the crawl.
        clock: Its clock.
        engine: The engine.
        lending: Lends its pages.
        fetcher: Follows redirects to other hosts.
        remember: Called with each robots.txt found.
        templates: Receives what the processes learned about sites.

    Attributes:
        failed: Why visits cannot be made, if so.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        engine: Engine,
        lending: Lending,
        fetcher: Fetcher,
        remember: Callable[[str, RobotsText], None],
        templates: Templates,
    ) -> None:
        self._engine = engine
        self._lending = lending
        self._fetcher = fetcher
        self._remember = remember
        self._templates = templates
        self._is_ending = False
        self._now = clock.now
        self.failed: BaseException | None = None
        level = logging.getLogger("recrawl").getEffectiveLevel()
        task = Task(_share_of(settings), settings.processes, clock, level)
        self._processes = [RestartingProcess(self, task) for _ in range(settings.processes)]

    async def __aenter__(self) -> Self:
        for process in self._processes:
            await process.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cancel()

    # For the engine

    @property
    def in_flight(self) -> int:
        """How many visits are in flight."""
        return sum(process.in_flight for process in self._processes)

    @property
    def opens_at(self) -> float:
        """Never: processes ask when there is something to do."""
        return math.inf

    @property
    def pids(self) -> list[int]:
        """The process ids."""
        return [process.pid for process in self._processes]

    def wanted(self) -> int:
        """Return 0: processes lease pages themselves."""
        return 0

    def start(self) -> None:
        """Do nothing: processes start visits themselves."""

    def outages(self, _now: int) -> Mapping[str, int]:
        """Return the hosts and folders that are down, and how many of their pages are missing."""
        return {
            name: pages for one in self._processes for name, pages in one.progress.outages.items()
        }

    async def end(self) -> int:
        """Have all processes exit, and return how many visits are lost."""
        self._is_ending = True
        lost = sum(await asyncio.gather(*(process.end() for process in self._processes)))
        if self.failed is not None:
            raise self.failed
        return lost

    def cancel(self) -> None:
        """Kill all processes."""
        self._is_ending = True
        for process in self._processes:
            process.kill()

    def other_requests(self) -> tuple[int, int]:
        """Return how many requests processes made so far for robots.txt and for other files."""
        robots = sum(process.robots for process in self._processes)
        return robots, sum(process.files for process in self._processes)

    # For the processes

    @property
    def is_ending(self) -> bool:
        """Whether processes should exit rather than be restarted."""
        return self._is_ending

    async def asked(self, what: str, *about: Any) -> Any:  # noqa: ANN401
        """Answer a process: lend it pages, or follow a redirect for it."""
        if what == "lease":
            return await self._lending.lease(*about)
        return await self._hop(*about)

    async def _hop(self, url: str, max_bytes: int, is_robots: bool, pack: bool) -> Response:  # noqa: FBT001 - as asked
        """Follow a redirect, in the process that has pages of the host, if there is one.

        It paces the host. Waiting for it here might never end: its page may wait in turn.
        """
        host = host_of(url)
        having = next((process for process in self._processes if process.has(host)), None)
        if having is None:
            return await self._fetcher.fetch_hop(url, max_bytes, is_robots=is_robots, pack=pack)
        self._engine.queue.lend_again(host)
        try:
            found: Response = await having.ask("hop", url, max_bytes, is_robots, pack)
        except ChannelClosedError:
            problem = "the process that fetches from this host died"
            return Response(url, 0, self._now(), requests=0, error=problem, postponed=True)
        else:
            return found
        finally:
            self._engine.queue.hosts.back(host)

    def returned(self, reported: Sequence[ReportedVisit], learned: Mapping[str, bytes]) -> None:
        """Take the visits that a process made, and the templates that it learned."""
        self._templates.receive(learned)
        for lease, visit, delay in reported:
            self._lending.returned(lease, visit, delay)
        self._engine.wake()

    def remember(self, found: RobotsText) -> None:
        """Have a robots.txt written."""
        self._remember(found.origin, found)

    def fail(self, error: BaseException) -> None:
        """End the crawl with an error: visits cannot be made."""
        self.failed = self.failed or error
        self._engine.wake()

    def lose(self, leases: Iterable[str], requests: int) -> None:
        """Release the leases of a process that has exited unexpectedly."""
        for lease in leases:
            self._lending.release(lease)
        self._engine.lose(requests)
        self._engine.wake()


def _share_of(settings: Settings) -> Settings:
    """Return the settings of one process, with its share of connections and parse processes."""
    parsing = settings.parse_processes or os.cpu_count() or 1
    return replace(
        settings,
        connections=-(-settings.connections // settings.processes),
        parse_processes=max(parsing // settings.processes, 1),
    )
