"""What a frontier does with budgets, evidence, failures, and hosts that ask for patience."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scheduling.plain import tables_of

from recrawl.estimation.belief import Prior
from recrawl.kernels.jit import Ints
from recrawl.scheduling.frontier import Frontier


def visits_from(
    frontier: Frontier, begin: float, end: float, tick: float = 0.01, chance: float = 0.3
) -> list[tuple[float, Ints]]:
    """Crawl for some time, at random finding changes; return who was visited when."""
    rng = np.random.default_rng(1)
    story = []
    for number in range(1, round((end - begin) / tick) + 1):
        now = begin + number * tick
        page = frontier.take(now, 10_000)
        frontier.report(page, now, rng.random(page.size) < chance)
        story.append((now, page))
    return story


def begun(pages: int, budget: float, **settings: Any) -> Frontier:  # noqa: ANN401
    """Return a frontier that spends its budget evenly, unless told otherwise."""
    usual: dict[str, Any] = {"neighbours": False, "slack": 0.0, "spend": "all"}
    frontier = Frontier(budget, **(usual | settings))
    frontier.add(range(pages), now=0.0, last_visit=0.0)
    return frontier


# The budget


@pytest.mark.parametrize("neighbours", [False, True])
@pytest.mark.parametrize(("pages", "budget"), [(50, 7.3), (300, 120.0), (300, 2_000.0)])
def test_every_day_the_budget_is_spent(pages: int, budget: float, neighbours: bool) -> None:
    frontier = Frontier(budget, neighbours=neighbours, slack=0.0, spend="all")
    importance = np.random.default_rng(2).pareto(1.5, pages) + 0.1
    frontier.add(range(pages), now=0.0, importance=importance, last_visit=0.0)
    story = visits_from(frontier, 0.0, 12.0)
    for day in range(1, 11):
        for start in (day, day + 0.37):
            count = sum(page.size for now, page in story if start < now <= start + 1.0)
            assert count == pytest.approx(budget, rel=0.01, abs=1.0 + budget * 0.01)


def test_a_pause_is_not_followed_by_a_burst_and_the_budget_is_spent_again() -> None:
    frontier = begun(200, 40.0, catch_up=0.5)
    visits_from(frontier, 0.0, 3.0)
    assert frontier.take(33.0, 1_000).size == 21
    assert frontier.take(33.0, 1_000).size == 0
    story = visits_from(frontier, 33.0, 36.0)
    assert max(page.size for _, page in story) <= 1
    assert sum(page.size for _, page in story) == pytest.approx(120, abs=1)


def test_what_a_limit_leaves_can_be_taken_at_once_and_what_is_older_is_lost() -> None:
    frontier = begun(100, 40.0, catch_up=0.25)
    assert frontier.take(0.2, 3).size == 3
    assert frontier.take(0.2, 100).size == 5
    assert frontier.take(9.0, 100).size == 11


def test_requests_beside_the_visits_are_saved_on_the_visits_to_come() -> None:
    frontier = begun(100, 40.0)
    assert frontier.take(0.2, 100).size == 8
    frontier.spend(4)
    assert [frontier.take(now, 100).size for now in (0.25, 0.3, 0.35)] == [0, 0, 2]
    frontier.spend(-2)
    assert frontier.take(0.35, 100).size == 2


def test_it_says_when_the_budget_pays_for_another_visit() -> None:
    frontier = begun(100, 40.0)
    frontier.take(0.25, 7)
    assert frontier.affordable_at == 0.25
    frontier.take(0.25, 100)
    assert frontier.affordable_at == pytest.approx(0.275)
    assert frontier.take(0.274, 1).size == 0
    assert frontier.take(0.2751, 1).size == 1


def test_a_frontier_made_anew_from_beliefs_goes_on_as_the_old_one() -> None:
    """Without neighbours, whose activity starts afresh, and with nothing taken and no failures."""
    old = begun(60, 40.0)
    visits_from(old, 0.0, 5.0)
    page = np.arange(60)
    table = tables_of(old).pages
    new = Frontier(40.0, neighbours=False, slack=0.0, spend="all")
    new.add(
        page,
        now=5.0,
        last_visit=table["last_visit"][:60],
        belief=old.octaves(page),
    )
    # Priors have followed what was learned about other pages since.
    share = np.asarray(new.belief(page).rate) / np.asarray(old.belief(page).rate)
    assert np.median(share) == pytest.approx(1.0, abs=0.05)
    assert share == pytest.approx(np.ones(60), abs=0.6)
    assert new.expected_freshness(5.0) == pytest.approx(old.expected_freshness(5.0), rel=0.02)
    ours, theirs = visits_from(new, 5.0, 9.0), visits_from(old, 5.0, 9.0)
    again, before = (
        np.bincount(np.concatenate([taken for _, taken in story]), minlength=60)
        for story in (ours, theirs)
    )
    # Two or three visits to each page, which a small difference may move.
    assert np.corrcoef(again, before)[0, 1] > 0.7


def test_what_was_settled_is_taken_as_it_would_have_been() -> None:
    settled, other = begun(3_000, 400.0), begun(3_000, 400.0)
    settled.settle(0.0)
    Frontier(10.0).settle(0.0)
    for now in (0.1, 0.2, 0.3):
        assert settled.take(now, 100).tolist() == other.take(now, 100).tolist()


def test_pages_with_and_without_a_copy_come_in_together() -> None:
    frontier = Frontier(10.0)
    frontier.add([0, 1, 2], now=1.0, last_visit=[0.0, -math.inf, 0.9])
    assert frontier.take(1.1, 1).tolist() == [1]


def test_no_budget_is_earned_by_going_back_in_time() -> None:
    frontier = begun(100, 40.0)
    taken = [frontier.take(now, 100).size for now in (0.2, 0.1, 0.2, 0.0, 0.2)]
    assert taken == [8, 0, 0, 0, 0]


def test_pages_that_do_not_change_are_visited_rather_than_nobody() -> None:
    story = visits_from(begun(30, 60.0, half_life=None), 0.0, 40.0, chance=0.0)
    assert sum(page.size for _, page in story) == pytest.approx(2_400, abs=2)


def test_a_fleet_may_grow_shrink_and_grow_again() -> None:
    frontier = begun(20, 50.0)
    visits_from(frontier, 0.0, 2.0)
    frontier.add(range(20, 2_000), now=2.0)
    visits_from(frontier, 2.0, 4.0)
    frontier.remove(range(5, 2_000))
    story = visits_from(frontier, 4.0, 6.0)
    assert sum(page.size for _, page in story) == pytest.approx(100, abs=1)
    assert set(np.concatenate([page for _, page in story]).tolist()) == set(range(5))
    frontier.remove(range(5))
    assert frontier.take(7.0, 10).size == 0
    assert frontier.expected_freshness(7.0) == 1.0
    frontier.add([3], now=7.0, last_visit=6.0)
    assert frontier.take(8.0, 10).tolist() == [3]


# Evidence


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_the_less_evidence_leaves_the_sooner_a_page_is_due(one: float, other: float) -> None:
    frontier = begun(40, 20.0)
    visits_from(frontier, 0.0, 4.0, tick=0.1)
    quiet = int(np.argmax(frontier.due(range(40))))
    before, fresh = frontier.due([quiet])[0], frontier.expected_freshness(4.0)
    frontier.evidence([quiet], 4.0, max(one, other))
    between = frontier.due([quiet])[0]
    frontier.evidence([quiet], 4.0, min(one, other))
    after = frontier.due([quiet])[0]
    assert after <= between <= before
    assert frontier.expected_freshness(4.0) <= fresh
    if min(one, other) < 0.99:
        assert after < before


def test_evidence_that_leaves_everything_changes_nothing() -> None:
    signalled, left_alone = begun(40, 20.0), begun(40, 20.0)
    for frontier in (signalled, left_alone):
        visits_from(frontier, 0.0, 4.0)
    signalled.evidence(range(40), 4.0, 1.0)
    assert signalled.due(range(40)).tolist() == left_alone.due(range(40)).tolist()
    assert [page.tolist() for _, page in visits_from(signalled, 4.0, 6.0)] == [
        page.tolist() for _, page in visits_from(left_alone, 4.0, 6.0)
    ]


def test_of_two_equal_pages_the_one_with_evidence_comes_first() -> None:
    frontier = begun(50, 10.0)
    frontier.evidence([37], 0.1, 0.5)
    assert frontier.take(0.1, 1).tolist() == [37]
    frontier.evidence([41], 0.2, 0.9)
    frontier.evidence([23], 0.2, [0.8])
    assert frontier.take(0.3, 2).tolist() == [23, 41]


def test_evidence_multiplies_and_a_visit_clears_it() -> None:
    twice, once = begun(20, 10.0), begun(20, 10.0)
    twice.take(0.1, 1)
    once.take(0.1, 1)
    for keep in (0.5, 0.4):
        twice.evidence([7], 0.2, keep)
    once.evidence([7], 0.2, 0.2)
    # It is kept to within a few ten-thousandths.
    assert twice.due([7]) == pytest.approx(once.due([7]), rel=1e-3)
    plain = begun(20, 10.0)
    plain.take(0.1, 1)
    for frontier in (twice, plain):
        frontier.report([7], 0.3, [False])
    assert twice.due([7]) == pytest.approx(plain.due([7]))


def test_a_change_that_was_foretold_teaches_less() -> None:
    rates = []
    for keep in (1.0, 0.5, 0.0):
        frontier = begun(20, 10.0)
        frontier.evidence([7], 1.0, keep)
        frontier.report([7], 1.0, [True])
        rates.append(frontier.belief([7]).rate)
        before = frontier.belief([8]).rate
    assert rates[0] > rates[1] > rates[2]
    # What was certain to change says nothing of how often it does.
    assert rates[2] == pytest.approx(before, rel=1e-3)


# Failures, pages without copies, and pages not worth a visit


def test_a_failed_visit_teaches_nothing_and_comes_again_later_each_time() -> None:
    frontier = begun(100, 100.0)
    frontier.set_importance([5], 1e9)
    before = frontier.belief([5])
    failures: list[float] = []
    for number in range(1, 2_000):
        now = 0.01 * number
        page = frontier.take(now, 100)
        failed = page == 5
        frontier.report(page, now, np.zeros(page.size), failed=failed)
        failures += [now] * int(failed.sum())
    after = frontier.belief([5])
    assert (after.shape, after.time) == (before.shape, before.time)
    gaps = np.diff(failures)
    # A first retry after a 32nd of the mean time between visits, which is a day; then doubled.
    wanted = [2.0**n / 32 for n in range(gaps.size)]
    assert gaps.size >= 8
    assert gaps[:8] == pytest.approx(wanted[:8], abs=0.03)
    assert gaps[8:] == pytest.approx(4.0, abs=0.03)


def test_after_a_success_failures_are_forgotten() -> None:
    frontier = begun(100, 100.0)
    for now in (0.1, 0.2, 0.3):
        frontier.report([5], now, [False], failed=[True])
    frontier.report([5], 1.0, [True])
    frontier.report([5], 1.5, [False], failed=True)
    assert frontier.due([5])[0] <= max(frontier.due([6])[0], 1.5 + 1 / 32)
    assert frontier.belief([5]).rate != frontier.belief([6]).rate


@pytest.mark.parametrize("neighbours", [False, True])
def test_pages_without_a_copy_come_first(neighbours: bool) -> None:
    frontier = Frontier(20.0, neighbours=neighbours)
    frontier.add(range(100), now=0.0, last_visit=-50.0)
    frontier.add([100, 101, 102], now=0.0)
    assert sorted(frontier.take(0.2, 3).tolist()) == [100, 101, 102]
    frontier.report([100, 101, 102], 0.2, [True, False, True])
    visits_from(frontier, 0.2, 8.0)
    frontier.add(range(103, 110), now=8.0)
    story = visits_from(frontier, 8.0, 8.5)
    first = np.concatenate([page for _, page in story])[:7]
    assert sorted(first.tolist()) == list(range(103, 110))


@pytest.mark.parametrize(("shape", "importance"), [(10.0, 1.0), (1.0, 0.001)])
def test_pages_without_a_copy_come_first_whatever_is_believed_of_them(
    shape: float, importance: float
) -> None:
    frontier = Frontier(20.0, prior=Prior(shape, 1.0), neighbours=False)
    frontier.add(range(100), now=0.0, last_visit=0.0)
    visits_from(frontier, 0.0, 20.0, chance=0.05)
    frontier.add([100, 101], now=20.0, importance=importance)
    story = visits_from(frontier, 20.0, 20.2)
    assert {100, 101} <= set(np.concatenate([page for _, page in story]).tolist())


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_new_pages_come_by_importance_on_any_scale(scale: float) -> None:
    """Importances may be shares of all visitors, or their number in a year."""
    pages, best = 20_000, 100
    importance = np.random.default_rng(1).permutation(np.geomspace(1e-2, 1.0, pages))
    frontier = Frontier(pages / 20.0)
    frontier.add(np.arange(pages), now=0.0, importance=scale * importance)
    taken = frontier.take(1.0, best)
    assert set(taken.tolist()) == set(np.argsort(importance)[-best:].tolist())


def test_of_a_first_visit_nothing_is_learned() -> None:
    frontier = Frontier(20.0, neighbours=False)
    frontier.add([0, 1], now=0.0)
    before = frontier.belief([0, 1]).rate
    frontier.report([0, 1], 3.0, [True, False])
    assert np.asarray(frontier.belief([0, 1]).rate).tolist() == np.asarray(before).tolist()


def test_pages_of_no_importance_are_never_visited() -> None:
    frontier = Frontier(200.0)
    frontier.add(range(10), now=0.0, importance=[0.0] * 5 + [1.0] * 5, last_visit=0.0)
    story = visits_from(frontier, 0.0, 5.0)
    assert set(np.concatenate([page for _, page in story]).tolist()) == set(range(5, 10))
    assert frontier.due(range(5)).tolist() == [math.inf] * 5
    frontier.set_importance([0, 9], [1.0, 0.0])
    story = visits_from(frontier, 5.0, 6.0)
    assert set(np.concatenate([page for _, page in story]).tolist()) == {0, 5, 6, 7, 8}


def test_a_price_is_found_when_the_first_pages_were_worth_nothing() -> None:
    frontier = Frontier(10.0)
    frontier.add(range(20), now=0.0, importance=0.0, last_visit=0.0)
    assert frontier.take(1.0, 5).size == 0
    frontier.set_importance(range(20), 1.0)
    visits_from(frontier, 1.0, 3.0)
    assert 0.0 < frontier.price < math.inf
    assert np.isfinite(frontier.due(range(20))).all()


def test_removed_pages_never_come() -> None:
    frontier = begun(40, 100.0)
    gone = frontier.take(0.05, 3)
    frontier.report(gone, 0.05, [False] * 3)
    frontier.remove(gone)
    seen = np.concatenate([page for _, page in visits_from(frontier, 0.05, 3.0)])
    assert set(seen.tolist()) == set(range(40)) - set(gone.tolist())


def test_what_was_reported_before_pages_are_first_taken_is_learned() -> None:
    for neighbours in (False, True):
        frontier = Frontier(10.0, neighbours=neighbours)
        frontier.add(range(20), now=0.0, last_visit=0.0)
        assert 0.0 < frontier.expected_freshness(0.5) < 1.0
        for day in (1.0, 2.0, 3.0):
            frontier.report(range(20), day, np.arange(20) % 2)
        rate = np.asarray(frontier.belief(range(20)).rate)
        assert rate[1::2].min() > rate[::2].max() > 0.0
        assert (frontier.take(3.4, 3) % 2).tolist() == [1, 1, 1]


# Hosts


def by_host(frontier: Frontier, pages: int, hosts: int) -> Frontier:
    frontier.add(range(pages), now=0.0, host=np.arange(pages) % hosts, last_visit=0.0)
    return frontier


@pytest.mark.parametrize("make", [lambda: {"host_delay": 0.1}, lambda: {"host_budget": 10.0}])
def test_limited_hosts_are_visited_as_often_as_they_allow(
    make: Callable[[], dict[str, float]],
) -> None:
    frontier = by_host(Frontier(1_000.0, **make()), 200, 4)  # type: ignore[arg-type]
    story = visits_from(frontier, 0.0, 10.0)
    for host in range(4):
        times = [now for now, page in story for here in page if here % 4 == host]
        assert min(b - a for a, b in itertools.pairwise(times)) > 0.1 - 0.01 - 1e-9
        assert len(times) == pytest.approx(100, abs=10)


def test_what_a_limited_host_cannot_take_others_get() -> None:
    # Changes do not depend on time here, so neighbours would tell nothing but that the others'
    # clocks run fast.
    frontier = by_host(Frontier(100.0, slack=0.0, neighbours=False), 300, 3)
    frontier.limit_host([0], delay=0.5)
    story = visits_from(frontier, 0.0, 6.0)
    page = np.concatenate([page for _, page in story])
    assert page.size == pytest.approx(600, abs=3)
    assert (page % 3 == 0).sum() == pytest.approx(12, abs=1)


def test_a_crowded_hosts_price_falls_when_it_is_crowded_no_more() -> None:
    frontier = Frontier(400.0, neighbours=False)
    frontier.add(range(200), now=0.0, host=np.arange(200) // 100, last_visit=0.0)
    price = tables_of(frontier).hosts["price"]
    frontier.limit_host(0, budget=10.0)
    visits_from(frontier, 0.0, 5.0)
    crowded = price[0]
    assert crowded > frontier.price
    frontier.limit_host(0, budget=1_000.0)
    visits_from(frontier, 5.0, 8.0)
    # Below the common price it postpones nobody.
    assert price[0] < frontier.price < crowded
    assert price[1] == 0.0


def test_a_deferred_host_is_left_alone_until_then() -> None:
    frontier = by_host(Frontier(100.0, slack=0.0, spend="all"), 90, 3)
    visits_from(frontier, 0.0, 2.0)
    frontier.defer([1, 1], [4.0, 3.0])
    frontier.defer(2, 1.0)
    story = visits_from(frontier, 2.0, 6.0)
    times = [now for now, page in story if (page % 3 == 1).any()]
    assert 4.0 <= min(times) < 4.05
    early = np.concatenate([page for now, page in story if now < 4.0])
    assert early.size == pytest.approx(200, abs=3)
    # Pages that had to wait are the most valuable when the host is open again.
    late = np.concatenate([page for now, page in story if 4.0 <= now < 4.2])
    assert (late % 3 == 1).mean() > 0.8


def test_it_knows_which_pages_it_has() -> None:
    frontier = begun(3, 10.0)
    frontier.remove([1])
    assert len(frontier) == 2
    assert [page in frontier for page in (-1, 0, 1, 2, 3, 10**12)] == [
        False,
        True,
        False,
        True,
        False,
        False,
    ]


def test_a_prior_is_replaced_and_not_added() -> None:
    frontier = begun(4, 60.0)
    frontier.report([0, 1], 1.0, changed=[False, False])
    frontier.report([0, 1], 4.0, changed=[True, False])
    before = np.array(frontier.belief([0, 1]).rate)
    frontier.replace_prior([0, 1, 2, 3], Prior(0.5, 20.0))
    once = np.array(frontier.belief([0, 1, 2, 3]).rate)
    assert (once[:2] < before).all()
    assert once[0] > once[1]
    # Of pages that were not visited nothing is known but the prior.
    assert once[2] == once[3] < 0.3
    for _ in range(2):
        frontier.replace_prior([0, 1, 2, 3], Prior(0.5, 20.0))
    assert np.array(frontier.belief([0, 1, 2, 3]).rate).tolist() == once.tolist()
    frontier.replace_prior([0, 1, 2, 3], None)
    assert np.array(frontier.belief([0, 1]).rate) == pytest.approx(before, rel=0.2)


def test_pages_that_changed_at_each_of_many_visits_have_a_belief() -> None:
    frontier = begun(2, 60.0)
    for visit in range(1, 401):
        frontier.report([0, 1], 1e-4 * visit, changed=[True, False])
    likelihood = frontier.octaves([0, 1]).likelihood
    assert np.isfinite(likelihood).all()
    assert likelihood[0].argmax() >= 13
    assert frontier.belief([0]).rate > 50.0 * frontier.belief([1]).rate


def test_a_number_that_is_used_again_in_another_section_has_only_its_new_neighbours() -> None:
    frontier = Frontier(40.0)
    frontier.add(range(6), now=0.0, section=[0, 0, 0, 1, 1, 1], last_visit=0.0)
    frontier.remove([1])
    frontier.add([1], now=0.0, section=1, last_visit=0.0)
    tables = tables_of(frontier)
    for section, pages in ((0, {0, 2}), (1, {1, 3, 4, 5})):
        linked, page = set(), int(tables.sections["first_page"][section])
        while page >= 0:
            linked.add(page)
            page = int(tables.pages["sibling"][page])
        assert linked == pages
