"""Worker processes that are none: the other ends of their channels, in this process."""

import asyncio
import math
import os
import socket
import subprocess
from collections.abc import Sequence
from typing import Any

import pytest

from recrawl.engine.leases import Leased, LeaseRequest
from recrawl.fetching.channel import Channel
from recrawl.fetching.worker_process import Progress, ReportedVisit
from recrawl.records import Outcome, Page, Response, Visit


class FakeProcess:
    """What a worker process receives; it sends what a test has it send.

    Attributes:
        received: The messages that it was sent.
        obeys: Whether it ends when it is told to stop, as if one visit had been lost.
    """

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid = pid
        self.received: list[tuple[Any, ...]] = []
        self.obeys = True
        self.is_killed = False
        self.channel = Channel(self._receive, self._answer, lambda: None)
        connection = socket.socket(fileno=os.dup(descriptor))
        self._connecting = asyncio.ensure_future(
            asyncio.get_running_loop().create_unix_connection(lambda: self.channel, sock=connection)
        )

    def _receive(self, *message: Any) -> None:  # noqa: ANN401
        self.received.append(message)
        if message == ("stop",) and self.obeys:
            self.channel.notify("done", 1)
            self.channel.close()

    async def _answer(self, *question: Any) -> object:  # noqa: ANN401
        raise NotImplementedError(question)

    @property
    def task(self) -> Any:  # noqa: ANN401
        """What it received first."""
        return next(about[0] for what, *about in self.received if what == "task")

    async def lease(
        self, limit: int, pages_per_host: int = 16, hosts: Sequence[str] | None = None
    ) -> Leased:
        """Lease pages."""
        request = LeaseRequest(limit, pages_per_host=pages_per_host, hosts=hosts, seconds=math.inf)
        leased: Leased = await self.channel.ask("lease", request)
        return leased

    def report(
        self, leased: Leased, *pages: Page, delay: float = 0.0, progress: Progress | None = None
    ) -> None:
        """Report that pages of a lease were found as they were."""
        reported = [ReportedVisit(leased.id, visited(page), delay) for page in pages]
        self.channel.notify("report", reported, {}, progress or Progress())

    # What subprocess.Popen has

    def kill(self) -> None:
        self.is_killed = True
        self.channel.close()

    def wait(self) -> int:
        return 0


class FakeProcesses(list[FakeProcess]):
    """Every process that was started, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        monkeypatch.setattr(subprocess, "Popen", self._start)
        self.cannot_start = False

    def _start(self, _command: Sequence[str], *, pass_fds: Sequence[int], **_: object) -> object:
        if self.cannot_start:
            raise OSError("no memory")
        self.append(FakeProcess(100 + len(self), pass_fds[0]))
        return self[-1]


async def settle() -> None:
    """Let everything that was sent arrive."""
    for _ in range(20):
        await asyncio.sleep(0)


def visited(page: Page) -> Visit:
    """Return a visit that found a page."""
    return Visit(page, Outcome.FIRST, Response(page.url, 200, 0))
