"""Limit the concurrent requests of a client."""

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any, final


@final
class Slots:
    """Slots for concurrent requests, handed out in order of arrival.

    `asyncio.Semaphore` does the same, but takes longer when nobody has to wait.

    Args:
        free: How many requests may run concurrently.
    """

    def __init__(self, free: int) -> None:
        self._free = free
        self._waiting = deque[asyncio.Future[None]]()

    def take(self) -> Coroutine[Any, Any, None] | None:
        """Take a slot; if none is free, return a coroutine that waits for one and takes it."""
        if self._free > 0:
            self._free -= 1
            return None
        return self._wait()

    async def _wait(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # It was handed over, but is no longer wanted.
                self.give_back()
            raise

    def give_back(self) -> None:
        """Return a slot, or hand it to the request that has waited longest."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
