"""Whatever reads foreign bytes is done in processes that can be killed."""

import asyncio
import errno
import gc
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest

from recrawl.content.absence import Patience
from recrawl.content.html.parse import MAX_BYTES, is_parsable
from recrawl.content.reader import Reader
from recrawl.content.reading import read_response
from recrawl.errors import RecrawlError
from recrawl.parsing import pool as parse_pool
from recrawl.parsing import process as parse_process
from recrawl.parsing.pool import ParsePool, TooExpensiveError
from recrawl.parsing.process import ParseProcess, pickled
from recrawl.records import Outcome, Page, Response, digest_of

T = TypeVar("T")

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="limits and processes of Linux")


def busy(seconds: float) -> float:
    """Use a processor."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return seconds


def busy_until(end: Path) -> None:
    """Use a processor for longer than a quick call may, and then wait for a file."""
    busy(0.2)
    while not end.exists():
        time.sleep(0.01)


def fill_memory(size: int) -> int:
    return len(bytearray(size))


def import_without_memory() -> None:
    """Import a module with machine code when hardly any memory is left."""
    held = list[bytearray]()
    size = 10_000_000
    while size >= 10_000:
        try:
            held.append(bytearray(size))
        except MemoryError:
            size //= 2
    import _codecs_jp  # type: ignore[import-not-found]  # noqa: F401


def import_what_is_not_there() -> None:
    import no_such_module  # type: ignore[import-not-found]  # noqa: F401


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def fail(message: str) -> None:
    raise ValueError(message)


def leave(marker: Path) -> str:
    """End as if somebody had killed all processes, but only the first time."""
    if not marker.exists():
        marker.touch()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
    return marker.name


def with_pool(use: Callable[[ParsePool], Awaitable[T]], processes: int = 1) -> T:
    async def main() -> T:
        pool = ParsePool(processes)
        try:
            return await use(pool)
        finally:
            pool.close()

    return asyncio.run(main())


@needs_linux
def test_a_process_that_crashes_leaves_no_memory_on_disk() -> None:
    import resource

    limits = with_pool(lambda pool: pool.run(resource.getrlimit, resource.RLIMIT_CORE))
    assert limits == (0, 0)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine leaves nice processes so little that starting one can take minutes."""
    monkeypatch.setattr(parse_process, "MAX_WAIT", 600.0)
    monkeypatch.setattr(parse_pool, "NICENESS", 0)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a test can wait for."""
    monkeypatch.setattr(parse_pool, "QUICK_SECONDS", 0.1)
    monkeypatch.setattr(parse_pool, "SLOW_SECONDS", 1.0)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(is_done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 600.0
    while not is_done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_calls_are_made_in_other_processes_and_what_fails_there_fails_here() -> None:
    async def use(pool: ParsePool) -> list[object]:
        return await asyncio.gather(
            pool.run(os.getpid),
            pool.run(fail, "no page"),
            *(pool.run(len, b"a" * n) for n in range(100)),
            return_exceptions=True,
        )

    pid, error, *lengths = with_pool(use, processes=2)
    assert pid != os.getpid()
    assert (type(error), str(error)) == (ValueError, "no page")
    assert lengths == list(range(100))


def test_what_cannot_be_pickled_fails_and_nothing_else_does() -> None:
    async def use(pool: ParsePool) -> tuple[object, object]:
        local = pool.run(lambda: 1)
        return await asyncio.gather(local, pool.run(len, b"abc"), return_exceptions=True)

    error, length = with_pool(use)
    assert isinstance(error, Exception)
    assert length == 3


class Unusual(Exception):  # noqa: N818 - nobody raises it
    """An exception that can be pickled, and cannot be unpickled."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} {other}")


def fail_unusually() -> None:
    """Fail."""
    raise Unusual("a", "b")


def test_an_exception_that_cannot_be_unpickled_is_another_one_here() -> None:
    async def use(pool: ParsePool) -> None:
        async with asyncio.timeout(600.0):
            with pytest.raises(RuntimeError, match="cannot be read"):
                await pool.run(fail_unusually)
            assert await pool.run(len, b"abc") == 3

    with_pool(use)


@needs_linux
@pytest.mark.usefixtures("quick")
def test_a_call_that_takes_too_long_is_given_up_and_its_neighbours_are_made() -> None:
    async def use(pool: ParsePool) -> list[object]:
        calls = [pool.run(busy, seconds) for seconds in (0.0, 100.0, 0.01, 0.2, 0.0)]
        return await asyncio.gather(*calls, return_exceptions=True)

    first, hopeless, second, slow, last = with_pool(use)
    assert (first, second, slow, last) == (0.0, 0.01, 0.2, 0.0)
    assert isinstance(hopeless, TooExpensiveError)


