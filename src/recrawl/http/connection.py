"""One HTTP/1.1 connection: a request at a time, its response parsed by llhttp as it arrives."""

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, cast, final

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

#: Unread bytes at which reading from the socket pauses.
MAX_UNREAD: Final = 131_072
#: Bytes of a response that are not its body: headers, informational responses, chunk sizes and
#: extensions, trailers. A body in small chunks may come with as many again as it has itself.
MAX_OVERHEAD: Final = 262_144

#: Bytes of a body that `Connection.request` waits for along with the headers: most bodies are no
#: longer, and the caller is woken once instead of twice.
EAGER: Final = 65_536

_NO_BODY: Final = frozenset({204, 304})
_FIRST_STATUS, _FIRST_FINAL = 100, 200
#: The headers that say where a body ends.
_LENGTH: Final = b"content-length"
_LENGTHS: Final = frozenset({_LENGTH, b"transfer-encoding"})
_LENGTHS_OF_LENGTHS: Final = frozenset(map(len, _LENGTHS))


class ConnectionDroppedError(OSError):
    """The server closed the connection before a response began."""


class InvalidResponseError(Exception):
    """What the server sent is not HTTP, or more than the limits allow."""


class IncompleteBodyError(Exception):
    """The connection was closed in the middle of a body, or the rest of it is not HTTP."""


class ReadTimeoutError(TimeoutError):
    """Nothing was received for too long."""


