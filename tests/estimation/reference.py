"""Every estimator once more, in the plainest form: one page, a loop, scipy where roots are sought.

Slow, readable, and written from the formulas alone; the package is tested against it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import optimize


@dataclass
class Row:
    elapsed: float
    changed: bool
    crawl_rate: float | None = None
    age: float | None = None


def known_rates(rows: Sequence[Row]) -> list[float]:
    """The crawl rate of each row, or visits over time where it was not given."""
    mean = len(rows) / sum(row.elapsed for row in rows)
    return [mean if row.crawl_rate is None else row.crawl_rate for row in rows]


def naive(rows: Sequence[Row]) -> float:
    return sum(p for p, row in zip(known_rates(rows), rows, strict=True) if row.changed) / len(rows)


def lln(rows: Sequence[Row], alpha: float) -> float:
    changes = sum(row.changed for row in rows)
    numerator = sum(p for p, row in zip(known_rates(rows), rows, strict=True) if row.changed)
    return numerator / (len(rows) + alpha - changes)


def bias_reduced(rows: Sequence[Row]) -> float:
    n, x = len(rows), sum(row.changed for row in rows)
    return -math.log((n - x + 0.5) / (n + 0.5)) / (sum(row.elapsed for row in rows) / n)


def sa(rows: Sequence[Row], gamma: float, start: float = 0.0) -> list[float]:
    values, y, days = [], start, 0.0
    for k, row in enumerate(rows):
        days += row.elapsed
        p = (k + 1) / days if row.crawl_rate is None else row.crawl_rate
        y = y + (k + 1) ** -gamma * (row.changed * (y + p) - y)
        values.append(y)
    return values


def sam(rows: Sequence[Row], gamma: float, beta: float, c: float) -> float:
    previous = y = days = 0.0
    for k, row in enumerate(rows):
        days += row.elapsed
        p = (k + 1) / days if row.crawl_rate is None else row.crawl_rate
        zeta = ((k + 1) ** -beta - c * (k + 1) ** -gamma) / k**-beta if k else 0.0
        step = (k + 1) ** -gamma * (row.changed * (y + p) - y) + zeta * (y - previous)
        previous, y = y, max(y + step, 0.0)
    return y


def mle(rows: Sequence[Row]) -> float:
    still = sum(row.elapsed for row in rows if not row.changed)
    gaps = [row.elapsed for row in rows if row.changed]
    if not gaps:
        return 0.0
    if len(gaps) == len(rows):
        still = 0.5 * sum(gaps) / len(gaps)

    def score(log_rate: float) -> float:
        rate = math.exp(log_rate)
        return sum(t / math.expm1(min(rate * t, 700.0)) for t in gaps) - still

    return math.exp(optimize.brentq(score, -60.0, 60.0, xtol=1e-14, rtol=1e-14, maxiter=500))


def moment_matching(rows: Sequence[Row]) -> float:
    gaps = [row.elapsed for row in rows]
    weights = [1.0] * len(gaps)
    still = float(sum(not row.changed for row in rows))
    if still == len(rows):
        return 0.0
    if still == 0.0:
        still = 0.5
        gaps.append(sum(gaps) / len(gaps))
        weights.append(0.5)

    def excess(log_rate: float) -> float:
        rate = math.exp(log_rate)
        return sum(w * math.exp(-rate * t) for w, t in zip(weights, gaps, strict=True)) - still

    return math.exp(optimize.brentq(excess, -60.0, 60.0, xtol=1e-14, rtol=1e-14, maxiter=500))


def gamma_filter(
    rows: Sequence[Row],
    prior: tuple[float, float] | None = None,
    half_life: float | None = None,
    *,
    dated: bool = False,
) -> tuple[float, float]:
    """The formulas of the filter as they stand in the docstring, cancellation and all.

    Alone, the prior's time is half the mean gap of these rows.
    """
    a, b = prior or (0.5, 0.5 * sum(row.elapsed for row in rows) / len(rows))
    a0, b0 = a, b
    for row in rows:
        if half_life is not None:
            kept = 0.5 ** (row.elapsed / half_life)
            a, b = a0 + kept * (a - a0), b0 + kept * (b - b0)
        if dated and row.age is not None:
            b += min(row.age, row.elapsed)
            a += row.age < row.elapsed
        elif row.changed:
            r = b / (b + row.elapsed)
            c = r**a
            m1 = (a / b) * (1 - c * r) / (1 - c)
            m2 = (a * (a + 1) / b**2) * (1 - c * r * r) / (1 - c)
            v = m2 - m1 * m1
            a, b = m1 * m1 / v, m1 / v
        else:
            b += row.elapsed
    return a, b
