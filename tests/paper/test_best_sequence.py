"""The best sequences, checked against simulation, and exact moments against plain enumeration."""

from itertools import product

import numpy as np
import pytest
from paper.undrawn import undrawn

from recrawl.estimation import LLN, SA
from recrawl.paper import best_sequence
from recrawl.paper.best_sequence import (
    CHANGE_RATE,
    CRAWL_RATE,
    SHARE,
    lln_errors,
    lln_variance,
    sa_squared_errors,
    twins_apart,
)
from recrawl.paper.simulate import follow


@pytest.mark.parametrize("alpha", [1.0, 3.6, 8.0])
def test_exact_errors_of_lln_are_those_of_runs(alpha: float) -> None:
    runs = 20_000
    rate = np.full(runs, CHANGE_RATE)
    visits, rng = np.array([100]), np.random.default_rng(3)
    error = follow({"LLN": LLN(alpha)}, rate, CRAWL_RATE, visits, rng)["LLN"][0] - CHANGE_RATE
    bias, rmse = lln_errors(alpha, 100)
    assert abs(error.mean() - bias) < 4.0 * error.std() / np.sqrt(runs)
    squared = error**2
    assert abs(squared.mean() - rmse**2) < 4.0 * squared.std() / np.sqrt(runs)


@pytest.mark.parametrize("visits", [1, 5, 20])
def test_the_bias_of_lln_at_one(visits: int) -> None:
    """E[x_k] = Δ(1 − μ^k) for α ≡ 1."""
    assert lln_errors(1.0, visits)[0] == pytest.approx(-CHANGE_RATE * SHARE**visits)


@pytest.mark.parametrize("gamma", [0.75, 1.0])
def test_exact_errors_of_sa_are_those_of_all_sequences(gamma: float) -> None:
    """Every sequence of 8 bits, with its probability, by the paper's recursion in plain Python."""
    length = 8
    plain = np.zeros(length)
    averaged = np.zeros(length)
    for bits in product((0, 1), repeat=length):
        probability = SHARE ** sum(bits) * (1.0 - SHARE) ** (length - sum(bits))
        y = total = 0.0
        for k, bit in enumerate(bits):
            y += (k + 1.0) ** -gamma * (bit * (y + CRAWL_RATE) - y)
            total += y
            plain[k] += probability * (y - CHANGE_RATE) ** 2
            averaged[k] += probability * (total / (k + 1) - CHANGE_RATE) ** 2
    found = sa_squared_errors(gamma, np.arange(1, length + 1))
    np.testing.assert_allclose(found[0], plain)
    np.testing.assert_allclose(found[1], averaged)


def test_exact_errors_of_sa_are_those_of_runs() -> None:
    runs, visits = 4_000, np.array([100, 1_000])
    methods = {"plain": SA(), "averaged": SA(averaged=True)}
    rng = np.random.default_rng(6)
    found = follow(methods, np.full(runs, CHANGE_RATE), CRAWL_RATE, visits, rng)
    for name, exact in zip(methods, sa_squared_errors(0.75, visits), strict=True):
        squared = (found[name] - CHANGE_RATE) ** 2
        error = squared.std(axis=1) / np.sqrt(runs)
        assert (np.abs(squared.mean(axis=1) - exact) < 4.0 * error).all()


def test_averaged_sa_reaches_lln_slowly() -> None:
    visits = np.array([1_000, 10_000, 100_000])
    ratio = sa_squared_errors(0.75, visits)[1] / lln_variance(visits)
    assert (np.diff(ratio) < 0.0).all()
    assert 1.0 < ratio[2] < 1.1 < ratio[0] < 1.4


@pytest.mark.parametrize("seed", range(5))
def test_one_step_size_makes_sa_the_lln(seed: int) -> None:
    assert twins_apart(np.random.default_rng(seed)) < 1e-11


def test_the_answer() -> None:
    section = best_sequence.run(3, 0)
    (claim,) = section.claims
    assert (claim.section, claim.verdict) == ("5", "holds with a remark")
    alpha, rmse = (section.tables[0].columns[name] for name in ("alpha", "rmse"))
    assert alpha[rmse.argmin()] == pytest.approx(3.0 + CRAWL_RATE / CHANGE_RATE, abs=0.15)
    assert rmse.min() == pytest.approx(0.994, abs=0.001)


def test_one_run_and_the_same_seed() -> None:
    first = best_sequence.run(1, 2)
    with undrawn():
        again, other = best_sequence.run(1, 2), best_sequence.run(1, 3)
    for table, twin in zip(first.tables, again.tables, strict=True):
        for name, column in table.columns.items():
            np.testing.assert_array_equal(column, twin.columns[name])
    measured = "squared_error_over_limit"
    assert (first.tables[1].columns[measured] != other.tables[1].columns[measured]).any()
