"""The activity of hosts and sections in another frontier."""

import math

import numpy as np
import pytest

from recrawl.kernels.jit import Ints
from recrawl.scheduling.frontier import Frontier
from recrawl.scheduling.neighbours import effective_since
from recrawl.scheduling.state import Rows

PAGES = np.arange(40)
HOST, SECTION = PAGES // 20, PAGES // 10
HOSTS, SECTIONS = np.arange(2), np.arange(4)


def begun(
    now: float, last_visit: float, *, neighbours: bool = True, budget: float = 4.0
) -> Frontier:
    frontier = Frontier(budget, half_life=None, neighbours=neighbours)
    frontier.add(PAGES, now=now, host=HOST, section=SECTION, last_visit=last_visit)
    return frontier


def lively() -> Frontier:
    """All pages of the first section changed on the first day, and no other."""
    frontier = begun(0.0, 0.0)
    frontier.settle(0.0)
    for now in (2.0, 3.0):
        frontier.report(PAGES[::2], now, changed=(SECTION[::2] == 0) & (now == 2.0))
    return frontier


def ages(frontier: Frontier, now: float) -> list[float]:
    tables = frontier._tables  # noqa: SLF001
    return [effective_since(tables, section, 0.0, now) for section in SECTIONS.tolist()]


def kept(frontier: Frontier) -> tuple[Ints, Rows, Ints, Rows]:
    of_hosts, of_sections = frontier.clocks(host=HOSTS, section=SECTIONS)
    return HOSTS, of_hosts, SECTIONS, of_sections


def test_time_runs_on_as_it_did() -> None:
    before = lively()
    after = begun(3.0, 0.0)
    after.set_clocks(3.0, *kept(before))
    after.settle(3.0)
    assert ages(before, 4.0)[0] > 1.1 * 4.0
    assert ages(after, 4.0) == pytest.approx(ages(before, 4.0))
    assert ages(after, 400.0) == pytest.approx(ages(before, 400.0))
    for name in ("odds", "trust", "all_found", "all_expected"):
        was, now = (one._tables.hosts[name] for one in (before, after))  # noqa: SLF001
        assert now.tolist() == was.tolist()


def test_another_number_of_pages_keeps_the_bins() -> None:
    before = lively()
    after = begun(3.0, 0.0, budget=5.0)
    after.set_clocks(3.0, *kept(before))
    after.settle(3.0)
    assert ages(after, 4.0) == pytest.approx(ages(before, 4.0))


@pytest.mark.parametrize("budget", [0.4, 40.0])
def test_bins_of_another_scale_are_left_out_and_trust_stays(budget: float) -> None:
    before = lively()
    after = begun(3.0, 0.0, budget=budget)
    after.set_clocks(3.0, *kept(before))
    assert ages(after, 4.0) == pytest.approx([4.0] * 4)
    odds = (one._tables.hosts["odds"].tolist() for one in (before, after))  # noqa: SLF001
    assert next(odds) == next(odds)


def test_a_clock_that_was_put_back_and_damage_are_left_out() -> None:
    hosts, of_hosts, sections, of_sections = kept(lively())
    early = begun(1.0, 0.0)
    early.set_clocks(1.0, hosts, of_hosts, sections, of_sections)
    assert ages(early, 2.0) == pytest.approx([2.0] * 4)
    of_hosts["all_expected"], of_sections["found"] = math.nan, -1.0
    broken = begun(3.0, 0.0)
    broken.set_clocks(3.0, hosts, of_hosts, sections, of_sections)
    assert ages(broken, 4.0) == pytest.approx([4.0] * 4)


def test_neighbours_that_are_switched_off_stay_so() -> None:
    after = begun(3.0, 0.0, neighbours=False)
    after.set_clocks(3.0, *kept(lively()))
    assert ages(after, 4.0) == [4.0] * 4


def test_nothing_is_restored_without_pages() -> None:
    none = np.zeros(0, np.int64)
    frontier = Frontier(1.0)
    of_hosts, of_sections = frontier.clocks()
    frontier.set_clocks(0.0, none, of_hosts, none, of_sections)
    assert len(frontier) == 0
