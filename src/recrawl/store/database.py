"""The connection to a store's file: opening, migrations, named statements and clear errors."""

import math
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, final

from recrawl.errors import StoreError
from recrawl.store.queries import migrations, statement
from recrawl.store.schema import differences, foreign, schema_of

MEMORY = ":memory:"
#: How long to wait for another process to finish writing.
BUSY_TIMEOUT_SECONDS = 5.0
#: "rcrl" as a number, which SQLite keeps in the file's header.
APPLICATION = int.from_bytes(b"rcrl", "big")

#: Statements that configure every new connection.
PRAGMAS = ("distrust_schema", "use_wal", "sync_fully", "widen_cache", "checkpoint_rarely")

#: The permissions of stores and backups.
PRIVATE = 0o600

DAMAGED = "the store is damaged; restore the file from a backup"

#: What SQLite's primary result codes mean to the user.
_SENTENCES = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space and try again; nothing saved is lost",
    sqlite3.SQLITE_BUSY: "another process is writing to the store; try again when it is done",
    sqlite3.SQLITE_LOCKED: "another process is writing to the store; try again when it is done",
    sqlite3.SQLITE_READONLY: "the store cannot be written; check its permissions",
    sqlite3.SQLITE_PERM: "the store cannot be written; check its permissions",
    sqlite3.SQLITE_CANTOPEN: "the store cannot be opened; check the permissions of the file and "
    "its folder",
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: "this is not a recrawl store, or it is damaged",
    sqlite3.SQLITE_IOERR: "the disk failed or is full; nothing saved is lost",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
}
_PRIMARY = 0xFF

Row = tuple[Any, ...]


