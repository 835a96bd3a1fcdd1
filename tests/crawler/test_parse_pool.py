"""Long pages are read beside the loop, short ones in it."""

import asyncio
import threading
import time

from recrawl.content.reader import Reader
from recrawl.crawler.parse_pool import SHORT, ParsePool


def where(_body: bytes) -> str:
    return threading.current_thread().name


def test_short_pages_are_read_here_and_long_ones_elsewhere() -> None:
    async def read(body: bytes) -> str:
        room = ParsePool()
        try:
            return await room.read(body, where, body)
        finally:
            room.close()

    here = threading.current_thread().name
    assert asyncio.run(read(b"a" * SHORT)) == here
    assert asyncio.run(read(b"a" * (SHORT + 1))).startswith("reading")


def test_the_loop_goes_on_while_a_page_that_was_made_to_be_slow_is_read() -> None:
    attributes = "".join(f"a{n} " + "x='>' " * (n % 1_500 == 0) for n in range(25_000))
    page = f"<div {attributes}>Hello</div>".encode()

    async def longest_pause() -> tuple[float, float]:
        room, pauses = ParsePool(), [0.0]
        begun = time.perf_counter()
        reading = asyncio.ensure_future(room.read(page, Reader().read, page, "text/html"))
        while not reading.done():
            before = time.perf_counter()
            await asyncio.sleep(0.01)
            pauses.append(time.perf_counter() - before)
        room.close()
        return max(pauses), time.perf_counter() - begun

    pause, took = asyncio.run(longest_pause())
    assert pause < max(0.5 * took, 0.2)


def test_what_fails_elsewhere_fails_here() -> None:
    def fail(_body: bytes) -> None:
        raise ValueError("no page")

    async def read() -> str:
        try:
            await ParsePool().read(b"a" * (SHORT + 1), fail, b"")
        except ValueError as error:
            return str(error)
        return ""

    assert asyncio.run(read()) == "no page"
