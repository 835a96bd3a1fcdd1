"""The second experiment against the allocation draw by draw, and against theory."""

from typing import Literal

import numpy as np
import pytest
from paper.undrawn import undrawn

from recrawl.allocation import allocate, freshness
from recrawl.paper import experiment_2
from recrawl.paper.experiment_2_numbers import BUDGET, CRAWL_RATE, Draws, Experiment2, measure


@pytest.fixture(scope="module")
def found() -> Experiment2:
    return measure(8, np.random.default_rng(3))


@pytest.mark.parametrize("visits", ["poisson", "periodic"])
def test_draws_solved_at_once_are_those_solved_apart(
    visits: Literal["poisson", "periodic"],
) -> None:
    believed = np.random.default_rng(5).random((6, 100))
    believed[1] = 0.0
    believed[2, 3:] = 0.0
    together = Draws(believed).crawl_rate(believed, visits)
    for row, rates in zip(believed, together, strict=True):
        apart = allocate(row, BUDGET, visits=visits)
        np.testing.assert_allclose(rates, apart.crawl_rate, rtol=1e-9, atol=1e-12)


def test_draws_where_nothing_is_believed_to_change_get_no_visits() -> None:
    draws = Draws(np.full((2, 100), 0.5))
    rates = draws.crawl_rate(np.vstack([np.zeros(100), np.full(100, 0.2)]))
    assert draws.freshness(rates).tolist() == pytest.approx([0.0, 0.8 / 1.3])


def test_levels_are_those_of_uniform_rates_between_0_and_1(found: Experiment2) -> None:
    """Uniform rates have integrals: ∫ p/(p+x) dx, and ∫ (p/x)(1 − e^(−x/p)) dx."""
    p = CRAWL_RATE
    x = (np.arange(100_000) + 0.5) / 100_000
    levels = found.levels
    # A page's freshness has a standard deviation of at most .2, over 800 pages: .007 each.
    assert levels["uniform random"] == pytest.approx(p * np.log1p(1 / p), abs=0.03)
    assert levels["uniform regular"] == pytest.approx(
        float(np.mean(-p / x * np.expm1(-x / p))), abs=0.03
    )
    assert levels["uniform random"] < levels["optimum random"] < levels["uniform regular"]
    assert levels["uniform regular"] < levels["optimum regular"]


def test_pages_given_up_are_those_never_seen_to_change(found: Experiment2) -> None:
    """The mean of (p/(p+Δ))^k over Δ in [0, 1] is p/(k−1)·(1 − (p/(p+1))^(k−1))."""
    at = int(np.searchsorted(found.few.visits, 10))
    expected = CRAWL_RATE / 9 * (1 - (CRAWL_RATE / (1 + CRAWL_RATE)) ** 9)
    error = np.sqrt(expected * (1 - expected) / found.draws.change_rate.size)
    for name in ("LLN", "SA", "Naive", "MLE", "MM"):
        assert found.few.given_up(name)[at] == pytest.approx(expected, abs=4 * error)
        assert found.few.given_up(name).tolist() == found.few.given_up("LLN").tolist()
    assert not found.few.given_up("Gamma").any()


def test_freshness_is_that_of_the_true_rates(found: Experiment2) -> None:
    few = found.few
    plain = few.crawl_rate["SA"][-1, 3] / (few.crawl_rate["SA"][-1, 3] + found.draws.change_rate[3])
    assert few.freshness["SA"][-1, 3] == pytest.approx(plain.mean())
    regular = [
        freshness(
            allocate(believed, BUDGET, visits="periodic").crawl_rate, change, visits="periodic"
        )
        for believed, change in zip(few.estimate["MM"][-1], found.draws.change_rate, strict=True)
    ]
    assert found.regular["MM"][-1] == pytest.approx(np.mean(regular))


def test_nothing_beats_the_optimum(found: Experiment2) -> None:
    for followed in (found.few, found.later):
        assert min(followed.gap(name).min() for name in followed.freshness) > -1e-12
    assert max(line.max() for line in found.regular.values()) <= found.levels["optimum regular"]


def test_consistent_estimators_pass_the_limit_of_the_naive_one(found: Experiment2) -> None:
    assert found.later.rmse_at("LLN", 10_000) < 0.5 * found.naive_rmse
    assert found.later.rmse_at("Naive", 10_000) == pytest.approx(found.naive_rmse, rel=0.15)
    assert found.later.rmse_at("LLN", 10_000) == pytest.approx(
        found.later.rmse_at("LLN", 1_000) / np.sqrt(10), rel=0.15
    )


def test_one_run_is_enough_and_a_seed_gives_the_same_numbers() -> None:
    one = experiment_2.run(1, 7)
    with undrawn():
        again = experiment_2.run(1, 7)
    assert [claim.section for claim in one.claims] == ["4, Expt 2"] * 3
    for table, same in zip(one.tables, again.tables, strict=True):
        for name, column in table.columns.items():
            assert column.tobytes() == same.columns[name].tobytes()
    runs = one.tables[1].columns
    assert runs["low_gap"].tobytes() == runs["high_gap"].tobytes()
    # Another seed's pages are others.
    other = measure(1, np.random.default_rng([8, experiment_2.STREAM])).few
    assert runs["median_gap"][0] != other.gap("LLN")[0, 0]


def test_verdicts_follow_the_numbers(found: Experiment2) -> None:
    rmse = {name: found.few.rmse_at(name, 1_000) for name in ("LLN", "SA", "Naive")}
    claim = experiment_2._claim_crawl_rate(found)  # noqa: SLF001
    much = max(rmse["LLN"], rmse["SA"]) <= 0.5 * rmse["Naive"]
    assert (claim.verdict == "does not hold") is not much
    assert f"{rmse['SA']:.4f} (SA)" in claim.measured
