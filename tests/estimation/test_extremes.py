"""Gaps and rates at the ends of what is accepted give finite numbers; others are refused."""

from typing import Any

import numpy as np
import pytest

from recrawl import (
    LLN,
    MLE,
    SA,
    SAM,
    GammaFilter,
    LastModified,
    MomentMatching,
    Naive,
    Observations,
    Prior,
    estimate,
)
from recrawl.errors import ArgumentError

METHODS = [SA(), SA(averaged=True), SA(start_value=1e60), SAM(), LLN(), Naive(), GammaFilter()]
METHODS += [MLE(), MomentMatching()]
ENDS = [1e-60, 1.0, 1e60]


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("gap", ENDS)
@pytest.mark.parametrize("crawl_rate", [None, *ENDS])
def test_extreme_visits_give_finite_rates_and_ordered_intervals(
    method: Any,  # noqa: ANN401
    gap: float,
    crawl_rate: float | None,
) -> None:
    for changed in ([False] * 3, [True] * 3, [True, False, True]):
        for gaps in ([gap] * 3, [gap, 1.0, gap], [1e-60, gap, 1e60]):
            found = estimate([0, 0, 0], gaps, changed, crawl_rate=crawl_rate, method=method)
            low, high = found.interval(0.999)
            assert np.isfinite([found.rate, low, high]).all()
            assert (low <= high).all()


@pytest.mark.parametrize("extreme", [5e-324, 1e-61, 1e61, 1e308])
def test_beyond_the_ends_gaps_and_rates_are_refused(extreme: float) -> None:
    with pytest.raises(ArgumentError, match=r"^elapsed: row 0 .*1e-60 to 1e\+60"):
        Observations.of([extreme], [True])
    with pytest.raises(ArgumentError, match=r"^crawl_rate: row 0 .*1e-60 to 1e\+60"):
        Observations.of([1.0], [True], crawl_rate=extreme)
    if extreme > 1.0:
        with pytest.raises(ArgumentError, match=r"^start_value: "):
            SA(start_value=extreme)


def test_a_prior_that_knows_of_almost_no_change_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"^shape: "):
        Prior(4e-29, 0.6)
    seen = estimate([0, 0, 0], [4e3, 1e3, 6e3], [0, 1, 1], method=GammaFilter(Prior(1e-12, 0.6)))
    assert np.isfinite(seen.rate).all()


@pytest.mark.parametrize("kind", [GammaFilter, LastModified])
@pytest.mark.parametrize("half_life", [None, 1e-36, 1.0, 1e36])
@pytest.mark.parametrize("time", [1e-72, *ENDS, 1e72])
@pytest.mark.parametrize("shape", [1e-12, 1.0, 1e60])
def test_a_belief_far_from_its_prior_stays_a_belief(
    kind: type[GammaFilter | LastModified], half_life: float | None, time: float, shape: float
) -> None:
    """Forgetting a belief of 1e50 days back to a prior of 1e-30 once left 0 days, and then NaN."""
    method = kind(Prior(shape, time), half_life)
    for changed in ([False, True], [True, True], [True, False]):
        for gaps in ([1e-60, 1e60], [1e60, 1e-60], [1e-7, 1e-5], [1e60, 1e60]):
            found = estimate([0, 0], gaps, changed, method=method)
            low, high = found.interval(0.999)
            assert np.isfinite([found.rate, low, high]).all()
            assert found.rate[0] > 0.0
            assert (low <= high).all()


@pytest.mark.parametrize("extreme", [5e-324, 1e-73, 1e73, 1e308])
def test_a_prior_beyond_what_can_be_multiplied_is_refused(extreme: float) -> None:
    with pytest.raises(ArgumentError, match=r"^time: .*up to 1e\+72"):
        Prior(0.5, extreme)
