"""The memory budget of long bodies: never exceeded but by one, and nobody waits forever."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from recrawl.http.bodies import read_body
from recrawl.http.memory_budget import SMALL, MemoryBudget, Reservation

MAX_BYTES = 6 * SMALL


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from([None, 0.0, 1.0])), max_size=12),
)
def test_all_come_to_an_end_and_one_at_a_time_goes_beyond(bodies: list[tuple[int, float]]) -> None:
    """Each body grows a number of times, and may be cancelled before that."""
    memory = MemoryBudget(MAX_BYTES)
    highest, longest = 0, max((SMALL * (2**times - 1) for times, _ in bodies), default=0)

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
        async with asyncio.timeout(60.0):
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

        memory.hold(MAX_BYTES)
        with Reservation(memory) as privileged:
            # There is no memory left, but one body may always go on.
            await privileged.grow()
            tasks = [asyncio.create_task(read(name)) for name in "ab"]
            await asyncio.sleep(0.02)
            assert order == []
            memory.hold(-MAX_BYTES)
            await asyncio.gather(*tasks)
        assert memory.held == 0
        return order

    assert asyncio.run(main()) == ["a", "b"]


def test_the_budget_can_be_used_up_before_anybody_is_privileged() -> None:
    async def main() -> list[int]:
        memory, held = MemoryBudget(SMALL), list[int]()
        with Reservation(memory) as one, Reservation(memory) as two, Reservation(memory) as three:
            for reservation in (one, two):
                async with asyncio.timeout(60.0):
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

    async def readany(self) -> bytes:
        self.held.append(self.memory.held)
        return bytes(self.sizes.pop(0)) if self.sizes else b""

    def at_eof(self) -> bool:
        return not self.sizes


def test_bodies_reserve_memory_once_they_are_long() -> None:
    memory = MemoryBudget()
    stream = Stream(memory, SMALL, 1, SMALL, 1)
    body, truncated, received = asyncio.run(read_body(stream, None, 10 * SMALL, memory))  # type: ignore[arg-type]
    assert (len(body), truncated, received) == (2 * SMALL + 2, False, 2 * SMALL + 2)
    assert stream.held == [0, 0, SMALL, 3 * SMALL, 3 * SMALL]
    assert memory.held == 0


def test_a_body_of_just_the_limit_is_whole() -> None:
    memory = MemoryBudget()
    for sizes, expected in (((5, 5), (10, False, 10)), ((5, 6), (10, True, 11))):
        stream = Stream(memory, *sizes)
        body, truncated, received = asyncio.run(read_body(stream, None, 10, memory))  # type: ignore[arg-type]
        assert (len(body), truncated, received) == expected
