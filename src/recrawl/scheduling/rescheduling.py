"""Decide when to schedule new pages, or all pages, at which price and on which time scale."""

import math

import numpy as np

from recrawl.estimation.octaves import MIN_GAP, lowest_octave, start_near
from recrawl.kernels.jit import Ints
from recrawl.scheduling.due import balanced_price, schedule_all, schedule_each
from recrawl.scheduling.grid import octaves_off
from recrawl.scheduling.neighbours import BINS_PER_GAP
from recrawl.scheduling.pooling import shift_octaves
from recrawl.scheduling.state import ABSENT, DISCOVERED, FINE, NEW, Tables, reset_activity
from recrawl.scheduling.take import MIN_CANDIDATES
from recrawl.scheduling.timing_wheel import SLOTS_PER_GAP

#: When the price has fallen by this share, all pages are rescheduled...
PRICE_FALL = 0.2
#: ...but not before this many visits per page, so that the cost per visit stays constant.
MIN_VISITS = 0.0625
#: The maximum size of the sample from which a price or a grid is chosen.
SAMPLE = 2_048
#: New pages are scheduled one by one up to this share of all pages; beyond it all are rescheduled.
NEW_SHARE = 0.25
#: In a frontier of up to this many pages, all are always ready: each take values them anyway.
ALWAYS_READY = 2 * MIN_CANDIDATES
#: The timing wheel and activity restart when the mean time between visits changes by this factor.
NEW_SCALE = 2.0
#: The visits per page between two checks whether the grid of rates should move.
LOOK_EVERY = 0.25
#: After a pause of more slots than this all pages are rescheduled.
LONG_PAUSE = 64 * FINE


class Rescheduling:
    """Tracks which pages are not scheduled yet, and the visits since all pages were.

    Attributes:
        visits: Visits since all pages were scheduled.
    """

    def __init__(self) -> None:
        self.visits = 0
        self._looked_at = 0
        self._new: list[Ints] = []

    @property
    def has_new(self) -> bool:
        """Whether there are pages that are not scheduled yet."""
        return bool(self._new)

    def add(self, pages: Ints) -> None:
        """Note new pages."""
        self._new.append(pages)

    def schedule(self, tables: Tables, now: float, gap: float, known: int) -> None:
        """Schedule new pages, or all pages if the price or the time scale has changed.

        Args:
            tables: The frontier's tables.
            now: The present.
            gap: The mean days between two visits to a page.
            known: The number of pages.
        """
        shared, width = tables.shared, gap / SLOTS_PER_GAP
        shared["early"] = 0.0 if known <= ALWAYS_READY else 1.0
        if shared["slot_width"][0] == math.inf:
            self.reschedule_all(tables, now, gap)
        if gap < MIN_GAP and self.visits >= self._looked_at + LOOK_EVERY * known:
            self._follow_changes(tables, now, gap)
        slots = (now / shared["slot_width"][0]) - shared["slot"][0]
        added = sum(pages.size for pages in self._new)
        fallen = shared["schedule_price"][0] < (1.0 - PRICE_FALL) * shared["highest_price"][0]
        if (
            not 1.0 / NEW_SCALE < shared["slot_width"][0] / width < NEW_SCALE
            or slots > LONG_PAUSE
            or added > NEW_SHARE * known
            or (fallen and self.visits > MIN_VISITS * known)
        ):
            self.reschedule_all(tables, now, gap)
        self.schedule_new(tables, now)

    def _follow_changes(self, tables: Tables, now: float, gap: float) -> None:
        """Move the grid of rates if pages turn out to change faster or slower than it covers."""
        self._looked_at = self.visits
        first = first_octave(tables)
        octaves = start_near(first + octaves_off(tables, _sample(tables)), gap) - first
        if octaves:
            shift_octaves(tables, octaves)
            tables.shared["schedule_price"][0] = 0.0
            self.reschedule_all(tables, now, gap)

    def schedule_new(self, tables: Tables, now: float) -> None:
        """Schedule new pages."""
        for pages in self._new:
            still = pages[tables.pages["status"][pages] == NEW]
            schedule_each(tables, still, now)
        self._new.clear()

    def reschedule_all(self, tables: Tables, now: float, gap: float) -> None:
        """Schedule all pages from scratch."""
        set_scale(tables, now, gap)
        shared = tables.shared
        if not shared["schedule_price"][0] > 0.0:
            shared["price"][0] = shared["schedule_price"][0] = _balanced_price(tables, gap)
        schedule_all(tables, now)
        self._new.clear()
        self.visits = self._looked_at = 0


def first_octave(tables: Tables) -> int:
    """Return the octave of the lowest rate."""
    rate = float(tables.shared["rate"][0])
    # Before the first page is added there is no rate yet.
    return round(math.log2(rate)) if rate > 0.0 else lowest_octave(1.0)


def set_scale(tables: Tables, now: float, gap: float) -> None:
    """Restart the timing wheel and activity if the mean time between visits is very different."""
    shared, width = tables.shared, gap / SLOTS_PER_GAP
    if not 1.0 / NEW_SCALE < shared["slot_width"][0] / width < NEW_SCALE:
        shared["slot_width"][0] = width
        shared["bin_width"] = gap / BINS_PER_GAP
        first = first_octave(tables)
        octaves = start_near(first, gap) - first
        if octaves:
            shift_octaves(tables, octaves)
        for table in (tables.hosts, tables.sections):
            reset_activity(table, now, float(shared["bin_width"][0]))


def _balanced_price(tables: Tables, gap: float) -> float:
    """Return the price at which the pages with a copy are due as often as the budget pays for.

    Others do not make it higher: a host that lists many would raise it for everyone.
    """
    known = _known(tables)
    copied = known[tables.pages["last_visit"][known] > -math.inf]
    counted = copied if copied.size else known
    sample = _some(counted)
    is_waiting = tables.pages["needed"][known] == DISCOVERED
    is_waiting &= tables.pages["last_visit"][known] == -math.inf
    visits = max(known.size - int(np.count_nonzero(is_waiting)), 1) / gap
    return balanced_price(tables, sample, sample.size / counted.size * visits)


def _sample(tables: Tables) -> Ints:
    """Return a sample of the pages."""
    return _some(_known(tables))


def _known(tables: Tables) -> Ints:
    return np.flatnonzero(tables.pages["status"] != ABSENT)


def _some(pages: Ints) -> Ints:
    return pages[:: -(-pages.size // SAMPLE)]
