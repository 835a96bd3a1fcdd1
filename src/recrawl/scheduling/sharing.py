"""Share the budget between revisits and the first visits to discovered pages."""

import math

import numpy as np

from recrawl.kernels.jit import Ints
from recrawl.scheduling.budget import Allowance, Budget
from recrawl.scheduling.first_visits import take_discovered
from recrawl.scheduling.state import DISCOVERED, NONE, FrontierSettings, Rows, Tables
from recrawl.scheduling.take import take_pages

#: A visit must be worth this share of importance times the days since the last one, by default.
LEAST_WORTH = 1e-4


def take_best(
    tables: Tables, settings: FrontierSettings, budget: Budget, allowance: Allowance
) -> Ints:
    """Take the pages that are worth most, discovered ones within their share.

    What no other visit is worth is for discovered pages too.
    """
    most, must, since = allowance
    now, known = budget.now, budget.counted
    least = LEAST_WORTH if settings.spend == "worth" else 0.0
    if tables.shared["turn"][0, 0] == NONE:
        return take_pages(tables, now, most, must, since, known, least)
    price = float(tables.shared["price"][0])
    shares = share_spacings(tables, settings, budget.pages)
    parts = [take_discovered(tables, now, since, most, *shares, price)]
    taken = parts[0].size
    if taken < most:
        left, due = most - taken, max(must - taken, 0)
        parts.append(take_pages(tables, now, left, due, since, known, least))
        taken += parts[-1].size
    if taken < must:
        parts.append(take_discovered(tables, now, since, must - taken, 0.0, 0.0, 0.0))
    return np.concatenate(parts)


def share_spacings(tables: Tables, settings: FrontierSettings, known: int) -> tuple[float, float]:
    """Return the days in which the shares of all hosts and of one host pay for a first visit."""
    next_host = tables.shared["turn"][0, 0]
    is_alone = next_host != NONE and tables.hosts["pages"][next_host] == known
    of_host = settings.new_share if is_alone else settings.new_host_share
    return (
        _spacing(settings.new_share * settings.budget),
        _spacing(min(of_host, settings.new_share) * settings.budget),
    )


def _spacing(visits: float) -> float:
    return 1.0 / visits if visits > 0.0 else math.inf


def waiting_among(tables: Tables, page: Ints) -> int:
    """Return how many of these pages are discovered ones without a copy."""
    rows = tables.pages[page]
    return int(np.count_nonzero((rows["last_visit"] == -math.inf) & (rows["needed"] == DISCOVERED)))


def fill_left(shared: Rows, limit: float, now: float) -> float:
    """Return how many free visits may be made now, of a limit per day."""
    if limit == 0.0:
        return 0.0
    days = now - float(shared["filled_at"][0])
    return limit - max(float(shared["filled"][0]) - limit * days, 0.0)


def count_filled(shared: Rows, limit: float, now: float, visits: int) -> None:
    """Count free visits towards their limit."""
    shared["filled"] = max(limit - fill_left(shared, limit, now) + visits, 0.0)
    shared["filled_at"] = now
