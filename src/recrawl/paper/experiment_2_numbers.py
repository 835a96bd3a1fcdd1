"""The numbers of the second experiment: crawl rates from estimates, and their freshness."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recrawl.allocation import allocate, freshness, uniform
from recrawl.estimation import Estimator
from recrawl.kernels.jit import Floats, Ints
from recrawl.paper.simulate import ESTIMATORS, checkpoints, follow

PAGES = 100
BUDGET = 80.0
CRAWL_RATE = BUDGET / PAGES
VISITS = checkpoints(1, 1_000, 25)
#: A draw of 100 pages takes so long that more of them are not worth the wait.
MAX_DRAWS = 60
#: 1,000 visits are too few to judge what the paper says about the end: SA is behind Naive.
LATER_VISITS = checkpoints(10, 10_000, 25)
MAX_LATER_DRAWS = 20
#: Page 2, counted from 1.
SHOWN = 1


@dataclass(frozen=True, eq=False)
class Draws:
    """Sets of 100 pages, each with the whole budget.

    Attributes:
        change_rate: A row per draw and a column per page.
    """

    change_rate: Floats

    def crawl_rate(
        self, believed: Floats, visits: Literal["poisson", "periodic"] = "poisson"
    ) -> Floats:
        """Return the best crawl rates for the believed change rates.

        Each draw is a host with its own budget, so that all are solved at once.
        """
        draws, pages = self.change_rate.shape
        found = allocate(
            believed.ravel(),
            BUDGET * draws,
            visits=visits,
            host=np.repeat(np.arange(draws), pages),
            host_budget=BUDGET,
        )
        return found.crawl_rate.reshape(draws, pages)

    def freshness(self, crawl_rate: Floats) -> Floats:
        """Return the freshness of each draw for visits at random times."""
        pairs = zip(crawl_rate, self.change_rate, strict=True)
        return np.array([freshness(crawl, change) for crawl, change in pairs])


@dataclass(frozen=True, eq=False)
class Followed:
    """The crawl rates and freshness that estimates lead to, after each number of visits.

    Attributes:
        visits: The numbers of visits, k.
        best_rate: The crawl rates best for the true change rates, draws × pages.
        best_freshness: Their freshness, one per draw.
        estimate: k × draws × pages, by estimator.
        crawl_rate: The crawl rates best for these estimates, k × draws × pages, by estimator.
        freshness: Their true freshness, k × draws.
    """

    visits: Ints
    best_rate: Floats
    best_freshness: Floats
    estimate: Mapping[str, Floats]
    crawl_rate: Mapping[str, Floats]
    freshness: Mapping[str, Floats]

    def gap(self, name: str) -> Floats:
        """Return the best freshness minus the freshness, k × draws."""
        return self.best_freshness - self.freshness[name]

    def median_gap(self, name: str, visits: int) -> float:
        """Return the median gap at the first checkpoint with this many visits."""
        return float(np.median(self.gap(name)[self._at(visits)]))

    def mean_freshness(self, name: str, visits: int) -> float:
        """Return the mean freshness at the first checkpoint with this many visits."""
        return float(self.freshness[name][self._at(visits)].mean())

    def rmse(self, name: str) -> Floats:
        """Return the error of the crawl rates over all pages, one per checkpoint."""
        return _root_mean_square(self.crawl_rate[name] - self.best_rate, (1, 2))

    def rmse_shown(self, name: str) -> Floats:
        """Return the error of the crawl rate of page 2."""
        return _root_mean_square((self.crawl_rate[name] - self.best_rate)[:, :, SHOWN], 1)

    def rmse_at(self, name: str, visits: int) -> float:
        """Return the error over all pages at the first checkpoint with this many visits."""
        return float(self.rmse(name)[self._at(visits)])

    def given_up(self, name: str) -> Floats:
        """Return the share of pages estimated never to change, one per checkpoint."""
        return np.asarray((self.estimate[name] == 0.0).mean(axis=(1, 2)))

    def _at(self, visits: int) -> int:
        return int(np.searchsorted(self.visits, visits))


@dataclass(frozen=True, eq=False)
class Experiment2:
    """The results of the second experiment.

    Attributes:
        draws: The pages.
        few: Up to 1,000 visits, all estimators.
        later: Up to 10,000 visits, on fewer draws, LLN, SA and Naive.
        regular: Mean freshness when the same estimates are used for regular visits, one per
            checkpoint of ``few``.
        levels: Mean freshness of uniform and best crawl rates, at random and regular visits.
        naive_rmse: The limit of the naive estimator's error of the crawl rates in ``later``.
        naive_gap: The limit of its median gap there.
    """

    draws: Draws
    few: Followed
    later: Followed
    regular: Mapping[str, Floats]
    levels: Mapping[str, float]
    naive_rmse: float
    naive_gap: float


def measure(runs: int, rng: np.random.Generator) -> Experiment2:
    """Draw pages, run the estimators, and allocate by their estimates."""
    draws = Draws(rng.random((min(runs, MAX_DRAWS), PAGES)))
    few = _followed(ESTIMATORS, draws, VISITS, rng)
    fewer = Draws(draws.change_rate[:MAX_LATER_DRAWS])
    counting = {name: ESTIMATORS[name] for name in ("LLN", "SA", "Naive")}
    later = _followed(counting, fewer, LATER_VISITS, rng)
    regular = {
        name: np.array([_regular_freshness(draws, believed) for believed in estimate])
        for name, estimate in few.estimate.items()
    }
    rate = fewer.crawl_rate(fewer.change_rate * CRAWL_RATE / (fewer.change_rate + CRAWL_RATE))
    return Experiment2(
        draws,
        few,
        later,
        regular,
        _reference_levels(draws),
        float(_root_mean_square(rate - later.best_rate, (0, 1))),
        float(np.median(later.best_freshness - fewer.freshness(rate))),
    )


def _followed(
    estimators: Mapping[str, Estimator[Any]], draws: Draws, visits: Ints, rng: np.random.Generator
) -> Followed:
    shape = (visits.size, *draws.change_rate.shape)
    rows = follow(estimators, draws.change_rate.ravel(), CRAWL_RATE, visits, rng)
    estimate = {name: found.reshape(shape) for name, found in rows.items()}
    crawl = {
        name: np.array([draws.crawl_rate(believed) for believed in found])
        for name, found in estimate.items()
    }
    fresh = {
        name: np.array([draws.freshness(rates) for rates in found]) for name, found in crawl.items()
    }
    best = draws.crawl_rate(draws.change_rate)
    return Followed(visits, best, draws.freshness(best), estimate, crawl, fresh)


def _regular_freshness(draws: Draws, believed: Floats) -> float:
    rates = draws.crawl_rate(believed, "periodic")
    return freshness(rates.ravel(), draws.change_rate.ravel(), visits="periodic")


def _reference_levels(draws: Draws) -> dict[str, float]:
    every = draws.change_rate.ravel()
    whole = BUDGET * draws.change_rate.shape[0]
    best = draws.crawl_rate(draws.change_rate).ravel()
    return {
        "uniform random": uniform(every, whole).freshness,
        "optimum random": freshness(best, every),
        "uniform regular": uniform(every, whole, visits="periodic").freshness,
        "optimum regular": _regular_freshness(draws, draws.change_rate),
    }


def _root_mean_square(values: Floats, axis: int | tuple[int, ...]) -> Floats:
    return np.asarray(np.sqrt((values**2).mean(axis=axis)))
