"""Politeness: how soon, and how often at once, a host is asked."""

import asyncio
import time
from collections.abc import Callable
from types import TracebackType

#: Hosts that are remembered before those with nothing to remember are forgotten.
HOSTS = 10_000


class HostClosed(Exception):  # noqa: N818 - news, not a mistake
    """A host cannot be asked soon; come back after so many seconds.

    Attributes:
        seconds: How long until it is worth trying again.
    """

    def __init__(self, host: str, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"{host} cannot be asked for another {seconds:.1f} s")


class Gate:
    """Lets requests to a host through one after another, with a pause between them.

    The pause lies between the end of a request and the start of the next. The server therefore
    never sees two within it, however long they travel. A host with a pause is asked by one
    request at a time; without a pause, as many as ``connections`` go at once.

    Nobody waits long: a turn that cannot come within ``patience`` seconds is `HostClosed`, so that
    one host does not tie up what others could use.

    Args:
        delay: Seconds between the end of a request to a host and the start of the next.
        connections: How many requests to one host there are at once, where the delay is 0.
        patience: How many seconds a turn is waited for.
        asked_at: When hosts that nothing is known of may have been asked, by the clock.
        clock: Seconds that never go back.
    """

    def __init__(
        self,
        delay: float = 1.0,
        connections: int = 1,
        *,
        patience: float = 5.0,
        asked_at: float = float("-inf"),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.delay = delay
        self.connections = connections
        self.patience = patience
        self._asked_at = asked_at
        self._clock = clock
        self._hosts: dict[str, _Host] = {}
        self._room = HOSTS

    def turn(self, host: str, patience: float | None = None) -> "Turn":
        """Give what to make one request under: ``async with gate.turn(host): ...``.

        Args:
            host: As in `recrawl.records.Page`.
            patience: How many seconds to wait, if not as long as usual.

        Raises:
            HostClosed: On entering: the turn would not come in time.
        """
        return Turn(self, host, self.patience if patience is None else patience)

    def slow(self, host: str, delay: float) -> None:
        """Raise a host's delay to what it asks for; the usual delay is the least."""
        state = self._hosts.get(host)
        if state is not None:
            state.delay = max(delay, self.delay)
        elif delay > self.delay:
            self._state(host).delay = delay

    def delay_of(self, host: str) -> float:
        """Give the seconds between two requests to a host."""
        state = self._hosts.get(host)
        return self.delay if state is None else state.delay

    def close(self, host: str, seconds: float) -> None:
        """Let nobody through to a host for some time; a longer time asked for before stands."""
        state = self._state(host)
        state.closed_until = max(state.closed_until, self._clock() + seconds)

    def __len__(self) -> int:
        """How many hosts are remembered."""
        return len(self._hosts)

    def _state(self, host: str) -> "_Host":
        """Give what is known of a host, now known if it was not."""
        state = self._hosts.get(host)
        if state is None:
            if len(self._hosts) >= self._room:
                self._forget()
            state = self._hosts[host] = _Host(self.delay, self._asked_at)
        return state

    def _forget(self) -> None:
        """Forget hosts that may be asked at once; a turn's caller tells their delay again."""
        now = self._clock()
        self._hosts = {
            host: state
            for host, state in self._hosts.items()
            if state.busy or state.waiting or state.opens_at() > now
        }
        # At least as many are added before the next time, so that this costs little a host.
        self._room = max(HOSTS, 2 * len(self._hosts))

    def is_free(self, state: "_Host") -> bool:
        """Whether a request may start now."""
        if state.delay > 0.0:
            return not state.busy and state.opens_at() <= self._clock()
        if state.closed_until > 0.0 and state.closed_until > self._clock():
            return False
        return state.busy < self.connections

    async def enter(self, host: str, patience: float) -> "_Host":
        """Wait for a turn and take it."""
        state = self._state(host)
        if state.waiting or not self.is_free(state):
            await self._wait(host, state, self._clock() + patience)
        state.busy += 1
        return state

    def leave(self, state: "_Host") -> None:
        """Give a turn back."""
        state.busy -= 1
        state.ended = self._clock()
        if state.waiting:
            state.change.set()

    async def _wait(self, host: str, state: "_Host", deadline: float) -> None:
        """Stand in line until a request may start."""
        ahead = state.waiting * state.delay
        if state.opens_at() + ahead > deadline:
            raise HostClosed(host, state.opens_at() + ahead - self._clock())
        state.waiting += 1
        try:
            async with asyncio.timeout(deadline - self._clock()), state.line:
                while not self.is_free(state):
                    await self._pause(host, state, deadline)
        except TimeoutError:
            raise HostClosed(
                host, max(state.opens_at() - self._clock(), state.delay, 1.0)
            ) from None
        finally:
            state.waiting -= 1

    async def _pause(self, host: str, state: "_Host", deadline: float) -> None:
        """Wait for what keeps a request from starting."""
        opens_at, now = state.opens_at(), self._clock()
        if opens_at > deadline:
            raise HostClosed(host, opens_at - now)
        if opens_at > now:
            await asyncio.sleep(opens_at - now)
        elif state.busy:
            state.change.clear()
            await state.change.wait()


class _Host:
    """What is known of a host."""

    __slots__ = ("busy", "change", "closed_until", "delay", "ended", "line", "waiting")

    def __init__(self, delay: float, asked_at: float) -> None:
        self.delay = delay
        self.busy = 0
        self.waiting = 0
        self.ended = asked_at
        self.closed_until = 0.0
        self.line = asyncio.Lock()
        self.change = asyncio.Event()

    def opens_at(self) -> float:
        """Give when the host may be asked, as far as is known."""
        return max(self.closed_until, self.ended + self.delay)


class Turn:
    """One request's turn at a host."""

    __slots__ = ("_gate", "_host", "_patience", "_state")

    def __init__(self, gate: Gate, host: str, patience: float) -> None:
        self._gate = gate
        self._host = host
        self._patience = patience
        self._state: _Host | None = None

    async def __aenter__(self) -> None:
        self._state = await self._gate.enter(self._host, self._patience)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._state is not None:
            self._gate.leave(self._state)
