"""The memory budget of long bodies: never exceeded but by one, and nobody waits forever."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

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
