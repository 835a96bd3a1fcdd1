"""What theory says of the estimators, measured on seeded runs of the paper's model."""

from typing import Any

import numpy as np
import pytest
from estimation.worlds import exponential_log

from recrawl import LLN, SA, Estimator, Observations
from recrawl.estimation.counts import Counts
from recrawl.kernels.jit import Floats

DELTA, P = 5.0, 3.0


def errors_by_visits(
    method: Estimator[Any], runs: int, ks: list[int], seed: int
) -> dict[int, Floats]:
    """Fold runs of the model and take the signed error at the given numbers of visits."""
    log = exponential_log(DELTA, P, runs, ks[-1], seed)
    elapsed = log.elapsed.reshape(runs, -1)
    changed = log.changed.reshape(runs, -1)
    state = method.start(runs)
    errors, done = {}, 0
    for k in ks:
        page = np.repeat(np.arange(runs), k - done)
        seen = Observations.of(
            elapsed[:, done:k].ravel(), changed[:, done:k].ravel(), page=page, crawl_rate=P
        )
        state = method.update(state, seen)
        errors[k] = method.rate(state) - DELTA
        done = k
    return errors


@pytest.mark.parametrize("k", [5, 20, 100])
def test_lln_mean_is_what_theory_says(k: int) -> None:
    """E[x_k] = Δ(1 − μ^k), μ = Δ/(Δ + p), for α ≡ 1."""
    runs = 100_000
    error = errors_by_visits(LLN(), runs, [k], seed=k)[k]
    expected = -DELTA * (DELTA / (DELTA + P)) ** k
    assert abs(error.mean() - expected) < 4 * error.std() / np.sqrt(runs)


@pytest.mark.parametrize("k", [300, 3_000])
def test_lln_variance_is_what_theory_says(k: int) -> None:
    """The variance tends to Δ(Δ + p)²/(pk)."""
    error = errors_by_visits(LLN(), 4_000, [k], seed=k)[k]
    assert error.var() == pytest.approx(DELTA * (DELTA + P) ** 2 / (P * k), rel=0.12)


def test_the_alpha_with_the_least_squared_error() -> None:
    """3 + p/Δ beats 1, and both neighbours, at k = 100: RMSE .996 in place of 1.049."""
    alphas = [1.0, 3.0 + P / DELTA, 8.0]
    squared = [
        float((errors_by_visits(LLN(alpha), 40_000, [100], seed=9)[100] ** 2).mean())
        for alpha in alphas
    ]
    assert min(squared) == squared[1]
    assert np.sqrt(squared[0]) == pytest.approx(1.049, rel=0.02)
    assert np.sqrt(squared[1]) == pytest.approx(0.996, rel=0.02)


def slope_of(mean_error: list[float], ks: list[int]) -> float:
    return float(np.polyfit(np.log(ks), np.log(mean_error), 1)[0])


@pytest.mark.parametrize("gamma", [0.5, 0.75])
def test_slope_of_the_mean_error_of_sa(gamma: float) -> None:
    """E|error| falls as k^(−γ/2) for γ < 1 (Theorem 2)."""
    ks = [500, 1_000, 2_000, 4_000, 8_000]
    errors = errors_by_visits(SA(gamma), 600, ks, seed=4)
    mean = [float(np.abs(errors[k]).mean()) for k in ks]
    assert slope_of(mean, ks) == pytest.approx(-gamma / 2, abs=0.04)


@pytest.mark.parametrize(
    ("alpha", "slope"), [(1.0, -0.5), ("log", -0.5), ("sqrt", -0.5), ("k^0.75", -0.25)]
)
def test_slope_of_the_mean_error_of_lln(alpha: float | str, slope: float) -> None:
    """E|error| falls as max(k^(−1/2), α_k/k) (Theorem 1).

    The bias of large α fades only after millions of visits; counts are drawn instead of visits.
    """
    rng = np.random.default_rng(4)
    ks = [10**7, 10**8, 10**9, 10**10]
    mean = []
    for k in ks:
        changes = rng.binomial(k, DELTA / (DELTA + P), 2_000)
        visits = np.full(changes.size, k)
        state = Counts(visits, changes, visits / P, changes, (changes * P).astype(np.float64))
        mean.append(float(np.abs(LLN(alpha).rate(state) - DELTA).mean()))
    assert slope_of(mean, ks) == pytest.approx(slope, abs=0.04)


@pytest.mark.parametrize("method", [LLN(), SA(0.75)], ids=["LLN", "SA"])
def test_consistent_when_the_crawl_rate_changes_from_gap_to_gap(method: Estimator[Any]) -> None:
    """p_j may depend on the past, as long as it is set when its gap begins."""
    rng = np.random.default_rng(8)
    runs, visits = 2_000, 1_500
    state = method.start(runs)
    rate = np.full(runs, P)
    for _ in range(visits):
        elapsed = rng.exponential(1 / rate)
        changed = rng.random(runs) < -np.expm1(-DELTA * elapsed)
        state = method.update(state, Observations.of(elapsed, changed, crawl_rate=rate))
        # The next gap's rate: faster after a change, slower after none, and random besides.
        rate = np.where(changed, 6.0, 1.5) * rng.uniform(0.5, 1.5, runs)
    found = method.rate(state)
    assert abs(found.mean() - DELTA) < 4 * found.std() / np.sqrt(runs) + 0.01 * DELTA
