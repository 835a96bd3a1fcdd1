"""Long pages beside short ones: all that were begun end, whatever is slow and whoever gives up."""

import asyncio
import types
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any, ParamSpec, TypeVar

import pytest
from scripted_web import PATIENT, QUICK, Request, Web, answer, fetcher
from virtual_time import now
from virtual_time import run as run_virtual

from recrawl.content.absence import Patience
from recrawl.content.reader import Reader
from recrawl.fetching.visit import Visitor
from recrawl.http.fetch import Fetcher
from recrawl.http.limits import Limits
from recrawl.http.memory_budget import SMALL, MemoryBudget
from recrawl.records import Page, Visit, digest_of

P = ParamSpec("P")
T = TypeVar("T")

OLD = b"<p>What was there before."
SHORT = b"<p>News." + b"Onandon" * (SMALL // 8)
LONG = b"<p>News." + b"Onandon" * (5 * SMALL // 14)
#: Enough for two long pages.
MAX_MEMORY = 6 * SMALL
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SCRIPTS = {
    "/short": answer(SHORT),
    "/long": answer(LONG),
    "/unknown": CHUNKED + b"%x\r\n%s\r\n0\r\n\r\n" % (len(LONG), LONG),
}


class SlowPool:
    """Parses one page at a time, and takes its time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.turn = asyncio.Lock()

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        async with self.turn:
            await asyncio.sleep(self.seconds)
            return function(*args, **kwargs)


def limited(limits: Limits) -> Fetcher:
    """Return a fetcher with little memory for long bodies."""
    made = fetcher(limits=replace(limits, max_bytes=3 * SMALL))
    made.memory = MemoryBudget(MAX_MEMORY)
    return made


def visitor_of(made: Fetcher, seconds: float) -> Visitor:
    """Return a visitor that takes some seconds to parse a page."""
    return Visitor(
        made, Reader(), lambda _: OLD, 20, Patience(), SlowPool(seconds), memory=made.memory
    )


def page_of(web: Web, path: str, host: str) -> Page:
    """Return a page that has changed."""
    page = web.page(path, f"{host}.test")
    return replace(page, body=digest_of(OLD), last_visit=0, changes=9, streak=0)


def test_long_pages_are_read_as_often_as_short_ones_if_parsing_is_slow() -> None:
    """The network takes no time at all, and a page that waits is no slower for it."""
    paths = ["/short", "/short", "/short", "/long", "/unknown"]
    found: Counter[tuple[str, str | None]] = Counter()

    async def visit_one_after_another(web: Web, visitor: Visitor, host: str, at: int) -> None:
        while now() < 40.0:
            path = paths[at % len(paths)]
            visit = await visitor.visit(page_of(web, path, host))
            found[path, visit.response.error] += 1
            at += 1

    async def main() -> int:
        async with Web(dict(SCRIPTS)) as web, limited(QUICK) as made:
            visitor = visitor_of(made, 0.5)
            hosts = (
                visit_one_after_another(web, visitor, f"h{number}", number) for number in range(16)
            )
            await asyncio.gather(*hosts)
            return made.memory.held

    assert run_virtual(main(), grace=0.01) == 0
    assert {error for _, error in found} == {None}
    most, fewest = max(found.values()), min(found.values())
    assert found["/short", None] == most
    assert fewest >= 0.2 * most


@types.coroutine
def interrupted(
    work: Coroutine[Any, Any, Visit], awaits: int, error: BaseException
) -> Generator[Any, Any, None]:
    """Await something, and raise an error in it when it awaits for that many times."""
    sent: Any = None
    for _ in range(awaits):
        try:
            waited = work.send(sent)
        except StopIteration as done:
            raise FinishedError from done
        sent = yield waited
    with suppress(StopIteration):
        work.throw(error)
        # It went on to await something else, as it may when it cleans up.
        work.close()


class FinishedError(Exception):
    """It was done before it was interrupted."""


@pytest.mark.parametrize("error", [asyncio.CancelledError, TimeoutError])
@pytest.mark.parametrize("path", ["/short", "/long", "/unknown"])
def test_whenever_a_visit_is_interrupted_nothing_is_held_and_others_go_on(
    path: str, error: type[BaseException]
) -> None:
    async def main(awaits: int) -> bool:
        async with Web(dict(SCRIPTS)) as web, limited(PATIENT) as made:
            visitor = visitor_of(made, 0.0)
            others = [
                asyncio.create_task(visitor.visit(page_of(web, "/unknown", f"before{number}")))
                for number in range(2)
            ]
            visit = visitor.visit(page_of(web, path, "victim"))
            victim = asyncio.create_task(_within(interrupted(visit, awaits, error())))
            others += [
                asyncio.create_task(visitor.visit(page_of(web, "/long", f"after{number}")))
                for number in range(2)
            ]
            visits = await asyncio.gather(*others)
            assert [one.response.error for one in visits] == [None] * 4
            is_over = await victim
            assert made.memory.held == 0
            after = await visitor.visit(page_of(web, "/long", "after"))
            assert after.content == LONG
            return is_over

    interruptions = next(number for number in count(1) if run_virtual(main(number), grace=0.01))
    assert interruptions > 3


async def _within(work: Awaitable[None]) -> bool:
    """Whether a visit was done before it was interrupted."""
    try:
        with suppress(asyncio.CancelledError, TimeoutError):
            await work
    except FinishedError:
        return True
    return False


def test_a_host_that_hangs_up_or_stalls_holds_no_memory() -> None:
    async def hang_up(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + b"%x\r\n%s\r\n" % (len(LONG), LONG))
        await writer.drain()
        writer.transport.abort()

    async def stall(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + b"%x\r\n%s\r\n" % (len(LONG), LONG))
        await writer.drain()
        await asyncio.sleep(600.0)

    async def main() -> tuple[list[str | None], int]:
        web = Web({**SCRIPTS, "/hang_up": hang_up, "/stall": stall})
        async with web, limited(QUICK) as made:
            visitor = visitor_of(made, 0.5)
            paths = ["/stall", "/hang_up", "/long"] * 4
            visits = await asyncio.gather(
                *(visitor.visit(page_of(web, path, f"h{at}")) for at, path in enumerate(paths))
            )
            return [one.response.error for one in visits], made.memory.held

    errors, held = run_virtual(main(), grace=0.01)
    assert set(errors[0::3]) <= {"no data for 1 s", "too slow while others waited for memory"}
    assert set(errors[1::3]) == {"the body is incomplete or broken"}
    assert set(errors[2::3]) == {None}
    assert held == 0
