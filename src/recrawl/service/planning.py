"""What other budgets would lead to."""

import asyncio
from collections.abc import Sequence

import numpy as np

from recrawl.allocation.curve import freshness_curve
from recrawl.scheduling.frontier import Frontier

#: Pages that a plan is made of; of more, a sample stands for all.
MAX_PLANNED = 50_000
#: Pages that count less than this do not count in a plan.
MIN_IMPORTANCE = 1e-100


async def planned_freshness(frontier: Frontier, budgets: Sequence[float]) -> list[float]:
    """Return the freshness that budgets would lead to, by what is believed now.

    Visits are at regular times, as far as that is worth it; limits of hosts are left out. Of very
    many pages, a sample stands for all: the freshness is right within some tenths of a percent.

    Args:
        frontier: The frontier.
        budgets: Requests per day.
    """
    pages = frontier.all_pages()
    if not pages.size:
        return [1.0] * len(budgets)
    share = min(MAX_PLANNED / pages.size, 1.0)
    if share < 1.0:
        pages = np.random.default_rng(0).choice(pages, MAX_PLANNED, replace=False)
    shape, days_seen = frontier.belief(pages).columns(pages.size)
    rate, importance = shape / days_seen, frontier.importance(pages)
    importance[importance < MIN_IMPORTANCE] = 0.0
    if not importance.any():
        return [1.0] * len(budgets)
    curve = await asyncio.to_thread(
        freshness_curve,
        rate,
        [share * budget for budget in budgets],
        importance=importance,
        visits="periodic",
    )
    return [float(fresh) for fresh in curve]
