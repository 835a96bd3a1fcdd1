"""The activity of hosts and sections, taken out of a frontier and put into another one."""

import math

import numpy as np

from recrawl.kernels.jit import Ints
from recrawl.scheduling.neighbours import MAX_ODDS
from recrawl.scheduling.state import BINS, STALE, Rows, Tables

#: What is remembered of a host or section; of a section, no odds and no totals.
CLOCK = np.dtype(
    [
        ("width", np.float64),  # days per bin
        ("newest", np.int64),  # number of the newest bin
        ("odds", np.float64),
        ("all_found", np.float64),
        ("all_expected", np.float64),
        ("found", np.float32, (BINS,)),
        ("expected", np.float32, (BINS,)),
    ]
)
_BINS = ("newest", "found", "expected")
_TOTALS = ("odds", "all_found", "all_expected")
#: Bins of another width than the frontier's by more than this factor are of no use.
MAX_FACTOR = 2.0


def clocks_of(tables: Tables, rows: Rows) -> Rows:
    """Return what is to be remembered of rows of hosts or sections."""
    clocks = np.zeros(rows.size, CLOCK)
    clocks["width"] = tables.shared["bin_width"][0]
    for name in (*_BINS, *(_TOTALS if "odds" in (rows.dtype.names or ()) else ())):
        clocks[name] = rows[name]
    return clocks


def set_width(tables: Tables, clocks: Rows, now: float) -> None:
    """Continue with the width of the bins that were in use last, if it is of the right order."""
    usual = tables.shared["bin_width"][0]
    with np.errstate(all="ignore"):
        share = clocks["width"] / usual
        fits = (share > 1.0 / MAX_FACTOR) & (share < MAX_FACTOR)
        ends = np.where(fits, clocks["newest"] * clocks["width"], -math.inf)
    if clocks.size and -math.inf < ends.max() <= now:
        tables.shared["bin_width"][0] = clocks["width"][ends.argmax()]


def restore_hosts(tables: Tables, host: Ints, clocks: Rows, now: float) -> None:
    """Put back what was remembered of hosts, unless neighbours are switched off."""
    totals = np.stack([clocks[name] for name in _TOTALS])
    known = np.isfinite(totals).all(0) & (totals[1:] > 0.0).all(0)
    known &= tables.hosts["odds"][host] > -math.inf
    rows = host[known]
    for name in _TOTALS:
        tables.hosts[name][rows] = clocks[name][known]
    tables.hosts["odds"][rows] = np.clip(tables.hosts["odds"][rows], -MAX_ODDS, MAX_ODDS)
    tables.hosts["trust"][rows] = 1.0 / (1.0 + np.exp(-tables.hosts["odds"][rows]))
    restore_bins(tables, tables.hosts, rows, clocks[known], now)


def restore_bins(tables: Tables, activity: Rows, row: Ints, clocks: Rows, now: float) -> None:
    """Put back the bins of hosts or sections, if they are of the frontier's width."""
    width = float(tables.shared["bin_width"][0])
    bins = np.concatenate([clocks["found"], clocks["expected"]], axis=1)
    usable = (clocks["width"] == width) & (clocks["newest"] <= math.floor(now / width))
    usable &= (np.isfinite(bins) & (bins >= 0.0)).all(1)
    for name in _BINS:
        activity[name][row[usable]] = clocks[name][usable]
    activity["refreshed"][row[usable]] = STALE
