"""uvicorn's HTTP/1.1, with limits on time, size and number.

Connections take file descriptors and memory, which the crawl needs as well: clients have to send
their requests within limits of time and size, and only so many may connect at once.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from recrawl.service.auth.connection_limit import ConnectionLimit
from recrawl.service.auth.guard import CONNECTION, address_of

LOGGER = logging.getLogger("recrawl.service.connections")

MAX_CONNECTIONS = 1_000
#: Bytes of a request's first line and headers.
MAX_HEAD = 64_000
#: Bytes that frame a byte of a body sent in chunks.
MAX_FRAMING = 8
#: Seconds within which the headers have to be complete, and then the body.
HEAD_WITHIN, BODY_WITHIN = 20.0, 120.0


def bounded_protocol() -> Callable[..., "BoundedProtocol"]:
    """Return what makes the connections of a server, which share their limit."""
    limit = ConnectionLimit["BoundedProtocol"](MAX_CONNECTIONS)

    def make(**given: Any) -> BoundedProtocol:  # noqa: ANN401 - as the server has it
        return BoundedProtocol(limit, **given)

    return make


@final
class BoundedProtocol(HttpToolsProtocol):
    """A connection that is closed if the client is too slow, or others need its place.

    Args:
        limit: The connections of the server.
        given: What the server passes to a connection.
    """

    def __init__(self, limit: ConnectionLimit["BoundedProtocol"], **given: Any) -> None:  # noqa: ANN401
        super().__init__(**given)
        self.url = b""
        self._limit = limit
        self._timer: asyncio.TimerHandle | None = None
        #: Bytes of the present request: as they arrived, of its headers, and of its body.
        self._read = self._head = self._body = 0
        self._in_body = False
        #: Whether a request ended with what was received last.
        self._ended = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request, and close another connection if there are too many."""
        super().connection_made(transport)
        self._wait(HEAD_WITHIN)
        self._close(self._limit.enter(self, address_of({"client": self.client})))

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the time limit."""
        self._limit.leave(self)
        self._stop_waiting()
        super().connection_lost(exc)

    def identify(self, *, known: bool) -> None:
        """Note whether somebody with a token makes a request."""
        if known:
            self._limit.trust(self)
        else:
            self._close(self._limit.distrust(self))

    def data_received(self, data: bytes) -> None:
        """Accept data, unless it is too much."""
        # There has been a request: a new connection has a timer.
        if self._timer is None and self.cycle.response_complete:
            # An empty line also ends the patience with a connection that is kept.
            self._wait(HEAD_WITHIN)
        self._ended = False
        super().data_received(data)
        if self._ended:
            # The rest belongs to another request; there is no saying how much of it.
            return
        self._read += len(data)
        limit = 2 * MAX_HEAD + MAX_FRAMING * self._body if self._in_body else MAX_HEAD
        if self._read > limit and not self.transport.is_closing():
            self.send_400_response("The headers are too large.")

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that cannot be understood, or is too large to be."""
        super().send_400_response("The headers are too large." if self._is_too_large else msg)

    def on_message_begin(self) -> None:
        """Start to read a request."""
        self._read = self._head = self._body = 0
        self._in_body = False
        self._wait(HEAD_WITHIN)
        super().on_message_begin()
        self.scope["state"][CONNECTION] = self

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; what follows a body is left out, as others have not seen it."""
        self._head += len(name) + len(value)
        if self._is_too_large:
            raise ValueError("the headers are too large")
        if not self._in_body:
            super().on_header(name, value)

    @property
    def _is_too_large(self) -> bool:
        return self._head + len(self.url) > MAX_HEAD

    def on_headers_complete(self) -> None:
        """Handle a request whose headers are complete."""
        self._in_body = True
        self._limit.hear(self)
        self._wait(BODY_WITHIN)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Accept a part of the body."""
        self._body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that a request is complete; the client owes nothing more."""
        self._ended = True
        self._stop_waiting()
        super().on_message_complete()

    def _close(self, displaced: "BoundedProtocol | None") -> None:
        """Close a connection whose place another one has."""
        if displaced is not None:
            LOGGER.warning("too many connections without a token: closed the oldest of them")
            displaced.transport.abort()

    def _wait(self, seconds: float) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
