"""Quantiles of one Gamma are SciPy's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from recrawl.estimation.quantiles import gamma_quantiles


@given(
    magnitude=st.floats(-3.0, 5.0),
    tail=st.sampled_from([1e-6, 0.005, 0.025, 0.25, 0.45]),
)
def test_quantiles_are_those_of_scipy(magnitude: float, tail: float) -> None:
    shape = 10.0**magnitude
    low, high = gamma_quantiles(shape, tail)
    # Below the smallest number, both are 0.
    assert low == pytest.approx(special.gammaincinv(shape, tail), rel=1e-9, abs=1e-300)
    assert high == pytest.approx(special.gammainccinv(shape, tail), rel=1e-9)
