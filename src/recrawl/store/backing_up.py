"""Back up a store, atomically."""

import os
import secrets
from pathlib import Path

from recrawl.errors import StoreError
from recrawl.store.database import Database


def back_up(database: Database, target: str | os.PathLike[str], *, replace: bool) -> int:
    """Write a copy of a store; see `SqliteStore.back_up`."""
    path = Path(target).resolve()
    if path.exists() and Path(database.path).exists() and path.samefile(database.path):
        raise StoreError(f"{target}: this is the store itself; choose another file")
    if path.with_name(f"{path.name}-wal").exists():
        raise StoreError(f"{target}: this is a store in use, or one that crashed; choose another")
    if path.exists() and not replace:
        raise StoreError(f"{target}: this file exists; name another, or replace it (--force)")
    part = path.with_name(f".recrawl-{secrets.token_hex(8)}")
    try:
        database.back_up(part)
        with part.open("rb") as file:
            os.fsync(file.fileno())
        size = part.stat().st_size
        part.replace(path)
    except OSError as error:
        raise StoreError(f"{target}: it cannot be written: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)
    return size
