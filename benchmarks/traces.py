"""Recorded histories to measure on, if present; they are not part of the project."""

import os
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.sizes import is_smallest, sized
from recrawl import World

BESIDE = Path(__file__).parents[2] / "shared" / "traces"


class Recorded(NamedTuple):
    """A trace, the window to replay, and the mean days between visits to a page."""

    name: str
    start: str
    end: str
    every: tuple[int, ...]


TRACES = (
    Recorded("mdn", "2021-10-01", "2026-08-20", sized((90, 30, 7), (30,))),
    Recorded("ota-france", "2023-01-01", "2026-08-01", (30, 7)),
    Recorded("ota-pga", "2023-01-01", "2026-08-01", (30, 7)),
)[: sized(None, 1)]


def folder() -> Path:
    """Return the folder of the traces: ``RECRAWL_TRACES``, or the default next to the project."""
    return Path(os.environ.get("RECRAWL_TRACES", BESIDE))


def are_there(section: str) -> bool:
    """Return whether all traces exist; if not, print that a section stays as it is."""
    if is_smallest():
        return True
    missing = [trace.name for trace in TRACES if not (folder() / trace.name).is_dir()]
    if missing:
        print(
            f"no trace '{missing[0]}' in {folder()}; set RECRAWL_TRACES to their folder; "
            f"the section {section} stays as it is",
            file=sys.stderr,
        )
    return not missing


@cache
def world(name: str) -> World:
    """Read a trace's window; at the smallest size, make up a few pages instead."""
    if is_smallest():
        return World.poisson(np.linspace(0.1, 1.0, 4), days=15.0)
    trace = next(trace for trace in TRACES if trace.name == name)
    return World.from_trace(folder() / name, start=trace.start, end=trace.end)
