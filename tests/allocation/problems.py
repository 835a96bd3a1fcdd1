"""Problems for the tests: seeded ones with every kind of limit, and strategies for hypothesis."""

import itertools

import numpy as np
from allocation.reference import Problem
from hypothesis import strategies as st

from recrawl import Allocation, allocate
from recrawl.kernels.jit import Floats

KINDS = ["poisson", "periodic", "harmonic"]
LIMITS = ["cost", "host", "min", "max"]
EVERY_LIMIT = [
    "+".join(some) or "none"
    for count in range(len(LIMITS) + 1)
    for some in itertools.combinations(LIMITS, count)
]


def solve(problem: Problem) -> Allocation:
    return allocate(problem.change_rate, problem.budget, **problem.arguments())


def random_problem(
    kind: str, limits: str, seed: int, *, pages: int = 12, weighted: bool = True
) -> Problem:
    """A problem with a few decades of rates; limits are drawn so that some bind and some do not."""
    rng = np.random.default_rng(seed)
    cost = rng.uniform(0.2, 5.0, pages) if "cost" in limits else None
    budget = pages * 10.0 ** rng.uniform(-1.5, 1.0)
    typical = budget / (pages if cost is None else cost.sum())
    problem = Problem(
        change_rate=rng.lognormal(0.0, 1.5, pages),
        budget=budget,
        importance=rng.lognormal(0.0, 1.0, pages) if weighted else np.ones(pages),
        visits="periodic" if kind == "periodic" else "poisson",
        objective="harmonic" if kind == "harmonic" else "freshness",
        cost=cost,
    )
    if "host" in limits:
        problem.host = rng.integers(0, 4, pages)
        problem.host[:4] = rng.permutation(4)
        size = np.bincount(problem.host, minlength=4)
        problem.host_budget = size * typical * 10.0 ** rng.uniform(-1.0, 1.0, 4)
    if "min" in limits:
        share = problem.host_limits / np.bincount(problem.hosts)
        spare = np.minimum(typical, share[problem.hosts])
        problem.min_rate = spare * rng.uniform(0.0, 0.9, pages) * rng.integers(0, 2, pages)
    if "max" in limits:
        high = problem.lowest + typical * rng.uniform(0.05, 3.0, pages)
        high[rng.random(pages) < 0.3] = np.inf
        problem.max_rate = high
    return problem


def any_problem(kind: str, seed: int) -> Problem:
    """A problem in which every odd thing may happen: ties, zeros, limits that leave no choice."""
    rng = np.random.default_rng(seed)
    pages, decades = int(rng.integers(1, 15)), float(rng.choice([0, 1, 3, 6, 12]))

    def column() -> Floats:
        values: Floats = 10.0 ** np.round(rng.uniform(-decades, decades, pages), rng.integers(0, 3))
        values[rng.random(pages) < rng.choice([0.0, 0.2])] = 0.0
        return values

    budget = 10.0 ** rng.uniform(-decades - 1, decades + 1)
    rows = list(zip(column().tolist(), column().tolist(), strict=True))
    problem = as_problem(rows, budget, kind)
    has_cost, has_hosts, has_min, has_max = rng.random(4) < 0.5
    if has_cost:
        problem.cost = 10.0 ** np.round(rng.uniform(-1, 1, pages), rng.integers(0, 2))
    if has_hosts:
        problem.host = rng.integers(0, rng.integers(1, 6), pages)
        hosts = int(problem.host.max()) + 1
        allowed = budget * 10.0 ** rng.uniform(-2, 1, hosts)
        allowed *= rng.choice([0.0, 1.0, np.inf], hosts, p=[0.1, 0.8, 0.1])
        problem.host_budget = np.where(np.isnan(allowed), 0.0, allowed)
    if has_min:
        on_host = problem.host_limits / np.maximum(np.bincount(problem.hosts), 1)
        spare = np.minimum(budget / pages / problem.costs, on_host[problem.hosts])
        problem.min_rate = spare * rng.choice([0.0, 0.1, 0.5, 1.0], pages)
    if has_max:
        high = problem.lowest + budget / pages * rng.choice([0.0, 0.01, 1.0, 10.0], pages)
        problem.max_rate = np.where(rng.random(pages) < 0.3, np.inf, high)
    return problem


def as_problem(
    rows: list[tuple[float, float]], budget: float, kind: str = "poisson", **limits: object
) -> Problem:
    """Rows of change rate and importance."""
    change_rate, importance = (np.array(column, float) for column in zip(*rows, strict=True))
    problem = Problem(
        change_rate,
        budget,
        importance,
        visits="periodic" if kind == "periodic" else "poisson",
        objective="harmonic" if kind == "harmonic" else "freshness",
    )
    for name, value in limits.items():
        setattr(problem, name, value)
    return problem


def spread(decades: float) -> st.SearchStrategy[float]:
    """Numbers within the given decades around 1, with many ties."""
    return st.floats(-decades, decades).map(lambda exponent: 10.0 ** round(exponent, 2))


ROWS = st.lists(st.tuples(spread(2), spread(2)), min_size=1, max_size=12)
BUDGETS = spread(2)


def demand(seed: int, pages: int) -> tuple[Floats, Floats]:
    """Change rates and importances as skewed as real ones."""
    rng = np.random.default_rng(seed)
    return rng.gamma(0.5, 1.0, pages), rng.pareto(1.2, pages) + 1.0
