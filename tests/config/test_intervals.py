"""Limits on the time between two visits, of all pages and of those of a site."""

import math
from typing import Any

import numpy as np
import pytest
from crawler.fakes import settings_of
from crawler.test_site_effects import A, B, with_sites
from numpy.testing import assert_array_equal

from recrawl.config.intervals import (
    NEVER,
    Intervals,
    stored_intervals,
    unlimited,
    with_intervals_of_run,
)
from recrawl.hosts import host_of
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore


def limits_of(tables: dict[str, Any]) -> Intervals:
    settings = with_sites(tables, min_interval=0.25, max_interval=30.0)
    with SqliteStore.open(":memory:") as store:
        store.add([NewPage(url, host_of(url)) for url in (f"{A}/", f"{B}/")], 0)
        return stored_intervals(settings, store, np.array([1, 0, 7]))


def test_limits_are_those_of_all_pages_unless_a_site_has_its_own() -> None:
    assert limits_of({"host": {"a.example": {"delay": "1s"}}}) == Intervals(0.25, 30.0)


@pytest.mark.parametrize(
    ("name", "text", "days"),
    [("min_interval", "2d", [2.0, 30.0]), ("max_interval", "7d", [0.25, 7.0])],
)
def test_the_limits_of_a_site_are_those_of_its_pages(
    name: str, text: str, days: list[float]
) -> None:
    found = limits_of({"host": {"a.example": {name: text}}})
    usual = [0.25, 30.0]
    # A page that is not there any more has none of its own.
    assert_array_equal(np.column_stack([found.low, found.high]), [usual, days, usual])
    some = found.at(np.array([1]))
    assert_array_equal(np.column_stack([some.low, some.high]), [days])


def test_limits_that_all_pages_share_are_those_of_some() -> None:
    assert Intervals(1.0, 2.0).at(np.array([3])) == Intervals(1.0, 2.0)


def test_no_limit_has_a_page_without_importance_visited_nor_any_beyond_all_calendars() -> None:
    limits = Intervals(1.0, 30.0)
    after = limits.applied(np.array([0.5, 0.5, math.inf]), np.array([1.0, 0.0, 0.0]))
    assert after.tolist() == [1.0, 0.5, math.inf]
    assert Intervals().applied(np.array([NEVER, NEVER + 1.0]), 1.0).tolist() == [NEVER, math.inf]


def test_there_is_no_limit_unless_one_is_set() -> None:
    after = np.array([0.0, 0.5, 1e5])
    assert Intervals().applied(after, 1.0).tolist() == after.tolist()
    assert Intervals.of(settings_of(min_interval=0.25), ()) == Intervals(0.25, math.inf)
    # The year 9999 is the last of the calendar.
    assert Intervals().applied(np.array([2.4e6, 2.6e6]), 1.0).tolist() == [2.4e6, math.inf]


def test_the_limits_of_a_run_count_while_it_runs() -> None:
    settings = settings_of(min_interval=0.5, max_interval=9.0)
    with SqliteStore.open(":memory:") as store:
        assert with_intervals_of_run(settings, store, is_now=True) == settings
        store.set_meta("intervals", "2.0 7.0")
        assert unlimited(store, np.array([0])) == Intervals()
        assert with_intervals_of_run(settings, store, is_now=False) == settings
        found = with_intervals_of_run(settings, store, is_now=True)
    assert (found.min_interval, found.max_interval) == (2.0, 7.0)
