"""What is believed about pages before their visits have said much."""

import numpy as np
import pytest
from scheduling.plain import tables_of

from recrawl.estimation.belief import Prior
from recrawl.estimation.octaves import BELOW, OCTAVES, ONE
from recrawl.kernels.jit import Floats
from recrawl.scheduling.frontier import Frontier

#: Days between two visits to a page.
GAP = 8.0


def watched(visits: int, *, changed: bool = False) -> Frontier:
    """Return a frontier of one page, visited at regular times."""
    frontier = Frontier(1.0 / GAP, pooling=False, neighbours=False, rhythm=False, half_life=None)
    frontier.add([0], now=0.0, last_visit=0.0)
    for visit in range(1, visits + 1):
        frontier.report([0], GAP * visit, changed=changed)
    return frontier


def weights(frontier: Frontier) -> Floats:
    share: Floats = tables_of(frontier).pages["weight"][0] / ONE
    return share


def test_before_any_visit_no_page_is_believed_to_stand_still() -> None:
    weight = weights(watched(0))
    assert not weight[: BELOW - 3].any()
    assert weight[BELOW - 3 : OCTAVES - 2] == pytest.approx(np.full(8, 1 / 8), abs=1e-4)


def test_the_longer_a_page_stands_still_the_lower_rates_are_believed() -> None:
    """A rate below 1/(64 × days) counts less by half for each octave."""
    slow = [weights(watched(visits))[:3].sum() for visits in (1, 2, 4, 8, 16, 1_000)]
    assert slow == sorted(slow)
    assert slow[0] < 0.15
    assert slow[-1] > 0.8


def test_a_page_that_changed_has_no_use_for_low_rates() -> None:
    assert weights(watched(5, changed=True))[: BELOW - 3].sum() < 1e-3


@pytest.mark.parametrize("visits", [1, 3, 50])
def test_how_long_a_page_was_watched_outlives_the_frontier(visits: int) -> None:
    before = watched(visits)
    after = Frontier(1.0 / GAP, pooling=False, neighbours=False, rhythm=False, half_life=None)
    after.add([0], now=GAP * visits, last_visit=GAP * visits, belief=before.octaves([0]))
    assert weights(after) == pytest.approx(weights(before), abs=2 / ONE)


@pytest.mark.parametrize("factor", [0.01, 100.0])
def test_pools_are_the_sums_of_their_pages_when_the_grid_of_rates_has_moved(factor: float) -> None:
    frontier, pages = Frontier(40.0), np.arange(40)
    frontier.add(pages, now=0.0, last_visit=0.0, host=pages % 4, section=pages % 8)
    frontier.report(pages, 1.0, changed=pages % 3 == 0)
    rate = float(tables_of(frontier).shared["rate"][0])
    frontier.settle(1.0)
    frontier.set_budget(40.0 * factor, 1.0)
    tables = tables_of(frontier)
    assert tables.shared["rate"][0] != rate
    weight = tables.pages["weight"].astype(np.float64)
    assert np.array_equal(tables.shared["pool"][0], weight.sum(0))
    for table, numbers in ((tables.hosts, pages % 4), (tables.sections, pages % 8)):
        for row in range(table.size):
            assert np.array_equal(table["pool"][row], weight[numbers == row].sum(0))


def chances(frontier: Frontier) -> Floats:
    share: Floats = tables_of(frontier).shared["chances"][0]
    return share


def taught(pages: int, rounds: int, changed: list[int]) -> Frontier:
    """Return a frontier whose pages were visited in turn; some had changed each time."""
    frontier = Frontier(pages / GAP, neighbours=False, rhythm=False, half_life=None)
    everyone = np.arange(pages)
    frontier.add(everyone, now=0.0, last_visit=0.0)
    for visit in range(1, rounds + 1):
        frontier.report(everyone, GAP * visit, changed=np.isin(everyone, changed))
    return frontier


def test_how_rates_are_distributed_is_learned_from_visits_of_all_pages() -> None:
    assert chances(taught(50, 0, [])) == pytest.approx(np.full(4, 0.25))
    assert chances(taught(50, 4, [])).argmax() == 1
    assert chances(taught(50, 8, [7, 17, 27, 37, 47])).argmax() == 0


def test_without_pooling_the_shape_stays_flat() -> None:
    assert chances(watched(30)).tolist() == [1.0, 0.0, 0.0, 0.0]


def test_a_page_with_a_prior_of_its_own_says_nothing_about_the_shape() -> None:
    frontier = Frontier(1.0 / GAP, neighbours=False)
    frontier.add([0], now=0.0, last_visit=0.0, prior=Prior(1.0, GAP))
    frontier.report([0], GAP, changed=True)
    assert chances(frontier) == pytest.approx(np.full(4, 0.25))


def test_the_shape_is_known_again_after_a_restart() -> None:
    before = taught(50, 8, [7, 17, 27, 37, 47])
    pages = np.arange(50)
    after = Frontier(50 / GAP, neighbours=False, rhythm=False, half_life=None)
    after.add(pages, now=8 * GAP, last_visit=8 * GAP, belief=before.octaves(pages))
    assert chances(after).argmax() == chances(before).argmax()
    assert np.asarray(after.belief(pages).rate) == pytest.approx(
        np.asarray(before.belief(pages).rate), rel=0.25
    )


def test_the_order_of_pages_says_nothing_about_the_shape() -> None:
    """Those that changed all come first, or last."""
    before = taught(200, 8, [*range(20)])
    pages, found = np.arange(200), []
    for order in (pages, pages[::-1]):
        after = Frontier(200 / GAP, neighbours=False, rhythm=False, half_life=None)
        after.add(pages, now=8 * GAP, last_visit=8 * GAP, belief=before.octaves(order))
        found.append(chances(after))
    assert found[0] == pytest.approx(found[1])
    assert found[0].min() == pytest.approx(2.0**-12, rel=0.01)


@pytest.mark.parametrize("factor", [0.25, 4.0])
def test_the_shape_is_learned_anew_when_the_grid_of_rates_has_moved(factor: float) -> None:
    """A change in 16 gaps is a change in 4 gaps that are four times as long."""
    rng = np.random.default_rng(1)
    frontier = Frontier(200 / GAP, neighbours=False, rhythm=False, half_life=None)
    pages = np.arange(200)
    frontier.add(pages, now=0.0, last_visit=0.0)
    for visit in range(1, 13):
        frontier.report(pages, GAP * visit, changed=rng.random(200) < -np.expm1(-1 / 4))
    frontier.settle(12 * GAP)
    assert chances(frontier).argmax() == 2
    frontier.set_budget(200 / GAP * factor, 12 * GAP)
    assert chances(frontier).argmax() == (1 if factor > 1 else 3)
