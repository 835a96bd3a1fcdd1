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
#: Bytes of a long body that is not very long, and the share of the budget that is for such bodies.
MEDIUM, MEDIUM_SHARE = 3_000_000, 0.6
#: Seconds by which a body that asks for memory may be overtaken, per byte: 20 for 10 MB.
OVERTAKING = 2e-6

#: Very long bodies that wait for memory. They keep their connections, which others need.
MAX_WAITING = 8

#: While others wait for memory, a body that has received fewer bytes than this for this many
#: seconds is evicted: the slowest first, one per check. So is one that takes much longer in all.
STEADY_BYTES, MAX_STALL, MAX_HOLD = 262_144, 2.0, 20.0
CHECK_SECONDS = 0.25


class EvictedError(Exception):
    """A body arrives too slowly while others wait for memory."""


class TooManyWaitError(Exception):
    """So many bodies wait for memory that this one, longer or later than others, cannot."""


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

    - Very long bodies have a part of the budget, and others the rest. They never wait for each
      other: a host that sends as much as it can would hold up all pages that are a little longer
      than most. A few of them may wait; of more, the last in line is given up, for it keeps a
      connection from others.

    Args:
        max_bytes: The budget.
        medium: Bodies of more bytes than this are very long; 0 if there is no such difference.

    Attributes:
        held: Bytes in use.
    """

    def __init__(self, max_bytes: int = MAX_BYTES, medium: int = 0) -> None:
        self.held = 0
        self._medium = medium
        #: Bytes that bodies hold which are not very long.
        self._medium_held = 0
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
            self._add(size, abs(size))
            self._stuck += size if waits else 0
            self._serve_soon()

    async def reserve(self, reservation: "Reservation", size: int) -> None:
        """Wait until there is memory for a body, and reserve it."""
        is_medium = size <= self._medium
        waits = any((one.size <= self._medium) == is_medium for one in self._queue)
        if not waits and self._fits(size):
            self._grant(reservation, size)
            return
        turn = asyncio.get_running_loop().create_future()
        claim = _Claim(_now() + OVERTAKING * size, reservation, size, turn)
        insort(self._queue, claim, key=lambda one: one.due)
        very_long = [one for one in self._queue if self._medium and one.size > self._medium]
        if len(very_long) > MAX_WAITING:
            self._queue.remove(very_long[-1])
            if not very_long[-1].turn.done():
                very_long[-1].turn.set_exception(TooManyWaitError())
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
            self._add(-reservation.size, reservation.size)
            self._serve_soon()

    def _add(self, change: int, size: int) -> None:
        """Count bytes of a body of some size that are held, or not any more."""
        self.held += change
        if size <= self._medium:
            self._medium_held += change

    def _fits(self, size: int) -> bool:
        if self.held == self._stuck:
            return True
        if not self._medium:
            return self.held + 2 * size <= self._max_bytes
        if size <= self._medium:
            return self._medium_held + size <= MEDIUM_SHARE * self._max_bytes
        very_long = self.held - self._medium_held
        return not very_long or very_long + size <= (1.0 - MEDIUM_SHARE) * self._max_bytes

    def _grant(self, reservation: "Reservation", size: int) -> None:
        self._add(size, size)
        self._holders[reservation] = None
        reservation.grant(size)

    def _serve_soon(self) -> None:
        """Serve those who wait, but not before the caller, who may pass on a body, waits itself."""
        if self._queue:
            asyncio.get_running_loop().call_soon(self._serve)

    def _serve(self) -> None:
        passed = set[bool]()
        for claim in list(self._queue):
            is_medium = claim.size <= self._medium
            if is_medium in passed or not self._fits(claim.size):
                # Others of its kind wait behind it.
                passed.add(is_medium)
                continue
            self._queue.remove(claim)
            if not claim.turn.done():
                self._grant(claim.reservation, claim.size)
                claim.turn.set_result(None)

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
