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
        pool = ParsePool()
        try:
            return await pool.run(body, where, body)
        finally:
            pool.close()

    here = threading.current_thread().name
    assert asyncio.run(read(b"a" * SHORT)) == here
    assert asyncio.run(read(b"a" * (SHORT + 1))).startswith("parse")


def test_the_loop_goes_on_while_a_page_that_was_made_to_be_slow_is_read() -> None:
    attributes = "".join(f"a{n} " + "x='>' " * (n % 1_500 == 0) for n in range(25_000))
    page = f"<div {attributes}>Hello</div>".encode()

    async def longest_pause() -> tuple[float, float]:
        pool, pauses = ParsePool(), [0.0]
        begun = time.perf_counter()
        reading = asyncio.ensure_future(pool.run(page, Reader().read, page, "text/html"))
        while not reading.done():
            before = time.perf_counter()
            await asyncio.sleep(0.01)
            pauses.append(time.perf_counter() - before)
        pool.close()
        return max(pauses), time.perf_counter() - begun

    pause, took = asyncio.run(longest_pause())
    assert pause < max(0.5 * took, 0.2)


def test_what_fails_elsewhere_fails_here() -> None:
    def fail(_body: bytes) -> None:
        raise ValueError("no page")

    async def read() -> str:
        try:
            await ParsePool().run(b"a" * (SHORT + 1), fail, b"")
        except ValueError as error:
            return str(error)
        return ""

    assert asyncio.run(read()) == "no page"
