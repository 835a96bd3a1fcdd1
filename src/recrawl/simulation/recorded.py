"""Read the changes of a trace's pages during a window of time."""

import math
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from recrawl.errors import ArgumentError
from recrawl.formats.traces import Trace, read_trace
from recrawl.hosts import number_hosts
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.records import SECONDS_A_DAY
from recrawl.simulation.models import Changes, in_order
from recrawl.units import parse_time

#: By default, a trace is refused if fewer of its pages exist throughout the window.
MIN_SHARE = 0.1
#: Starts of windows that are tried for a suggestion, as shares of all changes that come before, and
#: the share of pages that suffices there.
_LATER_STARTS, _ENOUGH = np.arange(0.3, 1.0, 0.05), 0.5


class LeftOut(NamedTuple):
    """How many pages of a trace are left out because they did not exist throughout the window.

    Attributes:
        created: Pages that were created after its start.
        removed: Other pages that were removed before its end.
        outside: Pages that existed only before it, or only after it.
    """

    created: int
    removed: int
    outside: int

    @property
    def pages(self) -> int:
        """The number of all of them."""
        return sum(self)

    def __str__(self) -> str:
        reasons = {
            "created after its start": self.created,
            "removed before its end": self.removed,
            "not there during it": self.outside,
        }
        return ", ".join(f"{pages:,} {reason}" for reason, pages in reasons.items() if pages)


#: Stands for a world that has all pages.
NONE_LEFT_OUT = LeftOut(0, 0, 0)


class Recorded(NamedTuple):
    """The pages that existed throughout a window, and their changes in days since its start."""

    days: float
    changes: Changes
    importance: Floats
    host: Ints
    section: Ints
    left_out: LeftOut


def read(
    path: str | os.PathLike[str],
    start: datetime | str | None,
    end: datetime | str | None,
    *,
    min_share: float,
    ignore_unknown: bool,
) -> Recorded:
    """Read a trace; keep the pages that were created before the window and removed after it."""
    if not 0.0 <= min_share <= 1.0:
        raise ArgumentError(f"min_share: {min_share:g} is not a share from 0 to 1")
    trace = read_trace(path, ignore_unknown=ignore_unknown)
    first, last = _window(trace, start, end)
    existed = _throughout(trace, first, last)
    left_out = _left_out(trace, first, last)
    kept = int(existed.sum())
    if not kept:
        raise ArgumentError(
            f"start: no page existed from {_iso(first)} to {_iso(last)}; choose another window"
        )
    if kept < min_share * (kept + left_out.created + left_out.removed):
        raise ArgumentError(
            f"start: of {existed.size:,} pages, only {kept:,} existed throughout the window from "
            f"{_iso(first)} to {_iso(last)} ({left_out}); choose {_better(trace, last)}, or allow "
            "so few (--min-share)"
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
        left_out,
    )


def _throughout(trace: Trace, first: float, last: float) -> Bools:
    return (trace.born <= first) & (trace.died > last)


def _left_out(trace: Trace, first: float, last: float) -> LeftOut:
    during = (trace.born <= last) & (trace.died > first)
    created = int((during & (trace.born > first)).sum())
    removed = int((during & (trace.born <= first) & (trace.died <= last)).sum())
    return LeftOut(created, removed, int((~during).sum()))


def _better(trace: Trace, last: float) -> str:
    """Suggest a window with the same end in which more pages exist throughout."""
    for start in np.quantile(trace.change_time, _LATER_STARTS).tolist():
        first = math.ceil(start / SECONDS_A_DAY) * SECONDS_A_DAY
        kept, out = int(_throughout(trace, first, last).sum()), _left_out(trace, first, last)
        if first < last and kept > _ENOUGH * (out.created + out.removed + kept):
            return f"a later start, such as {_iso(first)[:10]}"
    return "another window"


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
