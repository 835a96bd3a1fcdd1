"""Long pages are read beside the loop, so that nobody waits for them."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar, final

P = ParamSpec("P")
T = TypeVar("T")

#: Bytes up to which a page is read at once: that takes a few milliseconds at most, however it is
#: made, and less than handing it over would be worth.
SHORT = 50_000
#: One long page at a time: its tree takes many times its size, and a page made to be slow takes
#: seconds, while short ones go on.
THREADS = 1


@final
class ParsePool:
    """Reads short pages at once and long ones on a thread; the parser lets others run meanwhile.

    >>> room = ParsePool()
    >>> asyncio.run(room.read(b"<p>" * 100_000, len, "abc"))
    3
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "reading")

    async def read(
        self, body: bytes | None, how: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call what reads a body, here or elsewhere as its length is."""
        if body is None or len(body) <= SHORT:
            return how(*args, **kwargs)
        return await asyncio.wrap_future(self._threads.submit(how, *args, **kwargs))

    def close(self) -> None:
        """Read nothing more; what is being read is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)
