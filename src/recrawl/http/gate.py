"""Make requests wait for their host, until `HostPacing` allows them."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress

from recrawl.clock import Clock
from recrawl.http.host_pacing import HostPacing

#: Real seconds between two checks whether a host that is lent to another process is back.
LENT_PAUSE = 0.1


class HostClosed(Exception):  # noqa: N818 - news, not an error
    """A host cannot be sent a request soon.

    Attributes:
        seconds: How long until it is worth trying again, by the clock of the gate.
    """

    def __init__(self, host: str, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"{host} cannot be asked for another {seconds:.1f} s")


class Gate:
    """Lets requests to a host through, first come, first served, at the pace of the host.

    No request waits long: if its turn cannot come within ``patience`` seconds, `HostClosed` is
    raised, so that one host does not tie up connections that others could use.

    Args:
        pacing: Decides when a host may be sent a request.
        patience: How many real seconds to wait for a turn.
        clock: The clock for the delays of hosts.
    """

    def __init__(
        self,
        pacing: HostPacing,
        *,
        patience: float = 5.0,
        clock: Clock | None = None,
    ) -> None:
        self.pacing = pacing
        self.patience = patience
        self.clock = clock or Clock()
        self._lines: dict[str, _Line] = {}

    def start(self, host: str, patience: float | None = None) -> Awaitable[None] | None:
        """Start a request if it may start now; otherwise return an awaitable for its turn.

        Every request that has started must `end`. This is not a context manager, as there are so
        many requests that its cost would matter.

        Args:
            host: As in `recrawl.records.Page`.
            patience: How many real seconds to wait; by default, the gate's.

        Raises:
            HostClosed: While waiting: the turn would not come in time.
        """
        now = self.clock.seconds()
        if host not in self._lines and self.pacing.may_request(host, now):
            self.pacing.start_request(host)
            return None
        longest = self.patience if patience is None else patience
        return self._start_later(host, now + self.clock.passing(longest))

    async def _start_later(self, host: str, deadline: float) -> None:
        await self._wait(host, deadline)
        self.pacing.start_request(host)

    def end(self, host: str) -> None:
        """End a request."""
        self.pacing.end_request(host, self.clock.seconds())
        if self._lines and host in self._lines:
            self._lines[host].ended.set()

    def close_host(self, host: str, status: int, retry_after: float | None) -> float | None:
        """Report an answer of 429 or 503; return for how many seconds that closes the host."""
        return self.pacing.close_host(host, status, retry_after, self.clock.seconds())

    async def _wait(self, host: str, deadline: float) -> None:
        """Wait in line until a request may start."""
        line = self._lines.setdefault(host, _Line())
        pacing, now = self.pacing, self.clock.seconds()
        pacing.start_waiting(host)
        first_at = pacing.opens_at(host) + line.waiting * pacing.delay_of(host)
        line.waiting += 1
        try:
            if first_at > deadline:
                raise HostClosed(host, first_at - now)
            async with asyncio.timeout(self.clock.real(deadline - now)), line.lock:
                while not pacing.may_request(host, self.clock.seconds()):
                    await self._pause(host, line, deadline)
        except TimeoutError:
            left = pacing.opens_at(host) - self.clock.seconds()
            raise HostClosed(host, max(left, pacing.delay_of(host), self.clock.wait(1.0))) from None
        finally:
            pacing.end_waiting(host)
            line.waiting -= 1
            if not line.waiting:
                del self._lines[host]

    async def _pause(self, host: str, line: "_Line", deadline: float) -> None:
        """Wait for what keeps a request from starting."""
        opens_at, now = self.pacing.opens_at(host), self.clock.seconds()
        if opens_at > deadline:
            raise HostClosed(host, opens_at - now)
        if opens_at > now:
            await self.clock.sleep(opens_at - now)
        elif self.pacing.is_busy(host):
            line.ended.clear()
            if not self.pacing.is_lent(host):
                await line.ended.wait()
                return
            with suppress(TimeoutError):
                # Nobody says here when a page of the host is back.
                async with asyncio.timeout(LENT_PAUSE):
                    await line.ended.wait()


class _Line:
    """Requests that wait for a host."""

    __slots__ = ("ended", "lock", "waiting")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.ended = asyncio.Event()
        self.waiting = 0
