"""The octave belief against plain sums, and what conversions keep."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.errors import ArgumentError
from recrawl.estimation.belief import Prior
from recrawl.estimation.octaves import (
    OCTAVES,
    ONE,
    Curves,
    Likelihoods,
    Octaves,
    Weights,
    chance_and_value,
    chance_of_change,
    combine,
    elapsed_worth,
    gamma_of,
    gamma_weights,
    greatest_value,
    make_curves,
    multiply_likelihood,
    shift_rows,
    with_evidence,
    without_evidence,
)
from recrawl.kernels.jit import Floats, compiled

CURVES = make_curves()
RATE = 2.0**-9
RATES = RATE * 2.0 ** np.arange(OCTAVES)

weights_of_pages = st.lists(st.integers(0, 1_000), min_size=OCTAVES, max_size=OCTAVES).filter(any)
times = st.floats(1e-6, 1e6)


def weights(shares: list[int]) -> Weights:
    weight = np.floor(np.array(shares) / sum(shares) * ONE).astype(np.uint16)
    weight[int(np.argmax(weight))] += ONE - int(weight.sum(dtype=np.int64))
    return weight


@compiled
def both(curves: Curves, weight: Weights, rate: float, elapsed: float) -> tuple[float, float]:
    return chance_and_value(curves, weight, rate, elapsed)


@compiled
def due(curves: Curves, weight: Weights, rate: float, value: float) -> float:
    return elapsed_worth(curves, weight, rate, value)


@compiled
def most(curves: Curves, weight: Weights, rate: float) -> float:
    return greatest_value(curves, weight, rate)


@compiled
def there_and_back(
    curves: Curves, weight: Weights, rate: float, elapsed: float, keep: float
) -> tuple[float, float, float]:
    older = with_evidence(curves, weight, rate, elapsed, keep)
    return (
        older,
        chance_of_change(curves, weight, rate, older),
        without_evidence(curves, weight, rate, older, keep),
    )


@compiled
def after(
    curves: Curves, weight: Weights, prior: Likelihoods, rate: float, gap: float, changed: bool
) -> None:
    likelihood = np.ones(OCTAVES, np.float32)
    multiply_likelihood(curves, likelihood, rate, gap, changed, 1.0)
    combine(likelihood, prior, 1.0, weight)


@compiled
def gamma_at(shape: float, time: float, rate: float) -> Likelihoods:
    found = np.empty(OCTAVES, np.float32)
    gamma_weights(shape, time, rate, found)
    return found


@given(weights_of_pages, times)
def test_chance_and_value_are_those_of_the_mixture(shares: list[int], elapsed: float) -> None:
    weight = weights(shares)
    x = RATES * elapsed
    gain = np.where(x < 1e-4, x * x * (1 / 2 - x / 3), -np.expm1(-x) - x * np.exp(-x))
    chance, value = both(CURVES, weight, RATE, elapsed)
    # Between two rows of the table they are linear, and floats have 24 bits.
    assert chance == pytest.approx(float(weight @ -np.expm1(-x)) / ONE, rel=1e-4)
    assert value == pytest.approx(float(weight @ (gain / RATES)) / ONE, rel=1e-4)


@given(weights_of_pages, times)
def test_a_visit_is_worth_its_value_when_it_is_due(shares: list[int], elapsed: float) -> None:
    weight = weights(shares)
    _, value = both(CURVES, weight, RATE, elapsed)
    found = due(CURVES, weight, RATE, value)
    if found < math.inf:
        assert both(CURVES, weight, RATE, found)[1] == pytest.approx(value, rel=1e-5)
    else:
        assert value >= 0.999 * most(CURVES, weight, RATE)


@given(weights_of_pages, st.floats(1e-3, 1e3), st.floats(1e-3, 1.0))
def test_evidence_ages_a_page_and_can_be_taken_back(
    shares: list[int], elapsed: float, keep: float
) -> None:
    weight = weights(shares)
    fresh = 1.0 - both(CURVES, weight, RATE, elapsed)[0]
    older, chance, back = there_and_back(CURVES, weight, RATE, elapsed, keep)
    assert older >= elapsed
    if older < 37.0 / RATE:
        assert 1.0 - chance == pytest.approx(keep * fresh, rel=1e-2, abs=1e-3)
        assert back <= elapsed * 1.01


@pytest.mark.parametrize("changed", [False, True])
def test_a_visit_multiplies_weights_by_the_chance_of_what_it_found(changed: bool) -> None:
    prior = np.full(OCTAVES, 1.0 / OCTAVES, np.float32)
    weight = np.zeros(OCTAVES, np.uint16)
    after(CURVES, weight, prior, RATE, 3.0, changed)
    same = np.exp(-3.0 * RATES)
    exact = prior * (1.0 - same if changed else same)
    assert weight.sum(dtype=np.int64) == ONE
    assert weight / ONE == pytest.approx(exact / exact.sum(), abs=2.0 * OCTAVES / ONE)


def test_a_gamma_keeps_its_mean_within_the_rates_and_its_small_rates_below() -> None:
    mean = float(gamma_at(2.0, 4.0, RATE) @ RATES)
    assert mean == pytest.approx(0.5, rel=0.05)
    assert gamma_at(0.01, 1.0, RATE)[0] > 0.9
    assert gamma_at(1e9, 1e9, RATE)[9] == pytest.approx(1.0)


def test_the_gamma_of_weights_has_their_mean() -> None:
    weight = weights([1] * OCTAVES)
    shape, time = gamma_of(-9, weight[None])
    assert shape[0] / time[0] == pytest.approx(float(weight @ RATES) / ONE)
    assert 0.0 < shape[0] < 1.0


@pytest.mark.parametrize("octaves", [-3, -1, 1, 3])
def test_on_another_grid_visits_say_the_same(octaves: int) -> None:
    gap = 5.0
    rates = RATES * 2.0**octaves
    for chances in (np.exp, lambda x: -np.expm1(x)):
        table = np.array([chances(-gap * RATES)])
        shift_rows(table, octaves)
        exact = chances(-gap * rates)
        assert table[0] == pytest.approx(exact / exact.max(), rel=0.05, abs=1e-12)


def test_what_visits_added_to_a_gamma_is_converted_and_a_prior_alone_says_nothing() -> None:
    before = Prior(1.0, 30.0)
    said = Octaves.of_gamma(-14, Prior([1.0, 4.0, 1.0], [30.0, 60.0, 400.0]), before, 3).likelihood
    assert said[0].tolist() == [1.0] * OCTAVES
    rates = 2.0 ** (-14.0 + np.arange(OCTAVES))
    assert rates[said[1].argmax()] == pytest.approx(3.0 / 30.0, rel=0.5)
    assert (np.diff(said[2][:12]) < 0.0).all()
    assert said[2][12:].max() < 1e-4


@pytest.mark.parametrize(
    "bad",
    [np.ones(OCTAVES), np.ones((2, 3)), np.zeros((1, OCTAVES)), np.full((1, OCTAVES), np.nan)],
)
def test_what_are_no_likelihoods_is_refused(bad: Floats) -> None:
    with pytest.raises(ArgumentError, match=r"^likelihood: "):
        Octaves(0, bad.astype(np.float32))
