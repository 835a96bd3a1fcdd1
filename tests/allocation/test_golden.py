"""Numbers that others published."""

import numpy as np
import pytest
from golden import avrachenkov_patil_thoppe_2020 as expt2
from golden import cho_garcia_molina_2003 as five

from recrawl import allocate, uniform


def test_five_pages() -> None:
    plan = allocate(five.CHANGE_RATE, five.BUDGET, visits="periodic")
    assert plan.crawl_rate.round(2).tolist() == five.CRAWL_RATE
    assert plan.freshness == pytest.approx(five.FRESHNESS, abs=5e-5)


def test_the_second_experiment() -> None:
    rng = np.random.default_rng(2020)
    reached = np.array(
        [
            [
                allocate(change_rate, expt2.BUDGET).freshness,
                uniform(change_rate, expt2.BUDGET, visits="periodic").freshness,
                allocate(change_rate, expt2.BUDGET, visits="periodic").freshness,
            ]
            for change_rate in rng.random((50, expt2.PAGES))
        ]
    ).mean(axis=0)
    expected = [expt2.POISSON_OPTIMUM, expt2.REGULAR_UNIFORM, expt2.REGULAR_OPTIMUM]
    np.testing.assert_allclose(reached, expected, rtol=0, atol=expt2.WITHIN)


def test_one_rate_for_all_has_a_closed_form() -> None:
    """The mean over Δ ~ U[0, 1] of .8/(.8 + Δ) is .8 ln(1.8/.8)."""
    change_rate = (np.arange(100_000) + 0.5) / 100_000
    plan = uniform(change_rate, 0.8 * change_rate.size)
    assert plan.freshness == pytest.approx(0.8 * np.log(1.8 / 0.8), rel=1e-9)
