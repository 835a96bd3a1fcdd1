"""The store's SQL: the named statements in `queries.sql`, and the migrations."""

import sqlite3
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

_NAME = "-- name: "
_COMMENT = "-- "


class Query(NamedTuple):
    """A statement and its purpose."""

    why: str
    sql: str


def read_queries(text: str) -> dict[str, Query]:
    r"""Parse named statements: a line with the name, lines with the purpose, then SQL.

    >>> read_queries("-- name: one\n-- Shows how.\nSELECT 1;\n")
    {'one': Query(why='Shows how.', sql='SELECT 1;')}
    """
    found: dict[str, Query] = {}
    for part in text.split(f"\n{_NAME}" if not text.startswith(_NAME) else _NAME)[1:]:
        name, *lines = part.strip().splitlines()
        if name in found:
            raise ValueError(f"two statements are named {name}")
        why = [line.removeprefix(_COMMENT) for line in lines if line.startswith(_COMMENT)]
        sql = [line for line in lines if not line.startswith(_COMMENT)]
        found[name] = Query(" ".join(why), "\n".join(sql).strip())
    return found


@cache
def queries() -> Mapping[str, Query]:
    """Return every statement the store runs, by name."""
    return read_queries((files(__package__) / "sql" / "queries.sql").read_text(encoding="utf-8"))


@cache
def statement(name: str) -> str:
    """Return the SQL of a statement."""
    return queries()[name].sql


@cache
def migrations() -> tuple[tuple[str, ...], ...]:
    """Return the statements of each migration; the first turns an empty file into version 1."""
    folder = files(__package__) / "sql" / "migrations"
    scripts = sorted(folder.iterdir(), key=lambda file: file.name)
    return tuple(tuple(_statements(file.read_text(encoding="utf-8"))) for file in scripts)


def _statements(script: str) -> Iterator[str]:
    """Split a script: SQLite would commit the open transaction before running it as a whole."""
    lines: list[str] = []
    for line in script.splitlines():
        lines.append(line)
        if line.rstrip().endswith(";") and sqlite3.complete_statement("\n".join(lines)):
            yield "\n".join(lines)
            lines.clear()
