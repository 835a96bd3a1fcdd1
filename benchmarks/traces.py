"""Recorded histories to measure on, where there are some: they are no part of the project."""

import os
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from recrawl import World

BESIDE = Path(__file__).parents[2] / "shared" / "traces"


class Recorded(NamedTuple):
    """A trace, the window that is replayed, and the days between a page's visits on average."""

    name: str
    start: str
    end: str
    every: tuple[int, ...]


TRACES = (
    Recorded("mdn", "2021-10-01", "2026-08-20", (90, 30, 7)),
    Recorded("ota-france", "2023-01-01", "2026-08-01", (30, 7)),
    Recorded("ota-pga", "2023-01-01", "2026-08-01", (30, 7)),
)


def folder() -> Path:
    """Give where traces are: in the folder ``RECRAWL_TRACES`` names, else beside the project."""
    return Path(os.environ.get("RECRAWL_TRACES", BESIDE))


def are_there(section: str) -> bool:
    """Whether all traces are there; if not, say that a section keeps what it had."""
    missing = [trace.name for trace in TRACES if not (folder() / trace.name).is_dir()]
    if missing:
        print(
            f"no trace '{missing[0]}' in {folder()}, which RECRAWL_TRACES may name; "
            f"the section {section} keeps what it had",
            file=sys.stderr,
        )
    return not missing


@cache
def world(name: str) -> World:
    """Read a trace's window."""
    trace = next(trace for trace in TRACES if trace.name == name)
    return World.from_trace(folder() / name, start=trace.start, end=trace.end)
