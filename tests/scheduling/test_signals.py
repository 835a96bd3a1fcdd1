"""Signals in a frontier: whom it trusts, what that costs, and what another frontier is told."""

import math

import numpy as np
import pytest
from scheduling.plain import tables_of

from recrawl.estimation.signals import KINDS, MAX_ODDS
from recrawl.scheduling.frontier import Frontier
from recrawl.scheduling.remembering import untold
from recrawl.scheduling.signals import believed_precision

PAGES, BUDGET = 60, 20.0
SITEMAP = KINDS.index("sitemap")


class Site:
    """Pages of one host that change now and then, and what its signals say about them.

    Args:
        seed: For changes and signals.
        change_rate: Changes per page and day.
    """

    def __init__(self, seed: int, change_rate: float = 0.05) -> None:
        self.rng, self.rate, self.now = np.random.default_rng(seed), change_rate, 0.0
        self.frontier = Frontier(BUDGET, rhythm=False, slack=0.0)
        self.frontier.add(np.arange(PAGES), now=0.0, last_visit=0.0)
        self.is_changed = np.zeros(PAGES, np.bool_)

    @property
    def precision(self) -> float:
        return believed_precision(tables_of(self.frontier).hosts, 0, SITEMAP)

    def live(self, days: float, *, honest: bool, until: float | None = None) -> int:
        """Let time pass; return how many visits after signals there were.

        Args:
            days: How long.
            honest: Whether signals follow changes; if not, they are about pages that did not.
            until: The believed precision to stop at, from either side.
        """
        visits, begin, above = 0, self.now, until is not None and self.precision > until
        while self.now < begin + days:
            self.now += 0.25
            new = (self.rng.random(PAGES) < 0.25 * self.rate) & ~self.is_changed
            self.is_changed |= new
            wrong = (self.rng.random(PAGES) < 0.25 * self.rate) & ~self.is_changed
            self.frontier.signal(np.flatnonzero(new if honest else wrong), self.now)
            page = self.frontier.take(self.now, PAGES)
            visits += int((tables_of(self.frontier).pages["signals"][page] > 0).sum())
            self.frontier.report(page, self.now, self.is_changed[page])
            self.is_changed[page] = False
            if until is not None and (self.precision > until) != above:
                break
        return visits


@pytest.mark.parametrize("seed", range(4))
def test_a_host_that_lies_loses_its_trust_and_one_that_turns_honest_regains_it(seed: int) -> None:
    site = Site(seed)
    site.live(60.0, honest=True)
    assert site.precision > 0.8
    assert site.live(60.0, honest=False, until=0.3) <= 40
    site.live(60.0, honest=False)
    assert site.precision < 0.1
    assert site.live(200.0, honest=True, until=0.5) <= 60
    site.live(30.0, honest=True)
    assert site.precision > 0.8


def test_kinds_are_trusted_apart() -> None:
    frontier = Frontier(10.0, rhythm=False, slack=0.0)
    frontier.add(np.arange(20), now=0.0, last_visit=0.0)
    now = 0.0
    for _ in range(40):
        now += 1.0
        frontier.signal(np.arange(10), now, "feed")
        frontier.signal(np.arange(10, 20), now, "push")
        frontier.report(np.arange(20), now, np.arange(20) < 10)
    hosts = tables_of(frontier).hosts
    assert believed_precision(hosts, 0, KINDS.index("feed")) > 0.5
    assert believed_precision(hosts, 0, KINDS.index("push")) < 0.05
    assert hosts["seen"][0, SITEMAP] == 2.0


def test_a_trusted_signal_brings_a_page_forward_and_a_visit_clears_it() -> None:
    site = Site(1)
    site.live(40.0, honest=True)
    frontier, now = site.frontier, site.now
    page = int(np.argmax(frontier.due(range(PAGES))))
    due, fresh = frontier.due([page])[0], frontier.chance_fresh([page], now)[0]
    frontier.signal([page], now)
    assert frontier.due([page])[0] < due
    assert frontier.chance_fresh([page], now)[0] < 0.5 * fresh
    frontier.report([page], now + 0.01, [True])
    assert frontier.chance_fresh([page], now + 0.01)[0] > 0.99
    assert tables_of(frontier).pages["signals"][page] == 0


