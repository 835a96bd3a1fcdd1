"""First visits to discovered pages share the budget, and those that are free cost none of it."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recrawl import Frontier
from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Ints

#: Visits per day, and the length of a take in days.
BUDGET, TAKE = 400.0, 1 / 40
OLD = 200


def old_pages(**settings: Any) -> Frontier:  # noqa: ANN401
    """Return pages with copies on four hosts, which the budget visits twice a day."""
    frontier = Frontier(BUDGET, neighbours=False, slack=0.0, **settings)
    frontier.add(range(OLD), now=0.0, host=np.arange(OLD) % 4, last_visit=0.0)
    crawled(frontier, 0.0, 5.0)
    return frontier


def crawled(frontier: Frontier, begin: float, days: float) -> Ints:
    """Visit what is taken; one visit in three finds a change."""
    taken = [np.zeros(0, np.int64)]
    for step in range(1, round(days / TAKE) + 1):
        page = frontier.take(begin + step * TAKE, 1_000)
        frontier.report(page, begin + step * TAKE, page % 3 == step % 3)
        taken.append(page)
    return np.concatenate(taken)


def test_a_host_with_thousands_of_discovered_pages_gets_its_share() -> None:
    frontier = old_pages(new_share=0.5, new_host_share=0.1)
    frontier.add(range(OLD, OLD + 10_000), now=5.0, host=9, discovered=True)
    taken = crawled(frontier, 5.0, 4.0)
    assert taken.size == pytest.approx(4 * BUDGET, rel=0.02)
    assert np.unique(taken[taken >= OLD]).size == pytest.approx(0.1 * 4 * BUDGET, abs=4)


def test_all_hosts_together_get_no_more_than_theirs() -> None:
    frontier = old_pages(new_share=0.25, new_host_share=0.1)
    pages = np.arange(OLD, OLD + 10_000)
    frontier.add(pages, now=5.0, host=9 + pages % 10, discovered=True)
    new = crawled(frontier, 5.0, 4.0)
    assert np.unique(new[new >= OLD]).size == pytest.approx(0.25 * 4 * BUDGET, abs=4)


def test_hosts_take_turns_so_that_a_few_pages_need_not_wait_for_thousands() -> None:
    frontier = old_pages(new_share=0.1, new_host_share=0.1)
    frontier.add(range(OLD, OLD + 10_000), now=5.0, host=9, discovered=True)
    crawled(frontier, 5.0, 1.0)
    few = [20_000, 20_001, 20_002]
    frontier.add(few, now=6.0, host=10, discovered=True)
    assert set(few) <= set(crawled(frontier, 6.0, 0.25).tolist())


def test_the_only_host_has_the_share_of_all() -> None:
    frontier = Frontier(BUDGET, neighbours=False, slack=0.0, new_share=0.5, new_host_share=0.01)
    frontier.add(range(OLD), now=0.0, last_visit=0.0)
    crawled(frontier, 0.0, 5.0)
    frontier.add(range(OLD, OLD + 10_000), now=5.0, discovered=True)
    taken = crawled(frontier, 5.0, 2.0)
    assert np.unique(taken[taken >= OLD]).size == pytest.approx(0.5 * 2 * BUDGET, abs=4)


def test_pages_that_were_asked_for_come_first() -> None:
    frontier = old_pages()
    frontier.add(range(OLD, OLD + 10_000), now=5.0, host=9, discovered=True)
    crawled(frontier, 5.0, 1.0)
    frontier.add([20_000, 20_001], now=6.0, host=9)
    assert frontier.take(6.0 + TAKE, 2).tolist() == [20_000, 20_001]


def test_free_visits_cost_no_budget_and_wait_for_nothing_but_their_host() -> None:
    frontier = old_pages(first_fill=100 * BUDGET)
    frontier.limit_host(0, delay=0.0)
    frontier.add(range(OLD, OLD + 500), now=5.0, host=9, free=True)
    frontier.limit_host(9, delay=0.5 * TAKE)
    free = crawled(frontier, 5.0, 5.0)
    assert np.unique(free[free >= OLD]).size == 200
    assert (free < OLD).sum() >= 0.85 * 5 * BUDGET


def test_free_visits_have_a_limit_per_day() -> None:
    frontier = old_pages(first_fill=300.0)
    frontier.add(range(OLD, OLD + 5_000), now=5.0, host=9, free=True)
    assert np.count_nonzero(frontier.is_free(frontier.take(5.0, 10_000))) == 300
    assert frontier.take(5.0, 10_000).size == 0
    later = frontier.take(5.5, 10_000)
    assert np.count_nonzero(frontier.is_free(later)) == 150
    frontier.release(later, 5.5)
    assert np.count_nonzero(frontier.is_free(frontier.take(5.5, 10_000))) == 150
    frontier.spend_free(10)
    frontier.set_filled(300)
    assert np.count_nonzero(frontier.is_free(frontier.take(5.5 + 1e-6, 10_000))) == 0


def test_a_page_that_fails_again_and_again_is_not_free_any_more() -> None:
    frontier = old_pages(first_fill=1e6)
    frontier.add([OLD], now=5.0, host=9, free=True)
    for day in range(5, 8):
        assert frontier.is_free([OLD]).tolist() == [True]
        frontier.report([OLD], float(day), changed=False, failed=True)
    assert frontier.is_free([OLD]).tolist() == [False]
    assert OLD in crawled(frontier, 8.0, 3.0)


def test_free_pages_of_given_hosts_are_taken_outside_the_budget() -> None:
    frontier = old_pages(first_fill=1e6)
    frontier.add(range(OLD, OLD + 5), now=5.0, host=9, free=True)
    frontier.spend(-3)
    assert sorted(frontier.take(5.0, 10, host=[9]).tolist()) == [200, 201, 202]
    assert frontier.affordable_at == 5.0


def test_removed_pages_leave_their_queue() -> None:
    frontier = old_pages(new_host_share=1.0, new_share=1.0)
    frontier.add(range(OLD, OLD + 300), now=5.0, host=np.arange(300) % 7, discovered=True)
    left = range(OLD, OLD + 300, 3)
    frontier.remove([page for page in range(OLD, OLD + 300) if page not in left])
    frontier.set_importance([OLD], 0.0)
    taken = crawled(frontier, 5.0, 2.0)
    assert set(taken[taken >= OLD].tolist()) == set(left[1:])


def test_the_more_important_of_a_hosts_pages_comes_first() -> None:
    frontier = old_pages()
    importance = np.where(np.arange(10) == 7, 5.0, 1.0)
    frontier.add(range(OLD, OLD + 10), now=5.0, host=9, discovered=True, importance=importance)
    new = crawled(frontier, 5.0, 1.0)
    assert new[new >= OLD][0] == OLD + 7


def test_queues_are_saved(tmp_path: Path) -> None:
    frontier = old_pages(first_fill=50.0)
    frontier.add(range(OLD, OLD + 500), now=5.0, host=9, discovered=True)
    frontier.add(range(1_000, 1_500), now=5.0, host=8, free=True)
    crawled(frontier, 5.0, 1.0)
    frontier.save(tmp_path / "frontier")
    loaded = Frontier.load(tmp_path / "frontier")
    assert crawled(loaded, 6.0, 1.0).tolist() == crawled(frontier, 6.0, 1.0).tolist()


def test_a_budget_of_a_host_does_not_delay_its_first_visit() -> None:
    frontier = Frontier(BUDGET)
    frontier.add([0, 1], now=0.0, host=0)
    frontier.limit_host(0, budget=1.0)
    assert frontier.take(0.01, 5).tolist() == [0]
    assert frontier.take(0.5, 5).size == 0


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan])
def test_a_share_is_between_0_and_1(share: float) -> None:
    with pytest.raises(ArgumentError, match="new_share"):
        Frontier(BUDGET, new_share=share)
    with pytest.raises(ArgumentError, match="new_host_share"):
        Frontier(BUDGET, new_host_share=share)
