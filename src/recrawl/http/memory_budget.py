"""A budget for the memory that long response bodies take together."""

import asyncio
import math
from collections.abc import Callable
from typing import Self, final

#: Bytes per body that need no reservation; few pages are longer. Also the step in which
#: reservations grow.
SMALL = 512 * 1024
#: Bytes that long bodies may take together.
MAX_BYTES = 20_000_000

#: While others wait for memory, a body that has received fewer bytes than this for this many
#: seconds is evicted: the slowest first, one per check. So is one that has waited much longer.
STEADY_BYTES, MAX_STALL, MAX_WAIT = 262_144, 2.0, 10.0
CHECK_SECONDS = 0.25


class EvictedError(Exception):
    """A body arrives too slowly while others wait for memory."""


@final
class MemoryBudget:
    """The bytes that long bodies may take together.

    Without it, hosts that send as much as they can on every connection would fill the memory. A
    body that grows waits until there is memory for more of it:

    - The shortest is served first; ties in order of arrival.
    - A host never holds more than what is left for all others. So a few hosts with long bodies
      share the budget, and leave as much again for the next one.
    - A body that holds memory without making progress is evicted once others wait.
    - Since all bodies could end up waiting for each other, one at a time may exceed the budget, and
      does not count, until it has been read; but not while bodies that have been read take half of
      the budget, as these are parsed and written without waiting for anything.
    - The first step of a body does not wait for the latter at all: a page that is just a little
      longer than most must not wait for those that take long to parse.

    Args:
        max_bytes: The budget.

    Attributes:
        held: Bytes in use.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.held = 0
        self._max_bytes = max_bytes
        #: Bytes of bodies that have been read completely.
        self._read = 0
        self._privileged: Reservation | None = None
        self._holders: dict[Reservation, None] = {}
        self._queue: list[tuple[Reservation, asyncio.Future[None]]] = []
        self._check: asyncio.TimerHandle | None = None

    def hold(self, size: int, *, waits: bool = False) -> None:
        """Count bytes that are in memory already, without waiting; negative to release them.

        Args:
            size: How many.
            waits: Whether they stay in memory until there is memory for others.
        """
        self.held += size
        if not waits:
            self._read += size
        self._serve()

    async def grow(self, reservation: "Reservation") -> None:
        """Wait until there is memory for another step, and reserve it."""
        if not self._queue and self._admits(reservation):
            self._grant(reservation)
            return
        # The privileged body must not queue behind others, which wait for it to finish.
        if self._privileged is reservation:
            self._grant(reservation)
            return
        turn = asyncio.get_running_loop().create_future()
        self._queue.append((reservation, turn))
        self._serve()
        self._watch()
        try:
            limit = None if reservation.deadline == math.inf else reservation.deadline
            async with asyncio.timeout_at(limit):
                await turn
        finally:
            self._queue = [one for one in self._queue if one[1] is not turn]

    def release(self, reservation: "Reservation") -> None:
        """Release everything that a body has reserved."""
        if self._privileged is reservation:
            self._privileged = None
        self._holders.pop(reservation, None)
        size, reservation.reserved = reservation.reserved, 0
        self.hold(-size, waits=True)

    def _grant(self, reservation: "Reservation") -> None:
        self.held += SMALL
        reservation.reserved += SMALL
        reservation.mark = _now()
        self._holders[reservation] = None

    def _admits(self, reservation: "Reservation") -> bool:
        """Whether a body may have another step; one that may not can become privileged."""
        if self._privileged is reservation or self._fits(reservation):
            return True
        is_stuck = self._read <= self._max_bytes // 2
        if is_stuck and self._privileged is None and not self._beside(reservation):
            self._privileged = reservation
        return self._privileged is reservation

    def _fits(self, reservation: "Reservation") -> bool:
        """Whether its host, with another step, would hold no more than is left for others."""
        beyond = 0 if self._privileged is None else self._privileged.reserved
        left = self._max_bytes - (self.held - beyond) - SMALL
        own = reservation.reserved + sum(one.reserved for one in self._beside(reservation))
        # Every body gets the first step.
        return left >= own + SMALL if own else left + self._read >= 0

    def _beside(self, reservation: "Reservation") -> "list[Reservation]":
        """Return the other bodies of the same host that hold memory; none for the first of them.

        So the first one can be read to its end, and they do not all wait for each other.
        """
        own = [one for one in self._holders if one.host == reservation.host]
        is_first = not reservation.host or not own or own[0] is reservation
        return [] if is_first else [one for one in own if one is not reservation]

    def _serve(self) -> None:
        """Resume the bodies that there is memory for."""
        if not self._queue:
            return
        waiting = [one for one in self._queue if not one[1].done()]
        for reservation, turn in sorted(waiting, key=lambda one: one[0].reserved):
            if self._admits(reservation):
                self._grant(reservation)
                turn.set_result(None)

    def _watch(self) -> None:
        """Check periodically which bodies to evict, while others wait."""
        if self._check is None and self._queue:
            loop = asyncio.get_running_loop()
            self._check = loop.call_later(CHECK_SECONDS, self._evict)

    def _evict(self) -> None:
        self._check = None
        waiting = [reservation for reservation, turn in self._queue if not turn.done()]
        for one in sorted(self._holders, key=lambda holder: holder.mark):
            patience = MAX_STALL
            if one in waiting:
                # It is not to blame, but must not keep a shorter body of another host waiting.
                patience = MAX_WAIT
                if not any(w.reserved < one.reserved and w.host != one.host for w in waiting):
                    continue
            if waiting and not one.is_evicted and one.mark < _now() - patience:
                one.evict()
                for reservation, turn in self._queue:
                    if reservation is one and not turn.done():
                        turn.set_exception(EvictedError())
                break
        self._watch()


@final
class Reservation:
    """The memory of one body while it is read: ``with Reservation(memory) as reservation: ...``.

    Args:
        memory: The budget.
        host: Who sends the body.
        stop: Called with the reason if the body is evicted.
        deadline: When waiting for memory ends, in the event loop's seconds.

    Attributes:
        host: Who sends the body.
        reserved: Bytes reserved in the budget.
        mark: When reading last made progress, in the event loop's seconds.
        is_evicted: Whether it has been evicted.
        deadline: As given.
    """

    __slots__ = (
        "_memory",
        "_received",
        "_stop",
        "deadline",
        "host",
        "is_evicted",
        "mark",
        "reserved",
    )

    def __init__(
        self,
        memory: MemoryBudget,
        host: str = "",
        stop: Callable[[BaseException], object] = lambda _error: None,
        deadline: float = math.inf,
    ) -> None:
        self.host = host
        self.deadline = deadline
        self._stop = stop
        self.reserved = 0
        self.mark = -math.inf
        self.is_evicted = False
        self._memory = memory
        self._received = 0

    @property
    def size(self) -> int:
        """How long the body may be before the reservation has to grow."""
        return SMALL + self.reserved

    async def grow(self) -> None:
        """Wait for memory for another step."""
        await self._memory.grow(self)

    def note(self, received: int) -> None:
        """Note that bytes were received."""
        self._received += received
        if self._received >= STEADY_BYTES:
            self._received = 0
            self.mark = _now()

    def evict(self) -> None:
        """Make reading fail."""
        self.is_evicted = True
        self._stop(EvictedError())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.reserved:
            self._memory.release(self)


def _now() -> float:
    return asyncio.get_running_loop().time()
