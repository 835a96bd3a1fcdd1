"""What a store's tables, indexes, triggers and views are, and how those of a file differ."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import cache

from recrawl.store.queries import migrations, statement

#: SQL by kind and name: tables, indexes, triggers and views.
Schema = Mapping[tuple[str, str], str]

#: What runs by itself, or stands for other data, when a store is read or written.
ACTIVE = ("trigger", "view")


@cache
def own_schema(version: int) -> Schema:
    """Return the schema that a store of a version has."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for script in migrations()[:version]:
            for command in script:
                connection.execute(command)
        return schema_of(connection)


def schema_of(connection: sqlite3.Connection) -> Schema:
    """Return the schema of a file, without what SQLite adds by itself."""
    rows = connection.execute(statement("schema")).fetchall()
    return {(kind, name): _normal(sql) for kind, name, sql in rows}


def foreign(found: Schema) -> Iterator[str]:
    """Yield the triggers and views of a file that are of no version of a store."""
    own = _own_statements()
    for (kind, name), sql in found.items():
        if kind in ACTIVE and sql not in own:
            yield f"the {kind} {name}"


@cache
def _own_statements() -> frozenset[str]:
    """Return every statement of the migrations: to make a store of them takes ten times as long."""
    commands = (command for script in migrations() for command in script)
    lines = ([line for line in one.splitlines() if not line.startswith("--")] for one in commands)
    return frozenset(_normal("\n".join(one).rstrip(";")) for one in lines)


def differences(found: Schema, version: int) -> Iterator[str]:
    """Yield how a schema differs from that of a store, in sentences."""
    own = own_schema(version)
    for kind, name in sorted(own.keys() - found.keys()):
        yield f"the {kind} {name} is missing"
    for kind, name in sorted(found.keys() - own.keys()):
        yield f"the {kind} {name} does not belong to a store"
    for kind, name in sorted(own.keys() & found.keys()):
        if own[kind, name] != found[kind, name]:
            yield f"the {kind} {name} is not defined as in a store"


def _normal(sql: str | None) -> str:
    r"""Return SQL without what differs between versions of SQLite.

    >>> _normal('CREATE TABLE "pages" (\n  a)')
    'CREATE TABLE pages ( a)'
    """
    return " ".join((sql or "").replace('"', "").split())
