"""A frontier in a file: written whole or not at all, and recognised when read."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recrawl.errors import StateError
from recrawl.estimation.belief import Prior
from recrawl.estimation.saving import read_columns, write_columns
from recrawl.kernels.jit import Floats
from recrawl.scheduling.state import (
    DESK,
    HOST,
    LISTS,
    PAGE,
    SECTION,
    UNCHAINED,
    Book,
)
from recrawl.scheduling.state_setup import Settings

KIND = "frontier"
VERSION = 1


@dataclass(frozen=True, eq=False)
class Saved:
    """What a file holds."""

    book: Book
    settings: Settings
    prior: Prior | None
    counters: Floats


def save(
    path: str | os.PathLike[str],
    book: Book,
    settings: Settings,
    prior: Prior | None,
    counters: list[float],
) -> None:
    """Write a frontier's parts to a file."""
    columns: dict[str, Any] = book._asdict()
    columns["counters"] = np.array(counters, np.float64)
    if prior is not None:
        columns["prior"] = np.array(np.broadcast_arrays(prior.shape, prior.time), np.float64)
    header = {"state": KIND, "version": VERSION, "settings": asdict(settings)}
    write_columns(path, header, columns)


def load(path: str | os.PathLike[str]) -> Saved:
    """Read what `save` wrote."""
    source = Path(path)
    header, columns = read_columns(source, "a frontier's state")
    if header.get("state") != KIND:
        raise StateError(f"{source}: not a frontier's state, or damaged")
    if header.get("version") != VERSION:
        raise StateError(
            f"{source}: frontier version {header.get('version')}; this recrawl reads version "
            f"{VERSION}; read it with the recrawl that wrote it"
        )
    try:
        settings = Settings(**header["settings"])
        book = Book(*(columns[name] for name in Book._fields))
        counters = columns["counters"]
        prior = Prior(*columns["prior"]) if "prior" in columns else None
        _check(book, counters)
    except (KeyError, TypeError, ValueError) as error:
        raise StateError(f"{source}: not a frontier's state, or damaged") from error
    return Saved(book, settings, prior, counters)


def _check(book: Book, counters: Floats) -> None:
    """Refuse rows that do not fit one another: kernels trust them."""
    kinds = (PAGE, HOST, SECTION, DESK, np.dtype(np.int32))
    for part, kind in zip(book, kinds, strict=True):
        if part.dtype != kind or part.ndim != 1:
            raise ValueError(part.dtype)
    limits = (
        (book.pages["host"], book.hosts.size),
        (book.pages["section"], book.sections.size),
        (book.pages["next"], book.pages.size),
        (book.pages["sibling"], book.pages.size),
        (book.heads, book.pages.size),
        (book.sections["host"], book.hosts.size),
        (book.sections["next_section"], book.sections.size),
        (book.sections["first_page"], book.pages.size),
        (book.hosts["first_section"], book.sections.size),
    )
    before = book.pages["before"]
    if before.size and not -2 - LISTS < before.min() <= before.max() < before.size:
        raise ValueError(before.size)
    for column, size in limits:
        if column.size and not UNCHAINED <= column.min() <= column.max() < max(size, 1):
            raise ValueError(size)
    if counters.shape != (5,) or book.heads.size != LISTS or book.desk.size != 1:
        raise ValueError(counters.shape)
