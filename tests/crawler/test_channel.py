"""Messages between processes."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from virtual_time import until

from recrawl.crawler.channel import Channel, ChannelClosedError


class End:
    """One end of a conversation, and what it received."""

    def __init__(self) -> None:
        self.received: list[tuple[Any, ...]] = []
        self.is_closed = asyncio.Event()
        self.channel = Channel(lambda *about: self.received.append(about), self.asked, self.closed)

    async def asked(self, what: str, *about: Any) -> Any:  # noqa: ANN401
        if what == "fail":
            raise ValueError(*about)
        if what == "wait":
            await asyncio.Event().wait()
        return what, about

    def closed(self) -> None:
        self.is_closed.set()


def between_two(talk: Callable[[End, End], Coroutine[Any, Any, None]]) -> None:
    """Run a conversation between two ends."""

    async def main() -> None:
        ends = End(), End()
        loop = asyncio.get_running_loop()
        for end, sock in zip(ends, socket.socketpair(), strict=True):
            await loop.create_unix_connection(lambda end=end: end.channel, sock=sock)  # type: ignore[misc]
        await talk(*ends)
        for end in ends:
            end.channel.close()
            await end.is_closed.wait()

    asyncio.run(main())


@given(st.lists(st.tuples(st.integers(), st.binary(max_size=300_000)), max_size=8))
def test_messages_arrive_whole_and_in_order(messages: list[tuple[int, bytes]]) -> None:
    async def talk(one: End, other: End) -> None:
        for message in messages:
            one.channel.notify(*message)
        # The answer comes after everything that was sent before.
        assert await one.channel.ask("last", 1) == ("last", (1,))
        assert other.received == messages

    between_two(talk)


def test_questions_are_answered_side_by_side_in_both_directions() -> None:
    async def talk(one: End, other: End) -> None:
        waiting = asyncio.ensure_future(one.channel.ask("wait"))
        found = await asyncio.gather(
            *(end.channel.ask("n", n) for n, end in enumerate((one, other)))
        )
        assert found == [("n", (0,)), ("n", (1,))]
        assert not waiting.done()
        waiting.cancel()

    between_two(talk)


def test_what_an_answer_raises_is_raised_where_it_was_asked() -> None:
    async def talk(one: End, _other: End) -> None:
        with pytest.raises(ValueError, match="why"):
            await one.channel.ask("fail", "why")

    between_two(talk)


def test_who_waits_for_an_answer_learns_that_there_will_be_none() -> None:
    async def talk(one: End, other: End) -> None:
        waiting = asyncio.ensure_future(one.channel.ask("wait"))
        await asyncio.sleep(0)
        other.channel.close()
        with pytest.raises(ChannelClosedError):
            await waiting
        with pytest.raises(ChannelClosedError):
            await one.channel.ask("anything")
        one.channel.notify("dropped")

    between_two(talk)


def test_an_end_knows_when_the_other_does_not_read_what_it_is_sent() -> None:
    async def talk(one: End, other: End) -> None:
        def is_congested() -> bool:
            return one.channel.is_congested

        assert not is_congested()
        reading = other.channel._transport  # noqa: SLF001
        assert reading is not None
        reading.pause_reading()
        sent = 0
        while not is_congested():
            one.channel.notify(bytes(100_000))
            sent += 1
        reading.resume_reading()
        await until(lambda: not is_congested())
        await one.channel.ask("last")
        assert len(other.received) == sent

    between_two(talk)


def test_nothing_is_kept_of_questions_that_were_answered() -> None:
    async def talk(one: End, other: End) -> None:
        for number in range(3):
            await one.channel.ask("n", number)
        assert not other.channel._answering  # noqa: SLF001
        assert not one.channel._answers  # noqa: SLF001

    between_two(talk)
