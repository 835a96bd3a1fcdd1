"""From any older version of the store to this one, a transaction each."""

import sqlite3

from recrawl.errors import StoreError
from recrawl.store.queries import migrations, statement

#: "rcrl" as a number, which SQLite keeps in the file's header.
APPLICATION = int.from_bytes(b"rcrl", "big")


def missing(place: str) -> StoreError:
    """Say that there is no store, and how one is made."""
    return StoreError(f"{place}: there is no store here; `recrawl add URL` makes one")


def recognise(connection: sqlite3.Connection, place: str, *, create: bool) -> None:
    """Refuse a file that is not a store, unless it is empty and is to become one."""
    (application,) = connection.execute(statement("application")).fetchone()
    (version,) = connection.execute(statement("version")).fetchone()
    if application == APPLICATION:
        newest = len(migrations())
        if version > newest:
            raise StoreError(
                f"{place}: the store was made by a newer recrawl (version {version}, "
                f"this one reads up to {newest}); install that one"
            )
        return
    (tables,) = connection.execute(statement("tables")).fetchone()
    if application or version or tables:
        raise StoreError(f"{place}: this is an SQLite file of something else, not a recrawl store")
    if not create:
        raise missing(place)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a store up to date; where it is, it is not written to."""
    for version, script in enumerate(migrations(), 1):
        if _version(connection) >= version:
            continue
        connection.execute(statement("begin_write"))
        try:
            # Asked again under the lock: another process may have been quicker.
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
