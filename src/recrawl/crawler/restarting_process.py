"""A fetch process that is restarted whenever it exits."""

import asyncio
import logging
import math
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol, final

from recrawl.clock import Clock
from recrawl.crawler.channel import Channel, ChannelClosedError
from recrawl.crawler.fetch_process import Progress, Task
from recrawl.crawler.host_shares import share_of
from recrawl.crawler.settings import Settings
from recrawl.crawler.visiting import GRACE, PacedVisit
from recrawl.errors import RecrawlError
from recrawl.records import Page, RobotsText

LOGGER = logging.getLogger("recrawl.crawler")

#: Seconds before a process is restarted; they double each time, up to the maximum, until one has
#: run for that long.
FIRST_PAUSE, MAX_PAUSE = 0.1, 60.0
#: Starts that fail in a row before the crawl ends.
MAX_STARTS = 3
#: Seconds that a process has to exit, beyond those for visits in flight.
END_SECONDS = 1.0

#: Not with -m, which would give the two processes different classes for what they send each other.
_PROGRAM = "from recrawl.crawler.fetch_process import main; main()"

#: Make glibc return the memory of long bodies to the system, as the crawl itself does.
_MALLOC = {
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_TRIM_THRESHOLD_": "1048576",
}


class Owner(Protocol):
    """The owner of fetch processes, which receives what they send."""

    @property
    def is_ending(self) -> bool:
        """Whether processes should exit rather than be restarted."""

    @property
    def failed(self) -> BaseException | None:
        """Why visits cannot be made, if so."""

    def found(self, paced: PacedVisit) -> None:
        """Pass on a visit."""

    def learned(self, templates: Mapping[str, bytes]) -> None:
        """Have the templates that a process learned written."""

    def remember(self, found: RobotsText) -> None:
        """Have a robots.txt written."""

    def wake(self) -> None:
        """Wake the crawl loop."""

    def fail(self, error: BaseException) -> None:
        """End the crawl with an error: visits cannot be made."""

    def lose(self, pages: Mapping[int, Page], requests: int) -> None:
        """Release the pages of a process that has exited unexpectedly."""

    async def ask_for_another(
        self, host: str, what: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:  # noqa: ANN401
        """Call a method of the `Fetcher` in the process of a host, for another process."""


@final
class RestartingProcess:
    """A fetch process; when it exits, another is started.

    Args:
        number: Which of the processes it is.
        owner: Receives what it sends.
        settings: The settings of the crawl.
        clock: Its clock.

    Attributes:
        out: The pages that it was sent and has not reported, by number.
        progress: Its progress.
    """

    def __init__(self, number: int, owner: Owner, settings: Settings, clock: Clock) -> None:
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
        """The process id; -1 before the first start."""
        return -1 if self._process is None else self._process.pid

    @property
    def in_flight(self) -> int:
        """Visits in flight, including pages that it has not acknowledged."""
        unseen = self._sent - self.progress.received + len(self._outbox)
        return min(self.progress.in_flight + unseen, self._connections)

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
            lambda: Channel(self._notified, self._owner.ask_for_another, self._lost), sock=ours
        )
        level = logging.getLogger("recrawl").getEffectiveLevel()
        is_restarted = self._starts > 1
        task = Task(self._settings, self._clock, self._number, is_restarted, level)
        self._channel.notify("task", task)

    def add(self, page: Page) -> None:
        """Queue a page to be sent."""
        self.out[page.number] = page
        self._outbox.append(page)

    def send(self, *, is_full: bool) -> None:
        """Send the queued pages, and whether to pause."""
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
        """Send a request to the process, and return its answer.

        Raises:
            ChannelClosedError: The process has exited.
        """
        await self._ready.wait()
        if self._channel is None:
            raise ChannelClosedError
        return await self._channel.ask(*message)

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
        self, visits: list[PacedVisit], learned: Mapping[str, bytes], progress: Progress
    ) -> None:
        self.progress = progress
        self._owner.learned(learned)
        for paced in visits:
            for number in (paced.visit.page.number, *paced.dropped):
                self.out.pop(number, None)
            self._owner.found(paced)
        self._owner.wake()

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
            "a process that fetches pages died; its %d pages are visited later", len(self.out)
        )
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


def _no_start(why: OSError) -> RecrawlError:
    return RecrawlError(f"cannot start a process to fetch pages: {why}")
