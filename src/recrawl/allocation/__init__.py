"""Crawl rates from change rates and a budget."""

from recrawl.allocation.allocate import Allocation, allocate
from recrawl.allocation.baselines import proportional, uniform
from recrawl.allocation.checks import check_allocator
from recrawl.allocation.curve import budget_for, freshness_curve
from recrawl.allocation.freshness import freshness

__all__ = [
    "Allocation",
    "allocate",
    "budget_for",
    "check_allocator",
    "freshness",
    "freshness_curve",
    "proportional",
    "uniform",
]
