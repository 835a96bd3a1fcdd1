"""What the filter promises beside its formula."""

import numpy as np
import pytest
from estimation.worlds import mixed_log
from hypothesis import given
from hypothesis import strategies as st

from recrawl import GammaFilter, LastModified, Observations, Prior, Tracker, estimate
from recrawl.errors import ArgumentError
from recrawl.estimation import gamma
from recrawl.estimation.belief import Belief
from recrawl.estimation.estimator import copied
from recrawl.kernels import jit

GAPS = st.floats(1e-3, 1e3)
ROWS = st.lists(st.tuples(GAPS, st.booleans()), min_size=1, max_size=30)


def folded(method: GammaFilter, rows: list[tuple[float, bool]]) -> Belief:
    elapsed, changed = zip(*rows, strict=True)
    page = np.zeros(len(rows), np.int64)
    return method.update(method.start(1), Observations.of(elapsed, changed, page=page))


def test_the_fast_fold_is_the_slow_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages with few and with very many rows, on several cores, in two batches."""
    monkeypatch.setattr(jit, "cores", lambda: 3)
    rng = np.random.default_rng(3)
    page = np.sort((20_000 * rng.random(1_500_000) ** 4).astype(np.int64))
    elapsed = rng.exponential(1.0, page.size)
    rate = rng.lognormal(-1, 2, 20_000)
    changed = rng.random(page.size) < -np.expm1(-rate[page] * elapsed)
    first = rng.random(page.size) < 0.5
    for prior in (None, Prior(0.5, 2.0)):
        method = GammaFilter(prior)
        state, slow = method.start(20_000), method.start(20_000)
        for part in (first, ~first):
            seen = Observations.of(elapsed[part], changed[part], page=page[part], pages=20_000)
            state = method.update(state, seen)
            slow = copied(slow)
            gamma.fold_rows(
                slow.shape, slow.time, slow.visits, slow.elapsed,
                0.5 if prior is None else 0.0, slow.shape, slow.time, np.inf, seen.grouped,
            )  # fmt: skip
        assert np.bincount(page).max() > 10 * gamma.MANY_ROWS
        for fast_column, slow_column in zip(state, slow, strict=True):
            np.testing.assert_allclose(fast_column, slow_column, rtol=1e-10)


@given(ROWS, st.floats(-3, 3))
def test_the_unit_of_time_does_not_matter(rows: list[tuple[float, bool]], exponent: float) -> None:
    """Alone, or with a prior in the same unit, elapsed·c gives rate/c."""
    c = 10.0**exponent
    scaled = [(c * elapsed, changed) for elapsed, changed in rows]
    for method, other in (
        (GammaFilter(), GammaFilter()),
        (GammaFilter(Prior(0.7, 3.0)), GammaFilter(Prior(0.7, 3.0 * c))),
    ):
        rate, scaled_rate = folded(method, rows).rate[0], folded(other, scaled).rate[0]
        assert scaled_rate * c == pytest.approx(rate, rel=1e-8)


@given(ROWS)
def test_a_change_raises_the_rate_and_none_lowers_it(rows: list[tuple[float, bool]]) -> None:
    method = GammaFilter(Prior(0.5, 1.0))
    before = folded(method, rows)
    for changed in (True, False):
        after = method.update(before, Observations.of([1.0], [changed]))
        assert (after.rate[0] > before.rate[0]) == changed


@given(ROWS)
def test_a_change_never_takes_time_from_the_belief(rows: list[tuple[float, bool]]) -> None:
    """So what is left beside the prior's time is never negative, and the prior can be moved."""
    state = folded(GammaFilter(Prior(0.5, 1.0)), rows)
    assert state.time[0] >= 1.0 + sum(e for e, changed in rows if not changed) - 1e-9


def test_forgetting_returns_to_the_prior() -> None:
    prior = Prior(0.5, 10.0)
    method = GammaFilter(prior, half_life=5.0)
    state = folded(method, [(1.0, True)] * 50)
    assert state.rate[0] > 0.3
    long_after = method.update(state, Observations.of([5_000.0], [False]))
    expected = GammaFilter(prior)
    fresh = expected.update(expected.start(1), Observations.of([5_000.0], [False]))
    assert long_after.rate[0] == pytest.approx(fresh.rate[0], rel=1e-9)


def test_forgetting_follows_a_rate_that_drifts() -> None:
    rng = np.random.default_rng(2)
    rates = np.where(np.arange(4_000) < 2_000, 0.2, 3.0)
    changed = rng.random(4_000) < -np.expm1(-rates)
    page = np.zeros(4_000, int)
    forgetful = estimate(page, np.ones(4_000), changed, method=GammaFilter(half_life=100.0))
    lasting = estimate(page, np.ones(4_000), changed)
    assert forgetful.rate[0] == pytest.approx(3.0, rel=0.4)
    assert lasting.rate[0] < 1.5


def test_no_visits_is_the_prior() -> None:
    assert Tracker(GammaFilter()).rate == 1.0
    assert Tracker(GammaFilter(Prior(0.5, 20.0))).rate == 0.025


def test_dates_are_worth_more_than_bits() -> None:
    """With Last-Modified, the error of one page's rate is smaller than from its bits."""
    log = mixed_log(5, pages=400, rows=40_000)
    dated = estimate(*log[:3], age=log.age, method=LastModified())
    plain = estimate(*log[:3])
    width = (dated.high - dated.low) / dated.rate
    assert np.median(width) < 0.9 * np.median((plain.high - plain.low) / plain.rate)


def test_a_date_in_the_future_counts_as_now() -> None:
    def rate(age: float) -> float:
        page = Tracker(LastModified())
        page.observe(changed=True, elapsed=1.0, age=age)
        return page.rate

    assert rate(-3.0) == rate(0.0)


@pytest.mark.parametrize("half_life", [0.0, -1.0, np.nan, np.inf])
def test_a_half_life_is_positive(half_life: float) -> None:
    with pytest.raises(ArgumentError, match="half_life"):
        GammaFilter(half_life=half_life)


@pytest.mark.parametrize("prior", [(0.0, 1.0), (1.0, -1.0), (np.nan, 1.0), (1.0, np.inf)])
def test_a_prior_is_positive(prior: tuple[float, float]) -> None:
    with pytest.raises(ArgumentError, match=r"shape|time"):
        Prior(*prior)


def test_a_prior_has_one_element_a_page() -> None:
    with pytest.raises(ArgumentError, match="prior: has 2 elements for 3 pages"):
        GammaFilter(Prior([0.5, 0.5], 1.0)).start(3)