@final
class Database:
    """A connection that runs statements by name and raises `StoreError` with a clear sentence.

    It may be passed between threads, but only one may use it at a time.

    Attributes:
        path: The file, as given, or ``":memory:"``.
    """

    def __init__(self, path: str, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._absolute = Path(path).absolute()
        self._file = _file_number(self._absolute)

    @classmethod
    def open(cls, path: str, *, create: bool) -> "Database":
        """Open a store, creating it if asked to, and migrate it to the current version."""
        if path == MEMORY:
            create = True
        else:
            _check_path(Path(path), create=create)
        with store_errors(path):
            connection = _connect(path)
            try:
                _recognise(connection, path, create=create)
                _refuse_foreign(connection, path)
                for pragma in PRAGMAS:
                    connection.execute(statement(pragma))
                # A migration may recreate a table that others refer to.
                connection.execute(statement("ignore_references"))
                _migrate(connection)
                connection.execute(statement("enforce_references"))
                if connection.execute(statement("has_power")).fetchone() is None:
                    connection.create_function("pow", 2, math.pow, deterministic=True)
            except BaseException:
                connection.close()
                raise
        return cls(path, connection)

    def check_not_moved(self) -> None:
        """Refuse to go on if somebody removed the file, or put another in its place.

        SQLite would write on, to a file that nobody can open any more.

        Raises:
            StoreError: That is so.
        """
        if _file_number(self._absolute) != self._file:
            raise StoreError(
                f"{self.path}: the file was removed or replaced while it was in use; "
                "what is written to it now would be lost"
            )

    def close(self) -> None:
        """Checkpoint the write-ahead log and close the file; closing twice is harmless."""
        with store_errors(self.path):
            try:
                self._connection.execute(statement("checkpoint"))
            except sqlite3.Error:
                # The log is safe, and is read when the store is opened next.
                pass
            finally:
                self._connection.close()

    def rows(self, name: str, *values: Any) -> list[Row]:  # noqa: ANN401 - as SQLite has them
        """Return all rows of a query."""
        try:
            return self._connection.execute(statement(name), values).fetchall()
        except sqlite3.Error as error:
            raise store_error(self.path, error) from error

    def row(self, name: str, *values: Any) -> Row | None:  # noqa: ANN401
        """Return the first row of a query, or None."""
        try:
            row: Row | None = self._connection.execute(statement(name), values).fetchone()
        except sqlite3.Error as error:
            raise store_error(self.path, error) from error
        return row

    def batches(self, name: str, values: dict[str, Any], size: int) -> Iterator[list[Row]]:
        """Yield the rows of a query in batches of at most ``size``."""
        with store_errors(self.path):
            cursor = self._connection.execute(statement(name), values)
            while rows := cursor.fetchmany(size):
                yield rows

    def execute(self, name: str, *values: Any, **named: Any) -> int:  # noqa: ANN401
        """Run a statement that changes something; return the number of rows affected."""
        # No context manager here: this runs several times per visit.
        try:
            return self._connection.execute(statement(name), named or values).rowcount
        except sqlite3.Error as error:
            raise store_error(self.path, error) from error

    def execute_many(self, name: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once per row."""
        try:
            self._connection.executemany(statement(name), rows)
        except sqlite3.Error as error:
            raise store_error(self.path, error) from error

    def back_up(self, target: Path) -> None:
        """Write a consistent copy of the store, while others go on writing."""
        _create_private(target)
        with store_errors(str(target)):
            copy = sqlite3.connect(target)
            try:
                # All in one step: between steps, a write by another process would restart it.
                self._connection.backup(copy)
            finally:
                copy.close()

    def schema_differences(self) -> list[str]:
        """Return how the file's tables, indexes, triggers and views differ from a store's."""
        with store_errors(self.path):
            return list(differences(schema_of(self._connection), _version(self._connection)))

    def size(self) -> int:
        """Return the size of the file in bytes, without its write-ahead log."""
        (pages,), (size,) = (self.rows(name)[0] for name in ("file_pages", "page_bytes"))
        return int(pages * size)

    @contextmanager
    def transaction(self, begin: str = "begin_write") -> Iterator[None]:
        """Run the block in one transaction."""
        self.execute(begin)
        try:
            yield
            self.execute("commit")
        except BaseException:
            # After a full disk SQLite may have rolled back already.
            if self._connection.in_transaction:
                self.execute("rollback")
            raise


def _connect(path: str) -> sqlite3.Connection:
    """Connect to a file, also on a read-only file system, where no log can be beside it."""
    connection = _connected(path)
    try:
        _version(connection)
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorcode & _PRIMARY != sqlite3.SQLITE_CANTOPEN or not _is_frozen(path):
            raise
        return _connected(f"{Path(path).absolute().as_uri()}?immutable=1")
    except BaseException:
        connection.close()
        raise
    return connection


def _connected(where: str) -> sqlite3.Connection:
    return sqlite3.connect(
        where,
        timeout=BUSY_TIMEOUT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        uri=where.startswith("file:///"),
    )


def _is_frozen(path: str) -> bool:
    """Whether a store is on a read-only file system, so that nobody changes it while it is read.

    Raises:
        StoreError: It is, but what was written last is not in the file.
    """
    try:
        if not os.statvfs(path).f_flag & os.ST_RDONLY:
            return False
        log = Path(f"{path}-wal")
        if log.exists() and log.stat().st_size:
            raise StoreError(
                f"{path}: the file system is read-only, and {log.name} has what was written last; "
                "copy both files to where they can be written"
            )
    except OSError:
        return False
    return True


def _file_number(path: Path) -> int | None:
    """Return the number that tells a file from others of its name; None if there is none."""
    try:
        return path.stat().st_ino
    except OSError:
        return None


def _check_path(path: Path, *, create: bool) -> None:
    """Reject paths for which SQLite's own error would be less clear, or that it would create."""
    try:
        if path.is_dir():
            raise StoreError(f"{path}: this is a folder, not a store")
        if not path.exists():
            if not create:
                raise _missing(str(path))
            if not path.parent.is_dir():
                raise StoreError(f"{path}: there is no folder {path.parent}")
            _create_private(path)
    except OSError as error:
        raise StoreError(f"{path}: it cannot be read: {error.strerror}") from None


def _create_private(path: Path) -> None:
    """Create an empty file for its owner alone: copies, tokens and secrets will be in it.

    SQLite gives the files beside it, such as its log, the same permissions. If this fails, SQLite
    says why.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))


def is_private(path: str) -> bool:
    """Whether only its owner can read or write a store; one in memory is."""
    try:
        return path == MEMORY or os.name != "posix" or not Path(path).stat().st_mode & 0o077
    except OSError:
        return True


def _missing(path: str) -> StoreError:
    return StoreError(f"{path}: there is no store here; `recrawl add URL` creates one")


def _recognise(connection: sqlite3.Connection, path: str, *, create: bool) -> None:
    """Reject a file that is not a store, unless it is empty and should become one."""
    (application,) = connection.execute(statement("application")).fetchone()
    version = _version(connection)
    if application == APPLICATION:
        newest = len(migrations())
        if version > newest:
            raise StoreError(
                f"{path}: the store was made by a newer recrawl (version {version}; "
                f"this one reads up to {newest}); upgrade recrawl"
            )
        return
    (tables,) = connection.execute(statement("tables")).fetchone()
    if application or version or tables:
        raise StoreError(f"{path}: this is another program's SQLite file, not a recrawl store")
    if not create:
        raise _missing(path)


def _refuse_foreign(connection: sqlite3.Connection, path: str) -> None:
    """Reject a store with triggers or views of others: they would run whenever it is used."""
    found = list(foreign(schema_of(connection)))
    if found:
        raise StoreError(
            f"{path}: somebody else put {found[0]} into this store; restore the file from a backup"
        )


def _migrate(connection: sqlite3.Connection) -> None:
    """Apply pending migrations, one transaction each; write nothing if there are none."""
    for version, script in enumerate(migrations(), 1):
        if _version(connection) >= version:
            continue
        connection.execute(statement("begin_write"))
        try:
            # Checked again under the lock: another process may have been faster.
            if _version(connection) < version:
                for command in script:
                    connection.execute(command)
            connection.execute(statement("commit"))
        except BaseException:
            if connection.in_transaction:
                connection.execute(statement("rollback"))
            raise


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute(statement("version")).fetchone()
    return int(version)


@contextmanager
def store_errors(path: str) -> Iterator[None]:
    """Turn SQLite's errors into a `StoreError` that names the store."""
    try:
        yield
    except sqlite3.Error as error:
        raise store_error(path, error) from error


def store_error(path: str, error: sqlite3.Error) -> StoreError:
    """Return the exception to raise for an error of SQLite's.

    >>> store_error("my.db", sqlite3.ProgrammingError("Cannot operate on a closed database."))
    StoreError('my.db: the store cannot be used (Cannot operate on a closed database.)')
    """
    # Misuse of the module, such as using a closed connection, has no SQLite error code.
    code = getattr(error, "sqlite_errorcode", None)
    known = _SENTENCES.get(code & _PRIMARY) if code is not None else None
    return StoreError(f"{path}: {known or f'the store cannot be used ({error})'}")
