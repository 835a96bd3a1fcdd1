"""Simulated visits to pages, and what estimators make of them, visit by visit."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recrawl.estimation import (
    LLN,
    MLE,
    SA,
    Estimator,
    GammaFilter,
    MomentMatching,
    Naive,
    Observations,
)
from recrawl.kernels.jit import Floats, Ints

#: The estimators that the report compares, as it names them; the settings are the paper's.
ESTIMATORS: Mapping[str, Estimator[Any]] = {
    "LLN": LLN(alpha=1.0),
    "SA": SA(gamma=0.75),
    "Naive": Naive(),
    "MLE": MLE(),
    "MM": MomentMatching(),
    "Gamma": GammaFilter(),
}
#: Maximum rows drawn at once, so that memory does not grow with the number of visits.
BATCH_ROWS = 1 << 20


def checkpoints(first: int, last: int, points: int) -> Ints:
    """Return numbers of visits, evenly spread on a logarithmic scale.

    >>> checkpoints(1, 1_000, 4)
    array([   1,   10,  100, 1000])
    """
    return np.unique(np.geomspace(first, last, points).round().astype(np.int64))


def follow(
    estimators: Mapping[str, Estimator[Any]],
    change_rate: ArrayLike,
    crawl_rate: float,
    visits: Ints,
    rng: np.random.Generator,
) -> dict[str, Floats]:
    """Visit pages at random times, feed every estimator the same bits, and record the estimates.

    Args:
        estimators: The estimators by name.
        change_rate: Each page's Δ; a page simulated many times occurs many times.
        crawl_rate: Visits per day to each page, p, known to the estimators.
        visits: The numbers of visits at which estimates are recorded, ascending.
        rng: The source of randomness for gaps and changes.

    Returns:
        For each estimator an array with a row per number of visits and a column per page.

    >>> from recrawl.estimation import LLN, Naive
    >>> found = follow(
    ...     {"LLN": LLN(), "Naive": Naive()}, np.full(500, 5.0), 3.0, np.array([10, 1_000]),
    ...     np.random.default_rng(0),
    ... )
    >>> {name: np.median(rate, axis=1).round(1).tolist() for name, rate in found.items()}
    {'LLN': [3.6, 5.0], 'Naive': [1.8, 1.9]}
    """
    rates = np.atleast_1d(np.asarray(change_rate, np.float64))
    states = {name: estimator.start(rates.size) for name, estimator in estimators.items()}
    found: dict[str, list[Floats]] = {name: [] for name in estimators}
    batch = max(BATCH_ROWS // max(rates.size, 1), 1)
    done = 0
    for stop in visits.tolist():
        while done < stop:
            count = min(batch, stop - done)
            seen = _visits(rates, crawl_rate, count, rng)
            for name, estimator in estimators.items():
                states[name] = estimator.update(states[name], seen)
            done += count
        for name, estimator in estimators.items():
            found[name].append(estimator.rate(states[name]))
    return {name: np.array(rows) for name, rows in found.items()}


def _visits(
    change_rate: Floats, crawl_rate: float, count: int, rng: np.random.Generator
) -> Observations:
    """Draw ``count`` visits to each page, grouped by page."""
    page = np.repeat(np.arange(change_rate.size), count)
    elapsed = rng.exponential(1.0 / crawl_rate, page.size)
    missed = np.exp(-np.repeat(change_rate, count) * elapsed)
    return Observations.of(
        elapsed, rng.random(page.size) >= missed, page=page, crawl_rate=crawl_rate
    )
