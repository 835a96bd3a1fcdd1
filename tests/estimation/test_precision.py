"""Kernels against extended precision, over 24 decades."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from recrawl import MLE, GammaFilter, MomentMatching, Prior, Tracker, estimate
from recrawl.estimation.gamma import after_change
from recrawl.kernels.jit import Floats, compiled
from recrawl.kernels.simd_math import exp_minus, log1p

DECADES = st.floats(-12.0, 12.0).map(lambda exponent: 10.0**exponent)
SHAPES = st.floats(-6.0, 9.0).map(lambda exponent: 10.0**exponent)


@compiled
def all_log1p(u: Floats) -> Floats:
    out = np.empty_like(u)
    for i in range(u.size):
        out[i] = log1p(u[i], 1.0 / (1.0 + u[i]))
    return out


@compiled
def all_exp_minus(x: Floats) -> tuple[Floats, Floats]:
    kept, lost = np.empty_like(x), np.empty_like(x)
    for i in range(x.size):
        kept[i], lost[i] = exp_minus(x[i])
    return kept, lost


@compiled
def one_change(a: float, b: float, tau: float) -> tuple[float, float]:
    return after_change(a, b, tau, 1.0)


def test_elementary_functions() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([10.0 ** rng.uniform(-24, 24, 20_000), [1e-300, 1e-16, 1.0, 700.0, 1e300]])
    with mp.workdps(50):
        expected_log = [float(mp.log1p(mpf(v))) for v in x]
        expected_exp = [float(-mp.expm1(-mpf(v))) for v in x]
    np.testing.assert_allclose(all_log1p(x), expected_log, rtol=5e-16)
    kept, lost = all_exp_minus(x)
    np.testing.assert_allclose(lost, expected_exp, rtol=5e-16)
    np.testing.assert_allclose(kept[x < 700], np.exp(-x[x < 700]), rtol=5e-16)


def exact_change(a: float, b: float, tau: float) -> tuple[float, float]:
    with mp.workdps(120):
        a_, b_, t_ = mpf(a), mpf(b), mpf(tau)
        r = b_ / (b_ + t_)
        c = r**a_
        m1 = (a_ / b_) * (1 - c * r) / (1 - c)
        m2 = (a_ * (a_ + 1) / b_**2) * (1 - c * r * r) / (1 - c)
        v = m2 - m1 * m1
        return float(m1 * m1 / v), float(m1 / v)


@given(shape=SHAPES, time=DECADES, elapsed=DECADES)
def test_a_change(shape: float, time: float, elapsed: float) -> None:
    found = one_change(shape, time, elapsed)
    # a·log1p(u) carries the rounding of its factors into the exponent, where c matters.
    rtol = 1e-13 * max(1.0, min(shape * math.log1p(elapsed / time), 700.0))
    np.testing.assert_allclose(found, exact_change(shape, time, elapsed), rtol=rtol)


@given(st.lists(st.tuples(DECADES, st.booleans()), min_size=1, max_size=12), DECADES)
def test_the_filter_over_gaps_of_any_size(rows: list[tuple[float, bool]], time: float) -> None:
    a, b = 0.5, time
    for elapsed, changed in rows:
        a, b = exact_change(a, b, elapsed) if changed else (a, b + elapsed)
    page = np.zeros(len(rows), int)
    found = estimate(page, *zip(*rows, strict=True), method=GammaFilter(Prior(0.5, time)))
    assert found.rate[0] == pytest.approx(a / b, rel=1e-9)
    assert found.state.shape[0] == pytest.approx(a, rel=1e-9)
    assert 0.0 <= found.low[0] <= found.high[0] < np.inf


@given(st.lists(st.tuples(DECADES, st.booleans()), min_size=2, max_size=12))
def test_roots_over_gaps_of_any_size(rows: list[tuple[float, bool]]) -> None:
    changed = [bit for _, bit in rows]
    if all(changed) or not any(changed):
        rows = [*rows, (1.0, not changed[0])]
    mle, moments = Tracker(MLE()), Tracker(MomentMatching())
    for elapsed, bit in rows:
        mle.observe(bit, elapsed)
        moments.observe(bit, elapsed)
    with mp.workdps(60):

        def score(rate: mpf) -> mpf:
            return sum(t / mp.expm1(rate * t) for t, bit in rows if bit) - sum(
                mpf(t) for t, bit in rows if not bit
            )

        def excess(rate: mpf) -> mpf:
            return sum(mp.exp(-rate * t) for t, _ in rows) - sum(not bit for _, bit in rows)

        for function, tracker in ((score, mle), (excess, moments)):
            # Both functions fall: the root lies where the sign turns.
            assert function(mpf(tracker.rate) * (1 - mpf("1e-9"))) > 0
            assert function(mpf(tracker.rate) * (1 + mpf("1e-9"))) < 0
        low, high = mle.interval()
        assert 0.0 < low < mle.rate < high < np.inf


def test_intervals_over_shapes_of_any_size() -> None:
    shape = 10.0 ** np.linspace(-6, 9, 31)
    method = GammaFilter(Prior(shape, np.ones(31)))
    low, high = method.interval(method.start(31))
    with mp.workdps(30):
        for a, lower, upper in zip(shape[::5], low[::5], high[::5], strict=True):
            if lower > 1e-290 and a < 1e5:
                assert float(mp.gammainc(a, 0, lower, regularized=True)) == pytest.approx(0.025)
            if upper > 1e-290 and a < 1e5:
                assert float(mp.gammainc(a, upper, regularized=True)) == pytest.approx(0.025)
    assert np.all((low <= shape) & (np.isfinite(high)))
    assert high[-1] / shape[-1] == pytest.approx(1 + 1.96 / np.sqrt(shape[-1]), rel=1e-6)
