"""Counters and gauges of a running crawl."""

import math
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

from recrawl.records import MICROSECONDS_A_DAY, Outcome, Visit
from recrawl.store.rows import Trouble

#: Upper bounds of the buckets that responses are counted in, by the seconds they took.
TIMES = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, math.inf)
#: How many of the slowest hosts are listed.
SLOWEST = 5


@dataclass
class HostTimes:
    """How long a host's responses took."""

    responses: int = 0
    seconds: float = 0.0

    @property
    def mean(self) -> float:
        """Seconds per response."""
        return self.seconds / self.responses if self.responses else 0.0


@dataclass
class Stats:
    """Counters of one run, and gauges of its present state.

    Attributes:
        began: When the run began and its budget started to accrue, in microseconds.
        now: When the gauges were last refreshed.
        budget: Requests per day.
        pages: Pages that are kept fresh.
        outcomes: Visits by outcome.
        not_modified: Unchanged pages that the server answered with 304.
        requests: Requests for pages, including redirects and second fetches; they use the budget.
        filled: Those of them that are outside the budget: first visits to pages that users added.
        robots: Requests for robots.txt.
        files: Requests for sitemaps and feeds.
        transferred: Bytes of bodies received.
        in_flight: Visits in flight.
        next_visit: When the budget pays for the next visit, in microseconds.
        expected_freshness: The share of importance whose copies are believed to be current; None
            without a copy.
        price: What a visit is worth now, importance times days.
        waiting: Pages that are due, or to be visited for the first time, at the end of the run.
        held: Those of them that wait for the delay or the backoff of their host.
        hosts: How long responses took, by host.
        closed: Hosts in backoff, and until when, in microseconds.
        refused: Pages that this run was refused.
        trouble: How many pages of the store are in trouble.
        outages: Hosts and folders that are down, and how many of their pages are missing.
        newest: The last visit.
        failing_sitemaps: Sitemaps and feeds that could not be read, or not completely, and why.
        times: Responses by how long they took, in the buckets of `TIMES`.
        seconds: How long all of them took together.
        reports: Reports from other crawlers, by result.
        ended_leases: Leases whose deadline passed before all their pages were reported.
        allowed_before: Requests that budgets allowed before the present one.
        budget_since: When the present budget started to accrue, in microseconds.
    """

    began: int
    budget: float
    now: int = 0
    pages: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    not_modified: int = 0
    requests: int = 0
    filled: int = 0
    robots: int = 0
    files: int = 0
    transferred: int = 0
    in_flight: int = 0
    next_visit: int = 0
    expected_freshness: float | None = None
    price: float = 0.0
    waiting: int = 0
    held: int = 0
    hosts: dict[str, HostTimes] = field(default_factory=dict)
    closed: dict[str, int] = field(default_factory=dict)
    newest: Visit | None = None
    failing_sitemaps: dict[str, str] = field(default_factory=dict)
    refused: int = 0
    trouble: Trouble = field(default_factory=Trouble)
    outages: dict[str, int] = field(default_factory=dict)
    times: Counter[float] = field(default_factory=Counter)
    seconds: float = 0.0
    reports: Counter[str] = field(default_factory=Counter)
    ended_leases: int = 0
    allowed_before: float = 0.0
    budget_since: int = 0

    def __post_init__(self) -> None:
        self.budget_since = self.budget_since or self.began

    @property
    def visits(self) -> int:
        """Visits of any outcome."""
        return self.outcomes.total()

    @property
    def budget_used(self) -> float | None:
        """Requests on the budget, as a share of what it has allowed since the run began.

        None until it has allowed a whole request: the share would be meaningless.
        """
        days = (self.now - self.budget_since) / MICROSECONDS_A_DAY
        allowed = self.allowed_before + self.budget * days
        return (self.requests - self.filled) / allowed if allowed >= 1.0 else None

    def set_budget(self, budget: float, now: int) -> None:
        """Change the requests per day from now on."""
        days = (now - self.budget_since) / MICROSECONDS_A_DAY
        self.allowed_before += self.budget * days
        self.budget, self.budget_since = budget, now

    def count(self, visit: Visit) -> None:
        """Count a visit."""
        response = visit.response
        if visit.is_refusal:
            self.refused += 1
        else:
            self.outcomes[visit.outcome] += 1
        # A page that was missing and is back counts as changed, even if it is as it was.
        if visit.outcome is Outcome.UNCHANGED:
            self.not_modified += response.is_not_modified
        self.requests += response.requests
        self.transferred += response.transferred
        if response.requests:
            times = self.hosts.get(visit.page.host)
            if times is None:
                times = self.hosts[visit.page.host] = HostTimes()
            times.responses += 1
            times.seconds += response.seconds
            self.times[TIMES[bisect_left(TIMES, response.seconds)]] += 1
            self.seconds += response.seconds
        self.newest = visit

    def slowest(self) -> list[tuple[str, HostTimes]]:
        """Return the slowest hosts, slowest first."""
        return sorted(self.hosts.items(), key=lambda item: -item[1].mean)[:SLOWEST]
