"""What is believed about pages before their visits have said much."""

import numpy as np
import pytest
from scheduling.plain import tables_of

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
