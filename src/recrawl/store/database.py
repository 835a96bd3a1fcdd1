"""A connection to a store's file: opened with care, asked by statements' names."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from recrawl.errors import StoreError
from recrawl.store.migrating import migrate, missing, recognise
from recrawl.store.queries import statement
from recrawl.store.refusals import refusal, told

MEMORY = ":memory:"
#: How long to wait for another process that is writing.
PATIENCE_SECONDS = 5.0

#: What every connection is told first.
SETTINGS = ("use_wal", "sync_fully", "widen_cache", "checkpoint_rarely", "enforce_references")

Row = tuple[Any, ...]


@final
class Database:
    """A connection that speaks in names of statements and fails in sentences.

    It may be handed from thread to thread, but only one may use it at a time.

    Attributes:
        place: What the file is called.
    """

    def __init__(self, place: str, connection: sqlite3.Connection) -> None:
        self.place = place
        self._connection = connection

    @classmethod
    def open(cls, place: str, *, create: bool) -> "Database":
        """Open a store, make one if that is wanted, and bring it up to date."""
        if place == MEMORY:
            create = True
        else:
            _check_place(Path(place), create=create)
        with told(place):
            connection = sqlite3.connect(
                place, timeout=PATIENCE_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                recognise(connection, place, create=create)
                for setting in SETTINGS:
                    connection.execute(statement(setting))
                migrate(connection)
            except BaseException:
                connection.close()
                raise
        return cls(place, connection)

    def close(self) -> None:
        """Move the write-ahead log into the file and let go of both; twice is once."""
        with told(self.place):
            try:
                self._connection.execute(statement("checkpoint"))
            except sqlite3.Error:
                # What is in the log is safe there; the next to open the store reads it.
                pass
            finally:
                self._connection.close()

    def rows(self, name: str, *values: Any) -> list[Row]:  # noqa: ANN401 - as SQLite has them
        """Give all rows that a statement finds."""
        try:
            return self._connection.execute(statement(name), values).fetchall()
        except sqlite3.Error as error:
            raise refusal(self.place, error) from error

    def row(self, name: str, *values: Any) -> Row | None:  # noqa: ANN401
        """Give the first row that a statement finds, or None."""
        try:
            row: Row | None = self._connection.execute(statement(name), values).fetchone()
        except sqlite3.Error as error:
            raise refusal(self.place, error) from error
        return row

    def batches(self, name: str, values: dict[str, Any], size: int) -> Iterator[list[Row]]:
        """Give what a statement finds, so many rows at once."""
        with told(self.place):
            cursor = self._connection.execute(statement(name), values)
            while rows := cursor.fetchmany(size):
                yield rows

    def do(self, name: str, *values: Any, **named: Any) -> int:  # noqa: ANN401
        """Run a statement that changes something; say how many rows it touched."""
        # Not a context manager: this runs several times a visit.
        try:
            return self._connection.execute(statement(name), named or values).rowcount
        except sqlite3.Error as error:
            raise refusal(self.place, error) from error

    def do_many(self, name: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once a row."""
        with told(self.place):
            self._connection.executemany(statement(name), rows)

    @contextmanager
    def transaction(self, begin: str = "begin_write") -> Iterator[None]:
        """Do all that is in the block, or nothing of it."""
        self.do(begin)
        try:
            yield
            self.do("commit")
        except BaseException:
            # After a full disk SQLite may have rolled back by itself.
            if self._connection.in_transaction:
                self.do("rollback")
            raise


def _check_place(path: Path, *, create: bool) -> None:
    """Refuse what SQLite would speak of less clearly, or make a file of."""
    try:
        if path.is_dir():
            raise StoreError(f"{path}: this is a folder, not a store")
        if not path.exists():
            if not create:
                raise missing(str(path))
            if not path.parent.is_dir():
                raise StoreError(f"{path}: there is no folder {path.parent}")
    except OSError as error:
        raise StoreError(f"{path}: it cannot be read: {error.strerror}") from None
