"""Which connections are kept if there are too many."""

from collections.abc import Hashable
from typing import Generic, TypeVar, final

Connection = TypeVar("Connection", bound=Hashable)


@final
class ConnectionLimit(Generic[Connection]):
    """Connections of users, who have shown a token, and of strangers, who have not.

    Nobody is refused for the sake of a stranger: if there are too many, the address with the most
    strangers loses the one from which nothing was heard for longest. Users are never closed.
    Whoever has a token is a stranger only until it has arrived; to keep users out, as many
    strangers would have to connect within that time, from as many addresses.

    Args:
        limit: How many connections there may be.

    >>> limited = ConnectionLimit[str](3)
    >>> for name in ("a", "b", "c"):
    ...     _ = limited.enter(name, "192.0.2.1")
    >>> limited.enter("d", "192.0.2.2"), limited.enter("e", "192.0.2.3")
    ('a', 'b')
    >>> limited.trust("d"), limited.enter("f", "192.0.2.3"), limited.enter("g", "192.0.2.3")
    (None, 'e', 'f')
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._addresses: dict[Connection, str] = {}
        #: By address, those that were heard of last at the end.
        self._strangers: dict[str, dict[Connection, None]] = {}
        self._trusted: set[Connection] = set()

    def enter(self, connection: Connection, address: str) -> Connection | None:
        """Add a connection; return the one to be closed instead, which may be the new one."""
        self._addresses[connection] = address
        self._strangers.setdefault(address, {})[connection] = None
        if len(self._addresses) <= self._limit:
            return None
        fullest = max(self._strangers.values(), key=len)
        displaced = next(iter(fullest))
        self.leave(displaced)
        return displaced

    def leave(self, connection: Connection) -> None:
        """Remove a connection, if it is still there."""
        address = self._addresses.pop(connection, None)
        if address is not None:
            self._trusted.discard(connection)
            self._remove_stranger(connection, address)

    def trust(self, connection: Connection) -> None:
        """Note that somebody with a token uses a connection."""
        address = self._addresses.get(connection)
        if address is not None and connection not in self._trusted:
            self._remove_stranger(connection, address)
            self._trusted.add(connection)

    def hear(self, connection: Connection) -> None:
        """Note that something was heard from a connection."""
        strangers = self._strangers.get(self._addresses.get(connection, ""), {})
        if connection in strangers:
            strangers[connection] = strangers.pop(connection)

    def distrust(self, connection: Connection) -> Connection | None:
        """Note that a stranger uses a connection, now; return the one to be closed, if any."""
        address = self._addresses.get(connection)
        if address is None:
            return None
        self.leave(connection)
        return self.enter(connection, address)

    def _remove_stranger(self, connection: Connection, address: str) -> None:
        strangers = self._strangers.get(address)
        if strangers is not None:
            strangers.pop(connection, None)
            if not strangers:
                del self._strangers[address]
