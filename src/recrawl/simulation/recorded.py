"""What happened to the pages of a trace during a window of time."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np

from recrawl.errors import ArgumentError
from recrawl.formats.traces import Trace, read_trace
from recrawl.kernels.jit import Floats, Ints
from recrawl.records import SECONDS_A_DAY
from recrawl.scheduling.sections import sections
from recrawl.simulation.models import Changes, in_order
from recrawl.units import parse_time


class Lived(NamedTuple):
    """The pages that lived through a window, and when they changed, in days since its start."""

    days: float
    changes: Changes
    importance: Floats
    host: Ints
    section: Ints


def read(
    path: str | os.PathLike[str],
    start: datetime | str | None,
    end: datetime | str | None,
    *,
    ignore_unknown: bool,
) -> Lived:
    """Read a trace and keep the pages that were born before the window and alive after it."""
    trace = read_trace(path, ignore_unknown=ignore_unknown)
    first, last = _window(trace, start, end)
    lives = (trace.born <= first) & (trace.died > last)
    if not lives.any():
        raise ArgumentError(
            f"start: no page lived from {_said(first)} to {_said(last)}; choose another window"
        )
    inside = (trace.change_time > first) & (trace.change_time <= last) & lives[trace.change_page]
    number = np.cumsum(lives) - 1
    days = (last - first) / SECONDS_A_DAY
    change = (trace.change_time[inside] - first) / SECONDS_A_DAY
    names = [trace.name[page] for page in np.flatnonzero(lives)]
    return Lived(
        days,
        in_order(number[trace.change_page[inside]], np.minimum(change, days), len(names)),
        trace.importance[lives],
        hosts(names),
        sections(names),
    )


def hosts(names: Sequence[str]) -> Ints:
    """Number the hosts of pages by their addresses; names that are none have one in common.

    >>> hosts(["https://a.org/x", "https://b.org/", "https://A.org/y", "z"])
    array([0, 1, 0, 2])
    """
    found = [urlsplit(name).netloc.lower() if "://" in name else "" for name in names]
    number = {host: i for i, host in enumerate(dict.fromkeys(found))}
    return np.array([number[host] for host in found], np.int64)


def _window(
    trace: Trace, start: datetime | str | None, end: datetime | str | None
) -> tuple[float, float]:
    """Give the window in Unix seconds."""
    times = trace.change_time
    if not times.size and (start is None or end is None):
        raise ArgumentError("start: there are no changes to choose a window by; give start and end")
    first = float(np.sort(times)[times.size // 4]) if start is None else _seconds("start", start)
    last = float(times.max()) if end is None else _seconds("end", end)
    if first >= last:
        raise ArgumentError(f"end: {_said(last)} is not after {_said(first)}, where it starts")
    return first, last


def _seconds(name: str, time: datetime | str) -> float:
    if isinstance(time, str):
        try:
            return parse_time(time).timestamp()
        except ArgumentError as error:
            raise ArgumentError(f"{name}: {error}") from None
    if time.tzinfo is None:
        raise ArgumentError(f"{name}: {time} has no time zone; give it one, as in tzinfo=UTC")
    return time.timestamp()


def _said(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
