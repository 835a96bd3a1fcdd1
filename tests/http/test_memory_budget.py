"""The memory budget of long bodies: granted once and whole, in order of asking."""

import asyncio
import gzip
import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from virtual_time import now
from virtual_time import run as run_virtual

from recrawl.http.bodies import BrokenBodyError, longest, read_body
from recrawl.http.memory_budget import SMALL, MemoryBudget, Reservation

MAX_BYTES = 6 * SMALL
GZIP = (("Content-Encoding", "gzip"),)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.sampled_from([None, 0.0, 1.0])), max_size=12),
)
def test_all_are_served_and_one_at_a_time_goes_beyond(
    bodies: list[tuple[int, float | None]],
) -> None:
    """Each body takes some memory, and may be cancelled before that."""
    memory = MemoryBudget(MAX_BYTES)
    longest_of_all = max((SMALL * size for size, _ in bodies), default=0)
    highest, order = 0, list[int]()

    async def read(number: int, size: int) -> None:
        nonlocal highest
        with Reservation(memory) as reservation:
            await reservation.take(SMALL * size)
            order.append(number)
            highest = max(highest, memory.held)
            await asyncio.sleep(0)

    async def main() -> None:
        tasks = [asyncio.create_task(read(number, size)) for number, (size, _) in enumerate(bodies)]
        for task, (_, given_up) in zip(tasks, bodies, strict=True):
            if given_up is not None:
                await asyncio.sleep(0)
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert set(order) >= {n for n, task in enumerate(tasks) if not task.cancelled()}

    run_virtual(main())
    assert memory.held == 0
    assert highest <= max(MAX_BYTES, longest_of_all)


@pytest.mark.parametrize(
    ("sizes", "later", "order"),
    [
        ((2, 2), 0.0, "ab"),
        ((2, 1), 0.0, "ba"),
        ((2, 1), 5.0, "ab"),
    ],
    ids=["in order of asking", "a short one that asks at the same time", "one that asks later"],
)
def test_only_shorter_bodies_overtake_and_only_for_seconds(
    sizes: tuple[int, int], later: float, order: str
) -> None:
    async def main() -> str:
        memory, served = MemoryBudget(MAX_BYTES), list[str]()

        async def read(name: str, size: int) -> None:
            with Reservation(memory) as reservation:
                await reservation.take(size * SMALL)
                served.append(name)
                await asyncio.sleep(0.01)

        memory.hold(MAX_BYTES)
        tasks = [asyncio.create_task(read("a", sizes[0]))]
        await asyncio.sleep(later)
        tasks.append(asyncio.create_task(read("b", sizes[1])))
        await asyncio.sleep(600.0)
        assert served == []
        memory.hold(-MAX_BYTES)
        await asyncio.gather(*tasks)
        assert memory.held == 0
        return "".join(served)

    assert run_virtual(main()) == order


def test_the_longest_leave_memory_for_shorter_ones() -> None:
    async def main() -> list[bool]:
        memory = MemoryBudget(MAX_BYTES)
        with ExitStack() as stack:
            bodies = [stack.enter_context(Reservation(memory)) for _ in range(4)]
            tasks = list[asyncio.Task[None]]()
            for body, size in zip(bodies, (2, 2, 2, 1), strict=True):
                tasks.append(asyncio.create_task(body.take(size * SMALL)))
                await asyncio.sleep(0.001)
            done = [task.done() for task in tasks]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        assert memory.held == 0
        return done

    assert run_virtual(main()) == [True, True, False, True]


