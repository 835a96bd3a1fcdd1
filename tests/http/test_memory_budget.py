"""The memory budget of long bodies: never exceeded but by one, and nobody waits forever."""

import asyncio
import gzip
import random
from contextlib import ExitStack

from hypothesis import given
from hypothesis import strategies as st
from virtual_time import now
from virtual_time import run as run_virtual

from recrawl.http.bodies import BrokenBodyError, read_body
from recrawl.http.memory_budget import SMALL, MemoryBudget, Reservation

MAX_BYTES = 6 * SMALL


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from([None, 0.0, 1.0])), max_size=12),
)
def test_all_come_to_an_end_and_one_at_a_time_goes_beyond(bodies: list[tuple[int, float]]) -> None:
    """Each body grows a number of times, and may be cancelled before that."""
    memory = MemoryBudget(MAX_BYTES)
    highest, longest = 0, max((SMALL * times for times, _ in bodies), default=0)

    async def read(times: int) -> None:
        nonlocal highest
        with Reservation(memory) as reservation:
            for _ in range(times):
                await reservation.grow()
                highest = max(highest, memory.held)
                await asyncio.sleep(0)

    async def main() -> None:
        tasks = [asyncio.create_task(read(times)) for times, _ in bodies]
        for task, (_, given_up) in zip(tasks, bodies, strict=True):
            if given_up is not None:
                await asyncio.sleep(0)
                task.cancel()
        async with asyncio.timeout(600.0):
            await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(main())
    assert memory.held == 0
    assert highest <= MAX_BYTES + longest


def test_what_is_held_keeps_others_waiting_and_the_first_is_served_first() -> None:
    async def main() -> list[str]:
        memory, order = MemoryBudget(MAX_BYTES), list[str]()

        async def read(name: str) -> None:
            with Reservation(memory) as reservation:
                await reservation.grow()
                order.append(name)
                await asyncio.sleep(0.01)

        memory.hold(MAX_BYTES, waits=True)
        with Reservation(memory) as privileged:
            # There is no memory left, but one body may always go on.
            await privileged.grow()
            tasks = [asyncio.create_task(read(name)) for name in "ab"]
            await asyncio.sleep(0.02)
            assert order == []
            memory.hold(-MAX_BYTES, waits=True)
            await asyncio.gather(*tasks)
        assert memory.held == 0
        return order

    assert asyncio.run(main()) == ["a", "b"]


def test_while_bodies_are_parsed_only_first_steps_go_beyond_the_budget() -> None:
    async def main() -> tuple[int, list[bool]]:
        memory = MemoryBudget(MAX_BYTES)
        memory.hold(10 * MAX_BYTES)
        with ExitStack() as stack:
            bodies = [stack.enter_context(Reservation(memory, str(n))) for n in range(6)]
            firsts = [asyncio.create_task(body.grow()) for body in bodies]
            await asyncio.sleep(0.01)
            granted = sum(body.reserved for body in bodies)
            seconds = [asyncio.create_task(body.grow()) for body in bodies[:1]]
            await asyncio.sleep(0.01)
            done = [seconds[0].done()]
            # Parsed at last: nobody waits any more.
            memory.hold(-10 * MAX_BYTES)
            await asyncio.sleep(0.01)
            done.append(seconds[0].done())
            for task in (*firsts, *seconds):
                task.cancel()
        return granted, done

    assert asyncio.run(main()) == (MAX_BYTES, [False, True])


def test_the_budget_can_be_used_up_before_anybody_is_privileged() -> None:
    async def main() -> list[int]:
        memory, held = MemoryBudget(SMALL), list[int]()
        with Reservation(memory) as one, Reservation(memory) as two, Reservation(memory) as three:
            for reservation in (one, two):
                async with asyncio.timeout(600.0):
                    await reservation.grow()
                held.append(memory.held)
            waiting = asyncio.create_task(three.grow())
            await asyncio.sleep(0.01)
            assert not waiting.done()
            waiting.cancel()
        return held

    assert asyncio.run(main()) == [SMALL, 2 * SMALL]


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


def test_bodies_reserve_memory_once_they_are_long() -> None:
    memory = MemoryBudget()
    stream = Stream(memory, SMALL, 1, SMALL, 1)
    body, truncated, received = asyncio.run(read_body(stream, None, 10 * SMALL, memory))
    assert (len(body), truncated, received) == (2 * SMALL + 2, False, 2 * SMALL + 2)
    assert stream.held == [0, 0, SMALL, 2 * SMALL, 2 * SMALL]
    assert memory.held == 0


def test_a_body_of_just_the_limit_is_whole() -> None:
    memory = MemoryBudget()
    for sizes, expected in (((5, 5), (10, False, 10)), ((5, 6), (10, True, 11))):
        stream = Stream(memory, *sizes)
        body, truncated, received = asyncio.run(read_body(stream, None, 10, memory))
        assert (len(body), truncated, received) == expected


def test_a_long_file_is_packed_while_it_is_read_and_takes_little_memory() -> None:
    memory = MemoryBudget()
    stream = Stream(memory, *[SMALL] * 40)
    body, truncated, received = asyncio.run(read_body(stream, None, 39 * SMALL, memory, pack=True))
    assert (truncated, received) == (True, 40 * SMALL)
    assert max(stream.held) == 0
    assert gzip.decompress(body) == bytes(39 * SMALL)


