"""Quantiles of a Gamma, with the standard library alone: SciPy takes a quarter of a second to load.

The logarithm of a Gamma variable has a log-concave density, so that both ln P(Y ≤ y) and
ln P(Y ≥ y) are concave. Newton's method on them, started outside, converges without overshooting.
"""

import math

#: Terms smaller than this, relative to their sum, are left out; Newton's method ends as close.
CLOSE = 1e-14
MAX_STEPS = 200


def gamma_quantiles(shape: float, tail: float) -> tuple[float, float]:
    """Return the quantiles of Gamma(shape, 1) that leave ``tail`` below, and ``tail`` above.

    >>> low, high = gamma_quantiles(2.0, 0.025)
    >>> round(low, 6), round(high, 6)
    (0.242209, 5.571643)
    """
    goal = math.log(tail)
    # P(X ≤ x) ≤ x^a / Γ(a + 1), and P(X ≥ a + √(2aL) + L) ≤ e^(−L).
    log_low = (goal + math.lgamma(shape + 1.0)) / shape
    log_high = math.log(shape + math.sqrt(-2.0 * shape * goal) - goal)
    for _ in range(MAX_STEPS):
        below = _log_below(shape, log_low)
        step = (goal - below) / math.exp(_log_density(shape, log_low) - below)
        log_low += step
        if step <= CLOSE * abs(log_low):
            break
    for _ in range(MAX_STEPS):
        above = _log_above(shape, log_high)
        step = (above - goal) / math.exp(_log_density(shape, log_high) - above)
        log_high += step
        if -step <= CLOSE * abs(log_high):
            break
    return math.exp(log_low), math.exp(log_high)


def _log_density(shape: float, log_x: float) -> float:
    """Return the logarithm of the density of ln X."""
    return shape * log_x - math.exp(log_x) - math.lgamma(shape)


def _log_below(shape: float, log_x: float) -> float:
    """Return ln P(X ≤ x) by the series Σ xⁿ / ((a + 1)…(a + n))."""
    x = math.exp(log_x)
    total = term = 1.0
    n = shape
    while term > CLOSE * total:
        n += 1.0
        term *= x / n
        total += term
    return shape * log_x - x - math.lgamma(shape + 1.0) + math.log(total)


def _log_above(shape: float, log_x: float) -> float:
    """Return ln P(X ≥ x), by a continued fraction where the series is long."""
    x = math.exp(log_x)
    if x < shape + 1.0:
        return math.log1p(-math.exp(_log_below(shape, log_x)))
    # The fraction 1/(x + 1 − a − 1·(1 − a)/(x + 3 − a − …)), by Lentz's method.
    b = x + 1.0 - shape
    c, d = math.inf, 1.0 / b
    fraction, factor, n = d, 0.0, 0.0
    while abs(factor - 1.0) > CLOSE:
        n += 1.0
        a = n * (shape - n)
        b += 2.0
        d = 1.0 / (a * d + b)
        c = b + a / c
        factor = c * d
        fraction *= factor
    return shape * log_x - x - math.lgamma(shape) + math.log(fraction)
