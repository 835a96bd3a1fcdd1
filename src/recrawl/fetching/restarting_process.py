"""A worker process that is restarted whenever it exits."""

import asyncio
import logging
import math
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, final

from recrawl.engine.leases import Leased
from recrawl.errors import RecrawlError
from recrawl.fetching.channel import Channel, ChannelClosedError
from recrawl.fetching.worker import GRACE
from recrawl.fetching.worker_process import Progress, ReportedVisit, Task
from recrawl.records import RobotsText

LOGGER = logging.getLogger("recrawl.crawler")

#: Seconds before a process is restarted; they double each time, up to the maximum, until one has
#: run for that long.
FIRST_PAUSE, MAX_PAUSE = 0.1, 60.0
#: Starts that fail in a row before the crawl ends.
MAX_STARTS = 3
#: Seconds that a process has to exit, beyond those for visits in flight.
END_SECONDS = 1.0

#: Not with -m, which would give the two processes different classes for what they send each other.
_PROGRAM = "from recrawl.fetching.worker_process import main; main()"

#: Make glibc return the memory of long bodies to the system, as the crawl itself does.
_MALLOC = {
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_TRIM_THRESHOLD_": "1048576",
}


class Owner(Protocol):
    """The owner of worker processes, which answers their requests and receives their reports."""

    @property
    def is_ending(self) -> bool:
        """Whether processes should exit rather than be restarted."""

    @property
    def failed(self) -> BaseException | None:
        """Why visits cannot be made, if so."""

    async def asked(self, what: str, *about: Any) -> Any:  # noqa: ANN401
        """Answer a process: ``lease`` or ``hop``."""

    def returned(self, reported: Sequence[ReportedVisit], learned: Mapping[str, bytes]) -> None:
        """Take the visits that a process made, and the templates that it learned."""

    def remember(self, found: RobotsText) -> None:
        """Have a robots.txt written."""

    def fail(self, error: BaseException) -> None:
        """End the crawl with an error: visits cannot be made."""

    def lose(self, leases: Iterable[str], requests: int) -> None:
        """Release the leases of a process that has exited unexpectedly."""


@final
class RestartingProcess:
    """A worker process; when it exits, another is started.

    Args:
        owner: Answers its requests and receives its reports.
        task: What it receives first.

    Attributes:
        progress: Its progress.
    """

    def __init__(self, owner: Owner, task: Task) -> None:
        self._owner = owner
        self._task = task
        self._channel: Channel | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = asyncio.Event()
        self._ended = asyncio.Event()
        self._pause = FIRST_PAUSE
        self._began = -math.inf
        self._starts = 0
        self._left: int | None = None
        self._before = (0, 0)
        self._restarting: asyncio.Task[None] | None = None
        #: The pages that it has, by lease.
        self._out = Counter[str]()
        #: How many pages it has of each host.
        self._hosts = Counter[str]()
        self.progress = Progress()

    @property
    def pid(self) -> int:
        """The process id; -1 before the first start."""
        return -1 if self._process is None else self._process.pid

    @property
    def in_flight(self) -> int:
        """Visits in flight, as of its last report."""
        return self.progress.in_flight

    @property
    def robots(self) -> int:
        """Requests for robots.txt so far."""
        return self._before[0] + self.progress.robots

    @property
    def files(self) -> int:
        """Requests for other files so far."""
        return self._before[1] + self.progress.files

    async def start(self) -> None:
        """Start a process.

        Raises:
            RecrawlError: It cannot be started.
        """
        try:
            ours, its = socket.socketpair()
        except OSError as error:
            raise _no_start(error) from None
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
            raise _no_start(error) from None
        finally:
            its.close()
        loop = asyncio.get_running_loop()
        self._ended.clear()
        self._starts += 1
        self._began = time.monotonic()
        _, self._channel = await loop.create_unix_connection(
            lambda: Channel(self._notified, self._asked, self._lost), sock=ours
        )
        self._channel.notify("task", self._task)

    def has(self, host: str) -> bool:
        """Whether it has pages of a host."""
        return host in self._hosts

    async def ask(self, *question: object) -> Any:  # noqa: ANN401
        """Ask the process, and return its answer.

        Raises:
            ChannelClosedError: It has exited.
        """
        if self._channel is None:
            raise ChannelClosedError
        return await self._channel.ask(*question)

    async def end(self) -> int:
        """Have the process exit; return how many visits are lost."""
        if self._restarting is not None:
            self._restarting.cancel()
        if self._channel is not None and self._ready.is_set():
            self._channel.notify("stop")
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE + END_SECONDS):
                    await self._ended.wait()
        return self.progress.in_flight if self._left is None else self._left

    def kill(self) -> None:
        """Kill the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._channel is not None:
            self._channel.close()

    async def _asked(self, what: str, *about: Any) -> Any:  # noqa: ANN401
        answer = await self._owner.asked(what, *about)
        if isinstance(answer, Leased) and answer.pages:
            self._out[answer.id] = len(answer.pages)
            self._hosts.update(page.host for page in answer.pages)
        return answer

    def _notified(self, what: str, *about: Any) -> None:  # noqa: ANN401
        if what == "report":
            self._returned(*about)
        elif what == "robots":
            self._owner.remember(*about)
        elif what == "log":
            name, level, text = about
            logging.getLogger(name).log(level, "%s", text)
        elif what == "ready":
            self._ready.set()
            self._starts = 1
        elif what == "failed":
            self._owner.fail(*about)
        elif what == "done":
            (self._left,) = about

    def _returned(
        self, reported: Sequence[ReportedVisit], learned: Mapping[str, bytes], progress: Progress
    ) -> None:
        self.progress = progress
        for lease, visit, _ in reported:
            _count_down(self._out, lease)
            _count_down(self._hosts, visit.page.host)
        self._owner.returned(reported, learned)

    def _lost(self) -> None:
        """Handle the exit of the process, actual or imminent."""
        self._channel = None
        self._ended.set()
        self._ready.clear()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._owner.is_ending or self._left is not None or self._owner.failed is not None:
            return
        if self._starts >= MAX_STARTS:
            self._owner.fail(RecrawlError("processes that fetch pages die as soon as they start"))
            return
        LOGGER.warning(
            "a process that fetches pages died; its %d pages are visited later", self._out.total()
        )
        self._before = self.robots, self.files
        leases, in_flight = list(self._out), self.progress.in_flight
        self._out.clear()
        self._hosts.clear()
        self.progress = Progress()
        self._owner.lose(leases, in_flight)
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


def _count_down(counts: Counter[str], name: str) -> None:
    counts[name] -= 1
    if counts[name] <= 0:
        del counts[name]


def _no_start(why: OSError) -> RecrawlError:
    return RecrawlError(f"cannot start a process to fetch pages: {why}")
