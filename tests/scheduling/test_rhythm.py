"""The bins of the week that a gap between two visits covers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scheduling.plain import tables_of

from recrawl.scheduling import rhythm
from recrawl.scheduling.frontier import Frontier
from recrawl.scheduling.state import WEEK_BINS


def spread(since: float, gap: float, lead: list[float]) -> tuple[list[float], list[float]]:
    """Return what one change per day, expected and found, adds to each bin."""
    tables = tables_of(Frontier(1.0))
    tables.shared["week_lead"][0] = [*lead, lead[0]]
    rhythm._spread(tables, since, gap, 1.0, 1.0)  # noqa: SLF001 - a step of a kernel
    expected, found = tables.shared["week_expected"][0], tables.shared["week_found"][0]
    return expected.tolist(), found.tolist()


def days_in_bins(since: float, gap: float) -> list[float]:
    """Return the days of a gap in each bin of the week, bin by bin."""
    days = [0.0] * WEEK_BINS
    number = int(since // rhythm.BIN)
    while number * rhythm.BIN < since + gap:
        begin = max(since, number * rhythm.BIN)
        end = min(since + gap, (number + 1) * rhythm.BIN)
        days[number % WEEK_BINS] += max(end - begin, 0.0)
        number += 1
    return days


@given(
    since=st.floats(-1_000.0, 30_000.0),
    gap=st.floats(1e-6, rhythm.MAX_GAP),
    lead=st.lists(st.floats(-0.1, 0.1), min_size=WEEK_BINS, max_size=WEEK_BINS),
)
def test_a_gap_is_spread_over_the_bins_it_covers(
    since: float, gap: float, lead: list[float]
) -> None:
    expected, found = spread(since, gap, lead)
    days = days_in_bins(since, gap)
    speed = 1.0 + np.diff([*lead, lead[0]]) / rhythm.BIN
    assert expected == pytest.approx(days, abs=1e-9)
    assert found == pytest.approx(days * speed, abs=1e-8)


def test_two_weeks_cover_every_bin_twice() -> None:
    expected, _ = spread(3.3, 14.0, [0.0] * WEEK_BINS)
    assert expected == pytest.approx([2 * rhythm.BIN] * WEEK_BINS)
