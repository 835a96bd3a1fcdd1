"""The expected freshness of a running crawl's copies, the same as its store shows.

It is one number by one formula wherever it is shown: the end of a run, `recrawl status`, the HTTP
API, its metrics and the dashboard. `recrawl.estimation.shown.rates` has the formula. It needs the
evidence about every page, which the frontier has at hand and `SqliteStore.outlook` reads, and what
is believed about the fleet, which a run publishes in the store.
"""

from typing import final

import numpy as np

from recrawl.estimation.shown.evidence import Evidence, evidence_of
from recrawl.estimation.shown.rates import BATCH, RatePrior, ShownRates, expected_freshness
from recrawl.kernels.jit import Ints
from recrawl.scheduling.frontier import Frontier
from recrawl.store.reading import MAX_READ, SAMPLED, spread


@final
class LiveFreshness:
    """Computes the expected freshness of the pages in a frontier.

    Args:
        frontier: The frontier.
        prior: What is believed about change rates before a page's own visits.

    Attributes:
        prior: The same, as last learned.
    """

    def __init__(self, frontier: Frontier, prior: RatePrior) -> None:
        self._frontier = frontier
        self.prior = prior

    def learn(self) -> RatePrior:
        """Learn from the evidence about the pages; return what is believed from now on."""
        self.prior = RatePrior.learned(self._evidence(self._pages(SAMPLED)))
        return self.prior

    def expected(self, now: float) -> float | None:
        """Return the share of importance expected to be fresh, at a time in days.

        Returns:
            None without a copy.
        """
        self._frontier.pass_time(now)
        pages = self._pages(MAX_READ)
        elapsed = np.maximum(now - self._frontier.last_visit(pages), 0.0)
        fresh = ShownRates(self._evidence(pages), self.prior).fresh(elapsed)
        return expected_freshness(fresh, self._frontier.importance(pages))

    def _pages(self, most: int) -> Ints:
        """Return all pages; of more than ``most``, the sample that `SqliteStore.outlook` reads."""
        pages = self._frontier.all_pages()
        if pages.size <= most:
            return pages
        return np.intersect1d(spread(SAMPLED, int(pages[-1]) + 1), pages)

    def _evidence(self, pages: Ints) -> Evidence:
        parts = [
            evidence_of(self._frontier.octaves(pages[start : start + BATCH]))
            for start in range(0, max(pages.size, 1), BATCH)
        ]
        return np.concatenate(parts)
