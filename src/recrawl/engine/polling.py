"""Decide how long the engine sleeps: not at all while there is work, longer while idle."""

import math
from typing import final

from recrawl.clock import Clock
from recrawl.records import SECONDS_A_DAY

#: Limits on the real seconds between two checks for due pages, which are otherwise the time in
#: which the budget pays for a visit.
MIN_NAP, MAX_NAP = 0.005, 1.0
#: While nothing is due and nothing happens, each nap is longer by this factor, up to this many
#: seconds, both real and by the crawl's clock.
SLOWING, MAX_IDLE_NAP = 1.25, 0.02
#: Once a frontier has had no page for `EMPTY_SECONDS`, the share of the time that polling it may
#: take, and the longest pause in seconds for that. With more budget than its pages need, it checks
#: each time whether any of hundreds may be visited early, which takes milliseconds. Before that, a
#: host may be about to open.
MAX_POLL_SHARE, MAX_REST, EMPTY_SECONDS = 0.02, 0.1, 1.0


@final
class Polling:
    """Decides when to check for due pages again, and whether to poll the frontier then.

    Args:
        clock: The clock of the crawl.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._nap = self._rest = MIN_NAP
        self._rests_until = -math.inf
        self._had_page_at = clock.seconds()

    def nap(self, budget: float, opens_at: float) -> float:
        """Return after how many real seconds to check again, if nothing happens earlier.

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
        """Whether the frontier had no page a moment ago, so that it need not be polled now."""
        return self._clock.seconds() < self._rests_until

    def note_taken(self, pages: int, cost: float = 0.0) -> None:
        """Note how many pages the frontier had; after none, it is polled less and less often.

        Args:
            pages: The number of pages.
            cost: Seconds that the poll took.
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
        """Return a longer nap, up to a maximum in seconds, both real and by the crawl's clock."""
        return min(SLOWING * nap, max(min(longest, self._clock.real(longest)), MIN_NAP))
