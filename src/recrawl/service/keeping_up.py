"""Whether the crawl is keeping up: what is due, and how late it is."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from recrawl.crawler.load import CrawlFrontier, days
from recrawl.records import SECONDS_A_DAY


@final
@dataclass(frozen=True)
class KeepingUp:
    """Whether visits happen when they are due.

    Attributes:
        expected_freshness: The share of importance whose copies are expected to be fresh; None
            without a copy.
        due: Pages with a copy whose visit is worth its price, or overdue by the settings.
        without_copy: Pages without a copy.
        latest: Seconds for which the longest overdue of them has been due; 0 if none is.
        lateness: Seconds for which they have been due, on average; 0 if none is.
    """

    expected_freshness: float | None
    due: int
    without_copy: int
    latest: float
    lateness: float

    @classmethod
    def of(cls, crawl: CrawlFrontier, at: int) -> "KeepingUp":
        """Return how a frontier is keeping up at a time in microseconds."""
        frontier, now = crawl.frontier, days(at)
        pages = frontier.all_pages()
        if not pages.size:
            return cls(None, 0, 0, 0.0, 0.0)
        seen = frontier.last_visit(pages) > -math.inf
        # Not before the frontier's own time, which continues when the clock is set back.
        late = max(now, frontier.now) - frontier.due(pages[seen])
        late = np.maximum(late[late >= 0.0], 0.0) * SECONDS_A_DAY
        return cls(
            expected_freshness=crawl.freshness.expected(now),
            due=late.size,
            without_copy=int(pages.size - seen.sum()),
            latest=float(late.max(initial=0.0)),
            lateness=float(late.mean()) if late.size else 0.0,
        )
