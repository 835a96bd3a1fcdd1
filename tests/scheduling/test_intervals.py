"""Limits on the time between two visits to a page: never sooner, and at least so often."""

import math
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pytest
from scheduling.plain import tables_of

from recrawl.errors import ArgumentError
from recrawl.scheduling.frontier import Frontier
from recrawl.scheduling.rescheduling import ALWAYS_READY

MANY = 2 * ALWAYS_READY


def visits_of(
    frontier: Frontier, watched: set[int], *, days: float, step: float, limit: int = 10_000
) -> dict[int, list[float]]:
    """Visit what is taken, which never changes but the watched pages; return their times."""
    times: dict[int, list[float]] = {page: [] for page in watched}
    for tick in range(1, round(days / step) + 1):
        now = tick * step
        taken = frontier.take(now, limit)
        if taken.size:
            frontier.report(taken, now, changed=[page in watched for page in taken.tolist()])
        for page in watched & set(taken.tolist()):
            times[page].append(now)
    return times


@pytest.mark.parametrize("pages", [8, MANY])
def test_a_page_is_never_visited_before_its_minimum_interval(pages: int) -> None:
    frontier = Frontier(budget=4.0 * pages)
    low = [2.0 if page == 0 else 0.0 for page in range(pages)]
    frontier.add(range(pages), now=0.0, last_visit=0.0, importance=1.0, min_interval=low)
    frontier.set_importance([0], 100.0)
    times = visits_of(frontier, {0, 1}, days=9.0, step=0.125)
    assert len(times[0]) >= 3
    assert min(later - first for first, later in pairwise([0.0, *times[0]])) >= 2.0
    assert min(later - first for first, later in pairwise(times[1])) < 2.0


def test_evidence_does_not_bring_a_visit_before_the_minimum_interval() -> None:
    frontier = Frontier(budget=100.0)
    frontier.add([0, 1], now=0.0, last_visit=0.0, min_interval=[3.0, 0.0])
    frontier.evidence([0], 0.5, keep=0.0)
    assert 0 not in frontier.take(1.0, 10)
    assert frontier.due([0])[0] == 3.0
    assert 0 in frontier.take(3.01, 10)


@pytest.mark.parametrize("pages", [8, MANY])
def test_a_page_is_visited_at_least_once_in_its_maximum_interval(pages: int) -> None:
    frontier = Frontier(budget=0.5 * pages)
    high = [1.0 if page == 0 else math.inf for page in range(pages)]
    frontier.add(range(pages), now=0.0, last_visit=0.0, importance=1.0, max_interval=high)
    # Without the limit, hardly ever.
    frontier.set_importance([0], 1e-6)
    times = visits_of(frontier, {0}, days=8.0, step=0.125)[0]
    assert max(later - first for first, later in pairwise([0.0, *times])) <= 1.25


def test_overdue_pages_stay_within_the_budget_and_take_turns() -> None:
    frontier = Frontier(budget=5.0, catch_up=0.5)
    frontier.add(range(10), now=0.0, last_visit=0.0, max_interval=1.0)
    times = visits_of(frontier, set(range(10)), days=20.0, step=0.1)
    assert sum(map(len, times.values())) <= 5 * 20 + 1
    assert min(map(len, times.values())) >= 8


def test_overdue_pages_do_not_raise_the_price_of_a_visit() -> None:
    price = {}
    for high in (math.inf, 0.5):
        frontier = Frontier(budget=50.0)
        limits = [high if page == 0 else math.inf for page in range(100)]
        frontier.add(range(100), now=0.0, last_visit=0.0, max_interval=limits)
        visits_of(frontier, {1}, days=10.0, step=0.1)
        price[high] = frontier.price
    assert price[0.5] == pytest.approx(price[math.inf], rel=0.5)


def test_an_overdue_page_waits_for_its_host() -> None:
    frontier = Frontier(budget=1000.0, host_delay=0.5)
    frontier.add(range(50), now=0.0, last_visit=0.0, max_interval=1.0)
    seen = visits_of(frontier, set(range(50)), days=30.0, step=0.1)
    times = sorted(chain.from_iterable(seen.values()))
    assert len(times) >= 50
    assert min(later - first for first, later in pairwise(times)) >= 0.5 - 1e-9


def test_intervals_are_saved_with_the_frontier(tmp_path: Path) -> None:
    frontier = Frontier(budget=100.0)
    frontier.add([0, 1], now=0.0, last_visit=0.0, min_interval=[3.0, 0.0])
    frontier.take(0.1, 1)
    frontier.save(tmp_path / "frontier.npz")
    assert 0 not in Frontier.load(tmp_path / "frontier.npz").take(1.0, 10)


@pytest.mark.parametrize(
    ("low", "high", "sentence"),
    [
        (-1.0, 1.0, "min_interval: expected days, 0 or more"),
        (math.nan, 1.0, "min_interval: expected days, 0 or more"),
        (math.inf, math.inf, "min_interval: expected days, 0 or more"),
        (0.0, 0.0, "max_interval: expected days, above 0 and no less than min_interval"),
        (2.0, 1.0, "max_interval: expected days, above 0 and no less than min_interval"),
        (0.0, math.nan, "max_interval: expected days, above 0 and no less than min_interval"),
    ],
)
def test_invalid_intervals_are_refused(low: float, high: float, sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        Frontier(budget=1.0).add([0], now=0.0, min_interval=low, max_interval=high)


def test_an_interval_that_is_changed_is_not_rounded_down() -> None:
    """Single precision has no 0.7: the next number below it is a visit too early."""
    frontier = Frontier(budget=100.0)
    frontier.add([0, 1], now=0.0, last_visit=0.0)
    frontier.set_intervals([0, 1], [0.7, 0.0], [math.inf, 1e-50])
    assert 0 not in frontier.take(float(np.float32(0.7)), 10)
    assert frontier.due([0])[0] >= 0.7
    assert tables_of(frontier).pages["max_interval"][1] > 0.0
