"""The stores that have to keep what `recrawl.store.protocols.Store` promises."""

from collections.abc import Callable
from pathlib import Path

from recrawl.store.protocols import Store
from recrawl.store.rows import Retention
from recrawl.store.sqlite import SqliteStore

#: Opens an empty store, in a folder if it needs one.
Opening = Callable[[Path, Retention], Store]


def _sqlite_file(folder: Path, retention: Retention) -> Store:
    return SqliteStore.open(folder / "recrawl.db", create=True, retention=retention)


def _sqlite_memory(_folder: Path, retention: Retention) -> Store:
    return SqliteStore.open(":memory:", create=True, retention=retention)


STORES: dict[str, Opening] = {"file": _sqlite_file, "memory": _sqlite_memory}
