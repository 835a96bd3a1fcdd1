"""What a visit is worth: the freshness index, for a known change rate and for a Gamma belief.

With S(t) the chance that a page is unchanged t days after its last visit, and T its next change, a
visit at t is worth V(t) = E[T·1(T ≤ t)] = ∫₀ᵗ S(s) ds − t·S(t) days, times the page's importance.
V rises with t; the page is due when V reaches the price of a visit.
"""

import math

from recrawl.allocation.formulas import periodic_demand, periodic_marginal, scaled_gain
from recrawl.estimation.gamma import hazard
from recrawl.kernels.jit import compiled

#: Above this ln(1 + t/b) the closed form has at least eleven digits.
CLOSED_FORM = 1e-3
#: Up to this aL the integrals are series; above, one follows from the other.
SHORT_SERIES = 0.1
#: e^(−37) is nothing beside 1.
NOTHING = 37.0
#: Newton's method ends when it has come this close, from below.
CLOSE = 1e-6
MAX_STEPS = 200


@compiled
def value_of_rate(change_rate: float, elapsed: float) -> float:
    """Give (1/Δ)[1 − e^(−Δt)(1 + Δt)]: what a visit t days after the last one is worth, in days.

    >>> round(value_of_rate(1.0, 2.0), 6)
    0.593994
    """
    return periodic_marginal(1.0 / elapsed, change_rate) if elapsed > 0.0 else 0.0


@compiled
def elapsed_worth_of_rate(change_rate: float, value: float) -> float:
    """Give the time after which a visit is worth so many days; infinity for never.

    >>> round(elapsed_worth_of_rate(1.0, value_of_rate(1.0, 2.0)), 6)
    2.0
    """
    if value <= 0.0:
        return 0.0
    crawl_rate, _ = periodic_demand(1.0, change_rate, value)
    return 1.0 / crawl_rate if crawl_rate > 0.0 else math.inf


@compiled
def value_of_belief(shape: float, time: float, elapsed: float) -> float:
    """Give what a visit t days after the last one is worth when Δ ~ Gamma(a, b), in days.

    V = a·b·∫₀ᴸ (e^z − 1)·e^(−az) dz with L = ln(1 + t/b), which is a·b·L·[φ((1−a)L) − φ(−aL)] for
    φ(y) = (e^y − 1)/y. Where L is small the difference loses its digits, and the integrand's first
    factor is taken as a series.

    >>> round(value_of_belief(2.0, 4.0, 8.0), 6)
    1.777778
    """
    log_time = math.log1p(elapsed / time)
    x = shape * log_time
    if log_time < CLOSED_FORM:
        return time * _short_integral(log_time, x)
    rise = (1.0 - shape) * log_time
    if rise < -NOTHING:
        return time / (shape - 1.0)
    grown = math.expm1(rise) / rise if rise != 0.0 else 1.0
    return time * (x * grown + math.expm1(-x))


@compiled
def _short_integral(log_time: float, x: float) -> float:
    """Give a·∫₀ᴸ (z + z²/2 + z³/6)·e^(−az) dz for a short L, with x = aL."""
    if x < SHORT_SERIES:
        # ∫₀¹ sᵏ e^(−xs) ds as series, whose first terms suffice where they are mere corrections.
        first = scaled_gain(x) / (x * x) if x > 0.0 else 0.5
        second = 1 / 3 - x * (1 / 4 - x * (1 / 10 - x * (1 / 36 - x / 168)))
        third = 1 / 4 - x * (1 / 5 - x * (1 / 12 - x * (1 / 42 - x / 192)))
    else:
        same = math.exp(-x)
        first = scaled_gain(x) / (x * x)
        second = (2.0 * first - same) / x
        third = (3.0 * second - same) / x
    return x * log_time * (first + log_time * (second / 2.0 + log_time * third / 6.0))


@compiled
def elapsed_worth_of_belief(shape: float, time: float, value: float) -> float:
    """Give the time after which a visit is worth so many days; infinity for never.

    ln V is an increasing, concave function of ln t, so that Newton's method on these two never
    steps too far: from its first step on it comes from below. It begins with the first terms of
    V = (a·b/2)·u²·(1 − 2(a+1)u/3 + …), u = t/b, turned round.

    >>> round(elapsed_worth_of_belief(2.0, 4.0, value_of_belief(2.0, 4.0, 8.0)), 5)
    8.0
    """
    if value <= 0.0:
        return 0.0
    if shape > 1.0 and value >= (1.0 - 1e-9) * time / (shape - 1.0):
        return math.inf
    small = math.sqrt(2.0 * value / (time * shape))
    elapsed = time * small * (1.0 + (shape + 1.0) * small / 3.0)
    for _ in range(MAX_STEPS):
        worth = value_of_belief(shape, time, elapsed)
        ratio = value / worth
        if 1.0 <= ratio <= 1.0 + CLOSE:
            break
        survival = math.exp(-hazard(shape, time, elapsed))
        slope = shape * elapsed / (time + elapsed) * elapsed * survival / worth
        elapsed *= ratio ** (1.0 / slope)
        if not elapsed < math.inf:
            return math.inf
    return elapsed
