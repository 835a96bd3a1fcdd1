"""Save a frontier to a file, atomically, and check it when it is loaded."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recrawl.errors import ArgumentError, StateError
from recrawl.estimation.belief import Prior
from recrawl.estimation.octaves import make_curves
from recrawl.estimation.saving import read_columns, write_columns
from recrawl.kernels.jit import Floats
from recrawl.scheduling.state import (
    HOST,
    LISTS,
    PAGE,
    SECTION,
    SHARED,
    UNLINKED,
    FrontierSettings,
    Tables,
)
from recrawl.scheduling.upgrading import (
    OLDEST,
    upgrade_beliefs,
    upgraded_counters,
    upgraded_settings,
    upgraded_tables,
)

KIND = "frontier"
VERSION = 8


@dataclass(frozen=True, eq=False)
class Saved:
    """The contents of a file."""

    tables: Tables
    settings: FrontierSettings
    prior: Prior | None
    counters: Floats


def save(
    path: str | os.PathLike[str],
    tables: Tables,
    settings: FrontierSettings,
    prior: Prior | None,
    counters: list[float],
) -> None:
    """Write a frontier to a file."""
    columns: dict[str, Any] = tables._asdict()
    del columns["curves"]
    columns["counters"] = np.array(counters, np.float64)
    if prior is not None:
        columns["prior"] = np.array(np.broadcast_arrays(prior.shape, prior.time), np.float64)
    header = {"state": KIND, "version": VERSION, "settings": asdict(settings)}
    write_columns(path, header, columns)


def load(path: str | os.PathLike[str]) -> Saved:
    """Read a file that `save` wrote."""
    source = Path(path)
    header, columns = read_columns(source, "a frontier's state")
    if header.get("state") != KIND:
        raise StateError(f"{source}: not a frontier's state, or damaged")
    version = header.get("version")
    if not isinstance(version, int) or not OLDEST <= version <= VERSION:
        raise StateError(
            f"{source}: frontier version {version}; this recrawl reads versions {OLDEST} to "
            f"{VERSION}; load it with the recrawl that saved it"
        )
    try:
        settings = upgraded_settings(header["settings"])
        counters = upgraded_counters(columns["counters"], version)
        prior = Prior(*columns["prior"]) if "prior" in columns else None
        if version < VERSION:
            tables = upgraded_tables(columns, version, settings, counters)
            _check(tables, counters)
            upgrade_beliefs(tables, columns["pages"], version, prior, settings)
        else:
            saved = {name: columns[name] for name in Tables._fields if name != "curves"}
            tables = Tables(**saved, curves=make_curves())
            _check(tables, counters)
    except (KeyError, TypeError, ValueError, ArgumentError) as error:
        raise StateError(f"{source}: not a frontier's state, or damaged") from error
    return Saved(tables, settings, prior, counters)


def _check(tables: Tables, counters: Floats) -> None:
    """Reject inconsistent tables, as kernels do not check indices."""
    kinds = (PAGE, HOST, SECTION, SHARED, np.dtype(np.int32))
    for part, kind in zip(tables[:-1], kinds, strict=True):
        if part.dtype != kind or part.ndim != 1:
            raise ValueError(part.dtype)
    limits = (
        (tables.pages["host"], tables.hosts.size),
        (tables.pages["section"], tables.sections.size),
        (tables.pages["next"], tables.pages.size),
        (tables.pages["sibling"], tables.pages.size),
        (tables.heads, tables.pages.size),
        (tables.sections["host"], tables.hosts.size),
        (tables.sections["next_section"], tables.sections.size),
        (tables.sections["first_page"], tables.pages.size),
        (tables.hosts["first_section"], tables.sections.size),
        (tables.hosts["queue"], tables.pages.size),
        (tables.hosts["queue_end"], tables.pages.size),
        (tables.hosts["turn_after"], tables.hosts.size),
        (tables.hosts["turn_before"], tables.hosts.size),
        (tables.shared["turn"], tables.hosts.size),
    )
    before = tables.pages["before"]
    if before.size and not -2 - LISTS < before.min() <= before.max() < before.size:
        raise ValueError(before.size)
    for column, size in limits:
        if column.size and not UNLINKED <= column.min() <= column.max() < max(size, 1):
            raise ValueError(size)
    if counters.shape != (6,) or tables.heads.size != LISTS or tables.shared.size != 1:
        raise ValueError(counters.shape)
