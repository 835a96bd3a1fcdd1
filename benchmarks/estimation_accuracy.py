"""How close each estimator comes to the best possible, and the coverage of its interval."""

from typing import Any

import numpy as np
from rich.progress import track

from benchmarks.report import Figure, markdown, write_section
from benchmarks.sizes import sized
from recrawl import (
    LLN,
    MLE,
    SA,
    SAM,
    BiasReduced,
    Estimates,
    Estimator,
    GammaFilter,
    LastModified,
    MomentMatching,
    Naive,
    estimate,
)
from recrawl.paper.efficiency import information

RUNS = sized(2_000, 10)
#: More runs are needed to tell a coverage from its bar.
COVERAGE_RUNS = sized(20_000, 10)
RATIOS = {"0.1": 0.1, "1": 1.0, "5/3": 5 / 3, "5": 5.0}
VISITS = (30, 100, 1_000)
PAGE = "explanation/choosing-an-estimator.md"

METHODS: dict[str, Estimator[Any]] = {
    "`GammaFilter()`": GammaFilter(),
    "`MLE()`": MLE(),
    "`MomentMatching()`": MomentMatching(),
    "`LLN()`": LLN(),
    "`LLN('sqrt')`": LLN("sqrt"),
    "`SA()`": SA(),
    "`SA(averaged=True)`": SA(averaged=True),
    "`SAM()`": SAM(),
    "`BiasReduced()`": BiasReduced(),
    "`Naive()`": Naive(),
    "`LastModified()`, dates known": LastModified(),
}


def simulate(change_rate: float, visits: int, runs: int, seed: int) -> dict[str, Estimates]:
    """Fold the same runs of the model, p = 1, with every estimator."""
    rng = np.random.default_rng(seed)
    page = np.repeat(np.arange(runs), visits)
    elapsed = rng.exponential(1.0, page.size)
    age = rng.exponential(1.0 / change_rate, page.size)
    return {
        name: estimate(page, elapsed, age < elapsed, crawl_rate=1.0, age=age, method=method)
        for name, method in METHODS.items()
    }


def run() -> list[Figure]:
    """Measure, write the tables, and return the figures that have a bar."""
    error: dict[tuple[str, str, int], float] = {}
    covered: dict[tuple[str, str, int], float] = {}
    cases = [(name, visits) for name in RATIOS for visits in VISITS]
    for number, (name, visits) in enumerate(track(cases, "accuracy")):
        ratio = RATIOS[name]
        for method, found in simulate(ratio, visits, RUNS, seed=number).items():
            squared = np.mean((found.rate - ratio) ** 2)
            error[method, name, visits] = float(np.sqrt(squared))
        for method, found in simulate(ratio, visits, COVERAGE_RUNS, seed=100 + number).items():
            inside = (found.low <= ratio) & (ratio <= found.high)
            covered[method, name, visits] = float(inside.mean())
    write_accuracy(error)
    write_coverage(covered)
    return figures(error, covered)


def write_accuracy(error: dict[tuple[str, str, int], float]) -> None:
    """Write RMSE over the Cramér–Rao bound, for 100 and 1,000 visits."""
    shown = [visits for visits in VISITS if visits >= 100]
    headings = ["RMSE / bound", *(f"Δ/p = {r}, k = {k}" for r in RATIOS for k in shown)]
    rows = [
        [
            method,
            *(
                f"{error[method, r, k] * np.sqrt(k * information(RATIOS[r], 1.0)):.2f}"
                for r in RATIOS
                for k in shown
            ),
        ]
        for method in METHODS
    ]
    write_section(PAGE, "accuracy", markdown(headings, rows))


def write_coverage(covered: dict[tuple[str, str, int], float]) -> None:
    """Write how often the interval at 95 % contained the true rate."""
    headings = ["coverage at 95 %", *(f"{r}, k = {k}" for r in RATIOS for k in VISITS)]
    rows = [
        [method, *(f"{100 * covered[method, r, k]:.0f}" for r in RATIOS for k in VISITS)]
        for method in METHODS
    ]
    write_section(PAGE, "coverage", markdown(headings, rows))


def figures(
    error: dict[tuple[str, str, int], float], covered: dict[tuple[str, str, int], float]
) -> list[Figure]:
    """Compare the filter with the MLE, the Cramér–Rao bound and its own promise."""
    filter_, mle = "`GammaFilter()`", "`MLE()`"
    shown = [
        Figure(
            f"filter's RMSE / MLE's, Δ/p = {r}, k = {k}",
            error[filter_, r, k] / error[mle, r, k],
            1.05,
        )
        for r in RATIOS
        for k in (100, 1_000)
    ]
    shown += [
        Figure(
            f"filter's RMSE / Cramér–Rao bound, Δ/p = {r}, k = 1000",
            error[filter_, r, 1_000] * np.sqrt(1_000 * information(RATIOS[r], 1.0)),
            1.10,
        )
        for r in RATIOS
    ]
    coverage = [covered[filter_, r, k] for r in RATIOS for k in VISITS]
    shown.append(Figure("filter's coverage at 95 %, least", min(coverage), 0.93, at_least=True))
    shown.append(Figure("filter's coverage at 95 %, most", max(coverage), 0.97))
    return shown
