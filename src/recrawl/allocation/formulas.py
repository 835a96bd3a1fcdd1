"""A page's freshness F, its marginal dF/dp, and its demand: the crawl rate p that pays at a price.

Demand functions also return the fall: how much the rate falls as the logarithm of the price rises.
"""

import math

from recrawl.kernels.jit import inlined
from recrawl.kernels.simd_math import exp_minus, log1p

POISSON, PERIODIC, HARMONIC = 0, 1, 2

#: Below this √(2L) the series is exact to the last digits, and the equation is not.
SERIES_ALONE = 0.02
#: Up to this L the series is the better start.
SERIES_START = 2.0


# Visits at random times (Azar et al. 2018): F = p / (p + Δ).


@inlined
def poisson_demand(importance: float, change_rate: float, price: float) -> tuple[float, float]:
    """Return p = √(wΔ/price) − Δ, or 0 where w/Δ ≤ price, and its fall."""
    product = importance * change_rate
    root = math.sqrt(product / price)
    bought = (product > 0.0) & (root > change_rate)
    return (root - change_rate if bought else 0.0), (0.5 * root if bought else 0.0)


@inlined
def poisson_freshness(crawl_rate: float, change_rate: float) -> float:
    """Return p / (p + Δ); a page that never changes is always fresh."""
    return crawl_rate / (crawl_rate + change_rate) if change_rate > 0.0 else 1.0


@inlined
def poisson_marginal(crawl_rate: float, change_rate: float) -> float:
    """Return dF/dp = Δ / (p + Δ)²."""
    both = crawl_rate + change_rate
    return change_rate / both / both if change_rate > 0.0 else 0.0


# Visits at regular times: F = (p/Δ)(1 − e^(−Δ/p)).
#
# The optimum has (w/Δ)[1 − e^(−x)(1 + x)] = price with x = Δ/p, which is x − ln(1 + x) = L for
# L = −ln(1 − price·Δ/w): in this form it is convex, and nearly linear for large x.


@inlined
def _changes_per_visit(log_rest: float) -> float:
    """Solve x − ln(1 + x) = L for x ≥ 0: a first guess, and two steps of Halley's method."""
    s = math.sqrt(2.0 * log_rest)
    series = s * (1.0 + s * (1 / 3 + s * (1 / 36 + s * (-1 / 270 + s * (1 / 4320)))))
    once = log_rest + log1p(log_rest, 1.0 / (1.0 + log_rest))
    far = log_rest + log1p(once, 1.0 / (1.0 + once))
    x = series if log_rest < SERIES_START else far
    # Where the series alone is used, this keeps the steps from dividing by 0.
    x = max(x, SERIES_ALONE)
    for _ in range(2):
        error = x - log1p(x, 1.0 / (1.0 + x)) - log_rest
        x -= error * (1.0 + x) / (x - 0.5 * error / x)
    return series if s < SERIES_ALONE else x


@inlined
def periodic_demand(importance: float, change_rate: float, price: float) -> tuple[float, float]:
    """Return p = Δ/x, or 0 where w/Δ ≤ price, and its fall."""
    y = price * change_rate / importance
    bought = (importance > 0.0) & (change_rate > 0.0) & (y < 1.0)
    y = y if bought else 0.5
    rest = 1.0 - y
    x = _changes_per_visit(log1p(y / rest, rest))
    rate = change_rate / x
    fall = rate * (y / rest) * (1.0 + x) / (x * x)
    return (rate if bought else 0.0), (fall if bought else 0.0)


@inlined
def periodic_freshness(crawl_rate: float, change_rate: float) -> float:
    """Return (1 − e^(−x)) / x with x = Δ/p; a page that never changes is always fresh."""
    x = change_rate / crawl_rate
    _, changed = exp_minus(x)
    return (changed / x if crawl_rate > 0.0 else 0.0) if change_rate > 0.0 else 1.0


@inlined
def scaled_gain(x: float) -> float:
    """Return Δ · dF/dp = 1 − e^(−x)(1 + x) for x ≥ 0, as a series where that would lose digits."""
    same, changed = exp_minus(x)
    series = x * x * (0.5 - x * (1 / 3 - x * (0.125 - x * (1 / 30 - x * (1 / 144 - x / 840)))))
    return changed - x * same if x > SERIES_ALONE else series


@inlined
def periodic_marginal(crawl_rate: float, change_rate: float) -> float:
    """Return dF/dp = [1 − e^(−x)(1 + x)] / Δ."""
    x = change_rate / crawl_rate if crawl_rate > 0.0 else math.inf
    gain = scaled_gain(x) if crawl_rate > 0.0 else 1.0
    return gain / change_rate if change_rate > 0.0 else 0.0


# The harmonic objective, ln F of visits at random times (Kolobov et al. 2019): it starves no page.


@inlined
def harmonic_demand(importance: float, change_rate: float, price: float) -> tuple[float, float]:
    """Return p from p² + pΔ = wΔ/price, solved without cancellation, and its fall."""
    per_price = importance / price
    bought = (importance > 0.0) & (change_rate > 0.0)
    rate = 2.0 * per_price / (1.0 + math.sqrt(1.0 + 4.0 * per_price / change_rate))
    rate = rate if price > 0.0 else math.inf
    fall = rate * (rate + change_rate) / (2.0 * rate + change_rate)
    return (rate if bought else 0.0), (fall if bought else 0.0)


@inlined
def harmonic_marginal(crawl_rate: float, change_rate: float) -> float:
    """Return d ln F / dp = Δ / (p (p + Δ))."""
    if change_rate == 0.0:
        return 0.0
    return change_rate / (crawl_rate + change_rate) / crawl_rate
