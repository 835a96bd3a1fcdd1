"""uvicorn's HTTP/1.1, with limits on time and size.

Connections take file descriptors and memory, which the crawl needs as well: clients have to send
their requests within limits of time and size, and only so many may connect at once.
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
    """A connection that is closed if the client is too slow."""

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
        """Cancel the time limit."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Accept data, unless the headers are too long."""
        if self._head is not None:
            self._head += len(data)
            if self._head > MAX_HEAD:
                self.send_400_response("The headers are too large.")
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Start to read a request."""
        self._head = 0
        self._wait(HEAD_WITHIN)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Handle a request whose headers are complete."""
        self._head = None
        self._wait(BODY_WITHIN)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that a request is complete; the client owes nothing more."""
        self._stop_waiting()
        super().on_message_complete()

    def _wait(self, seconds: float) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
