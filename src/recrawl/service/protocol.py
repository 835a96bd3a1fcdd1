"""HTTP/1.1 as uvicorn speaks it, with patience that has an end.

Connections take file descriptors and memory, which the crawl needs as well: whoever connects has to
say what they want within limits of time and size, and only so many may connect at once.
"""

import asyncio
from typing import final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_CONNECTIONS = 1_000
#: Bytes of a request's first line and headers.
MAX_HEAD = 64_000
#: Seconds within which these have to be complete, and then the body.
HEAD_WITHIN, BODY_WITHIN = 20.0, 120.0


@final
class BoundedProtocol(HttpToolsProtocol):
    """A connection that is closed if it asks for too much patience."""

    _timer: asyncio.TimerHandle | None = None
    _head: int | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request, unless there are too many connections."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
        else:
            self._wait(HEAD_WITHIN)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in what was sent, unless the headers have no end."""
        if self._head is not None:
            self._head += len(data)
            if self._head > MAX_HEAD:
                self.send_400_response("The headers are too large.")
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Begin to read a request."""
        self._head = 0
        self._wait(HEAD_WITHIN)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Answer a request whose headers are complete."""
        self._head = None
        self._wait(BODY_WITHIN)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that a request is complete: now it is for us to answer."""
        self._stop_waiting()
        super().on_message_complete()

    def _wait(self, seconds: float) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
