"""What a visit is worth, against sixty digits, and the times that follow from it."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.scheduling.value import (
    elapsed_worth_of_belief,
    value_of_belief,
    value_of_rate,
)

#: Twenty-four decades, and where formulas take turns.
RATIOS = [*np.logspace(-12, 12, 97).tolist(), 0.9e-3, 0.999e-3, 1e-3, 1.001e-3, 0.0999, 0.1001]
SHAPES = [
    *np.logspace(-6, 6, 25).tolist(),
    *(1.0 + sign * gap for sign in (-1, 1) for gap in (1e-15, 1e-12, 1e-8, 1e-4, 0.03)),
    37.0,
    100.0,
]
shapes = st.floats(-6.0, 6.0).map(lambda power: 10.0**power)
ratios = st.floats(-12.0, 12.0).map(lambda power: 10.0**power)


def exact_of_rate(change_rate: float, elapsed: float) -> mpmath.mpf:
    rate, t = mpmath.mpf(change_rate), mpmath.mpf(elapsed)
    return (1 - mpmath.exp(-rate * t) * (1 + rate * t)) / rate


def exact_of_belief(shape: float, time: float, elapsed: float) -> mpmath.mpf:
    """Return ∫₀ᵗ S(s) ds − t·S(t), integrated by hand."""
    a, b, t = mpmath.mpf(shape), mpmath.mpf(time), mpmath.mpf(elapsed)
    grown = 1 + t / b
    area = b * mpmath.log(grown) if a == 1 else b * (1 - grown ** (1 - a)) / (a - 1)
    return area - t * grown**-a


@pytest.mark.parametrize("rate", [1e-9, 0.3, 1.0, 1e7])
def test_value_of_a_rate_has_nine_digits(rate: float) -> None:
    with mpmath.workdps(60):
        for ratio in RATIOS:
            elapsed = ratio / rate
            exact = exact_of_rate(rate, elapsed)
            assert abs(value_of_rate(rate, elapsed) / exact - 1) < 1e-9, ratio


@pytest.mark.parametrize("time", [1.0, 1e-7, 3e8])
@pytest.mark.parametrize("shape", SHAPES)
def test_value_of_a_belief_has_nine_digits(shape: float, time: float) -> None:
    with mpmath.workdps(60):
        for ratio in RATIOS:
            elapsed = ratio * time
            exact = exact_of_belief(shape, time, elapsed)
            assert abs(value_of_belief(shape, time, elapsed) / exact - 1) < 1e-9, ratio


def test_the_hand_integrated_value_is_the_integral() -> None:
    with mpmath.workdps(30):
        for shape, time, elapsed in ((0.5, 2.0, 7.0), (1.0, 1.0, 3.0), (4.0, 3.0, 0.2)):
            area = mpmath.quad(lambda s, a=shape, b=time: (b / (b + s)) ** a, [0, elapsed])
            whole = area - elapsed * mpmath.mpf(time / (time + elapsed)) ** shape
            assert abs(exact_of_belief(shape, time, elapsed) - whole) < 1e-14


@given(shapes, ratios, st.floats(1e-6, 10.0))
def test_value_rises_with_time_and_never_past_its_limit(
    shape: float, ratio: float, step: float
) -> None:
    less, more = value_of_belief(shape, 1.0, ratio), value_of_belief(shape, 1.0, ratio * (1 + step))
    # Equal only where all that can be gained is gained, up to the last digits.
    assert 0.0 < less <= more * (1 + 1e-9)
    if more < 0.999 / max(shape - 1.0, 1e-300):
        assert less < more
    if shape > 1.0:
        assert more <= 1.0 / (shape - 1.0) * (1 + 1e-9)
    assert value_of_rate(1.0, ratio) <= value_of_rate(1.0, ratio * (1 + step)) <= 1.0


def test_nothing_is_gained_at_once() -> None:
    assert value_of_rate(2.0, 0.0) == 0.0
    assert value_of_belief(2.0, 3.0, 0.0) == 0.0
    assert elapsed_worth_of_belief(2.0, 3.0, 0.0) == 0.0


@given(shapes, ratios, st.floats(1e-6, 1e6))
def test_the_unit_of_time_does_not_matter(shape: float, ratio: float, unit: float) -> None:
    assert value_of_belief(shape, unit, ratio * unit) == pytest.approx(
        unit * value_of_belief(shape, 1.0, ratio), rel=1e-9
    )
    assert value_of_rate(1 / unit, ratio * unit) == pytest.approx(
        unit * value_of_rate(1.0, ratio), rel=1e-9
    )


@given(st.floats(-12.0, 2.0).map(lambda power: 10.0**power), st.floats(1e-3, 1e3))
def test_a_belief_that_is_sure_is_a_rate(ratio: float, rate: float) -> None:
    sure = 1e9
    assert value_of_belief(sure, sure / rate, ratio / rate) == pytest.approx(
        value_of_rate(rate, ratio / rate), rel=1e-6
    )


@given(shapes, st.floats(-6.0, 6.0).map(lambda power: 10.0**power), st.floats(1e-6, 1e6))
def test_time_worth_a_value_is_the_inverse_and_not_too_late(
    shape: float, ratio: float, time: float
) -> None:
    value = value_of_belief(shape, time, ratio * time)
    if shape > 1.0 and value >= (1 - 1e-8) * time / (shape - 1.0):
        return
    elapsed = elapsed_worth_of_belief(shape, time, value)
    reached = value_of_belief(shape, time, elapsed)
    assert reached == pytest.approx(value, rel=1e-6)
    # The last digits of the value are not exact either.
    assert reached <= value * (1 + 1e-9)


@given(shapes.filter(lambda shape: shape > 1.0), st.floats(1e-6, 1e6), st.floats(1.0, 1e6))
def test_what_is_out_of_reach_is_never(shape: float, time: float, times: float) -> None:
    limit = time / (shape - 1.0)
    assert elapsed_worth_of_belief(shape, time, limit * times) == math.inf


@given(st.floats(1.1, 1e6), st.floats(1e-6, 1e6), st.floats(1e-9, 0.999_999))
def test_what_is_in_reach_has_a_time(shape: float, time: float, share: float) -> None:
    # For shapes nearer to 1 the time itself can be more than a float holds.
    assert elapsed_worth_of_belief(shape, time, share * time / (shape - 1.0)) < math.inf


@given(st.floats(1e-6, 1.0), st.floats(1e-6, 1e6), st.floats(1e-9, 100.0))
def test_up_to_a_shape_of_1_every_value_is_reached(shape: float, time: float, gaps: float) -> None:
    assert elapsed_worth_of_belief(shape, time, gaps * time) < math.inf
