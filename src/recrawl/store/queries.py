"""The store's SQL: every statement by its name, read from `queries.sql`, and the migrations."""

import sqlite3
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

_NAME = "-- name: "
_COMMENT = "-- "


class Query(NamedTuple):
    """A statement and the reason why it is there."""

    why: str
    sql: str


def read_queries(text: str) -> dict[str, Query]:
    r"""Read named statements: a line with the name, lines that say why, then SQL.

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
    """Give every statement the store runs."""
    return read_queries((files(__package__) / "sql" / "queries.sql").read_text(encoding="utf-8"))


@cache
def statement(name: str) -> str:
    """Give a statement's SQL."""
    return queries()[name].sql


@cache
def migrations() -> tuple[tuple[str, ...], ...]:
    """Give the statements of every migration; the first makes version 1 of an empty file."""
    folder = files(__package__) / "sql" / "migrations"
    scripts = sorted((file for file in folder.iterdir()), key=lambda file: file.name)
    return tuple(tuple(_statements(file.read_text(encoding="utf-8"))) for file in scripts)


def _statements(script: str) -> Iterator[str]:
    """Take a script apart: run as a whole it would end the transaction it is meant to be in."""
    lines: list[str] = []
    for line in script.splitlines():
        lines.append(line)
        if line.rstrip().endswith(";") and sqlite3.complete_statement("\n".join(lines)):
            yield "\n".join(lines)
            lines.clear()
