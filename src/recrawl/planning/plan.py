"""A plan for a fleet, and what it is compared with."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from recrawl.allocation import Allocation, allocate, freshness, uniform
from recrawl.formats.plan import plan_columns
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.planning.fleet import Fleet
from recrawl.planning.history import last_visits, visit_rates
from recrawl.planning.hosts import limited_hosts

Spacing = Literal["periodic", "poisson"]

#: How sure the intervals in a plan are to hold the change rate.
LEVEL = 0.95
#: A host's budget is used up when no more than this share of it is left.
LEFT = 1e-9


class Spending(NamedTuple):
    """Visits a day, and the freshness they are expected to bring."""

    visits: float
    freshness: float


@dataclass(frozen=True, eq=False)
class Plan:
    """How often to visit every page of a fleet.

    Attributes:
        fleet: The pages.
        budget: Visits a day for all of them.
        allocation: How they are shared.
        host: Each page's host, if hosts have a budget.
        host_budget: The visits a day that a host allows, if they have one.
        now: What the visits in the log bring.
        alike: What the budget would bring if every page were visited equally often.
    """

    fleet: Fleet
    budget: float
    allocation: Allocation
    host: Ints | None
    host_budget: float | None
    now: Spending
    alike: Spending

    @property
    def crawl_rate(self) -> Floats:
        """Visits a day, one a page."""
        return self.allocation.crawl_rate

    @cached_property
    def held_back(self) -> Bools:
        """Which hosts use all that they allow."""
        if self.host is None or self.host_budget is None:
            return np.zeros(0, np.bool_)
        used = np.bincount(self.host, self.crawl_rate)
        return used >= self.host_budget * (1.0 - LEFT)

    def columns(self) -> dict[str, Any]:
        """Give the columns that a plan has in a file."""
        low, high = self.fleet.learned.interval(LEVEL)
        return plan_columns(
            self.fleet.visits.names,
            change_rate=self.fleet.change_rate,
            low=low,
            high=high,
            importance=self.fleet.importance,
            crawl_rate=self.crawl_rate,
            last_visit=last_visits(self.fleet.visits),
        )


def make_plan(fleet: Fleet, budget: float, host_budget: float | None, spacing: Spacing) -> Plan:
    """Share a budget among a fleet's pages.

    Args:
        fleet: The pages.
        budget: Visits a day.
        host_budget: Visits a day that every host allows, if hosts have a limit.
        spacing: Whether visits to a page are regular.

    Raises:
        ArgumentError: Hosts have a budget, but a page has no host.
    """
    rate, importance = fleet.change_rate, fleet.importance
    host = None if host_budget is None else limited_hosts(fleet.visits.names)
    best = allocate(
        rate, budget, importance=importance, visits=spacing, host=host, host_budget=host_budget
    )
    alike = uniform(rate, budget, importance=importance, visits=spacing)
    return Plan(
        fleet,
        budget,
        best,
        host,
        host_budget,
        now=spending_now(fleet, spacing),
        alike=Spending(alike.budget_used, alike.freshness),
    )


def spending_now(fleet: Fleet, spacing: Spacing) -> Spending:
    """Give how often the log's crawler visits, and how fresh that is expected to keep the copy."""
    rates = visit_rates(fleet.visits)
    fresh = freshness(rates, fleet.change_rate, importance=fleet.importance, visits=spacing)
    return Spending(float(rates.sum()), fresh)
