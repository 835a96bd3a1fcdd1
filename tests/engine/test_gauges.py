"""What stats say about the present of a crawl."""

import pytest

from recrawl import Frontier
from recrawl.config.settings import Settings
from recrawl.engine.frontier import CrawlFrontier
from recrawl.engine.frontier_ids import FrontierIds
from recrawl.engine.gauges import MAX_FRESHNESS_SHARE, Gauges
from recrawl.engine.lag import KeepingUp
from recrawl.engine.stats import Stats
from recrawl.estimation.shown.rates import RatePrior

DAY = 86_400_000_000


class SteppingClock:
    """A clock that advances by some seconds whenever it is read."""

    def __init__(self, step: float) -> None:
        self.step = step
        self.now = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def crawl_of(frontier: Frontier) -> CrawlFrontier:
    settings = Settings(store=":memory:", budget=1.0)
    return CrawlFrontier(frontier, settings, FrontierIds(), 0, 0, RatePrior.world())


def a_frontier() -> CrawlFrontier:
    frontier = Frontier(budget=1.0)
    frontier.add([0, 1], now=0.0, last_visit=0.0)
    return crawl_of(frontier)


def test_the_present_is_shown_and_hosts_that_are_open_again_are_not() -> None:
    frontier, stats = a_frontier(), Stats(0, 1.0)
    stats.closed = {"a.example": DAY, "b.example": DAY + 1}
    Gauges(stats, frontier).refresh(DAY, is_last=False)
    assert (stats.now, stats.pages, stats.price) == (DAY, 2, frontier.frontier.price)
    assert stats.expected_freshness == frontier.freshness.expected(1.0)
    assert stats.next_visit == round(frontier.frontier.affordable_at * DAY)
    assert stats.closed == {"b.example": DAY + 1}


def test_the_next_visit_is_as_far_off_when_the_clock_is_put_back() -> None:
    frontier, stats = a_frontier(), Stats(0, 1.0)
    frontier.frontier.spend(3)
    frontier.frontier.settle(10.0)
    far_off = round((frontier.frontier.affordable_at - 10.0) * DAY)
    assert far_off > 0
    Gauges(stats, frontier).refresh(4 * DAY, is_last=False)
    assert stats.next_visit == 4 * DAY + far_off


def test_what_is_late_is_late_when_the_clock_is_put_back() -> None:
    frontier = Frontier(budget=1.0)
    frontier.add([0, 1], now=0.0, last_visit=0.0, max_interval=1.0)
    frontier.settle(10.0)
    early, late = (KeepingUp.of(crawl_of(frontier), at * DAY) for at in (4, 10))
    assert early.due == late.due == 2
    assert early.latest == late.latest == pytest.approx(9 * 86_400)


def test_nothing_is_fresh_without_pages() -> None:
    stats = Stats(0, 1.0)
    Gauges(stats, crawl_of(Frontier(budget=1.0))).refresh(DAY, is_last=True)
    assert stats.expected_freshness is None


def test_adding_up_freshness_takes_no_more_than_its_share_of_the_time_but_for_the_last() -> None:
    frontier, stats, clock = a_frontier(), Stats(0, 1.0), SteppingClock(step=0.5)
    gauges = Gauges(stats, frontier, clock)
    gauges.refresh(DAY, is_last=False)
    first, clock.step = stats.expected_freshness, 0.0
    ended = clock.now
    clock.now = ended + 0.5 / MAX_FRESHNESS_SHARE - 1.0
    gauges.refresh(2 * DAY, is_last=False)
    assert stats.expected_freshness == first
    gauges.refresh(2 * DAY, is_last=True)
    assert stats.expected_freshness == frontier.freshness.expected(2.0) != first
