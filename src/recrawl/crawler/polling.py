"""How long the crawl loop naps: not at all while there is work, and longer while there is none."""

import math
from typing import final

from recrawl.clock import Clock
from recrawl.records import SECONDS_A_DAY

#: Real seconds between two checks of what is due: the time that the budget takes to pay for a
#: visit, within these.
MIN_NAP, MAX_NAP = 0.005, 1.0
#: While nothing is due and nothing happens, each check is later by this factor, up to this many
#: seconds, real or of the crawl's clock.
SLOWING, MAX_IDLE_NAP = 1.25, 0.02
#: The share of the time that asking a frontier may take that has had no page for `EMPTY_SECONDS`,
#: and for how many seconds at most it is left alone for that. With more budget than its pages need,
#: it looks each time whether any of hundreds may be visited early, which takes milliseconds. Before
#: that, a host may be about to open.
MAX_POLL_SHARE, MAX_REST, EMPTY_SECONDS = 0.02, 0.1, 1.0


@final
class Polling:
    """Decides when to check again what is due, and whether to ask the frontier then.

    Args:
        clock: The clock of the crawl.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._nap = self._rest = MIN_NAP
        self._rests_until = -math.inf
        self._had_page_at = clock.seconds()

    def nap(self, budget: float, opens_at: float) -> float:
        """Return after how many real seconds to check again, if nothing happens before.

        Args:
            budget: Requests per day.
            opens_at: When the next host with a queued page may be visited, by the crawl's clock.
        """
        real, now = self._clock.real, self._clock.seconds()
        paid = real(SECONDS_A_DAY / budget)
        next_at = opens_at if self._rests_until <= now else min(opens_at, self._rests_until)
        return min(max(paid, self._nap), MAX_NAP, max(real(next_at - now), MIN_NAP))

    def end_nap(self, *, is_woken: bool) -> None:
        """Note whether a nap ended because something happened; if not, the next is longer."""
        self._nap = MIN_NAP if is_woken else self._longer(self._nap, MAX_IDLE_NAP)

    @property
    def is_resting(self) -> bool:
        """Whether the frontier had no page a moment ago, so that it need not be asked now."""
        return self._clock.seconds() < self._rests_until

    def note_taken(self, pages: int, cost: float = 0.0) -> None:
        """Note how many pages the frontier had; after none, it is asked later and later.

        Args:
            pages: The number of pages.
            cost: Seconds that it took to ask.
        """
        now, passing = self._clock.seconds(), self._clock.passing
        if pages:
            self._rest, self._had_page_at = MIN_NAP, now
            return
        is_empty = now - self._had_page_at > passing(EMPTY_SECONDS)
        longest = max(MAX_IDLE_NAP, min(cost / MAX_POLL_SHARE, MAX_REST) if is_empty else 0.0)
        self._rest = self._longer(self._rest, longest)
        self._rests_until = now + passing(self._rest)

    def _longer(self, nap: float, longest: float) -> float:
        """Return a longer nap, up to so many seconds: real ones, and of the crawl's clock."""
        return min(SLOWING * nap, max(min(longest, self._clock.real(longest)), MIN_NAP))
