"""The corners, against probabilities and the equations' own slopes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from paper.undrawn import undrawn

from recrawl.estimation import LLN, MLE, SA, Estimator, MomentMatching, Observations
from recrawl.paper import corners
from recrawl.paper.corners import ALL, LAST, NONE, RATIOS, Corners

RUNS = 300


@pytest.fixture(scope="module")
def found() -> Corners:
    return corners.measure(RUNS, np.random.default_rng(3))


def test_probabilities_are_powers(found: Corners) -> None:
    row, at = RATIOS.index(10.0), int(np.searchsorted(found.visits, 10))
    assert found.visits[at] == 10
    assert found.predicted[ALL][row, at] == pytest.approx((10 / 11) ** 10)
    assert found.predicted[NONE][row, at] == pytest.approx((1 / 11) ** 10)


def test_shares_are_within_binomial_errors_of_them(found: Corners) -> None:
    for corner in (ALL, NONE):
        expected = found.predicted[corner]
        error = np.sqrt(expected * (1.0 - expected) / RUNS)
        # Where some ten runs are expected on either side the binomial is near enough to normal.
        usual = RUNS * np.minimum(expected, 1.0 - expected) > 10
        assert usual.sum() > 30
        assert np.abs((found.shares[corner] - expected)[usual] / error[usual]).max() < 4.5


def test_shares_never_grow(found: Corners) -> None:
    for corner in (ALL, NONE):
        assert np.all(np.diff(found.shares[corner], axis=1) <= 0)


@pytest.mark.parametrize("estimator", [MLE(), MomentMatching()])
def test_what_is_said_at_regular_visits_is_the_documented_answer(
    estimator: MLE | MomentMatching,
) -> None:
    gaps = np.full(10, 0.5)
    assert corners.estimate_at(estimator, gaps, 2.0, changed=True) == pytest.approx(
        np.log(21) / 0.5
    )
    assert corners.estimate_at(estimator, gaps, 2.0, changed=False) == 0.0


def test_estimates_that_do_not_look_at_gaps(found: Corners) -> None:
    steps = np.arange(1, 11) ** -0.75
    full, empty = found.estimates[ALL], found.estimates[NONE]
    assert (full["LLN"], full["Naive"]) == (30.0, 3.0)
    assert full["SA"] == pytest.approx(3.0 * steps.sum())
    assert (empty["LLN"], empty["SA"], empty["Naive"]) == (0.0, 0.0, 0.0)
    assert 0.0 < empty["Gamma"] < full["Gamma"] < np.inf


@pytest.mark.parametrize("estimator", [LLN(), SA()])
def test_the_ceiling_is_one_no_bits_break(estimator: Estimator[Any]) -> None:
    rng = np.random.default_rng(4)
    page = np.repeat(np.arange(200), 12)
    seen = Observations.of(
        np.ones(page.size), rng.random(page.size) < 0.95, page=page, crawl_rate=1.0
    )
    rates = estimator.rate(estimator.update(estimator.start(200), seen))
    ceiling = corners.estimate_at(estimator, np.ones(12), 1.0, changed=True)
    assert np.unique(rates).size > 3
    assert rates.max() == pytest.approx(ceiling)


@pytest.mark.parametrize("corner", [ALL, NONE])
def test_the_equation_of_mle_is_the_slope_of_its_likelihood(found: Corners, corner: str) -> None:
    gaps = np.array([0.2, 0.5, 1.1])
    equations = corners.equations_at(gaps, changed=corner == ALL)
    rates, value = equations.change_rate, equations.log_likelihood
    left, right = equations.mle
    middle = rates[30]
    near = np.array([middle * (1 - 1e-5), middle * (1 + 1e-5)])
    if corner == ALL:
        ends = np.log(-np.expm1(-np.outer(near, gaps))).sum(axis=1)
        assert value[30] == pytest.approx(ends.mean())
    else:
        ends = -near * gaps.sum()
    assert (left - right)[30] == pytest.approx((ends[1] - ends[0]) / (near[1] - near[0]), rel=1e-5)
    assert found.equations[corner].change_rate.size == rates.size


def test_claims_hold_and_others_would_not(found: Corners) -> None:
    ratio, mle, mm, stable = corners.claims(found)
    assert (ratio.verdict, stable.verdict) == ("holds", "holds")
    assert (mle.verdict, mm.verdict) == ("holds with a remark", "holds with a remark")
    turned = {ALL: found.equations[NONE], NONE: found.equations[ALL]}
    wrong = replace(
        found,
        shares={ALL: found.shares[NONE], NONE: found.shares[ALL]},
        equations=turned,
        largest={"LLN": np.inf, "SA": 1.0},
    )
    assert {claim.verdict for claim in corners.claims(wrong)} == {"does not hold"}


def test_one_run_will_do_and_the_same_seed_gives_the_same() -> None:
    once = corners.run(1, 7)
    with undrawn():
        again = corners.run(1, 7)
    for table, other in zip(once.tables, again.tables, strict=True):
        for name, column in table.columns.items():
            assert column.tobytes() == other.columns[name].tobytes()
    assert once.tables[0].columns["visits"].max() == LAST
