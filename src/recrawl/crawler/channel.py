"""Messages between two recrawl processes over a socket: notifications, requests and answers."""

import asyncio
import pickle
import struct
from collections.abc import Awaitable, Callable
from dataclasses import fields
from io import BytesIO
from operator import attrgetter
from typing import Any, cast, final

from recrawl.records import Page, Response, Validators, Visit

#: The length prefix of a message.
_LENGTH = struct.Struct("<Q")

_NOTIFY, _ASK, _ANSWER = range(3)


class ChannelClosedError(Exception):
    """The other process has exited or closed the channel."""


@final
class Channel(asyncio.Protocol):
    """One end of a channel. Messages are pickles: both ends are the same program.

    Args:
        notified: Called with the parts of each message that needs no answer.
        asked: Answers the messages that need one.
        closed: Called once the other end is closed, for whatever reason.

    Attributes:
        is_congested: Whether the other end reads more slowly than this one writes.
    """

    def __init__(
        self,
        notified: Callable[..., object],
        asked: Callable[..., Awaitable[Any]],
        closed: Callable[[], object],
    ) -> None:
        self._notified = notified
        self._asked = asked
        self._closed = closed
        self._received = bytearray()
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._questions = 0
        self._transport: asyncio.Transport | None = None
        self.is_congested = False

    def notify(self, *message: object) -> None:
        """Send a message without waiting for an answer; it is dropped if the channel is closed."""
        self._send((_NOTIFY, 0, message))

    async def ask(self, *message: object) -> Any:  # noqa: ANN401
        """Send a message and return the answer, or raise what the other end raised.

        Raises:
            ChannelClosedError: There will be no answer.
        """
        if self._transport is None:
            raise ChannelClosedError
        self._questions += 1
        number = self._questions
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            self._send((_ASK, number, message))
            return await answer
        finally:
            del self._answers[number]

    def close(self) -> None:
        """Close the channel once everything sent has been delivered."""
        if self._transport is not None:
            self._transport.close()

    # Called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        # uvloop's transport is one too, but does not declare it.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Handle the messages that are complete."""
        received = self._received
        received += data
        start = 0
        while len(received) >= start + _LENGTH.size:
            begin = start + _LENGTH.size
            end = begin + _LENGTH.unpack_from(received, start)[0]
            if len(received) < end:
                break
            start = end
            self._handle(*pickle.loads(memoryview(received)[begin:end].toreadonly()))  # noqa: S301 - our own
        if start:
            # A memoryview may still refer to the old buffer, which then cannot be shortened.
            self._received = received[start:]

    def connection_lost(self, _error: Exception | None) -> None:
        """End."""
        self._transport = None
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(ChannelClosedError())
        for task in self._answering:
            task.cancel()
        self._closed()

    def pause_writing(self) -> None:
        """Note that the other end is not keeping up."""
        self.is_congested = True

    def resume_writing(self) -> None:
        """Note that the other end has caught up."""
        self.is_congested = False

    def _send(self, message: tuple[int, int, object]) -> None:
        if self._transport is not None and not self._transport.is_closing():
            packed = _packed(message)
            self._transport.writelines((_LENGTH.pack(len(packed)), packed))

    def _handle(self, kind: int, number: int, message: Any) -> None:  # noqa: ANN401
        if kind == _NOTIFY:
            self._notified(*message)
        elif kind == _ASK:
            task = asyncio.create_task(self._answer(number, message))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        elif (answer := self._answers.get(number)) is not None and not answer.done():
            is_result, value = message
            if is_result:
                answer.set_result(value)
            else:
                answer.set_exception(value)

    async def _answer(self, number: int, message: tuple[Any, ...]) -> None:
        try:
            found = True, await self._asked(*message)
        except Exception as error:  # noqa: BLE001 - the other end should know
            self._send((_ANSWER, number, (False, error)))
        else:
            self._send((_ANSWER, number, found))


_Reduced = tuple[Callable[..., Any], tuple[Any, ...]]


def _values_of(kind: type[Any]) -> Callable[[Any], _Reduced]:
    values = attrgetter(*(one.name for one in fields(kind)))
    return lambda record: (kind, values(record))


#: Records are pickled as their values and rebuilt from them. The default for frozen dataclasses
#: takes three times as long.
_RECORDS: dict[type, Callable[[Any], _Reduced]] = {
    kind: _values_of(kind) for kind in (Page, Response, Validators, Visit)
}


def _packed(message: object) -> memoryview:
    packed = BytesIO()
    pickler = pickle.Pickler(packed, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = _RECORDS
    pickler.dump(message)
    return packed.getbuffer()
