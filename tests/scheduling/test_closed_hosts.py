"""A host that may not be visited keeps nobody from the pages of other hosts."""

import numpy as np
from scheduling.plain import tables_of

from recrawl import Frontier
from recrawl.kernels.jit import Ints
from recrawl.scheduling.state import PARKED

SECOND = 1 / 86_400
#: Requests per second, and the length of a take in seconds.
BUDGET, TAKE = 10, 0.1
#: Pages with a copy on ten hosts, and after them many without a copy on host 0.
GOOD, NEW = 200, 20_000


def begun(host_delay: float = 0.0) -> Frontier:
    frontier = Frontier(BUDGET / SECOND, host_delay=host_delay)
    frontier.add(range(GOOD), now=0.0, host=1 + np.arange(GOOD) // 20, last_visit=-0.01)
    frontier.add(range(GOOD, GOOD + NEW), now=0.0, host=0)
    return frontier


def crawled(frontier: Frontier, seconds: int, first: float = 0.0) -> Ints:
    """Visit what is taken, and return it."""
    taken = []
    for step in range(1, round(seconds / TAKE) + 1):
        now = (first + step * TAKE) * SECOND
        page = frontier.take(now, 256)
        frontier.report(page, now, changed=False)
        taken.append(page)
    return np.concatenate(taken)


def test_pages_without_a_copy_on_a_host_that_is_down_starve_no_other_host() -> None:
    frontier = begun()
    frontier.defer(0, 3_600 * SECOND)
    taken = crawled(frontier, 60)
    assert not (taken >= GOOD).any()
    assert taken.size >= 0.95 * 60 * BUDGET
    assert np.unique(taken).size == GOOD


def test_they_are_visited_when_the_host_is_up_again() -> None:
    frontier = begun()
    frontier.defer(0, 30 * SECOND)
    crawled(frontier, 30)
    taken = crawled(frontier, 30, first=31.0)
    # Pages without a copy come first.
    assert (taken >= GOOD).mean() >= 0.9


def test_pages_without_a_copy_on_a_slow_host_leave_the_budget_to_other_hosts() -> None:
    taken = crawled(begun(host_delay=SECOND), 120)
    new = int((taken >= GOOD).sum())
    assert 0.85 * 120 <= new <= 121
    # Ten hosts, each once per second, would take all of the rest.
    assert taken.size - new >= 0.95 * (120 * BUDGET - 120)


def test_a_page_that_matters_more_does_not_stand_in_line() -> None:
    frontier = begun(host_delay=SECOND)
    crawled(frontier, 30)
    frontier.add([50_000], now=30.0 * SECOND, host=0, importance=9.0)
    assert 50_000 in crawled(frontier, 5, first=30.0)


def test_pages_in_line_come_in_order_of_importance() -> None:
    frontier = Frontier(BUDGET / SECOND, host_delay=SECOND)
    importance = np.repeat([1.0, 4.0, 2.0], 1_000)
    frontier.add(range(3_000), now=0.0, host=0, importance=importance)
    taken = crawled(frontier, 200)
    assert taken.size >= 0.85 * 200
    assert (importance[taken] == 4.0).mean() >= 0.95


def test_a_line_is_left_behind_when_its_pages_are_removed() -> None:
    frontier = begun(host_delay=SECOND)
    crawled(frontier, 30)
    left = [page for page in range(GOOD, GOOD + NEW) if page in frontier and page % 100]
    frontier.remove(left)
    taken = crawled(frontier, 600, first=30.0)
    assert set(range(300, GOOD + NEW, 100)) <= set(taken.tolist())


def test_pages_that_neighbours_bring_forward_do_not_stand_in_line_any_more() -> None:
    """They would be counted for ever, and each page behind them would wait longer."""
    rng, pages = np.random.default_rng(0), np.arange(3_000)
    frontier = Frontier(3_000.0, host_budget=100.0)
    frontier.add(pages, now=0.0, last_visit=0.0, host=pages % 10)
    parked = 0
    for step in range(1, 81):
        taken = frontier.take(0.02 * step, 1_000)
        frontier.report(taken, 0.02 * step, rng.random(taken.size) < (0.9 if step > 60 else 0.02))
        tables = tables_of(frontier)
        those = tables.pages["host"][tables.pages["status"] == PARKED]
        parked += those.size
        assert tables.hosts["parked"].tolist() == np.bincount(those, minlength=10).tolist()
    assert parked > 0