def test_bodies_that_wait_for_each_other_go_on_one_after_the_other() -> None:
    """As when pages are fetched a second time, while the first responses are held."""

    async def main() -> list[float]:
        memory, times = MemoryBudget(MAX_BYTES), list[float]()

        async def fetch_again() -> None:
            memory.hold(MAX_BYTES // 2, waits=True)
            with Reservation(memory) as reservation:
                await reservation.take(MAX_BYTES // 2)
                await asyncio.sleep(1.0)
            memory.hold(-MAX_BYTES // 2, waits=True)
            times.append(now())

        await asyncio.gather(*(fetch_again() for _ in range(3)))
        assert memory.held == 0
        return times

    assert run_virtual(main()) == pytest.approx([1.0, 2.0, 3.0])


def test_a_body_longer_than_the_budget_is_read_alone() -> None:
    async def main() -> float:
        memory = MemoryBudget(SMALL)

        async def read() -> None:
            with Reservation(memory) as reservation:
                await reservation.take(5 * SMALL)
                assert memory.held == 5 * SMALL
                await asyncio.sleep(1.0)

        await asyncio.gather(*(read() for _ in range(3)))
        return now()

    assert run_virtual(main()) == pytest.approx(3.0)


def test_what_is_passed_on_is_counted_before_the_next_is_served() -> None:
    async def main() -> int:
        memory = MemoryBudget(MAX_BYTES)
        with ExitStack() as stack:
            first = stack.enter_context(Reservation(memory))
            await first.take(MAX_BYTES)
            with Reservation(memory) as second:
                waiting = asyncio.create_task(second.take(MAX_BYTES))
                await asyncio.sleep(0)
                stack.close()
                # It was read, and is parsed from now on.
                memory.hold(MAX_BYTES)
                await asyncio.sleep(1.0)
                held = memory.held
                memory.hold(-MAX_BYTES)
                await waiting
        return held

    assert run_virtual(main()) == MAX_BYTES


def test_short_bodies_do_not_count() -> None:
    memory = MemoryBudget()
    memory.hold(SMALL)
    assert memory.held == 0
    memory.hold(SMALL + 1)
    assert memory.held == SMALL + 1


class Stream:
    """A body that notes the memory held when the next chunk is read."""

    def __init__(self, memory: MemoryBudget, *sizes: int) -> None:
        self.memory, self.sizes, self.held = memory, list(sizes), list[int]()

    async def read(self) -> bytes:
        self.held.append(self.memory.held)
        return bytes(self.sizes.pop(0)) if self.sizes else b""

    @property
    def at_end(self) -> bool:
        return not self.sizes

    def fail(self, error: BaseException) -> None:
        raise error

    @contextmanager
    def unhurried(self) -> Iterator[None]:
        yield


@pytest.mark.parametrize(
    ("headers", "reserved"),
    [
        ((), 10 * SMALL),
        ((("Content-Length", str(2 * SMALL + 2)),), 2 * SMALL + 2),
        ((("content-length", "9" * 18),), 10 * SMALL),
    ],
)
def test_bodies_reserve_once_they_are_long_as_much_as_they_can_become(
    headers: tuple[tuple[str, str], ...], reserved: int
) -> None:
    memory = MemoryBudget()
    stream = Stream(memory, SMALL, 1, SMALL, 1)
    body, truncated, received = asyncio.run(read_body(stream, headers, 10 * SMALL, memory))
    assert (len(body), truncated, received) == (2 * SMALL + 2, False, 2 * SMALL + 2)
    assert stream.held == [0, 0, reserved, reserved, reserved]
    assert memory.held == 0


def test_how_long_a_compressed_body_becomes_is_not_known() -> None:
    length = (("Content-Length", "5"),)
    assert (longest(length, 9), longest(length, 3), longest((*length, *GZIP), 9)) == (5, 3, 9)


def test_a_body_of_just_the_limit_is_whole() -> None:
    memory = MemoryBudget()
    for sizes, expected in (((5, 5), (10, False, 10)), ((5, 6), (10, True, 11))):
        stream = Stream(memory, *sizes)
        body, truncated, received = asyncio.run(read_body(stream, (), 10, memory))
        assert (len(body), truncated, received) == expected


def test_a_long_file_is_packed_while_it_is_read_and_takes_little_memory() -> None:
    memory = MemoryBudget()
    stream = Stream(memory, *[SMALL] * 40)
    body, truncated, received = asyncio.run(read_body(stream, (), 39 * SMALL, memory, pack=True))
    assert (truncated, received) == (True, 40 * SMALL)
    assert max(stream.held) == 0
    assert gzip.decompress(body) == bytes(39 * SMALL)


class Given(Stream):
    """A body of given chunks."""

    def __init__(self, memory: MemoryBudget, *chunks: bytes) -> None:
        super().__init__(memory, *map(len, chunks))
        self.chunks = list(chunks)

    async def read(self) -> bytes:
        return self.chunks.pop(0) if await super().read() else b""


def test_a_file_that_packs_well_reserves_little_and_is_cut_if_it_becomes_much_longer() -> None:
    rng = random.Random(1)  # noqa: S311 - not secret
    well, badly = (rng.randbytes(some) + bytes(SMALL - some) for some in (SMALL // 4, SMALL))
    for chunks, is_cut in (([well] * 20, False), ([well] * 6 + [badly] * 14, True)):
        memory = MemoryBudget()
        stream = Given(memory, *chunks)
        body, truncated, _ = asyncio.run(read_body(stream, (), 30 * SMALL, memory, pack=True))
        assert truncated is is_cut
        assert 5 * SMALL < max(stream.held) < 20 * SMALL
        assert len(body) < max(stream.held) + 2 * SMALL


def test_a_short_file_and_one_that_is_packed_already_stay_as_they_are() -> None:
    packed = gzip.compress(random.Random(1).randbytes(3 * SMALL))  # noqa: S311 - not secret
    memory = MemoryBudget()
    for stream, expected in (
        (Stream(memory, SMALL), bytes(SMALL)),
        (Given(memory, packed), packed),
    ):
        body, _, _ = asyncio.run(read_body(stream, (), 10 * SMALL, memory, pack=True))
        assert body == expected


def test_others_have_their_turn_while_a_bomb_is_unpacked_and_packed_again() -> None:
    memory = MemoryBudget()
    bomb = Given(memory, gzip.compress(bytes(40 * SMALL)))

    async def main() -> int:
        turns = 0
        reading = asyncio.ensure_future(read_body(bomb, GZIP, 100 * SMALL, memory, pack=True))
        while not reading.done():
            turns += 1
            await asyncio.sleep(0)
        return turns

    assert asyncio.run(main()) >= 30


class Paced:
    """A body that comes in chunks, with a pause before each."""

    def __init__(self, *chunks: tuple[int, float]) -> None:
        self.chunks = list(chunks)
        self.failed: asyncio.Future[BaseException]
        self.failed = asyncio.get_running_loop().create_future()

    async def read(self) -> bytes:
        if not self.chunks:
            return b""
        size, pause = self.chunks.pop(0)
        if pause:
            await asyncio.wait([self.failed], timeout=pause)
        if self.failed.done():
            raise self.failed.result()
        return bytes(size)

    @property
    def at_end(self) -> bool:
        return not self.chunks

    def fail(self, error: BaseException) -> None:
        self.failed.set_result(error)

    @contextmanager
    def unhurried(self) -> Iterator[None]:
        yield


async def read(memory: MemoryBudget, *chunks: tuple[int, float]) -> str:
    """Read a body; return how that ended."""
    try:
        async with asyncio.timeout(60.0):
            await read_body(Paced(*chunks), (), 10_000_000, memory)
    except BrokenBodyError as error:
        return str(error)
    except TimeoutError:
        return "timed out"
    return "read"


def test_many_that_stall_after_a_megabyte_give_way_the_slowest_first() -> None:
    async def main() -> tuple[list[str], str, float]:
        memory = MemoryBudget()
        stalled = [
            asyncio.create_task(read(memory, (1, 0.1 * n), (1_400_000, 0), (1, 59)))
            for n in range(4)
        ]
        await asyncio.sleep(5.0)
        begun = now()
        outcome = await read(memory, *[(100_000, 0.01)] * 12)
        took = now() - begun
        return await asyncio.gather(*stalled), outcome, took

    outcomes, outcome, took = run_virtual(main())
    assert outcome == "read"
    assert took < 1.0
    gave_way = [n for n, one in enumerate(outcomes) if one.startswith("too slow")]
    assert gave_way
    assert gave_way == list(range(len(gave_way)))


def test_a_slow_body_is_read_to_its_end_if_nobody_waits() -> None:
    async def main() -> str:
        return await read(MemoryBudget(), (5_000_000, 0.0), (1, 30.0), (1, 20.0))

    assert run_virtual(main()) == "read"


def test_bodies_that_are_just_not_too_slow_give_way_in_the_end() -> None:
    async def main() -> tuple[list[str], str, float]:
        memory = MemoryBudget()
        hogs = [
            asyncio.create_task(read(memory, (600_000, 0.0), *[(140_000, 1.0)] * 55))
            for _ in range(2)
        ]
        await asyncio.sleep(1.0)
        outcome = await read(memory, *[(100_000, 0.01)] * 12)
        took = now()
        return await asyncio.gather(*hogs), outcome, took

    outcomes, outcome, took = run_virtual(main())
    assert outcome == "read"
    assert took < 25.0
    assert sorted(one.startswith("too slow") for one in outcomes) == [False, True]


def test_a_dozen_hosts_that_send_much_and_then_little_do_not_keep_others_waiting() -> None:
    """One page in ten of good hosts is long; they get nearly all the visits they get alone."""
    chunk = 60_000

    async def good(memory: MemoryBudget) -> int:
        pages = 0
        while now() < 200.0:
            chunks = 12 if pages % 10 == 0 else 2
            pages += await read(memory, *[(chunk, 0.001)] * chunks) == "read"
            await asyncio.sleep(1.0)
        return pages

    async def bad(memory: MemoryBudget) -> None:
        backoff = 30.0
        while now() < 200.0:
            await read(memory, *[(chunk, 0.001)] * 150, *[(1, 1.0)] * 100)
            # As the crawl does after each.
            await asyncio.sleep(backoff)
            backoff *= 2.0

    async def crawl(hogs: int) -> int:
        memory = MemoryBudget()
        others = [asyncio.create_task(bad(memory)) for _ in range(hogs)]
        pages = sum(await asyncio.gather(*(good(memory) for _ in range(4))))
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        assert memory.held == 0
        return pages

    alone, beside = run_virtual(crawl(0)), run_virtual(crawl(12))
    assert beside >= 0.9 * alone
