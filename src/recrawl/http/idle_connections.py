"""Keep idle connections open for reuse."""

import asyncio
from collections import OrderedDict
from typing import Final, TypeAlias, final

from recrawl.http.connection import Connection

#: Seconds that an idle connection is kept open.
KEEP_ALIVE: Final = 15.0

#: Where a connection leads: over TLS or not, to which server, and through which proxy.
Route: TypeAlias = tuple[bool, str, str | None]


@final
class IdleConnections:
    """Idle connections to a limited number of servers.

    Without the limit, a crawl of many hosts would run out of file descriptors.

    Args:
        max_servers: How many servers.
    """

    def __init__(self, max_servers: int) -> None:
        self._max_servers = max_servers
        self._kept: OrderedDict[Route, list[Connection]] = OrderedDict()
        self._sweep: asyncio.TimerHandle | None = None

    def take(self, route: Route, now: float) -> Connection | None:
        """Return the most recently used idle connection to a server, or None."""
        while route in self._kept:
            kept = self._kept[route]
            connection = kept.pop()
            if not kept:
                del self._kept[route]
            if connection.is_reusable and connection.used_at > now - KEEP_ALIVE:
                return connection
            connection.close()
        return None

    def keep(self, route: Route, connection: Connection) -> None:
        """Keep a connection open, and close those to the least recently used server."""
        self._kept.setdefault(route, []).append(connection)
        self._kept.move_to_end(route)
        if len(self._kept) > self._max_servers:
            self._drop(next(iter(self._kept)))
        if self._sweep is None:
            loop = asyncio.get_running_loop()
            self._sweep = loop.call_later(KEEP_ALIVE, self._close_old, loop)

    def close(self) -> None:
        """Close all."""
        if self._sweep is not None:
            self._sweep.cancel()
        for route in list(self._kept):
            self._drop(route)

    def _drop(self, route: Route) -> None:
        for connection in self._kept.pop(route):
            connection.close()

    def _close_old(self, loop: asyncio.AbstractEventLoop) -> None:
        self._sweep = None
        oldest = loop.time() - KEEP_ALIVE
        for route, kept in list(self._kept.items()):
            fresh = [one for one in kept if one.is_reusable and one.used_at > oldest]
            for connection in kept:
                if connection not in fresh:
                    connection.close()
            self._kept[route] = fresh
            if not fresh:
                del self._kept[route]
        if self._kept:
            self._sweep = loop.call_later(KEEP_ALIVE, self._close_old, loop)
