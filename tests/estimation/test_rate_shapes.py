"""The shapes of the change rates of a fleet, and how visits tell which it has."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.estimation.octaves import BELOW, OCTAVES, Likelihoods
from recrawl.estimation.rate_shapes import (
    END,
    EQUAL,
    FIRST,
    FLAT,
    MIN_CHANCE,
    PEAKED,
    PEAKS,
    SHAPES,
    Fits,
    fits,
    learn_shape,
    write_base,
    write_flat,
)
from recrawl.kernels.jit import Floats, compiled

RATES = 2.0 ** (np.arange(OCTAVES) - BELOW)

likelihoods = st.lists(st.floats(1e-6, 1.0), min_size=OCTAVES, max_size=OCTAVES)


@compiled
def flat_of(likelihood: Likelihoods, flat: Likelihoods) -> None:
    write_flat(likelihood, flat)


@compiled
def fits_of(likelihood: Likelihoods, flat: Likelihoods) -> Fits:
    return fits(likelihood, flat)


@compiled
def learn(chances: Floats, before: Fits, after: Fits) -> None:
    learn_shape(chances, before, after, MIN_CHANCE)


@compiled
def base_of(chances: Floats, base: Likelihoods) -> None:
    write_base(chances, base)


def single(values: list[float] | Floats) -> Likelihoods:
    return np.array(values, np.float32)


def visits(gaps: int, *, changed: bool) -> Likelihoods:
    """Return the likelihood of a visit after some mean times between visits."""
    return single(-np.expm1(-RATES * gaps) if changed else np.exp(-RATES * gaps))


def flat(likelihood: Likelihoods) -> Likelihoods:
    written = single([np.nan] * OCTAVES)
    flat_of(likelihood, written)
    return written


def chances_after(*seen: tuple[Likelihoods, Likelihoods]) -> Floats:
    """Return the chances of the shapes after visits, each with the likelihood before and after."""
    chances = EQUAL.copy()
    for before, after in seen:
        shape = flat(before)
        learn(chances, fits_of(before, shape), fits_of(after, shape))
    return chances


@pytest.mark.parametrize("shape", range(SHAPES - 1))
def test_a_peaked_shape_falls_to_both_sides(shape: int) -> None:
    weight, peak = PEAKED[shape], PEAKS[shape]
    assert weight.sum() == pytest.approx(1.0)
    assert weight[1 : peak + 1] == pytest.approx(2.0 * weight[:peak])
    assert weight[peak + 1 : END] == pytest.approx(weight[peak : END - 1] / 4.0)
    assert not weight[END:].any()


def test_the_flat_shape_has_no_rates_that_visits_cannot_tell_apart() -> None:
    nothing = flat(single([1.0] * OCTAVES))
    assert nothing[FIRST:END] == pytest.approx(np.full(END - FIRST, 1.0 / (END - FIRST)))
    assert nothing[:FIRST] == pytest.approx(0.0, abs=1e-9)
    long = flat(visits(10_000, changed=False))
    assert long[:END] == pytest.approx(np.full(END, 1.0 / END), rel=1e-3)
    assert not long[END:].any()


@given(likelihoods)
def test_weights_of_the_flat_shape_add_up_to_one(likelihood: list[float]) -> None:
    assert flat(single(likelihood)).sum() == pytest.approx(1.0, rel=1e-5)


@given(likelihoods, likelihoods)
def test_learning_is_bayes_rule(before: list[float], factor: list[float]) -> None:
    one, other = single(before), single(np.array(before) * np.array(factor))
    shapes = np.vstack([flat(one), PEAKED]).astype(np.float64)
    expected = EQUAL * (shapes @ other) / (shapes @ one)
    expected = np.maximum(expected / expected.sum(), MIN_CHANCE)
    assert chances_after((one, other)) == pytest.approx(expected / expected.sum(), rel=1e-4)


def test_what_says_nothing_teaches_nothing() -> None:
    """Two visits at once find nothing at any rate; and a likelihood of 0 is no evidence."""
    one = visits(1, changed=False)
    assert chances_after((one, one)) == pytest.approx(EQUAL)
    chances = EQUAL.copy()
    learn(chances, (0.0, 1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0))
    learn(chances, (1.0, 1.0, 1.0, 1.0), (0.0, 0.0, 0.0, 0.0))
    assert chances.tolist() == EQUAL.tolist()


@pytest.mark.parametrize(("gaps", "shape"), [(16, 1), (4, 2), (1, 3)])
def test_pages_that_all_change_equally_often_have_a_peaked_shape(gaps: int, shape: int) -> None:
    """Each page is visited in turn, and has changed with the chance of its rate."""
    rng = np.random.default_rng(shape)
    seen = []
    for _ in range(100):
        likelihood = single([1.0] * OCTAVES)
        for _ in range(8):
            changed = bool(rng.random() < -np.expm1(-1.0 / gaps))
            after = likelihood * visits(1, changed=changed)
            seen.append((likelihood, after))
            likelihood = after
    chances = chances_after(*seen)
    assert chances.argmax() == shape
    assert chances.sum() == pytest.approx(1.0)


def test_pages_of_which_a_few_change_always_and_most_never_have_the_flat_shape() -> None:
    seen = list[tuple[Likelihoods, Likelihoods]]()
    pages = [single([1.0] * OCTAVES)] * 100
    for _ in range(8):
        after = [page * visits(1, changed=n % 10 == 0) for n, page in enumerate(pages)]
        seen += zip(pages, after, strict=True)
        pages = after
    assert chances_after(*seen).argmax() == FLAT


def test_no_shape_is_given_up() -> None:
    """A fleet that is found to be otherwise is believed."""
    always = [(single([1.0] * OCTAVES), visits(1, changed=True))] * 1_000
    never = [(single([1.0] * OCTAVES), visits(16, changed=False))] * 30
    assert chances_after(*always).min() == pytest.approx(MIN_CHANCE, rel=0.01)
    assert chances_after(*always).argmax() == FLAT
    assert chances_after(*always, *never).argmax() == 1


@given(st.lists(st.floats(0.01, 1.0), min_size=SHAPES, max_size=SHAPES))
def test_the_base_of_a_prior_is_what_peaked_shapes_add(shares: list[float]) -> None:
    chances = np.array(shares) / sum(shares)
    base = single([np.nan] * OCTAVES)
    base_of(chances, base)
    assert base == pytest.approx(chances[1:] @ PEAKED, rel=1e-5)
