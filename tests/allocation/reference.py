"""A reference implementation of allocation, and a proof that a result is optimal.

Written from the formulas alone. Nothing here is fast, and nothing is shared with the package.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import mp, mpf
from numpy.typing import ArrayLike

from recrawl.kernels.jit import Floats, Ints

#: Minimum rates may add up to exactly a host's budget, as far as floats can tell.
ROUNDED = 1 + 1e-13


@dataclass
class Problem:
    """The arguments of `allocate`, with the defaults filled in."""

    change_rate: Floats
    budget: float
    importance: Floats
    visits: str = "poisson"
    objective: str = "freshness"
    cost: Floats | None = None
    host: Ints | None = None
    host_budget: ArrayLike | None = None
    min_rate: ArrayLike = 0.0
    max_rate: ArrayLike = np.inf

    @property
    def pages(self) -> int:
        return self.change_rate.size

    @property
    def kind(self) -> str:
        return "harmonic" if self.objective == "harmonic" else self.visits

    @property
    def costs(self) -> Floats:
        return np.ones(self.pages) if self.cost is None else self.cost

    @property
    def lowest(self) -> Floats:
        return np.broadcast_to(np.asarray(self.min_rate, float), self.pages).copy()

    @property
    def highest(self) -> Floats:
        return np.broadcast_to(np.asarray(self.max_rate, float), self.pages).copy()

    @property
    def hosts(self) -> Ints:
        """Without hosts, all pages are on one whose budget is infinite."""
        return np.zeros(self.pages, np.int64) if self.host is None else self.host

    @property
    def host_limits(self) -> Floats:
        count = int(self.hosts.max(initial=0)) + 1
        limit = np.inf if self.host_budget is None else self.host_budget
        return np.broadcast_to(np.asarray(limit, float), count).copy()

    def arguments(self) -> dict[str, Any]:
        """The keywords of `allocate`, those that are at their default left out."""
        given: dict[str, Any] = {
            "importance": self.importance,
            "visits": self.visits,
            "objective": self.objective,
            "cost": self.cost,
            "host": self.host,
            "host_budget": self.host_budget,
            "min_rate": self.min_rate,
            "max_rate": self.max_rate,
        }
        return {name: value for name, value in given.items() if value is not None}


# The formulas, as they are written on paper. A page that never changes is always fresh.


def page_value(kind: str, p: Floats, d: Floats) -> Floats:
    """Freshness of pages, or its logarithm for the harmonic objective."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if kind == "periodic":
            value = np.where(p > 0, p / d * -np.expm1(-d / p), 0.0)
        elif kind == "harmonic":
            value = -np.log1p(d / p)
        else:
            value = p / (p + d)
    return np.where(d == 0, 0.0 if kind == "harmonic" else 1.0, value)


def page_gain(kind: str, p: Floats, d: Floats) -> Floats:
    """What one more visit per day to a page of importance 1 would gain."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if kind == "periodic":
            x = d / p
            small = x * x * (0.5 - x / 3 + x * x / 8 - x**3 / 30) / d
            gain = np.where(x < 1e-3, small, (1 - np.exp(-x) * (1 + x)) / d)
            gain = np.where(p > 0, gain, 1 / d)
        elif kind == "harmonic":
            gain = d / (p * (p + d))
        else:
            gain = d / (p + d) ** 2
    return np.where(d == 0, 0.0, gain)


def page_rate(kind: str, price: Floats, d: Floats, w: Floats) -> Floats:
    """The rate at which a page's gain has fallen to the price, by bisection."""
    low, high = np.full(d.size, -400.0), np.full(d.size, 400.0)  # logarithms of rates
    for _ in range(64):
        middle = (low + high) / 2
        dear = w * page_gain(kind, np.exp(middle), d) > price
        low, high = np.where(dear, middle, low), np.where(dear, high, middle)
    return np.where(low == -400.0, 0.0, np.exp(high))


def clipped_rate(problem: Problem, price: Floats) -> Floats:
    rate = page_rate(problem.kind, price, problem.change_rate, problem.importance)
    return np.clip(rate, problem.lowest, problem.highest)


def objective(problem: Problem, crawl_rate: Floats) -> float:
    value = page_value(problem.kind, crawl_rate, problem.change_rate)
    wanted = problem.importance > 0
    return float((problem.importance[wanted] * value[wanted]).sum())


def excess(problem: Problem, crawl_rate: Floats) -> float:
    """By what share the worst limit is exceeded; 0 or less if all are kept."""
    spent = [float(problem.costs @ crawl_rate)]
    limit = [problem.budget]
    on_host = np.bincount(problem.hosts, crawl_rate, problem.host_limits.size)
    spent += on_host.tolist()
    limit += problem.host_limits.tolist()
    spent += crawl_rate.tolist()
    limit += problem.highest.tolist()
    spent += (-crawl_rate).tolist()
    limit += (-problem.lowest).tolist()
    over = [s - b for s, b in zip(spent, limit, strict=True)]
    size = [max(abs(b), 1e-300) for b in limit]
    return max((o / s if o > 0 else 0.0) for o, s in zip(over, size, strict=True))


