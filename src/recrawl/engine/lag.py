"""Whether the crawl is keeping up: what is due, how late it is, and what holds it up."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, final

import numpy as np

from recrawl.engine.frontier import CrawlFrontier, days
from recrawl.engine.stats import Stats
from recrawl.records import SECONDS_A_DAY

#: Visits are late if they are late by this share of the time between two visits, over all pages.
LATE_SHARE = 0.1
#: The share of pages that hardly matters.
FEW = 0.5


@final
@dataclass(frozen=True)
class KeepingUp:
    """Whether visits happen when they are due.

    Attributes:
        expected_freshness: The share of importance whose copies are expected to be fresh; None
            without a copy.
        due: Pages with a copy whose visit is worth its price, or overdue by the settings.
        without_copy: Pages without a copy.
        untried: Those of them that are to be visited for the first time; the others have failed.
        held: Pages that are due or untried, and wait for the delay or the backoff of their host.
        latest: Seconds for which the longest overdue page has been due; 0 if none is.
        lateness: Seconds for which due pages have been due, on average; 0 if none is.
    """

    expected_freshness: float | None = None
    due: int = 0
    without_copy: int = 0
    untried: int = 0
    held: int = 0
    latest: float = 0.0
    lateness: float = 0.0

    @classmethod
    def of(cls, crawl: CrawlFrontier, at: int) -> "KeepingUp":
        """Return how a frontier is keeping up at a time in microseconds."""
        frontier, now = crawl.frontier, days(at)
        frontier.pass_time(now)
        pages = frontier.all_pages()
        if not pages.size:
            return cls()
        fresh = crawl.freshness.expected(now)
        # Not before the frontier's own time, which continues when the clock is set back.
        now = max(now, frontier.now)
        seen = frontier.last_visit(pages) > -math.inf
        untried = pages[~seen & (frontier.failures(pages) == 0)]
        late = now - frontier.due(pages[seen])
        due = pages[seen][late >= 0.0]
        late = late[late >= 0.0] * SECONDS_A_DAY
        held = frontier.open_at(np.concatenate([due, untried])) > now
        return cls(
            expected_freshness=fresh,
            due=due.size,
            without_copy=int(pages.size - seen.sum()),
            untried=untried.size,
            held=int(held.sum()),
            latest=float(late.max(initial=0.0)),
            lateness=float(late.mean()) if late.size else 0.0,
        )

    @property
    def waiting(self) -> int:
        """Pages that are due, or that are to be visited for the first time."""
        return self.due + self.untried


class Health(NamedTuple):
    """Whether somebody has to look after a crawl.

    Attributes:
        state: ``bad`` is worth an alert; ``busy`` passes by itself.
        word: Whether it is keeping up, in a word or two.
        reason: Why, in a sentence.
    """

    state: Literal["good", "busy", "bad"]
    word: str
    reason: str

    @classmethod
    def of(cls, up: KeepingUp, stats: Stats, pages: int, *, crawls: bool) -> "Health":
        """Return the health of a crawl.

        A page that always fails, with or without a copy, is a problem of that page: it is counted
        among those that fail, and keeps nothing else from being in order.

        Args:
            up: What is due, and how late it is.
            stats: Its budget and problems.
            pages: How many pages it visits.
            crawls: Whether the process fetches pages itself; otherwise others lease them.
        """
        failing = stats.trouble.failing
        if not pages:
            return cls("busy", "No pages", "Add pages: recrawl add URL.")
        if failing > FEW * pages:
            return cls("bad", "Visits fail", "The last visit failed for more than half of pages.")
        if up.untried:
            return cls("busy", "Catching up", "Pages without a copy are fetched first.")
        gap = pages / stats.budget * SECONDS_A_DAY
        if up.due * up.lateness / pages > LATE_SHARE * gap:
            return cls("bad", "Falling behind", what_holds_up(up, crawls=crawls))
        but = f"; the last visit to {failing:,} of {pages:,} pages failed" if failing else ""
        return cls("good", "Yes", f"Visits happen when they are worth their price{but}.")


def what_holds_up(up: KeepingUp, *, crawls: bool) -> str:
    """Return what due pages wait for, in a sentence."""
    if up.held > FEW * up.waiting:
        return "Due pages wait for the delays of their hosts, or for hosts in backoff."
    if crawls:
        return "Due pages wait for hosts that respond slowly, or for a free connection."
    return "Due pages wait for crawlers to lease them."
