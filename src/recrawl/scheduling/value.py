"""The value of a visit: the freshness index, for a known change rate and for a Gamma belief.

Let S(t) be the chance that a page is unchanged t days after its last visit, and T the time of its
next change. A visit at t is worth V(t) = E[T·1(T ≤ t)] = ∫₀ᵗ S(s) ds − t·S(t) days, times the
page's importance. V increases with t; the page is due when V reaches the price of a visit.
"""

import math

import numpy as np

from recrawl.allocation.formulas import periodic_marginal, scaled_gain
from recrawl.estimation.gamma import hazard
from recrawl.kernels.jit import Floats, compiled, step

#: Above this ln(1 + t/b) the closed form is accurate to at least eleven digits.
CLOSED_FORM = 1e-3
#: Up to this aL the integrals are computed as series; above it, by recursion.
SHORT_SERIES = 0.1
#: e^(−37) is negligible beside 1.
NEGLIGIBLE = 37.0
#: Newton's method, which approaches from below, ends this close to the solution.
CLOSE = 1e-6
MAX_STEPS = 200


@compiled
def value_of_rate(change_rate: float, elapsed: float) -> float:
    """Return (1/Δ)[1 − e^(−Δt)(1 + Δt)], the value in days of a visit t days after the last one.

    >>> round(value_of_rate(1.0, 2.0), 6)
    0.593994
    """
    return periodic_marginal(1.0 / elapsed, change_rate) if elapsed > 0.0 else 0.0


@compiled
def value_of_belief(shape: float, time: float, elapsed: float) -> float:
    """Return the value in days of a visit t days after the last one, if Δ ~ Gamma(a, b).

    V = a·b·∫₀ᴸ (e^z − 1)·e^(−az) dz with L = ln(1 + t/b), which is a·b·L·[φ((1−a)L) − φ(−aL)] for
    φ(y) = (e^y − 1)/y. If L is small the difference cancels, so the integrand's first factor is
    expanded in a series.

    >>> round(value_of_belief(2.0, 4.0, 8.0), 6)
    1.777778
    """
    log_time = math.log1p(elapsed / time)
    x = shape * log_time
    if log_time < CLOSED_FORM:
        return time * _short_integral(log_time, x)
    rise = (1.0 - shape) * log_time
    if rise < -NEGLIGIBLE:
        return time / (shape - 1.0)
    phi = math.expm1(rise) / rise if rise != 0.0 else 1.0
    return time * (x * phi + math.expm1(-x))


@step
def _short_integral(log_time: float, x: float) -> float:
    """Return a·∫₀ᴸ (z + z²/2 + z³/6)·e^(−az) dz for a short L, with x = aL."""
    if x < SHORT_SERIES:
        # ∫₀¹ sᵏ e^(−xs) ds; a few terms suffice for the second and third, which are corrections.
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
    """Return the time after which a visit is worth ``value`` days; infinity for never.

    ln V is an increasing, concave function of ln t, so Newton's method on the logarithms never
    overshoots: after its first step it approaches from below. It starts from the inverted series
    V = (a·b/2)·u²·(1 − 2(a+1)u/3 + …), u = t/b.

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


@compiled
def due_after(importance: Floats, shape: Floats, time: Floats, price: float) -> Floats:
    """Return the days after which a visit to each page is worth the price; infinity for never."""
    days = np.empty(importance.size)
    for row in range(importance.size):
        days[row] = days_until_due(importance[row], shape[row], time[row], price)
    return days


@compiled
def days_until_due(importance: float, shape: float, time: float, price: float) -> float:
    """Return the days after which a visit to a page is worth the price; infinity for never."""
    if importance <= 0.0:
        return math.inf
    return elapsed_worth_of_belief(shape, time, price / importance)