@final
class Connection(asyncio.Protocol):
    """A connection to a server or a proxy, for one request at a time.

    A response is read as it arrives: `request` returns when its headers are complete, then `read`
    returns its body in pieces, at the pace of the caller. A single timer per connection watches
    all deadlines; it is not reset with every packet, but checks, when it fires, whether a deadline
    has really passed.

    Args:
        max_headers: Header lines per response.
        max_header_bytes: Bytes per header line.

    Attributes:
        status: The status of the current response.
        headers: Its headers as received: names and values.
        used_at: When its last response ended, in the event loop's seconds.
        requests: How many requests were made on it.
    """

    __slots__ = (
        "_body",
        "_deadline",
        "_ends_with_connection",
        "_error",
        "_expects_end",
        "_is_complete",
        "_is_done",
        "_is_eager",
        "_is_head_done",
        "_loop",
        "_max_header_bytes",
        "_max_headers",
        "_overhead",
        "_parser",
        "_paused",
        "_read_timeout",
        "_received_at",
        "_timer",
        "_transport",
        "_unread",
        "_waiter",
        "headers",
        "requests",
        "status",
        "used_at",
    )

    def __init__(self, max_headers: int, max_header_bytes: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._max_headers = max_headers
        self._max_header_bytes = max_header_bytes
        self._parser = HttpResponseParser(self)
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._error: BaseException | None = None
        self._body: list[bytes] = []
        self._unread = 0
        self._paused = False
        self._deadline = self._read_timeout = math.inf
        self._received_at = 0.0
        self._start_response()
        self._is_done = True
        self._is_eager = False
        self.used_at = 0.0
        self.requests = 0

    def _start_response(self) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self._overhead = 0
        self._is_head_done = self._is_complete = self._is_done = False
        self._expects_end = self._ends_with_connection = False

    # Requests

    @property
    def is_reusable(self) -> bool:
        """Whether another request can be made: the last response was read to its end."""
        return (
            self._is_complete
            and not self._unread
            and self._error is None
            and not self._expects_end
            and self._transport is not None
            and not self._transport.is_closing()
        )

    async def request(
        self, data: bytes, read_timeout: float, deadline: float, *, head_only: bool = False
    ) -> None:
        """Send a request, and wait for its response: the headers, and all of a short body.

        Args:
            data: The request.
            read_timeout: Seconds without receiving anything.
            deadline: When the response must have been read, in the event loop's seconds.
            head_only: Whether to wait for the headers only.

        Raises:
            ConnectionDroppedError: The server closed the connection before it responded.
            InvalidResponseError: The response is not HTTP.
            TimeoutError: It did not arrive in time.
        """
        self._start_response()
        self.requests += 1
        self._received_at = self._loop.time()
        self._read_timeout, self._deadline = read_timeout, deadline
        if self._timer is None:
            self._watch()
        if self._error is None and self._transport is not None:
            self._transport.write(data)
        self._is_eager = not head_only
        while not self._is_head_done or (self._is_eager and self._is_short()):
            await self._more()
        self._is_eager = False

    def _is_short(self) -> bool:
        """Whether this is a short response so far, with more to come."""
        return not self._is_complete and self._unread < EAGER and self._error is None

    @property
    def whole_size(self) -> int | None:
        """The size of a body that has arrived completely; None if there is more to come."""
        return self._unread if self._is_complete else None

    def take_whole(self) -> bytes:
        """Return a body that has arrived completely."""
        body = self._take()
        self._end()
        return body

    async def read(self) -> bytes:
        """Return the next piece of the body; nothing at its end.

        Raises:
            IncompleteBodyError: The connection was closed in the middle of it.
            InvalidResponseError: It is not HTTP.
            TimeoutError: It did not arrive in time.
        """
        while not self._body:
            if self._is_complete:
                self._end()
                return b""
            await self._more()
        return self._take()

    def _take(self) -> bytes:
        """Return what was received, and resume receiving if it was paused."""
        chunks, self._body = self._body, []
        self._unread = 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._received_at = self._loop.time()
            self._transport.resume_reading()
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    @property
    def at_end(self) -> bool:
        """Whether all of the body has been read."""
        return self._is_complete and not self._body

    @contextmanager
    def unhurried(self) -> Iterator[None]:
        """Stop the clock while the caller waits for something else than the server."""
        left, timeout = self._deadline - self._loop.time(), self._read_timeout
        self._deadline = self._read_timeout = math.inf
        try:
            yield
        finally:
            self._received_at = self._loop.time()
            self._deadline, self._read_timeout = self._received_at + left, timeout
            if self._timer is not None:
                self._timer.cancel()
            if self._error is None:
                self._watch()

    def detach(self) -> asyncio.Transport:
        """Return the transport, to be used by another protocol."""
        transport, self._transport = self._transport, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if transport is None:
            raise ConnectionDroppedError("the connection was closed")
        return transport

    def fail(self, error: BaseException) -> None:
        """Fail the pending response with an error, and close the connection."""
        if self._error is None:
            self._error = error
            self.close()
            self._wake()

    def close(self) -> None:
        """Close the connection at once."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._transport is not None:
            self._transport.abort()

    def _end(self) -> None:
        if not self._is_done:
            self._is_done = True
            self.used_at = self._loop.time()
            self._deadline = math.inf

    async def _more(self) -> None:
        """Wait until something has happened."""
        self._check()
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
        if not self._is_head_done and not self._is_complete:
            self._check()

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # Time

    def _watch(self) -> None:
        """Set the timer to when the first deadline may be reached."""
        due = min(self._deadline, self._received_at + self._read_timeout)
        self._timer = None if due == math.inf else self._loop.call_at(due, self._check_time)

    def _check_time(self) -> None:
        self._timer = None
        if self._is_done:
            # Nothing is pending; the next request sets it again.
            return
        now = self._loop.time()
        if now >= self._deadline:
            self.fail(TimeoutError())
        elif not self._paused and now >= self._received_at + self._read_timeout:
            self.fail(ReadTimeoutError())
        else:
            if self._paused:
                self._received_at = now
            self._watch()

    # Called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Parse what arrived."""
        if self._is_complete or not self.requests:
            # It was not requested: whatever comes next could be mistaken for a response.
            self.fail(InvalidResponseError())
            return
        self._received_at = self._loop.time()
        # Everything counts, whatever the parser makes of it; `on_body` takes back what is body.
        self._overhead += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self._refuse_rest()
        if self._overhead > MAX_OVERHEAD:
            # Even if it is complete.
            self._is_head_done = self._is_complete = False
            self.fail(InvalidResponseError())
        if self._unread > MAX_UNREAD and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        if not (self._is_eager and self._is_short()):
            self._wake()

    def _refuse_rest(self) -> None:
        """Handle that the parser gave up."""
        if self._is_complete:
            # There is more than the response; it was not requested, and is ignored.
            self._expects_end = True
        else:
            self.fail(IncompleteBodyError() if self._is_head_done else InvalidResponseError())

    def eof_received(self) -> bool:
        """Close our side too."""
        return False

    def connection_lost(self, error: Exception | None) -> None:
        """Complete or fail the response, now that the connection is closed."""
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._error is None:
            if not self._is_head_done:
                self._error = ConnectionDroppedError("the connection was closed")
            elif self._is_complete or (
                # A server that resets the connection has not completed the response.
                self._ends_with_connection and not isinstance(error, ConnectionResetError)
            ):
                self._is_complete = True
                self._error = ConnectionDroppedError("the connection was closed")
            else:
                self._error = IncompleteBodyError()
        self._wake()

    # Called by the parser; what is raised in here comes out of `feed_data` as its own error

    def on_message_begin(self) -> None:
        """Reject a response that was not requested."""
        if self._is_complete:
            raise _RefusedError

    def on_status(self, reason: bytes) -> None:
        """Reject an endless status line."""
        if len(reason) > self._max_header_bytes:
            raise _RefusedError

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header, unless there are too many; ignore trailers."""
        if self._is_head_done:
            return
        if len(self.headers) >= self._max_headers:
            raise _RefusedError
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Take the status; informational responses are skipped."""
        self.status = self._parser.get_status_code()
        if self.status < _FIRST_STATUS:
            raise _RefusedError
        if self.status < _FIRST_FINAL:
            self.headers = []
            return
        self._ends_with_connection = not self._check_headers()
        self._expects_end = self._ends_with_connection or not self._parser.should_keep_alive()
        self._is_head_done = True

    def _check_headers(self) -> bool:
        """Reject long headers; return whether they say where the response ends.

        Otherwise it ends with the connection.
        """
        is_delimited = self.status in _NO_BODY
        for name, value in self.headers:
            if len(name) + len(value) > self._max_header_bytes:
                raise _RefusedError
            if len(name) in _LENGTHS_OF_LENGTHS and name.lower() in _LENGTHS:
                is_delimited |= name.lower() == _LENGTH or b"chunked" in value.lower()
        return is_delimited

    def on_body(self, body: bytes) -> None:
        """Keep a piece of the body until it is read."""
        self._body.append(body)
        self._unread += len(body)
        self._overhead -= 2 * len(body)

    def on_message_complete(self) -> None:
        """Note the end of the response."""
        if self.status >= _FIRST_FINAL:
            self._is_complete = True


class _RefusedError(Exception):
    """More than the limits allow, or than was requested."""
