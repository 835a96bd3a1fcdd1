"""`estimate` on the columns of a log, and `Tracker` on one page."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from estimation.worlds import mixed_log

from recrawl import LLN, MLE, Estimates, GammaFilter, Tracker, estimate
from recrawl.errors import ArgumentError


def test_pages_are_named_as_in_the_log() -> None:
    found = estimate(["b", "a", "b"], [1.0, 1.0, 2.0], [1, 0, 1])
    assert found.page.tolist() == ["b", "a"]
    assert found.visits.tolist() == [2, 1]


@pytest.mark.parametrize("shift", [-5, 10**12])
def test_any_numbers_are_names(shift: int) -> None:
    found = estimate(np.array([3, 1, 3]) + shift, [1.0, 1.0, 2.0], [1, 0, 1])
    assert found.page.tolist() == [3 + shift, 1 + shift]


def test_numbers_from_0_keep_their_order_and_may_have_holes() -> None:
    found = estimate([7, 2, 7], [1.0, 1.0, 2.0], [1, 0, 1])
    assert found.page.tolist() == [2, 7]
    assert found.rate.size == found.low.size == found.high.size == 2


def test_an_empty_log_has_no_estimates() -> None:
    assert estimate([], [], []).rate.size == 0


def test_order_of_pages_does_not_matter() -> None:
    log = mixed_log(4)
    order = np.argsort(log.page, kind="stable")
    one = estimate(log.page, log.elapsed, log.changed)
    other = estimate(log.page[order], log.elapsed[order], log.changed[order])
    np.testing.assert_allclose(one.rate, other.rate, rtol=1e-12)


def test_the_same_as_a_tracker() -> None:
    log = mixed_log(4)
    found = estimate(log.page, log.elapsed, log.changed, crawl_rate=log.crawl_rate, method=LLN())
    page = Tracker(LLN())
    for row in log.rows_of(int(found.page[0]), rated=True):
        page.observe(row.changed, row.elapsed, crawl_rate=row.crawl_rate)
    assert page.rate == pytest.approx(found.rate[0], rel=1e-12)
    assert page.interval() == pytest.approx((found.low[0], found.high[0]), rel=1e-9)
    assert page.visits == found.visits[0] > 1


def test_intervals_are_computed_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def interval(_: GammaFilter, _state: object, level: float = 0.95) -> object:
        asked.append(level)
        return np.zeros(1), np.ones(1)

    monkeypatch.setattr(GammaFilter, "interval", interval)
    found = estimate([0], [1.0], [1])
    assert asked == []
    assert (found.low[0], found.high[0]) == (0.0, 1.0)
    assert asked == [0.95]


def test_estimates_are_frozen() -> None:
    found = estimate([0], [1.0], [1])
    with pytest.raises(AttributeError):
        found.rate = np.zeros(1)  # type: ignore[misc]
    assert isinstance(found, Estimates)


def test_memory_is_at_most_three_times_the_columns() -> None:
    rng = np.random.default_rng(0)
    page = rng.integers(0, 50_000, 1_000_000)
    elapsed, changed = rng.exponential(1.0, page.size), rng.random(page.size) < 0.4
    columns = page.nbytes + elapsed.nbytes + changed.nbytes
    for method in (GammaFilter(), LLN(), MLE()):
        # The first call compiles kernels, which takes memory of its own.
        estimate(page[:1_000], elapsed[:1_000], changed[:1_000], method=method)
        tracemalloc.start()
        estimate(page, elapsed, changed, method=method)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert columns + peak <= 3 * columns


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0], [-1.0], [1]), "elapsed: row 0 is -1.0"),
        (([0, 0], [1.0, np.inf], [1, 1]), "elapsed: row 1 is inf"),
        (([0], [np.inf], [1]), "elapsed: row 0 is inf"),
        (([0], [0.0], [1]), "elapsed: row 0 is 0.0"),
        (([0], ["x"], [1]), "elapsed: 'x' is not a duration"),
        (([0], [1.0], [2]), "changed: row 0 is 2"),
        (([0], [1.0], ["yes"]), "changed: not a column"),
        (([0], [1.0], [10**400]), "changed: not a column"),
        (([0, 1], [1.0], [1]), "elapsed: has 1 rows; page has 2"),
        (([0], [1.0], [1, 0]), "changed: has shape"),
        (([0], [[1.0]], [1]), "elapsed: has shape"),
    ],
)
def test_bad_columns_are_named(
    columns: tuple[list[int], list[float], list[int]], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        estimate(*columns)


@pytest.mark.parametrize(
    ("name", "value"),
    [("crawl_rate", [0.0]), ("crawl_rate", [-1.0]), ("crawl_rate", [1.0, 2.0]), ("age", [np.inf])],
)
def test_bad_optional_columns_are_named(name: str, value: list[float]) -> None:
    with pytest.raises(ArgumentError, match=name):
        estimate([0], [1.0], [1], **{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["crawl_rate", "age"])
@pytest.mark.parametrize("value", [[], [1.0], [1.0, 2.0, 3.0], [[1.0], [2.0, 3.0]]])
def test_optional_columns_fit_elapsed_even_where_it_is_missing(name: str, value: list[Any]) -> None:
    with pytest.raises(ArgumentError, match=f"^{name}: "):
        estimate([0, 0], [np.nan, 1.0], [0, 1], **{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, np.nan])
def test_a_level_is_between_0_and_1(level: float) -> None:
    for method in (GammaFilter(), LLN(), MLE()):
        with pytest.raises(ArgumentError, match="level"):
            estimate([0], [1.0], [1], method=method).interval(level)
