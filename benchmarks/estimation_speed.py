"""The speed of estimation: 20 million visits to 1 million pages, with skewed visit counts."""

import itertools
import sys
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from scipy import optimize

from benchmarks.report import HEADINGS, Figure, best_time, markdown, printed, write_section
from benchmarks.sizes import sized
from recrawl import LLN, MLE, Estimator, GammaFilter, Observations, estimate
from recrawl.kernels.jit import Bools, Floats, Ints, cores

PAGES, VISITS = sized((1_000_000, 20_000_000), (2_000, 20_000))
#: Pages that scipy solves one by one, and rows with which kernels and memory are warmed up.
SOLVED, WARM_UP = sized((2_000, 300_000), (50, 10_000))
PAGE = "explanation/choosing-an-estimator.md"


class Columns(NamedTuple):
    """The columns of a log."""

    page: Ints
    elapsed: Floats
    changed: Bools


def skewed_log(pages: int, visits: int, seed: int = 0) -> Columns:
    """Return a log sorted by page: visits are Pareto-distributed, and some 41 % find a change."""
    rng = np.random.default_rng(seed)
    share = rng.pareto(1.2, pages) + 1.0
    page = np.repeat(np.arange(pages), rng.multinomial(visits, share / share.sum()))
    elapsed = rng.exponential(1.0, visits)
    rate = rng.gamma(1.0, 1.0, pages)
    return Columns(page, elapsed, rng.random(visits) < -np.expm1(-rate[page] * elapsed))


def shuffled(log: Columns, seed: int = 1) -> Columns:
    """Return the rows in random order."""
    order = np.random.default_rng(seed).permutation(log.page.size)
    return Columns(log.page[order], log.elapsed[order], log.changed[order])


def fold(method: Estimator[Any], log: Columns) -> object:
    """Fold columns like a program with its own page numbers."""
    seen = Observations(PAGES, log.page, log.elapsed, log.changed)
    return method.update(method.start(PAGES), seen)


def brentq_rate(log: Columns, pages: int) -> float:
    """Solve the likelihood equation page by page with scipy; return pages per second."""
    ends = np.searchsorted(log.page, np.arange(pages + 1)).tolist()
    rows = [slice(*span) for span in itertools.pairwise(ends)]

    def solve_all() -> None:
        for here in rows:
            bits, elapsed = log.changed[here], log.elapsed[here]
            if 0 < bits.sum() < bits.size:
                optimize.brentq(_score, 1e-6, 100.0, (elapsed[bits], elapsed[~bits].sum()))

    with np.errstate(over="ignore"):
        return pages / best_time(solve_all, repeat=3)


def _score(rate: float, moved: Floats, still: float) -> float:
    return float((moved / np.expm1(rate * moved)).sum() - still)


def run() -> list[Figure]:
    """Measure everything in one run, and write the table."""
    with Console(stderr=True).status("making 20 million visits"):
        log = skewed_log(PAGES, VISITS)
        mixed = shuffled(log)
        for method in (GammaFilter(), LLN(), MLE()):
            for order in (log, mixed):
                estimate(*(column[:WARM_UP] for column in order), method=method)
    figures = [*fold_figures(log, mixed), *page_figures(log), memory_figure()]
    write_section(PAGE, "speed", markdown(HEADINGS, [figure.cells() for figure in figures]))
    return figures


def fold_figures(log: Columns, mixed: Columns) -> list[Figure]:
    """Compare folds with np.log and np.bincount on arrays of the same length."""
    logs = best_time(lambda: np.log(log.elapsed), repeat=10)
    grown = skewed_log(PAGES // 10, VISITS // 10)
    small = best_time(lambda: estimate(*grown)) * 10
    whole = best_time(lambda: estimate(*log))
    counted = best_time(lambda: np.bincount(log.page))
    counted_mixed = best_time(lambda: np.bincount(mixed.page))
    on = f", {cores()} cores"
    return [
        Figure(
            f"`GammaFilter`, rows sorted by page: speed / np.log's{on}",
            logs / best_time(lambda: fold(GammaFilter(), log), repeat=10),
            0.4,
            at_least=True,
        ),
        Figure(
            f"`GammaFilter`, rows in any order: speed / np.log's{on}",
            logs / best_time(lambda: fold(GammaFilter(), mixed), repeat=10),
            0.12,
            at_least=True,
        ),
        Figure(
            f"`LLN`, sorted: time / np.bincount's{on}",
            best_time(lambda: fold(LLN(), log)) / counted,
            3.0,
        ),
        Figure(
            f"`LLN`, in any order: time / np.bincount's{on}",
            best_time(lambda: fold(LLN(), mixed)) / counted_mixed,
            3.0,
        ),
        Figure("`estimate`: time per visit, 20 million / 2 million visits", whole / small, 2.0),
    ]


def page_figures(log: Columns) -> list[Figure]:
    """Compare the work per page."""
    found = estimate(*log)
    solved = best_time(lambda: estimate(*log, method=MLE()))
    return [
        Figure(
            "`GammaFilter`'s intervals, per page",
            best_time(found.interval, repeat=2) / found.rate.size * 1e6,
            1.5,
            unit=" µs",
        ),
        Figure(
            "`MLE`: pages per second / scipy's brentq page by page",
            found.rate.size / solved / brentq_rate(log, SOLVED),
            200.0,
            at_least=True,
        ),
    ]


PEAK = """
import numpy as np
from benchmarks.estimation_speed import PAGES, VISITS, WARM_UP, skewed_log, shuffled
from recrawl import LLN, GammaFilter, estimate

def peak():
    with open("/proc/self/status") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

for method in (GammaFilter(), LLN()):
    estimate(*shuffled(skewed_log(1_000, WARM_UP)), method=method)
before = peak()
rng = np.random.default_rng(0)
page = rng.integers(0, PAGES, VISITS)
elapsed = rng.random(VISITS)
elapsed += 0.1
changed = np.zeros(VISITS, bool)
changed[::2] = True
for method in (GammaFilter(), LLN()):
    estimate(page, elapsed, changed, method=method)
print((peak() - before) / (page.nbytes + elapsed.nbytes + changed.nbytes))
"""


def memory_figure() -> Figure:
    """Measure the peak memory of a separate process, the columns themselves included."""
    peak = float(printed([sys.executable, "-c", PEAK]))
    return Figure("`estimate`: peak memory / input columns", peak, 3.0)
