"""Seeded logs for the tests."""

from typing import NamedTuple

import numpy as np
from estimation.reference import Row

from recrawl.kernels.jit import Bools, Floats, Ints


class Log(NamedTuple):
    page: Ints
    elapsed: Floats
    changed: Bools
    crawl_rate: Floats
    age: Floats

    def rows_of(self, page: int, *, rated: bool = False) -> list[Row]:
        here = np.flatnonzero(self.page == page)
        return [
            Row(
                float(self.elapsed[row]),
                bool(self.changed[row]),
                float(self.crawl_rate[row]) if rated and self.crawl_rate[row] > 0 else None,
                None if np.isnan(self.age[row]) else float(self.age[row]),
            )
            for row in here
        ]


def mixed_log(seed: int, pages: int = 60, rows: int = 3_000) -> Log:
    """Pages of very different rates and numbers of visits, in no order, with gaps of every kind."""
    rng = np.random.default_rng(seed)
    share = rng.pareto(1.0, pages) + 0.05
    page = rng.choice(pages, rows, p=share / share.sum())
    rate = rng.lognormal(0.0, 2.0, pages)
    crawl_rate = rng.choice([0.5, 2.0, 8.0], rows)
    elapsed = rng.exponential(1 / crawl_rate)
    last_change = rng.exponential(1 / rate[page])
    changed = last_change < elapsed
    crawl_rate[rng.random(rows) < 0.2] = np.nan
    age = np.where(rng.random(rows) < 0.3, np.nan, last_change)
    return Log(page, elapsed, changed, crawl_rate, age)


def exponential_log(
    change_rate: float, crawl_rate: float, runs: int, visits: int, seed: int
) -> Log:
    """Runs of one page, each a page of the log: the model of the paper."""
    rng = np.random.default_rng(seed)
    page = np.repeat(np.arange(runs), visits)
    elapsed = rng.exponential(1 / crawl_rate, page.size)
    last_change = rng.exponential(1 / change_rate, page.size)
    rates = np.full(page.size, crawl_rate)
    return Log(page, elapsed, last_change < elapsed, rates, last_change)
