"""The speed of allocation: 10 million pages with skewed change rates and importances."""

import sys
import warnings
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from benchmarks.report import HEADINGS, Figure, best_time, markdown, printed, write_section
from benchmarks.sizes import is_left_out, sized
from recrawl import allocate
from recrawl.kernels.jit import Floats, Ints, cores

PAGES, HOSTS, SMALL = sized((10_000_000, 100_000, 100_000), (20_000, 200, 1_000))
PAGE = "explanation/allocation.md"
#: Mean days between visits to a page.
EVERY = 7.0


class Fleet(NamedTuple):
    """Pages to be visited."""

    change_rate: Floats
    importance: Floats
    budget: float


def skewed_fleet(pages: int, seed: int = 0) -> Fleet:
    """Return pages of which many hardly change and a few matter a lot."""
    rng = np.random.default_rng(seed)
    importance = rng.pareto(1.2, pages)
    importance += 1.0
    return Fleet(rng.gamma(0.5, 1.0, pages), importance, pages / EVERY)


def textbook(change_rate: Floats, importance: Floats, budget: float) -> Floats:
    """Sort pages by w/Δ and take the longest prefix that pays, as in the literature."""
    order = np.argsort(-importance / change_rate)
    d, w = change_rate[order], importance[order]
    root = np.cumsum(np.sqrt(w * d)) / (budget + np.cumsum(d))
    last = np.flatnonzero(w > root**2 * d)[-1]
    rate = np.zeros(d.size)
    kept = order[: last + 1]
    rate[kept] = np.sqrt(w * d)[: last + 1] / root[last] - d[: last + 1]
    return rate


def pass_over(fleet: Fleet) -> object:
    """Multiply and sum: the minimum cost of reading every page."""
    return (fleet.importance * fleet.change_rate).sum()


def host_budgets(fleet: Fleet, host: Ints) -> Floats:
    """Return budgets of half of what a host would get for every other host, and ample ones."""
    wanted = allocate(fleet.change_rate, fleet.budget, importance=fleet.importance).crawl_rate
    visits = np.bincount(host, wanted, HOSTS)
    times = np.where(np.arange(HOSTS) % 2 == 0, 0.5, 10.0)
    return np.asarray(times * visits + 1e-3, np.float64)


def run() -> list[Figure]:
    """Measure everything in one run, and write the table."""
    with Console(stderr=True).status("making 10 million pages"):
        fleet = skewed_fleet(PAGES)
        host = np.random.default_rng(1).integers(0, HOSTS, PAGES)
    figures = [*budget_figures(fleet), host_figure(fleet, host), *memory_figures()]
    if not is_left_out("cvxpy"):
        figures.append(solver_figure())
    write_section(PAGE, "allocation", markdown(HEADINGS, [figure.cells() for figure in figures]))
    return figures


def budget_figures(fleet: Fleet) -> list[Figure]:
    """Compare a single budget with one pass over the pages, and with sorting them."""
    d, w, budget = fleet
    shared = partial(allocate, d, budget, importance=w)
    small = skewed_fleet(SMALL)
    part = partial(allocate, small.change_rate, small.budget, importance=small.importance)
    part()
    shared(visits="periodic")
    one_pass = best_time(partial(pass_over, fleet))
    random = best_time(shared)
    sort = best_time(partial(textbook, d, w, budget), repeat=1)
    regular = best_time(partial(shared, visits="periodic"), repeat=3)
    few_random = best_time(part, repeat=20) * PAGES / SMALL
    few_regular = best_time(partial(part, visits="periodic"), repeat=20) * PAGES / SMALL
    on = f", {cores()} cores"
    return [
        Figure(f"random visits: time / one pass, `(w * d).sum()`{on}", random / one_pass, 10.0),
        Figure(
            f"random visits: speed / sort and cumulate in NumPy{on}",
            sort / random,
            15.0,
            at_least=True,
        ),
        Figure(f"regular visits: time / one pass{on}", regular / one_pass, 80.0),
        Figure(
            "random visits: time per page, 10 million / 100,000 pages", random / few_random, 2.0
        ),
        Figure(
            "regular visits: time per page, 10 million / 100,000 pages", regular / few_regular, 2.0
        ),
    ]


def host_figure(fleet: Fleet, host: Ints) -> Figure:
    """Compare with one pass when pages are on 100,000 hosts, in random order."""
    d, w, budget = fleet
    allowed = host_budgets(fleet, host)
    shared = partial(allocate, d, budget, importance=w, host=host, host_budget=allowed)
    visits = np.bincount(host, shared().crawl_rate, HOSTS)
    full = np.isclose(visits, allowed, rtol=1e-6).mean()
    one_pass = best_time(partial(pass_over, fleet))
    return Figure(
        f"100,000 hosts, {full:.0%} of them full: time / one pass, {cores()} cores",
        best_time(shared, repeat=3) / one_pass,
        30.0,
    )


def solver_figure() -> Figure:
    """Compare with a general solver on 100,000 pages, at its default tolerances."""
    cp: Any = import_module("cvxpy")  # its types leave out what it exports
    d, w, budget = skewed_fleet(SMALL)
    p = cp.Variable(SMALL, nonneg=True)
    problem = cp.Problem(cp.Maximize(w.sum() - (w * d) @ cp.inv_pos(p + d)), [cp.sum(p) <= budget])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        theirs = best_time(lambda: problem.solve(solver="CLARABEL"), repeat=1)
    ours = best_time(lambda: allocate(d, budget, importance=w), repeat=20)
    return Figure("100,000 pages: speed / cvxpy with Clarabel", theirs / ours, 100.0, at_least=True)


PEAK = """
import sys
import numpy as np
from benchmarks.allocation_speed import HOSTS, PAGES, skewed_fleet
from recrawl import allocate

def peak():
    with open("/proc/self/status") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

def share(pages, hosts):
    d, w, budget = skewed_fleet(pages)
    given = {}
    if sys.argv[1] == "hosts":
        given["host"] = np.random.default_rng(1).integers(0, hosts, pages)
        given["host_budget"] = budget / hosts
    held = d.nbytes + w.nbytes + sum(np.asarray(column).nbytes for column in given.values())
    visits = "periodic" if sys.argv[1] == "periodic" else "poisson"
    allocate(d, budget, importance=w, visits=visits, **given)
    return held, d.nbytes

share(PAGES // 25, HOSTS // 25)
before = peak()
held, array = share(PAGES, HOSTS)
print((peak() - before - held) / array)
"""


def memory_figures() -> list[Figure]:
    """Measure the peak memory of separate processes, the result included."""
    kinds = {"poisson": "random visits", "periodic": "regular visits", "hosts": "100,000 hosts"}
    return [
        Figure(f"{name}: peak memory beyond the input / one column", peak_of(kind), 3.0)
        for kind, name in kinds.items()
    ]


def peak_of(kind: str) -> float:
    """Return the peak in columns of one float per page."""
    command = [sys.executable, "-c", PEAK, kind]
    return float(printed(command))