def host_prices(problem: Problem, price: float) -> Floats:
    """For a price of the budget, the lowest price of each host that keeps its own limit."""
    limits, host = problem.host_limits, problem.hosts
    if not np.isfinite(limits).any():
        return np.zeros(limits.size)

    def visits(host_price: Floats) -> Floats:
        rate = clipped_rate(problem, price * problem.costs + host_price[host])
        return np.bincount(host, rate, limits.size).astype(np.float64)

    low, high = np.full(limits.size, -400.0), np.full(limits.size, 400.0)
    for _ in range(60):
        middle = (low + high) / 2
        over = visits(np.exp(middle)) > limits * ROUNDED
        low, high = np.where(over, middle, low), np.where(over, high, middle)
    return np.where(visits(np.zeros(limits.size)) > limits * ROUNDED, np.exp(high), 0.0)


def upper_bound(problem: Problem, price: float) -> float:
    """A value that no allocation can exceed (weak duality), whatever the price.

    It is smallest, and equal to the optimum, at the right price. So an allocation that reaches it
    is proved to be optimal.
    """
    prices = host_prices(problem, price)
    binding = prices > 0
    total = price * problem.costs + prices[problem.hosts]
    rate = clipped_rate(problem, total)
    wanted = (problem.importance > 0) & (problem.change_rate > 0)
    paid = float((total * rate)[wanted].sum())
    spare = ~wanted
    paid += float((total * problem.lowest)[spare].sum())
    rate = np.where(spare, problem.lowest, rate)
    return (
        price * problem.budget
        + float((prices[binding] * problem.host_limits[binding]).sum())
        + objective(problem, rate)
        - paid
    )


def sorted_poisson(d: Floats, budget: float, w: Floats) -> tuple[Floats, float]:
    """The textbook's way for random visits: sort by w/Δ, and take the longest prefix that pays.

    With the first k pages visited, √λ = Σ√(wΔ) / (B + ΣΔ), and the last one must have w/Δ > λ.
    """
    order = np.argsort(-w / d)
    root = np.cumsum(np.sqrt(w * d)[order]) / (budget + np.cumsum(d[order]))
    active = np.flatnonzero((w / d)[order] > root**2)[-1]
    price = root[active] ** 2
    rate = np.zeros(d.size)
    kept = order[: active + 1]
    rate[kept] = np.sqrt(w * d / price)[kept] - d[kept]
    return np.maximum(rate, 0.0), float(price)


# Extended precision, for numbers of any size: one budget, no limits.


def exact_optimum(kind: str, d: Floats, budget: float, w: Floats) -> tuple[mpf, mpf]:
    """The best objective and its price to some 40 digits, by bisection."""
    with mp.workdps(60):
        pages = [(mpf(float(a)), mpf(float(b))) for a, b in zip(d, w, strict=True) if a * b > 0]
        low, high = mpf(-300), mpf(300)  # decimal logarithms
        for _ in range(170):
            middle = (low + high) / 2
            spent = sum(exact_rate(kind, mpf(10) ** middle, *page) for page in pages)
            low, high = (middle, high) if spent > budget else (low, middle)
        price = mpf(10) ** high
        rates = [exact_rate(kind, price, *page) for page in pages]
        # What bisection left of the budget, at its price.
        rest = price * (mpf(float(budget)) - sum(rates))
        value = sum(b * exact_value(kind, p, a) for p, (a, b) in zip(rates, pages, strict=True))
        still = sum(mpf(float(b)) for a, b in zip(d, w, strict=True) if a == 0)
        return value + rest + (0 if kind == "harmonic" else still), price


def exact_rate(kind: str, price: mpf, d: mpf, w: mpf) -> mpf:
    if kind == "harmonic":
        return (2 * w / price) / (1 + mp.sqrt(1 + 4 * w / (price * d)))
    if price * d >= w:
        return mpf(0)
    if kind == "poisson":
        return mp.sqrt(w * d / price) - d
    # Near its branch point W₋₁ loses half its digits; they are there to be lost.
    with mp.workdps(120):
        return d / (-1 - mp.lambertw((price * d / w - 1) / mp.e, -1).real)


def exact_value(kind: str, p: mpf, d: mpf) -> mpf:
    if d == 0:
        return mpf(0 if kind == "harmonic" else 1)
    if kind == "harmonic":
        return -mp.log1p(d / p)
    if p == 0:
        return mpf(0)
    return p / (p + d) if kind == "poisson" else p / d * -mp.expm1(-d / p)


def exact_objective(kind: str, crawl_rate: Floats, d: Floats, w: Floats) -> mpf:
    with mp.workdps(60):
        rows = zip(crawl_rate.tolist(), d.tolist(), w.tolist(), strict=True)
        return sum(mpf(b) * exact_value(kind, mpf(p), mpf(a)) for p, a, b in rows if b > 0)
