"""How many requests of a client may be under way."""

import asyncio

from recrawl.http.slots import Slots


def test_no_more_are_under_way_than_there_are_slots_and_the_first_to_wait_is_next() -> None:
    async def story() -> list[int]:
        slots, order = Slots(2), list[int]()

        async def work(number: int) -> None:
            if (turn := slots.take()) is not None:
                await turn
            order.append(number)
            await asyncio.sleep(0)
            assert len(order) - ended <= 2
            end()
            slots.give_back()

        ended = 0

        def end() -> None:
            nonlocal ended
            ended += 1

        await asyncio.gather(*map(work, range(6)))
        assert [slots.take() for _ in range(2)] == [None, None]
        return order

    assert asyncio.run(story()) == [0, 1, 2, 3, 4, 5]


def test_a_slot_of_somebody_who_was_cancelled_goes_to_the_next() -> None:
    async def story() -> None:
        slots = Slots(1)
        assert slots.take() is None

        async def wait() -> None:
            turn = slots.take()
            assert turn is not None
            await turn

        first, second, third = (asyncio.create_task(wait()) for _ in range(3))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        slots.give_back()
        # The second has been handed the slot, but has not been told yet.
        second.cancel()
        await asyncio.wait_for(third, 60.0)
        slots.give_back()
        assert slots.take() is None

    asyncio.run(story())


def test_somebody_who_stops_waiting_gives_nothing_back() -> None:
    async def story() -> None:
        slots = Slots(1)
        assert slots.take() is None
        turn = slots.take()
        assert turn is not None
        waiting = asyncio.create_task(turn)
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        # The only slot is still taken.
        turn = slots.take()
        assert turn is not None
        turn.close()
        slots.give_back()
        assert slots.take() is None

    asyncio.run(story())
