"""A budget for the memory that long bodies take together."""

import asyncio
import math
from bisect import insort
from collections.abc import Callable
from typing import NamedTuple, Self, final

#: Bytes of a body that is not long, as nearly all are. Those need no memory of the budget.
SMALL = 512 * 1024
#: Bytes that long bodies may take together.
MAX_BYTES = 30_000_000
#: Seconds by which a body that asks for memory may be overtaken, per byte: 20 for 10 MB.
OVERTAKING = 2e-6

#: While others wait for memory, a body that has received fewer bytes than this for this many
#: seconds is evicted: the slowest first, one per check. So is one that takes much longer in all.
STEADY_BYTES, MAX_STALL, MAX_HOLD = 262_144, 2.0, 20.0
CHECK_SECONDS = 0.25


class EvictedError(Exception):
    """A body arrives too slowly while others wait for memory."""


@final
class MemoryBudget:
    """The bytes that long bodies may take together, from when they are read until they are written.

    Without it, hosts that send as much as they can on every connection would fill the memory.

    - Short bodies do not count: there are no more of them than connections, until `Recorder` counts
      what is unwritten.
    - A long body asks once, for as much as it can become, and is then read to its end. Its time
      does not run while it waits.
    - They are served in order of asking. Only much shorter ones overtake, and only those that ask
      within the next seconds, so nobody waits forever.
    - A body leaves as much again free. So a few of the longest, which may take long to parse, leave
      memory for the many that are just a little longer than most.
    - What has been read is held until it is written, without asking: it was asked for before.
    - If all that is held belongs to fetches that wait for more, the first to wait may exceed the
      budget. So may a body that is longer than the budget, once nothing else is held.
    - A body that arrives too slowly is evicted while others wait.

    Args:
        max_bytes: The budget.

    Attributes:
        held: Bytes in use.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.held = 0
        self._max_bytes = max_bytes
        #: Bytes that are held by fetches that may wait for more.
        self._stuck = 0
        self._holders: dict[Reservation, None] = {}
        self._queue = list[_Claim]()
        self._check: asyncio.TimerHandle | None = None

    def hold(self, size: int, *, waits: bool = False) -> None:
        """Count bytes that are in memory already, unless they are few; negative to release them.

        Args:
            size: How many.
            waits: Whether they stay in memory until there is memory for others.
        """
        if abs(size) > SMALL:
            self.held += size
            self._stuck += size if waits else 0
            self._serve_soon()

    async def reserve(self, reservation: "Reservation", size: int) -> None:
        """Wait until there is memory for a body, and reserve it."""
        if not self._queue and self._fits(size):
            self._grant(reservation, size)
            return
        turn = asyncio.get_running_loop().create_future()
        claim = _Claim(_now() + OVERTAKING * size, reservation, size, turn)
        insort(self._queue, claim, key=lambda one: one.due)
        self._serve_soon()
        self._watch()
        try:
            await claim.turn
        except asyncio.CancelledError:
            if claim in self._queue:
                self._queue.remove(claim)
            self._serve_soon()
            raise

    def release(self, reservation: "Reservation") -> None:
        """Release what a body has reserved."""
        if reservation in self._holders:
            del self._holders[reservation]
            self.held -= reservation.size
            self._serve_soon()

    def _fits(self, size: int) -> bool:
        return self.held + 2 * size <= self._max_bytes or self.held == self._stuck

    def _grant(self, reservation: "Reservation", size: int) -> None:
        self.held += size
        self._holders[reservation] = None
        reservation.grant(size)

    def _serve_soon(self) -> None:
        """Serve those who wait, but not before the caller, who may pass on a body, waits itself."""
        if self._queue:
            asyncio.get_running_loop().call_soon(self._serve)

    def _serve(self) -> None:
        while self._queue and self._fits(self._queue[0].size):
            _, reservation, size, turn = self._queue.pop(0)
            if not turn.done():
                self._grant(reservation, size)
                turn.set_result(None)

    def _watch(self) -> None:
        """Check periodically which bodies to evict, while others wait."""
        if self._check is None and self._queue:
            loop = asyncio.get_running_loop()
            self._check = loop.call_later(CHECK_SECONDS, self._evict)

    def _evict(self) -> None:
        self._check = None
        slowest = min(self._holders, key=lambda holder: holder.mark, default=None)
        if self._queue and slowest is not None and slowest.mark < _now() - MAX_STALL:
            slowest.evict()
        self._watch()


@final
class Reservation:
    """The memory of one body while it is read: ``with Reservation(memory) as reservation: ...``.

    Args:
        memory: The budget.
        stop: Called with the reason if the body is evicted.

    Attributes:
        size: Bytes reserved.
        mark: When reading last made progress, in the event loop's seconds.
    """

    __slots__ = ("_granted", "_memory", "_received", "_stop", "mark", "size")

    def __init__(
        self,
        memory: MemoryBudget,
        stop: Callable[[BaseException], object] = lambda _error: None,
    ) -> None:
        self._stop = stop
        self.size = 0
        self.mark = self._granted = math.inf
        self._memory = memory
        self._received = 0

    async def take(self, size: int) -> None:
        """Wait for memory for the whole body."""
        await self._memory.reserve(self, size)

    def grant(self, size: int) -> None:
        """Note that there is memory from now on."""
        self.size = size
        self.mark = self._granted = _now()

    def note(self, received: int) -> None:
        """Note that bytes were received."""
        self._received += received
        if self._received >= STEADY_BYTES:
            self._received = 0
            self.mark = min(_now(), self._granted + MAX_HOLD)

    def evict(self) -> None:
        """Make reading fail."""
        self.mark = math.inf
        self._stop(EvictedError())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._memory.release(self)


class _Claim(NamedTuple):
    """A body that waits for memory, and since when, but for how much longer it is than others."""

    due: float
    reservation: Reservation
    size: int
    turn: asyncio.Future[None]


def _now() -> float:
    return asyncio.get_running_loop().time()
