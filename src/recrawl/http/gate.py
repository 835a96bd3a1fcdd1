"""Waiting for a host: requests go through the gate when `HostPacing` says that they may."""

import asyncio
from collections.abc import Awaitable, Generator

from recrawl.clock import Clock
from recrawl.http.host_pacing import HostPacing


class HostClosed(Exception):  # noqa: N818 - news, not an error
    """A host cannot be asked soon.

    Attributes:
        seconds: How long until it is worth trying again, by the clock of the gate.
    """

    def __init__(self, host: str, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"{host} cannot be asked for another {seconds:.1f} s")


class Gate:
    """Lets requests to a host through, first come, first served, at the pace of the host.

    Nobody waits long: a turn that cannot come within ``patience`` seconds is `HostClosed`, so that
    one host does not tie up connections that others could use.

    Args:
        pacing: Decides when a host may be asked.
        patience: How many real seconds to wait for a turn.
        clock: The clock that the delays of hosts go by.
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

    def turn(self, host: str, patience: float | None = None) -> "_Turn":
        """Make one request inside: ``async with gate.turn(host): ...``.

        Args:
            host: As in `recrawl.records.Page`.
            patience: How many real seconds to wait, if not as long as usual.

        Raises:
            HostClosed: On entering: the turn would not come in time.
        """
        return _Turn(self, host, self.patience if patience is None else patience)

    def start(self, host: str, patience: float) -> Awaitable[None]:
        """Start a request if it may start now; else return what waits for its turn."""
        now = self.clock.seconds()
        if host in self._lines or not self.pacing.may_request(host, now):
            return self._start_later(host, now + self.clock.passing(patience))
        self.pacing.start_request(host)
        return _NOTHING

    async def _start_later(self, host: str, deadline: float) -> None:
        await self._wait(host, deadline)
        self.pacing.start_request(host)

    def end(self, host: str) -> None:
        """End a request."""
        self.pacing.end_request(host, self.clock.seconds())
        if host in self._lines:
            self._lines[host].ended.set()

    def refuse(self, host: str, status: int, retry_after: float | None) -> float | None:
        """Report an answer of 429 or 503; return for how many seconds that closes the host."""
        return self.pacing.refuse(host, status, retry_after, self.clock.seconds())

    async def _wait(self, host: str, deadline: float) -> None:
        """Stand in line until a request may start."""
        line = self._lines.setdefault(host, _Line())
        pacing, now = self.pacing, self.clock.seconds()
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
            await line.ended.wait()


class _Turn:
    """One request at a host. A generator would cost more than everything else here."""

    __slots__ = ("_gate", "_host", "_patience")

    def __init__(self, gate: Gate, host: str, patience: float) -> None:
        self._gate = gate
        self._host = host
        self._patience = patience

    def __aenter__(self) -> Awaitable[None]:
        return self._gate.start(self._host, self._patience)

    def __aexit__(self, *_: object) -> Awaitable[None]:
        self._gate.end(self._host)
        return _NOTHING


class _Nothing:
    """Nothing to wait for; a coroutine that does not wait would take longer."""

    def __await__(self) -> Generator[None, None, None]:
        yield from ()


_NOTHING = _Nothing()


class _Line:
    """Requests that wait for a host."""

    __slots__ = ("ended", "lock", "waiting")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.ended = asyncio.Event()
        self.waiting = 0
