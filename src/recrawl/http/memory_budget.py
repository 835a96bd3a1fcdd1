"""A budget for the memory that long response bodies take together."""

import asyncio
from collections import deque
from typing import Self, final

#: Bytes per body that need no reservation; few pages are longer.
SMALL = 512 * 1024

#: Bytes that long bodies may take together.
MAX_BYTES = 20_000_000


@final
class MemoryBudget:
    """The bytes that long bodies may take together, first come, first served.

    Without it, hosts that send as much as they can on every connection would fill the memory. A
    body that grows waits until there is memory for more of it. Since all bodies could end up
    waiting for each other, one at a time may exceed the budget until it has been read.

    Args:
        max_bytes: The budget.

    Attributes:
        held: Bytes in use.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.held = 0
        self._max_bytes = max_bytes
        self._privileged: Reservation | None = None
        self._queue: deque[tuple[Reservation, int, asyncio.Future[None]]] = deque()

    def hold(self, size: int) -> None:
        """Count bytes that are in memory already, without waiting; negative to release them."""
        self.held += size
        self._serve()

    async def grow(self, reservation: "Reservation", size: int) -> None:
        """Wait until there is memory for ``size`` more bytes, and reserve them."""
        # The privileged one must not queue behind others, who wait for it to finish.
        if self._privileged is reservation or (not self._queue and self._admits(reservation, size)):
            self.held += size
            return
        turn = asyncio.get_running_loop().create_future()
        self._queue.append((reservation, size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.held -= size
            self._serve()
            raise

    def release(self, reservation: "Reservation") -> None:
        """Release everything that a body has reserved."""
        if self._privileged is reservation:
            self._privileged = None
        self.hold(-reservation.reserved)

    def _admits(self, reservation: "Reservation", size: int) -> bool:
        if self.held + size <= self._max_bytes:
            return True
        if self._privileged is None:
            self._privileged = reservation
        return self._privileged is reservation

    def _serve(self) -> None:
        while self._queue:
            reservation, size, turn = self._queue[0]
            # Cancelled entries are still in the queue.
            if not turn.done():
                if not self._admits(reservation, size):
                    return
                self.held += size
                turn.set_result(None)
            self._queue.popleft()


@final
class Reservation:
    """The memory of one body while it is read: ``with Reservation(memory) as reservation: ...``.

    Attributes:
        size: How long the body may be before the reservation has to grow.
        reserved: Bytes reserved in the budget.
    """

    def __init__(self, memory: MemoryBudget) -> None:
        self.size = SMALL
        self.reserved = 0
        self._memory = memory

    async def grow(self) -> None:
        """Wait for memory to double the size."""
        await self._memory.grow(self, self.size)
        self.reserved += self.size
        self.size *= 2

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._memory.release(self)
