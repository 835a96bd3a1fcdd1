"""General-purpose solvers on the same problems: independent code that uses no shortcuts."""

import warnings
from importlib import import_module
from typing import Any

import numpy as np
from allocation.reference import Problem, objective, page_gain
from scipy import optimize

from recrawl.kernels.jit import Floats

minimize: Any = optimize.minimize  # its types leave out what it takes
SLSQP = {"ftol": 1e-15, "maxiter": 500}
cp: Any = import_module("cvxpy")  # its types leave out what it exports

CLARABEL = {
    "solver": "CLARABEL",
    "tol_gap_abs": 1e-13,
    "tol_gap_rel": 1e-13,
    "tol_feas": 1e-13,
    # Where thirteen digits are out of reach, what was reached is taken.
    "reduced_tol_gap_abs": 1e-6,
    "reduced_tol_gap_rel": 1e-6,
    "reduced_tol_feas": 1e-6,
}


def with_cvxpy(problem: Problem) -> Floats:
    """Solve for random visits: freshness through 1/(p + Δ), harmonic through log(1 + eˣ)."""
    d, w = problem.change_rate, problem.importance
    p = cp.Variable(problem.pages)
    if problem.kind == "harmonic":
        value = -w @ cp.logistic(np.log(d) - cp.log(p))
    else:
        value = w.sum() - (w * d) @ cp.inv_pos(p + d)
    limits = [problem.costs @ p <= problem.budget, p >= problem.lowest]
    capped = np.flatnonzero(np.isfinite(problem.highest))
    if capped.size:
        limits.append(p[capped] <= problem.highest[capped])
    for host, budget in enumerate(problem.host_limits):
        if np.isfinite(budget):
            limits.append(cp.sum(p[np.flatnonzero(problem.hosts == host)]) <= budget)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        cp.Problem(cp.Maximize(value), limits).solve(**CLARABEL)
    return feasible(problem, np.asarray(p.value, float))


def with_slsqp(problem: Problem, seed: int) -> Floats:
    """Solve for regular visits with scipy, from several starts; return the best result."""
    d, w, kind = problem.change_rate, problem.importance, problem.kind
    rows, ends = [problem.costs], [problem.budget]
    for host, budget in enumerate(problem.host_limits):
        if np.isfinite(budget):
            rows.append((problem.hosts == host).astype(float))
            ends.append(budget)
    matrix, end = np.array(rows), np.array(ends)
    rng = np.random.default_rng(seed)
    best = feasible(problem, problem.lowest)
    for start in [np.full(problem.pages, problem.budget / problem.pages), rng.random(d.size)]:
        done = minimize(
            lambda p: -objective(problem, p),
            feasible(problem, start),
            jac=lambda p: -w * page_gain(kind, np.maximum(p, 0.0), d),
            bounds=optimize.Bounds(problem.lowest, problem.highest),
            constraints=optimize.LinearConstraint(matrix, -np.inf, end),
            method="SLSQP",
            options=SLSQP,
        )
        found = feasible(problem, done.x)
        best = max(best, found, key=lambda rate: objective(problem, rate))
    return best


def feasible(problem: Problem, crawl_rate: Floats) -> Floats:
    """Move rates towards their minimum until every limit is kept; solvers overstep a little."""
    low = problem.lowest
    more = np.clip(crawl_rate, low, problem.highest) - low
    kept = 1.0
    on_host = problem.host_limits - np.bincount(problem.hosts, low, problem.host_limits.size)
    wanted = np.bincount(problem.hosts, more, problem.host_limits.size)
    for spare, want in [
        (problem.budget - problem.costs @ low, problem.costs @ more),
        *zip(on_host, wanted, strict=True),
    ]:
        kept = min(kept, spare / want if want > spare else 1.0)
    return low + max(kept, 0.0) * more
