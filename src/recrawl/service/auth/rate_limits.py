"""What those who need no token may do: not often, and not much at once."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, final

from recrawl.service.problems import ProblemError

if TYPE_CHECKING:
    from starlette.requests import Request

#: Names that are remembered; those that were quiet for longest are forgotten first.
MAX_NAMES = 10_000
#: Bodies that are read at the same time, and the seconds that one may take.
MAX_BODIES, BODY_WITHIN = 8, 30.0


@final
class RateLimit:
    """So much per name within some seconds: a bucket that fills up, and leaks at a steady rate.

    Args:
        limit: How much there may be at once, and within the time.
        seconds: The time.
        now: Returns seconds that never go back.

    >>> limit = RateLimit(2, 60.0, now=lambda: 0.0)
    >>> [limit.spend("192.0.2.1") for _ in range(3)], limit.spend("192.0.2.2")
    ([0.0, 0.0, 30.0], 0.0)
    """

    def __init__(
        self, limit: float, seconds: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = limit
        self._rate = limit / seconds
        self._now = now
        #: By name, how full the bucket was, and when.
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def spend(self, name: str, amount: float = 1.0) -> float:
        """Spend some, at most the limit, if there is room; otherwise spend nothing.

        Returns:
            The seconds until there is room; 0 if it was spent.
        """
        now = self._now()
        level, at = self._levels.get(name, (0.0, now))
        level = max(level - (now - at) * self._rate, 0.0)
        excess = level + amount - self._limit
        if excess > 0.0:
            return excess / self._rate
        self._levels[name] = level + amount, now
        self._levels.move_to_end(name)
        while len(self._levels) > MAX_NAMES:
            self._levels.popitem(last=False)
        return 0.0


@final
class Bodies:
    """Reads the bodies of strangers, a few at a time, as each takes memory."""

    def __init__(self) -> None:
        self._in_flight = 0

    async def read(self, request: "Request") -> bytes:
        """Return the body of a request.

        Raises:
            ProblemError: There are too many already, or it takes too long.
        """
        if self._in_flight >= MAX_BODIES:
            check_wait(1.0)
        self._in_flight += 1
        try:
            async with asyncio.timeout(BODY_WITHIN):
                return await request.body()
        except TimeoutError:
            raise ProblemError(
                HTTPStatus.REQUEST_TIMEOUT, "the request took too long to arrive; send it again"
            ) from None
        finally:
            self._in_flight -= 1


def check_wait(seconds: float) -> None:
    """Refuse somebody who has to wait for some seconds.

    Raises:
        ProblemError: These are more than 0.
    """
    if seconds > 0.0:
        wait = f"{max(seconds, 1.0):.0f}"
        raise ProblemError(
            HTTPStatus.TOO_MANY_REQUESTS,
            f"this is too much at once; try again in {wait} s",
            {"Retry-After": wait},
        )
