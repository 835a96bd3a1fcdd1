"""What SQLite and the disk refuse, as a sentence for a person."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from recrawl.errors import StoreError

DAMAGED = "the store is damaged; put a copy of the file in its place"

#: SQLite's primary result codes, and what they mean here.
_SENTENCES = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space and try again, nothing kept is lost",
    sqlite3.SQLITE_BUSY: "another process is writing to the store; try again when it is done",
    sqlite3.SQLITE_LOCKED: "another process is writing to the store; try again when it is done",
    sqlite3.SQLITE_READONLY: "the store cannot be written; see to its permissions",
    sqlite3.SQLITE_PERM: "the store cannot be written; see to its permissions",
    sqlite3.SQLITE_CANTOPEN: "the store cannot be opened; see to its permissions and its folder's",
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: "this is not a recrawl store, or it is damaged",
    sqlite3.SQLITE_IOERR: "the disk failed or is full; nothing kept is lost",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
}
_PRIMARY = 0xFF


@contextmanager
def told(place: str) -> Iterator[None]:
    """Turn what SQLite refuses to a `StoreError` that names the store."""
    try:
        yield
    except sqlite3.Error as error:
        raise refusal(place, error) from error


def refusal(place: str, error: sqlite3.Error) -> StoreError:
    """Give what to raise for an error of SQLite."""
    return StoreError(f"{place}: {sentence(error)}")


def sentence(error: sqlite3.Error) -> str:
    """Say what an error of SQLite means.

    >>> sentence(sqlite3.ProgrammingError("Cannot operate on a closed database."))
    'the store cannot be used (Cannot operate on a closed database.)'
    """
    # Misuse of the module, such as of a closed connection, has no code of SQLite's.
    code = getattr(error, "sqlite_errorcode", None)
    known = _SENTENCES.get(code & _PRIMARY) if code is not None else None
    return known or f"the store cannot be used ({error})"