@needs_linux
@pytest.mark.usefixtures("quick")
def test_calls_that_take_memory_or_crash_are_given_up() -> None:
    async def use(pool: ParsePool) -> list[object]:
        large, small = pool.run(fill_memory, 10**9), pool.run(fill_memory, 10**6)
        return list(await asyncio.gather(large, pool.run(crash), small, return_exceptions=True))

    large, crashed, small = with_pool(use)
    assert isinstance(large, TooExpensiveError)
    assert isinstance(crashed, TooExpensiveError)
    assert small == 10**6


@needs_linux
def test_a_module_for_which_there_is_no_memory_is_too_expensive_and_a_missing_one_is_missing() -> (
    None
):
    async def use(pool: ParsePool) -> list[object]:
        calls = pool.run(import_without_memory), pool.run(import_what_is_not_there)
        return list(await asyncio.gather(*calls, return_exceptions=True))

    without_memory, missing = with_pool(use)
    assert isinstance(without_memory, TooExpensiveError)
    assert isinstance(missing, ModuleNotFoundError)


@needs_linux
@pytest.mark.usefixtures("quick")
def test_only_a_few_slow_calls_wait(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(parse_pool, "MAX_SLOW", 1)
    end = tmp_path / "end"

    async def use(pool: ParsePool) -> list[object]:
        calls = [asyncio.ensure_future(pool.run(busy_until, end)) for _ in range(4)]
        # While the first is made, one may wait, and the others are given up.
        given_up = itertools.islice(asyncio.as_completed(calls), 2)
        await asyncio.gather(*given_up, return_exceptions=True)
        end.touch()
        return await asyncio.gather(*calls, return_exceptions=True)

    first, *others = with_pool(use)
    assert first is None
    assert sum(isinstance(other, TooExpensiveError) for other in others) >= 2


def test_a_call_that_waits_is_in_memory_only_once() -> None:
    job = parse_pool._Job(len, (bytes(1_000),), {})  # noqa: SLF001 - what it keeps
    calls = [job.pickle(), job.pickle()]
    assert calls[0] == calls[1]
    assert not any(call in gc.get_referents(job) for call in calls)


def test_bytes_that_were_sent_are_released_before_the_answer() -> None:
    process = ParseProcess(10**8)
    calls = [pickled(len, (b"abc",), {}), pickled(len, (b"",), {})]
    answers = process.ask(calls, 10.0)
    first = next(answers)
    assert calls == []
    assert (first, *answers) == ((True, 3), (True, 0))
    process.forget()


def resident(pid: int) -> int:
    """Return the bytes of memory that a process has."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@needs_linux
def test_what_a_large_page_took_is_returned() -> None:
    copy, body = (
        b"".join(b"<a href=/%d%d>%d</a> " % (which, n, n) for n in range(60_000))
        for which in (1, 2)
    )
    page = Page(0, "http://e.org/", "e.org", body=digest_of(copy), last_visit=1)
    response = Response(page.url, 200, 2, (("content-type", "text/html"),), body)
    process = ParseProcess(10**9)
    before = resident(process.pid)
    call = pickled(read_response, (page, response, Reader(), copy), {"patience": Patience()})
    # When the second call is answered, nothing of the first is left.
    answers = list(process.ask([call, pickled(len, (b"",), {})], 60.0))
    left = resident(process.pid) - before
    process.forget()
    assert answers[0][1].found.outcome is Outcome.CHANGED
    assert left < 15 * len(body)


@needs_linux
def test_a_process_that_somebody_else_ended_is_not_blamed_on_the_page(tmp_path: Path) -> None:
    async def use(pool: ParsePool) -> list[str]:
        return await asyncio.gather(*(pool.run(leave, tmp_path / name) for name in "abc"))

    assert with_pool(use) == ["a", "b", "c"]


@needs_linux
def test_closing_ends_processes_that_are_busy_and_cancels_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parse_pool, "QUICK_SECONDS", 1000.0)

    async def use() -> tuple[list[int], float]:
        pool = ParsePool(1)
        await pool.run(len, b"")
        calls = [asyncio.ensure_future(pool.run(busy, 100.0)) for _ in range(3)]
        await asyncio.sleep(0.1)
        pids, begun = pool.pids, time.monotonic()
        pool.close()
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        return pids, time.monotonic() - begun

    pids, took = asyncio.run(use())
    assert pids
    # Nobody waits until the calls have been made.
    assert took < 50.0
    wait_until(lambda: not any(map(is_running, pids)))


@needs_linux
def test_a_pool_that_has_no_file_descriptors_left_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_pipe() -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    async def main() -> None:
        with closing(ParsePool(1)) as pool:
            with monkeypatch.context() as full:
                full.setattr(os, "pipe", no_pipe)
                with pytest.raises(RecrawlError, match="Too many open files"):
                    async with asyncio.timeout(600.0):
                        await pool.run(len, b"abc")
            assert await pool.run(len, b"abc") == 3

    asyncio.run(main())


@needs_linux
def test_a_process_that_is_started_while_the_pool_closes_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = list[ParseProcess]()

    def start(memory: int, niceness: int) -> ParseProcess:
        started.append(ParseProcess(memory, niceness))
        queue.close()
        return started[0]

    monkeypatch.setattr(parse_pool, "ParseProcess", start)
    queue = parse_pool._Queue(threading.Lock(), 1, 1.0, 10**9)  # noqa: SLF001
    assert queue.start() is None
    assert queue.running == []
    wait_until(lambda: not is_running(started[0].pid))


def test_a_pool_that_is_closed_makes_no_more_calls() -> None:
    pool = ParsePool(1)
    assert asyncio.run(pool.run(len, b"abc")) == 3
    pool.close()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(pool.run(len, b"abc"))


def test_processes_die_with_the_crawl_even_if_it_is_killed_while_they_are_busy() -> None:
    program = (
        "import asyncio, time\n"
        "from parsing.test_pool import busy\n"
        "from recrawl.parsing import pool as parse_pool\n"
        "parse_pool.QUICK_SECONDS = 100.0\n"
        "async def main():\n"
        "    pool = parse_pool.ParsePool(1)\n"
        "    await pool.run(len, b'')\n"
        "    calls = [asyncio.ensure_future(pool.run(busy, 90.0))]\n"
        "    await asyncio.sleep(0.3)\n"
        "    print(*pool.pids, flush=True)\n"
        "    await asyncio.sleep(90)\n"
        "asyncio.run(main())\n"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, env=environ
    ) as process:
        assert process.stdout is not None
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert pids
        assert all(map(is_running, pids))
        process.kill()
    wait_until(lambda: not any(map(is_running, pids)))


@needs_linux
def test_processes_are_small_and_import_nothing_heavy() -> None:
    async def use(pool: ParsePool) -> set[str]:
        return await pool.run(heavy_modules)

    assert with_pool(use) == set()


def heavy_modules() -> set[str]:
    """Return what is loaded in this process that parsing does not need."""
    heavy = {"numba", "matplotlib", "aiohttp", "pyarrow", "scipy", "asyncio"}
    # This module itself, which is not part of the pool, imports asyncio.
    return (heavy - {"asyncio"}) & sys.modules.keys()


@needs_linux
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "bomb",
    [
        b"<p>" * 133_000,
        b"<select>" + b"<option>x" * 20_000,
        b"".join(b"<x-%d>" % number for number in range(50_000)),
        b"<table><tr><td>" * 26_000,
        b"".join(b"<font a=%d>x<p>" % number for number in range(25_000)),
        b"<div " + b"".join(b"a%d " % number for number in range(60_000)) + b">",
    ],
    ids=["paragraphs", "options", "custom tags", "tables", "formatting", "attributes"],
)
def test_the_loop_goes_on_while_a_page_that_was_made_to_be_slow_is_read(bomb: bytes) -> None:
    """The loop itself uses next to no processor time, and waits for nobody."""
    assert len(bomb) <= MAX_BYTES

    async def use(pool: ParsePool) -> float:
        await pool.run(len, b"")
        reading = asyncio.ensure_future(pool.run(read_text, bomb))
        begun = time.thread_time()
        turns = 0
        while not reading.done():
            await asyncio.sleep(0.01)
            turns += 1
        # Whether it was given up does not matter.
        reading.exception()
        return (time.thread_time() - begun) / max(turns, 1)

    # What other tests left is not looked through meanwhile.
    gc.freeze()
    try:
        assert with_pool(use) < 0.05
    finally:
        gc.unfreeze()


def read_text(body: bytes) -> int:
    """Return how many blocks a page has: the whole content would be large."""
    return len(Reader().read(body, "text/html").blocks)


def test_processes_read_pages_without_numpy() -> None:
    """It would double the time they take to start, and the memory that they have."""
    page = b"<p>" + b"<b>One</b> " * 60_000
    is_imported = "'numpy' in __import__('sys').modules"
    with closing(ParsePool(1)) as pool:

        async def run() -> tuple[bool, bool]:
            before = await pool.run(eval, is_imported)
            await pool.run(is_parsable, page)
            return before, await pool.run(eval, is_imported)

        assert asyncio.run(run()) == (False, False)
