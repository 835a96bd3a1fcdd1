"""MemoryBudget for long bodies: never more than there is, one apart, and nobody waits for ever."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from recrawl.http.memory_budget import SMALL, MemoryBudget, Reservation

MOST = 6 * SMALL


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from([None, 0.0, 1.0])), max_size=12),
)
def test_all_come_to_an_end_and_one_at_a_time_goes_beyond(bodies: list[tuple[int, float]]) -> None:
    """Each body grows so often; it may be given up on before that."""
    room = MemoryBudget(MOST)
    most, longest = 0, max((SMALL * (2**times - 1) for times, _ in bodies), default=0)

    async def read(times: int) -> None:
        nonlocal most
        with Reservation(room) as place:
            for _ in range(times):
                await place.grow()
                most = max(most, room.held)
                await asyncio.sleep(0)

    async def main() -> None:
        tasks = [asyncio.create_task(read(times)) for times, _ in bodies]
        for task, (_, given_up) in zip(tasks, bodies, strict=True):
            if given_up is not None:
                await asyncio.sleep(0)
                task.cancel()
        async with asyncio.timeout(5.0):
            await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(main())
    assert room.held == 0
    assert most <= MOST + longest


def test_what_is_held_keeps_others_waiting_and_the_first_is_served_first() -> None:
    async def main() -> list[str]:
        room, order = MemoryBudget(MOST), list[str]()

        async def read(name: str) -> None:
            with Reservation(room) as place:
                await place.grow()
                order.append(name)
                await asyncio.sleep(0.01)

        room.hold(MOST)
        with Reservation(room) as favoured:
            # There is no room, but one is always let go on.
            await favoured.grow()
            tasks = [asyncio.create_task(read(name)) for name in "ab"]
            await asyncio.sleep(0.02)
            assert order == []
            room.hold(-MOST)
            await asyncio.gather(*tasks)
        assert room.held == 0
        return order

    assert asyncio.run(main()) == ["a", "b"]