def test_signals_about_one_host_change_nothing_elsewhere() -> None:
    frontiers = [Frontier(10.0) for _ in range(2)]
    dues = []
    for told, frontier in enumerate(frontiers):
        frontier.add(np.arange(40), now=0.0, last_visit=0.0, host=np.arange(40) // 20)
        frontier.settle(0.0)
        if told:
            frontier.signal(np.arange(20), 1.0)
        dues.append(frontier.due(np.arange(20, 40)))
    assert dues[0] == pytest.approx(dues[1], rel=1e-12)


def test_visits_wait_for_signals_that_are_good() -> None:
    """Without signals, at most 60 % of visits would come after one: 1 − e^(−0.3 · 3)."""
    site = Site(2, change_rate=0.3)
    site.live(60.0, honest=True)
    assert tables_of(site.frontier).pages["counted"].min() > 5
    assert site.live(30.0, honest=True) > 0.8 * 30.0 * BUDGET


def test_more_signals_than_are_counted_are_as_good_as_fifteen() -> None:
    frontier = Frontier(10.0)
    frontier.add(np.arange(3), now=0.0, last_visit=0.0)
    frontier.signal(np.zeros(400, np.int64), 1.0, "neighbour")
    frontier.signal(np.zeros(3, np.int64), 1.0, "sitemap")
    kept = tables_of(frontier).pages["signals"][0]
    assert kept == (15 << 12) + 3
    assert 0.0 < frontier.chance_fresh([0], 1.0)[0] < 1.0


def test_another_frontier_trusts_as_far() -> None:
    site = Site(3)
    site.live(60.0, honest=True)
    other = Frontier(BUDGET)
    other.add(np.arange(PAGES), now=0.0, last_visit=0.0)
    other.set_signal_trust([0], site.frontier.signal_trust([0]))
    assert believed_precision(tables_of(other).hosts, 0, SITEMAP) == site.precision


def test_trust_that_makes_no_sense_is_left_out() -> None:
    frontier = Frontier(BUDGET)
    frontier.add(np.arange(3), now=0.0, host=np.arange(3), last_visit=0.0)
    rows = untold(3)
    rows["seen"][0] = math.nan
    rows["right"][1] = -1.0
    rows["signal_odds"][2] = 1e9
    before = frontier.signal_trust([0, 1])
    frontier.set_signal_trust([0, 1, 2], rows)
    assert frontier.signal_trust([0, 1]).tobytes() == before.tobytes()
    assert frontier.signal_trust([2])["signal_odds"].max() == MAX_ODDS


def test_the_rhythm_goes_on_in_another_frontier() -> None:
    frontier = Frontier(200.0, neighbours=False)
    frontier.add(np.arange(200), now=0.0, last_visit=0.0)
    rng, last, now = np.random.default_rng(4), np.zeros(200), 0.0
    while now < 60.0:
        now += 0.25
        page = frontier.take(now, 200)
        # All changes come in the first quarter of a week.
        weeks = [
            np.floor(time / 7.0) * 1.75 + np.minimum(time % 7.0, 1.75) for time in (now, last[page])
        ]
        frontier.report(page, now, rng.random(page.size) < -np.expm1(weeks[1] - weeks[0]))
        last[page] = now
    other = Frontier(200.0, neighbours=False)
    other.add(np.arange(200), now=now, last_visit=now)
    other.set_rhythm(frontier.rhythm())
    assert tables_of(other).shared["week_trust"][0] > 0.99
    lead = tables_of(other).shared["week_lead"][0]
    assert lead[7] - lead[0] > 2.0
    assert other.rhythm().tobytes() == frontier.rhythm().tobytes()
    off = Frontier(200.0, rhythm=False)
    off.set_rhythm(frontier.rhythm())
    assert tables_of(off).shared["week_trust"][0] == 0.0
