"""Find the budget for a freshness, and the freshness of other budgets."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from recrawl.allocation import allocate, budget_for, freshness_curve
from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Floats
from recrawl.planning.beliefs import (
    Beliefs,
    ImportanceSource,
    LogSource,
    Progress,
    Reading,
    learn_weighted,
    no_progress,
)
from recrawl.planning.methods import SPACINGS, Spacing, check_choice
from recrawl.planning.plan import CurvePoint, logged_freshness

#: The curve spans a hundredth to ten times the minimum budget, with five budgets per decade.
DECADES_BELOW, DECADES_ABOVE, PER_DECADE = 2, 1, 5


@dataclass(frozen=True, eq=False)
class FreshnessCost:
    """The cost of a freshness.

    Attributes:
        beliefs: The pages, and the beliefs about them.
        target: The requested freshness, and the minimum visits per day that achieve it.
        as_logged: The freshness that the visits in the log achieve.
        planned: The best freshness for as many visits.
        budgets: Visits per day, rising.
        freshness: The best freshness for each budget.
    """

    beliefs: Beliefs
    target: CurvePoint
    as_logged: CurvePoint
    planned: CurvePoint
    budgets: Floats
    freshness: Floats

    def columns(self) -> dict[str, Floats]:
        """Return the curve as the columns of a table."""
        return {"budget": self.budgets, "freshness": self.freshness}


def freshness_cost(
    log: LogSource,
    freshness: float,
    *,
    importance: ImportanceSource | None = None,
    visits: Spacing = "periodic",
    method: str = "gamma",
    prior: str | None = None,
    columns: Mapping[str, str] | None = None,
    ignore_unknown: bool = False,
    memory: float | str | None = None,
    progress: Progress = no_progress,
) -> FreshnessCost:
    """Find the minimum budget that keeps the pages of a crawl log as fresh as requested.

    Args:
        log: As for `recrawl.plan`, like all arguments but the next.
        freshness: The requested share of pages that are up to date, weighted by importance.
        importance: How much the freshness of each page counts.
        visits: How visits to a page are spaced.
        method: How to estimate change rates.
        prior: What to expect of a page before its first visit.
        columns: The log's names of columns, by our names.
        ignore_unknown: Skip unknown columns in files instead of rejecting them.
        memory: How many bytes visits may take.
        progress: Shows progress.

    Raises:
        ArgumentError: An argument is invalid.
        InputError: A file is invalid; the message says where and why.
    """
    check_choice("visits", visits, SPACINGS)
    _check_freshness(freshness)
    beliefs, weights = learn_weighted(
        log,
        importance,
        method=method,
        prior=prior,
        level=None,
        reading=Reading(columns or {}, ignore_unknown, memory, progress),
    )
    with progress("Planning"):
        rate = beliefs.change_rate
        least = budget_for(freshness, rate, importance=weights, visits=visits)
        budgets = budgets_around(least or float(rate.sum()) or 1.0)
        curve = freshness_curve(rate, budgets, importance=weights, visits=visits)
        logged = logged_freshness(beliefs, weights, visits)
        planned = allocate(rate, logged.visits, importance=weights, visits=visits)
        return FreshnessCost(
            beliefs,
            CurvePoint(least, freshness),
            logged,
            CurvePoint(planned.budget_used, planned.freshness),
            budgets,
            curve,
        )


def budgets_around(budget: float) -> Floats:
    """Return budgets below and above one, which is among them.

    >>> budgets_around(100.0)[[0, 5, 10, 15]]
    array([   1.,   10.,  100., 1000.])
    """
    steps = np.arange(-DECADES_BELOW * PER_DECADE, DECADES_ABOVE * PER_DECADE + 1)
    return budget * 10.0 ** (steps / PER_DECADE)


def _check_freshness(freshness: float) -> None:
    if freshness == 1:
        raise ArgumentError(
            "freshness: 1 cannot be reached, because pages change between visits; 0.95 is usual"
        )
    if not 0 < freshness < 1:
        raise ArgumentError(f"freshness: {freshness} is not between 0 and 1; 0.95 is usual")
