"""Visits at regular times: F = (p/Δ)(1 − e^(−Δ/p)).

The optimum has (w/Δ)[1 − e^(−x)(1 + x)] = price with x = Δ/p, which is x − ln(1 + x) = L for
L = −ln(1 − price·Δ/w). Written so it is nearly linear for large x, and convex.
"""

import math

from recrawl.kernels.jit import inlined
from recrawl.kernels.simd_math import exp_minus, log1p

#: Below this √(2L) the series is exact to the last digits, and the equation is not.
SERIES_ALONE = 0.02
#: Up to this L the series is the better start.
SERIES_START = 2.0


@inlined
def _gaps_of_change(log_rest: float) -> float:
    """Solve x − ln(1 + x) = L for x ≥ 0: a start, and two steps of Halley's method."""
    s = math.sqrt(2.0 * log_rest)
    series = s * (1.0 + s * (1 / 3 + s * (1 / 36 + s * (-1 / 270 + s * (1 / 4320)))))
    once = log_rest + log1p(log_rest, 1.0 / (1.0 + log_rest))
    far = log_rest + log1p(once, 1.0 / (1.0 + once))
    x = series if log_rest < SERIES_START else far
    # A stand-in where the series is used, so that the steps divide by something.
    x = max(x, SERIES_ALONE)
    for _ in range(2):
        error = x - log1p(x, 1.0 / (1.0 + x)) - log_rest
        x -= error * (1.0 + x) / (x - 0.5 * error / x)
    return series if s < SERIES_ALONE else x


@inlined
def periodic_response(importance: float, change_rate: float, price: float) -> tuple[float, float]:
    """Give the crawl rate worth buying at a price, and by how much it falls as ln price rises."""
    y = price * change_rate / importance
    bought = (importance > 0.0) & (change_rate > 0.0) & (y < 1.0)
    y = y if bought else 0.5
    rest = 1.0 - y
    x = _gaps_of_change(log1p(y / rest, rest))
    rate = change_rate / x
    fall = rate * (y / rest) * (1.0 + x) / (x * x)
    return (rate if bought else 0.0), (fall if bought else 0.0)


@inlined
def periodic_freshness(crawl_rate: float, change_rate: float) -> float:
    """Give (1 − e^(−x)) / x with x = Δ/p; a page that never changes is always fresh."""
    x = change_rate / crawl_rate
    _, changed = exp_minus(x)
    return (changed / x if crawl_rate > 0.0 else 0.0) if change_rate > 0.0 else 1.0


@inlined
def worth_of_gap(x: float) -> float:
    """Give 1 − e^(−x)(1 + x) for x ≥ 0, as a series where the difference would lose its digits."""
    same, changed = exp_minus(x)
    series = x * x * (0.5 - x * (1 / 3 - x * (0.125 - x * (1 / 30 - x * (1 / 144 - x / 840)))))
    return changed - x * same if x > SERIES_ALONE else series


@inlined
def periodic_marginal(crawl_rate: float, change_rate: float) -> float:
    """Give dF/dp = [1 − e^(−x)(1 + x)] / Δ."""
    x = change_rate / crawl_rate if crawl_rate > 0.0 else math.inf
    worth = worth_of_gap(x) if crawl_rate > 0.0 else 1.0
    return worth / change_rate if change_rate > 0.0 else 0.0
