"""Transfer what was learned, apart from beliefs, from one frontier to another.

That is the activity of hosts and sections, the trust in signals, and the weekly rhythm.
"""

import math

import numpy as np

from recrawl.estimation.signals import MAX_ODDS as MAX_SIGNAL_ODDS
from recrawl.kernels.jit import Ints
from recrawl.scheduling.neighbours import MAX_ODDS
from recrawl.scheduling.rhythm import MAX_ODDS as MAX_WEEK_ODDS
from recrawl.scheduling.rhythm import begin_rhythm
from recrawl.scheduling.state import (
    BINS,
    STALE,
    TRUST,
    WEEK_BINS,
    Rows,
    Tables,
    set_usual_trust,
)

#: What is stored for a host or section; for a section, without odds and totals.
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
#: What is stored for the signals of a host.
SIGNALS = np.dtype(TRUST)
#: What is stored for the weekly rhythm.
WEEK = np.dtype(
    [
        ("week_odds", np.float64),
        ("week_found", np.float64, (WEEK_BINS,)),
        ("week_expected", np.float64, (WEEK_BINS,)),
    ]
)
_BINS = ("newest", "found", "expected")
_TOTALS = ("odds", "all_found", "all_expected")
#: Bins whose width differs from the frontier's by more than this factor are useless.
MAX_FACTOR = 2.0


def clocks_of(tables: Tables, rows: Rows) -> Rows:
    """Return what is stored for rows of hosts or sections."""
    clocks = np.zeros(rows.size, CLOCK)
    clocks["width"] = tables.shared["bin_width"][0]
    for name in (*_BINS, *(_TOTALS if "odds" in (rows.dtype.names or ()) else ())):
        clocks[name] = rows[name]
    return clocks


def set_width(tables: Tables, clocks: Rows, now: float) -> None:
    """Adopt the width of the bins that were last in use, if it is of the right order."""
    usual = tables.shared["bin_width"][0]
    with np.errstate(all="ignore"):
        share = clocks["width"] / usual
        fits = (share > 1.0 / MAX_FACTOR) & (share < MAX_FACTOR)
        ends = np.where(fits, clocks["newest"] * clocks["width"], -math.inf)
    if clocks.size and -math.inf < ends.max() <= now:
        tables.shared["bin_width"][0] = clocks["width"][ends.argmax()]


def restore_hosts(tables: Tables, host: Ints, clocks: Rows, now: float) -> None:
    """Restore what was stored for hosts, unless neighbours are switched off."""
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
    """Restore the bins of hosts or sections, if they have the frontier's width."""
    width = float(tables.shared["bin_width"][0])
    bins = np.concatenate([clocks["found"], clocks["expected"]], axis=1)
    usable = (clocks["width"] == width) & (clocks["newest"] <= math.floor(now / width))
    usable &= (np.isfinite(bins) & (bins >= 0.0)).all(1)
    for name in _BINS:
        activity[name][row[usable]] = clocks[name][usable]
    activity["refreshed"][row[usable]] = STALE
    host = row if activity is tables.hosts else tables.sections["host"][row]
    learned = tables.hosts["learned"]
    learned[host[usable]] = np.maximum(learned[host[usable]], 1)


def untold(hosts: int) -> Rows:
    """Return the initial trust in the signals of hosts without any."""
    rows = np.zeros(hosts, SIGNALS)
    set_usual_trust(rows)
    return rows


def trust_of(tables: Tables, host: Ints) -> Rows:
    """Return the trust in the signals of hosts."""
    rows = np.zeros(host.size, SIGNALS)
    for name in SIGNALS.names or ():
        rows[name] = tables.hosts[name][host]
    return rows


def restore_trust(tables: Tables, host: Ints, rows: Rows) -> None:
    """Restore the trust in the signals of hosts; implausible values are left out."""
    usable = np.isfinite(rows["right"]).all(1) & np.isfinite(rows["seen"]).all(1)
    usable &= np.isfinite(rows["alone"]) & np.isfinite(rows["missed"])
    usable &= (rows["right"] >= 0.0).all(1) & (rows["seen"] > 0.0).all(1)
    usable &= (rows["alone"] >= 0.0) & (rows["missed"] > 0.0)
    for name in SIGNALS.names or ():
        column = rows[name][usable]
        if name.endswith("_odds"):
            column = np.nan_to_num(np.clip(column, -MAX_SIGNAL_ODDS, MAX_SIGNAL_ODDS))
        tables.hosts[name][host[usable]] = column


def rhythm_of(tables: Tables) -> Rows:
    """Return the weekly rhythm, as one row."""
    row = np.zeros(1, WEEK)
    for name in WEEK.names or ():
        row[name] = tables.shared[name]
    return row


def restore_rhythm(tables: Tables, row: Rows, now: float) -> None:
    """Restore a weekly rhythm, unless it is switched off."""
    bins = np.concatenate([row["week_found"][0], row["week_expected"][0]])
    is_usable = bool(np.isfinite(bins).all() and (bins >= 0.0).all())
    if not is_usable or not np.isfinite(tables.shared["week_odds"][0]):
        return
    for name in WEEK.names or ():
        tables.shared[name] = row[name]
    odds = np.clip(row["week_odds"], -MAX_WEEK_ODDS, MAX_WEEK_ODDS)
    tables.shared["week_odds"] = np.nan_to_num(odds)
    tables.shared["week_refit_at"] = now
    begin_rhythm(tables, now)
