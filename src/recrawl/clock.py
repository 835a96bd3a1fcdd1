"""The clock of a crawl: the system's own, or one that runs fast, to crawl a history in minutes."""

import asyncio
import math
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import final

from recrawl.errors import ArgumentError
from recrawl.units import MICROSECONDS_A_SECOND, parse_time

#: Shorter waits than this, in real seconds, would only burn CPU time.
SHORTEST = 0.02


def _system_time() -> int:
    return time.time_ns() // 1_000


@final
class Clock:
    """The clock for a crawl's budget, delays, pauses and periods.

    All times and waits of a crawl follow one clock, and so do the settings: with a clock that runs
    86,400 times as fast, a ``host_delay`` of a minute is over in less than a millisecond, and a
    budget of 1000/day is spent in a second. Timeouts of connections and of parsing depend on the
    machine, and stay in real seconds.

    Args:
        speed: How many of its seconds pass in a real one.
        start: What it shows when it is created, as a time or as text such as ``2026-01-31``; by
            default the present.
        wall: Returns the real time, in microseconds since 1970.
        steady: Returns real seconds of a monotonic clock.

    Raises:
        ArgumentError: The speed is not a positive number, or the start is not a time.

    >>> clock = Clock(speed=86_400, start="2026-01-31")
    >>> clock.real(7 * 86_400.0), clock.passing(0.5)
    (7.0, 43200.0)
    """

    def __init__(
        self,
        speed: float = 1.0,
        *,
        start: datetime | str | None = None,
        wall: Callable[[], int] = _system_time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        if not 0.0 < speed < math.inf:
            raise ArgumentError(f"speed: {speed} is not a positive number")
        self.speed = speed
        self._wall = wall
        self._steady = steady
        # Real time is passed through unchanged.
        is_real = speed == 1.0 and start is None
        self._began = 0 if is_real else wall()
        self._start = self._began if start is None else _microseconds(start)

    def now(self) -> int:
        """Return the time in microseconds since 1970."""
        passed = self._wall() - self._began
        return self._start + (passed if self.speed == 1.0 else round(passed * self.speed))

    def seconds(self) -> float:
        """Return monotonic seconds of this clock, from an arbitrary origin."""
        return self._steady() * self.speed

    def real(self, seconds: float) -> float:
        """Return how many real seconds some seconds of this clock take."""
        return seconds / self.speed

    def passing(self, real_seconds: float) -> float:
        """Return how many seconds of this clock pass in some real seconds."""
        return real_seconds * self.speed

    def wait(self, seconds: float) -> float:
        """Return a wait of at least some seconds, and not too short in real time."""
        return max(seconds, self.passing(SHORTEST))

    async def sleep(self, seconds: float) -> None:
        """Sleep for some seconds of this clock."""
        await asyncio.sleep(self.real(seconds))


def _microseconds(start: datetime | str) -> int:
    at = parse_time(start) if isinstance(start, str) else start
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return round(at.timestamp() * MICROSECONDS_A_SECOND)
