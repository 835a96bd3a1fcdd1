"""Where the grid of change rates is: as high as pages change, not as high as the budget."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.estimation.octaves import highest_start, lowest_octave
from recrawl.kernels.jit import Bools, Floats
from recrawl.scheduling.frontier import Frontier
from recrawl.scheduling.rescheduling import first_octave

SECOND, HOUR = 1 / 86_400, 1 / 24
PAGES, GAP, TICK = 300, 4.0, 0.1


@dataclass
class Crawl:
    """A fleet of pages that change within seconds to minutes, and its frontier."""

    frontier: Frontier
    unit: float
    rate: Floats
    stale: Bools = field(default_factory=lambda: np.zeros(PAGES, np.bool_))
    ticks: int = 0
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))

    @classmethod
    def begun(cls, unit: float, slowest: float) -> "Crawl":
        """Begin with pages visited every `GAP` units of time on average."""
        frontier = Frontier(PAGES / (GAP * unit), slack=0.0)
        frontier.add(range(PAGES), now=0.0, host=np.arange(PAGES) % 10, last_visit=0.0)
        return cls(frontier, unit, 1.0 / np.geomspace(1.5, slowest, PAGES))

    def run(self, units: float) -> tuple[float, float]:
        """Crawl on; return the mean freshness, and the mean of what was expected."""
        true, expected = [], []
        for _ in range(round(units / TICK)):
            self.ticks += 1
            now = self.ticks * TICK * self.unit
            self.stale |= self.rng.random(PAGES) < -np.expm1(-self.rate * TICK)
            page = self.frontier.take(now, PAGES)
            self.frontier.report(page, now, self.stale[page])
            self.stale[page] = False
            true.append(1.0 - self.stale.mean())
            expected.append(self.frontier.expected_freshness(now))
        return float(np.mean(true)), float(np.mean(expected))

    @property
    def first(self) -> int:
        return first_octave(self.frontier._tables)  # noqa: SLF001


@pytest.mark.parametrize("unit", [SECOND, 60 * SECOND, 1.0])
def test_expected_freshness_is_right_however_fast_pages_change(unit: float) -> None:
    crawl = Crawl.begun(unit, slowest=120.0)
    crawl.run(30.0)
    true, expected = crawl.run(60.0)
    # The slowest pages were visited a dozen times, so their rates are not known well; with a grid
    # that ends at 85 changes an hour, pages that change within seconds are expected to be fresh.
    assert 0.7 < true < 0.9
    assert expected == pytest.approx(true, abs=0.03)


def test_a_large_budget_alone_does_not_move_the_grid() -> None:
    crawl = Crawl.begun(SECOND, slowest=120.0)
    crawl.rate[:] = 0.0
    crawl.run(30.0)
    assert crawl.first == lowest_octave(GAP * SECOND)


def test_the_grid_moves_back_once_pages_have_calmed_down() -> None:
    crawl = Crawl.begun(SECOND, slowest=10.0)
    crawl.run(10.0)
    fast = crawl.first
    assert lowest_octave(HOUR) < fast <= highest_start(GAP * SECOND)
    crawl.rate[:] = 0.0
    crawl.run(600.0)
    assert crawl.first < fast


def test_another_frontier_continues_with_the_grid_that_visits_led_to() -> None:
    crawl = Crawl.begun(SECOND, slowest=10.0)
    crawl.run(20.0)
    pages = crawl.frontier.all_pages()
    other = Frontier(PAGES / (GAP * SECOND))
    other.add(pages, now=0.0, last_visit=0.0, belief=crawl.frontier.octaves(pages))
    assert first_octave(other._tables) == crawl.first  # noqa: SLF001
    likelihood = other.octaves(pages).likelihood
    ratio = likelihood / crawl.frontier.octaves(pages).likelihood
    np.testing.assert_allclose(ratio, np.broadcast_to(ratio[:, :1], ratio.shape), rtol=1e-4)


@given(st.floats(1e-12, 1e6))
def test_for_gaps_of_an_hour_or_more_there_is_one_grid(gap: float) -> None:
    assert lowest_octave(gap) <= highest_start(gap)
    assert (lowest_octave(gap) == highest_start(gap)) or gap < HOUR
