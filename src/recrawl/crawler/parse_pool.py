"""Long pages are parsed on a thread, so that they do not block the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar, final

P = ParamSpec("P")
T = TypeVar("T")

#: Bytes up to which a page is parsed on the event loop: that takes a few milliseconds at most,
#: whatever is in it, and less than handing it to a thread would be worth.
SHORT = 50_000
#: One long page at a time: its tree takes many times its size, and a page made to be slow takes
#: seconds, while short ones go on.
THREADS = 1


@final
class ParsePool:
    """Parses short pages at once and long ones on a thread; the parser releases the GIL.

    >>> pool = ParsePool()
    >>> asyncio.run(pool.run(b"<p>" * 100_000, len, "abc"))
    3
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "parse")

    async def run(
        self, body: bytes | None, parse: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call a function that parses a body: here, or on a thread if the body is long."""
        if body is None or len(body) <= SHORT:
            return parse(*args, **kwargs)
        return await asyncio.wrap_future(self._threads.submit(parse, *args, **kwargs))

    def close(self) -> None:
        """Parse nothing more, without waiting for what is being parsed."""
        self._threads.shutdown(wait=False, cancel_futures=True)
