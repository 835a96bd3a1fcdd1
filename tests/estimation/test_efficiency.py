"""How near to the best possible the Gamma filter comes, alone, and how honest its interval is."""

import numpy as np
import pytest
from estimation.worlds import exponential_log
from scipy import integrate

from recrawl import MLE, GammaFilter, estimate

RUNS = 2_000


def information(ratio: float) -> float:
    """Fisher information of one visit about Δ at p = 1: E[τ² / (e^(Δτ) − 1)]."""
    return float(integrate.quad(lambda t: t * t / np.expm1(ratio * t) * np.exp(-t), 0.0, 100.0)[0])


@pytest.mark.parametrize("ratio", [0.1, 1.0, 5 / 3, 5.0])
@pytest.mark.parametrize("visits", [100, 1_000])
def test_as_accurate_as_the_mle(ratio: float, visits: int) -> None:
    log = exponential_log(ratio, 1.0, RUNS, visits, seed=visits)
    errors = {
        name: np.sqrt(np.mean((estimate(*log[:3], method=method).rate - ratio) ** 2))
        for name, method in (("filter", GammaFilter()), ("mle", MLE()))
    }
    assert errors["filter"] <= 1.05 * errors["mle"]
    if visits == 1_000:
        assert errors["filter"] <= 1.10 / np.sqrt(visits * information(ratio))


@pytest.mark.parametrize("ratio", [0.1, 1.0, 5 / 3, 5.0])
@pytest.mark.parametrize("visits", [30, 100, 1_000])
def test_the_interval_covers_as_it_says(ratio: float, visits: int) -> None:
    log = exponential_log(ratio, 1.0, RUNS, visits, seed=10 * visits)
    found = estimate(*log[:3])
    covered = np.mean((found.low <= ratio) & (ratio <= found.high))
    assert 0.93 <= covered <= 0.97
