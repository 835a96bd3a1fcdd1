"""Access tokens and page leases of a service, in the store."""

import hashlib
import json
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

from recrawl.store.database import Database


@dataclass(frozen=True, slots=True)
class Token:
    """An access token of a service.

    Attributes:
        name: Its name.
        digest: The digest of the token itself, which is not stored.
        access: What it allows: ``read``, ``crawl`` or ``admin``.
        created_at: When it was created, in microseconds.
    """

    name: str
    digest: bytes
    access: str
    created_at: int


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """Pages that a crawler has leased.

    Attributes:
        id: The lease's id.
        key: The key of the request for it, if it had one and has not ended.
        granted_at: When it was granted, in microseconds.
        deadline: When it ends, or ended, in microseconds.
        pages: The numbers of its pages; none if the lease is to be forgotten.
    """

    id: str
    key: str | None
    granted_at: int
    deadline: int
    pages: tuple[int, ...]


def token_digest(token: str) -> bytes:
    """Return the digest of a token, which is so long and random that a single round is enough.

    >>> token_digest("").hex()[:8]
    'e3b0c442'
    """
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


@final
class ServiceTables:
    """Tokens and leases.

    Args:
        database: The store's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def tokens(self) -> list[Token]:
        """Return all tokens in order of name."""
        return [Token(*row) for row in self._database.rows("tokens")]

    def add_token(self, token: Token) -> bool:
        """Add a token; return False if the name is taken."""
        values = token.name, token.digest, token.access, token.created_at
        return bool(self._database.execute("add_token", *values))

    def revoke_token(self, name: str) -> bool:
        """Remove a token; return whether there was one of this name."""
        return bool(self._database.execute("revoke_token", name))

    def leases(self) -> list[LeaseRow]:
        """Return the leases, in the order in which they were granted."""
        found = []
        for lease, key, granted_at, deadline, packed in self._database.rows("leases"):
            pages = array("q", packed)
            found.append(LeaseRow(lease, key, granted_at, deadline, tuple(pages)))
        return found

    def keep_leases(self, leases: Iterable[LeaseRow]) -> None:
        """Write leases in their current state; those without pages are deleted."""
        kept, dropped = [], []
        for one in leases:
            if one.pages:
                pages = array("q", one.pages).tobytes()
                kept.append((one.id, one.key, one.granted_at, one.deadline, pages))
            else:
                dropped.append((one.id,))
        with self._database.transaction():
            # In this order, as the key of one that has ended may be that of a new one.
            self._database.execute_many("drop_lease", dropped)
            self._database.execute_many("keep_lease", kept)

    def visited_since(self, pages: Sequence[int], at: int) -> set[int]:
        """Return which of the pages were visited since a time."""
        rows = self._database.rows("visited_since", json.dumps(list(pages)), at)
        return {page for (page,) in rows}
