"""Memory for long bodies: how much of it they take together."""

import asyncio
from collections import deque
from typing import final

#: Bytes of a body that need no room; few pages have more.
SMALL = 512 * 1024

#: Bytes that long bodies take together, one of them apart.
MAX_ROOM = 20_000_000


@final
class MemoryBudget:
    """Bytes that long bodies may take together; who comes first is served first.

    Hosts that send all they can, a connection each, would else fill the memory. A body that grows
    waits while there is no room for more of it. As all could wait for each other then, one of them
    at a time is let go on regardless, to its end.

    Args:
        most: How many bytes.

    Attributes:
        held: Bytes that are taken.
    """

    def __init__(self, most: int = MAX_ROOM) -> None:
        self.held = 0
        self._max = most
        self._favoured: Reservation | None = None
        self._line: deque[tuple[Reservation, int, asyncio.Future[None]]] = deque()

    def hold(self, size: int) -> None:
        """Take room at once, for what is there already; negative to give it back."""
        self.held += size
        self._serve()

    async def grow(self, place: "Reservation", size: int) -> None:
        """Wait until there is so much more room, and take it."""
        # Whoever is let go on does not wait behind those who wait for its end.
        if self._favoured is place or (not self._line and self._admits(place, size)):
            self.held += size
            return
        turn = asyncio.get_running_loop().create_future()
        self._line.append((place, size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.held -= size
            self._serve()
            raise

    def leave(self, place: "Reservation") -> None:
        """Give back what a body has taken."""
        if self._favoured is place:
            self._favoured = None
        self.hold(-place.taken)

    def _admits(self, place: "Reservation", size: int) -> bool:
        if self.held + size <= self._max or self._favoured is place:
            return True
        if self._favoured is None:
            self._favoured = place
        return self._favoured is place

    def _serve(self) -> None:
        while self._line:
            place, size, turn = self._line[0]
            # Whoever gave up waiting is still in line.
            if not turn.done():
                if not self._admits(place, size):
                    return
                self.held += size
                turn.set_result(None)
            self._line.popleft()


@final
class Reservation:
    """The room of one body while it is read: ``with Reservation(room) as place: ...``.

    Attributes:
        size: How long the body may be before it has to grow.
        taken: How much room that took.
    """

    def __init__(self, room: MemoryBudget) -> None:
        self.size = SMALL
        self.taken = 0
        self._room = room

    async def grow(self) -> None:
        """Wait for room for twice as much."""
        await self._room.grow(self, self.size)
        self.taken += self.size
        self.size *= 2

    def __enter__(self) -> "Reservation":
        return self

    def __exit__(self, *_: object) -> None:
        self._room.leave(self)
