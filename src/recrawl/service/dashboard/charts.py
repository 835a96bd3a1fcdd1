"""The numbers behind static charts: a page's timeline and the belief about its change rate."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from recrawl.estimation.shown.rates import OCTAVE, ShownRates
from recrawl.inspect.explain import Explanation
from recrawl.inspect.pages import VISITED
from recrawl.kernels.jit import Floats
from recrawl.records import MICROSECONDS_A_DAY, Outcome
from recrawl.store.listing import PageColumns
from recrawl.store.rows import LoggedVisit
from recrawl.units import format_rate

#: Points of a curve between two visits, and of the curve of a belief.
POINTS_PER_GAP, POINTS = 16, 160
#: How much denser the points between visits are at first than at last: a page that changes within
#: seconds is stale long before the next visit, however far off that is.
CLOSER = 1_000.0
#: Bars per decade of rates, and how many there are at most; slower pages are in the first.
BARS_PER_DECADE, MIN_BARS, MAX_BARS = 4, 8, 40
#: How much wider than the interval the belief is drawn, as a factor of the rate.
MARGIN = 2.5
#: Rates per day that are marked on an axis: from thousands per second down to once in ten years.
MARKS = (
    *(86_400.0 * rate for rate in (10_000, 3_000, 1_000, 300, 100, 30, 10, 3, 1)),
    *(1_440.0 * rate for rate in (30, 12, 6, 3, 1)),
    *(24.0 * rate for rate in (30, 12, 6, 2, 1)),
    *(
        12.0,
        6.0,
        3.0,
        1.0,
        1 / 2,
        1 / 4,
        1 / 7,
        1 / 14,
        1 / 30,
        1 / 90,
        1 / 365,
        1 / 1_000,
        1 / 3_650,
    ),
)


def timeline(
    details: Explanation, rates: ShownRates | None, visits: Sequence[LoggedVisit]
) -> dict[str, Any]:
    """Return a page's visits over time, and the probability that its copy was stale in between.

    Args:
        details: When the page is visited next.
        rates: What is believed about it now, from which the curve is computed; None if nothing.
        visits: Its visits, newest first.
    """
    past = list(reversed(visits))
    points = [[visit.at / 1e6, visit.outcome.name.lower()] for visit in past]
    now, due = details.now, details.due
    until = now if due is None else max(due, now)
    curve = _stale_curve(rates, past, until)
    return {
        "visits": points,
        "now": now / 1e6,
        "next": None if due is None else due / 1e6,
        "x": [at for at, _ in curve],
        "stale": [None if share is None else round(100 * share, 2) for _, share in curve],
    }


def _stale_curve(
    rates: ShownRates | None, past: Sequence[LoggedVisit], until: int
) -> list[tuple[float, float | None]]:
    seen = [visit.at for visit in past if visit.outcome not in (Outcome.FAILED, Outcome.GONE)]
    if rates is None or not seen:
        return [(visit.at / 1e6, None) for visit in past]
    at_all_points = rates.of(np.zeros(POINTS_PER_GAP, np.int64))
    steps = (np.geomspace(1.0, CLOSER, POINTS_PER_GAP) - 1.0) / (CLOSER - 1.0)
    curve: list[tuple[float, float | None]] = []
    for start, end in zip(seen, [*seen[1:], max(until, seen[-1] + 1)], strict=True):
        times = steps * (end - start)
        shares: Floats = 1.0 - at_all_points.fresh(times / MICROSECONDS_A_DAY)
        curve += [
            ((start + after) / 1e6, share)
            for after, share in zip(times.tolist(), shares.tolist(), strict=True)
        ]
    return _rising(curve)


def _rising(curve: list[tuple[float, float | None]]) -> list[tuple[float, float | None]]:
    """Return a curve whose times rise: a copy that is made is fresh a little after it was stale."""
    risen: list[tuple[float, float | None]] = []
    for at, share in curve:
        after = at if not risen or at > risen[-1][0] else math.nextafter(risen[-1][0], math.inf)
        risen.append((after, share))
    return risen


def belief_curve(details: Explanation, belief: ShownRates | None) -> dict[str, Any] | None:
    """Return how likely each change rate is, over the logarithm of the rate; None without belief.

    The density of the logarithm is that of the octaves of rates, linear between their middles.
    """
    low, high = details.low, details.high
    if belief is None or low is None or high is None:
        return None
    rates = np.geomspace(low / MARGIN, high * MARGIN, POINTS)
    density = np.interp(np.log2(rates), OCTAVE, belief.believed(slice(0, 1))[0])
    density /= density.max()
    return {
        "x": [_significant(rate) for rate in rates.tolist()],
        "density": [round(one, 4) for one in density.tolist()],
        "low": low,
        "high": high,
        "rate": details.change_rate,
        "marks": marks(rates),
    }


def marks(rates: Floats) -> list[tuple[float, str]]:
    """Return some rates within a range, and their labels.

    >>> marks(np.array([0.9, 9.0]))
    [(6.0, '6 per day'), (3.0, '3 per day'), (1.0, '1 per day')]
    """
    return [(mark, format_rate(mark)) for mark in MARKS if rates[0] <= mark <= rates[-1]]


def rate_bars(columns: PageColumns | None) -> dict[str, Any] | None:
    """Return a histogram of change rates; None if nothing is known."""
    if columns is None:
        return None
    known = ~np.isnan(columns.rate) & np.isin(columns.state, VISITED)
    if not known.any():
        return None
    logs = np.log10(columns.rate[known]) * BARS_PER_DECADE
    first, last = math.floor(logs.min()), math.floor(logs.max()) + 1
    if last - first > MAX_BARS:
        first = last - MAX_BARS
    # One or two bars alone would say little about the scale.
    lacking = max(MIN_BARS - (last - first), 0)
    first, last = first - lacking // 2, last + lacking - lacking // 2
    bars = np.bincount(
        np.maximum(np.floor(logs) - first, 0.0).astype(np.int64), minlength=last - first
    )
    ends = 10.0 ** (np.arange(first, last + 1) / BARS_PER_DECADE)
    names = [
        f"{format_rate(low)} to {format_rate(high)}"
        for low, high in zip(ends.tolist(), ends[1:].tolist(), strict=False)
    ]
    return {
        "x": [_significant(end) for end in ends.tolist()],
        "pages": [*bars.tolist(), None],
        "names": names,
        "marks": marks(ends),
    }


def _significant(number: float) -> float:
    return float(f"{number:.6g}")
