"""Read the changes of a trace's pages during a window of time."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from recrawl.errors import ArgumentError
from recrawl.formats.traces import Trace, read_trace
from recrawl.hosts import number_hosts
from recrawl.kernels.jit import Floats, Ints
from recrawl.records import SECONDS_A_DAY
from recrawl.simulation.models import Changes, in_order
from recrawl.units import parse_time


class Recorded(NamedTuple):
    """The pages that existed throughout a window, and their changes in days since its start."""

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
) -> Recorded:
    """Read a trace; keep the pages that were created before the window and removed after it."""
    trace = read_trace(path, ignore_unknown=ignore_unknown)
    first, last = _window(trace, start, end)
    existed = (trace.born <= first) & (trace.died > last)
    if not existed.any():
        raise ArgumentError(
            f"start: no page existed from {_iso(first)} to {_iso(last)}; choose another window"
        )
    inside = (trace.change_time > first) & (trace.change_time <= last) & existed[trace.change_page]
    number = np.cumsum(existed) - 1
    days = (last - first) / SECONDS_A_DAY
    change = (trace.change_time[inside] - first) / SECONDS_A_DAY
    names = [trace.name[page] for page in np.flatnonzero(existed)]
    host = number_hosts(pa.array(names, pa.large_string()))[0]
    return Recorded(
        days,
        in_order(number[trace.change_page[inside]], np.minimum(change, days), len(names)),
        trace.importance[existed],
        host,
        sections(names, host),
    )


def sections(names: Sequence[str], host: Ints) -> Ints:
    """Number the sections of pages: a page's section is the folder in its name, on its host.

    >>> sections(["a/x", "a/y", "b/x", "z"], np.zeros(4, np.int64))
    array([0, 0, 1, 2])
    """
    # With the host, as only the scheme is left of URLs without a path, which would share it.
    folders = [(on, name.rpartition("/")[0]) for on, name in zip(host.tolist(), names, strict=True)]
    number = {folder: i for i, folder in enumerate(dict.fromkeys(folders))}
    return np.array([number[folder] for folder in folders], np.int64)


def _window(
    trace: Trace, start: datetime | str | None, end: datetime | str | None
) -> tuple[float, float]:
    """Return the window in Unix seconds."""
    times = trace.change_time
    if not times.size and (start is None or end is None):
        raise ArgumentError(
            "start: there are no changes to choose a window from; give start and end"
        )
    first = float(np.sort(times)[times.size // 4]) if start is None else _seconds("start", start)
    last = float(times.max()) if end is None else _seconds("end", end)
    if first >= last:
        raise ArgumentError(f"end: {_iso(last)} is not after the start, {_iso(first)}")
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


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