def test_a_short_file_and_one_that_is_packed_already_stay_as_they_are() -> None:
    packed = gzip.compress(random.Random(1).randbytes(3 * SMALL))  # noqa: S311 - not secret

    class Once(Stream):
        async def read(self) -> bytes:
            return packed if await super().read() else b""

    memory = MemoryBudget()
    for stream, expected in ((Stream(memory, SMALL), bytes(SMALL)), (Once(memory, 1), packed)):
        body, _, _ = asyncio.run(read_body(stream, None, 10 * SMALL, memory, pack=True))
        assert body == expected


def test_others_have_their_turn_while_a_bomb_is_unpacked_and_packed_again() -> None:
    bomb = gzip.compress(bytes(40 * SMALL))
    memory = MemoryBudget()

    class Once(Stream):
        async def read(self) -> bytes:
            return bomb if await super().read() else b""

    async def main() -> int:
        turns = 0
        reading = asyncio.ensure_future(
            read_body(Once(memory, 1), "gzip", 100 * SMALL, memory, pack=True)
        )
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


async def read(memory: MemoryBudget, host: str, *chunks: tuple[int, float]) -> str:
    """Read a body; return how that ended."""
    try:
        async with asyncio.timeout(60.0):
            await read_body(Paced(*chunks), None, 10_000_000, memory, host)
    except BrokenBodyError as error:
        return str(error)
    except TimeoutError:
        return "timed out"
    return "read"


def test_a_dozen_hosts_that_send_much_and_then_little_do_not_keep_others_waiting() -> None:
    """Good hosts get nearly all the visits that they would get alone."""
    chunk = 60_000

    async def good(memory: MemoryBudget, host: str) -> int:
        pages = 0
        while now() < 40.0:
            pages += await read(memory, host, *[(chunk, 0.001)] * 12) == "read"
            await asyncio.sleep(0.1)
        return pages

    async def bad(memory: MemoryBudget, host: str) -> None:
        while now() < 40.0:
            await read(memory, host, *[(chunk, 0.001)] * 150, *[(1, 1.0)] * 100)
            await asyncio.sleep(0.1)

    async def crawl(hogs: int) -> int:
        memory = MemoryBudget()
        others = [asyncio.create_task(bad(memory, f"bad{n}")) for n in range(hogs)]
        pages = sum(await asyncio.gather(*(good(memory, f"good{n}") for n in range(4))))
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        assert memory.held == 0
        return pages

    alone, beside = run_virtual(crawl(0)), run_virtual(crawl(12))
    assert beside >= 0.9 * alone


def test_many_that_stall_after_a_megabyte_give_way_the_slowest_first() -> None:
    async def main() -> tuple[list[str], str, float]:
        memory = MemoryBudget()
        stalled = [
            asyncio.create_task(
                read(memory, f"bad{n}", (1 + n * SMALL // 50, 0.1 * n), (1_400_000, 0), (1, 59))
            )
            for n in range(20)
        ]
        await asyncio.sleep(5.0)
        begun = now()
        outcome = await read(memory, "good", *[(100_000, 0.01)] * 12)
        took = now() - begun
        return await asyncio.gather(*stalled), outcome, took

    outcomes, outcome, took = run_virtual(main())
    assert outcome == "read"
    assert took < 2.0
    gave_way = [n for n, one in enumerate(outcomes) if one.startswith("too slow")]
    assert gave_way
    assert gave_way == list(range(len(gave_way)))


def test_a_slow_body_is_read_to_its_end_if_nobody_waits() -> None:
    async def main() -> str:
        return await read(MemoryBudget(), "slow", (5_000_000, 0.0), (1, 30.0), (1, 20.0))

    assert run_virtual(main()) == "read"


def test_several_bodies_of_one_host_have_a_share_of_the_memory() -> None:
    async def main() -> tuple[int, str]:
        memory = MemoryBudget()
        bodies = [
            asyncio.create_task(read(memory, "one", *[(100_000, 0.01)] * 18, (1, 1.0)))
            for _ in range(40)
        ]
        await asyncio.sleep(0.5)
        held = memory.held
        outcome = await read(memory, "other", *[(100_000, 0.01)] * 15)
        assert set(await asyncio.gather(*bodies)) == {"read"}
        return held, outcome

    held, outcome = run_virtual(main())
    assert outcome == "read"
    # Half, and the step that the first may always take.
    assert held <= 12_000_000


def test_a_body_waits_even_if_one_byte_is_missing_for_its_first_step() -> None:
    async def main() -> None:
        memory = MemoryBudget(2 * SMALL - 1)
        memory.hold(SMALL, waits=True)
        with Reservation(memory) as second:
            # Does not fit either, but one at a time may exceed the budget.
            with Reservation(memory) as first:
                await first.grow()
                waiting = asyncio.create_task(second.grow())
                await asyncio.sleep(1.0)
                assert not waiting.done()
            await waiting

    run_virtual(main())
