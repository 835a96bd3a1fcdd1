"""The demo's pages: how they live, and what estimators learn of them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from recrawl.compiled import Bools, Floats, Ints
from recrawl.estimation import LLN, MLE, GammaFilter, Observations

#: What the pages are called, and how often they change: true rates, in changes a day.
PAGES = {
    "football scores": 40.0,
    "breaking news": 18.0,
    "weather, Lisbon": 8.0,
    "flight prices": 4.0,
    "forum, beekeeping": 2.0,
    "recipe of the day": 1.0,
    "cinema programme": 1 / 3,
    "job offers": 1 / 7,
    "museum blog": 1 / 14,
    "council minutes": 1 / 30,
    "opening hours": 1 / 90,
    "legal notice": 1 / 200,
}
CRAWL_RATE = 6.0
FIRST_DAY, LAST_DAY = 0.5, 1_000.0
#: When the first visits were, in the crawl log.
FIRST_VISITS = np.datetime64("2026-01-01T00:00:00", "us")


@dataclass(frozen=True, eq=False)
class Lives:
    """Every page's visits after the first, in order of time.

    Attributes:
        when: Days since the first visits.
        page: The page's number.
        elapsed: Days since its previous visit.
        changed: Whether it had changed.
    """

    when: Floats
    page: Ints
    elapsed: Floats
    changed: Bools

    def until(self, day: float) -> int:
        """Give how many visits there are until a day."""
        return int(np.searchsorted(self.when, day, side="right"))

    def crawl_log(self) -> dict[str, Any]:
        """Give the columns of a crawl log with these visits, and the first ones before them."""
        rows, pages = self.until(LAST_DAY), len(PAGES)
        times = FIRST_VISITS + (self.when[:rows] * 86_400e6).astype("timedelta64[us]")
        first = np.arange(pages + rows) < pages
        page = np.concatenate([np.arange(pages), self.page[:rows]])
        changed = np.concatenate([np.zeros(pages, np.bool_), self.changed[:rows]])
        return {
            "page": np.array(list(PAGES))[page],
            "time": np.concatenate([np.full(pages, FIRST_VISITS), times]),
            "changed": pa.array(changed.astype(np.int8), mask=first),
            "crawl_rate": np.full(page.size, CRAWL_RATE),
        }


def draw_lives(seed: int) -> Lives:
    """Draw visits at random times, and whether the pages had changed by then."""
    rng = np.random.default_rng(seed)
    expected = CRAWL_RATE * LAST_DAY
    visits = int(expected + 10.0 * math.sqrt(expected))
    elapsed = rng.exponential(1.0 / CRAWL_RATE, (len(PAGES), visits))
    rate = np.array(list(PAGES.values()))[:, None]
    changed = rng.random(elapsed.shape) < -np.expm1(-rate * elapsed)
    when = elapsed.cumsum(axis=1).ravel()
    page = np.repeat(np.arange(len(PAGES)), visits)
    order = np.argsort(when, kind="stable")
    return Lives(when[order], page[order], elapsed.ravel()[order], changed.ravel()[order])


@dataclass(frozen=True, eq=False)
class Frame:
    """What is known on one day.

    Attributes:
        day: Days since the first visits.
        visits: Observations of each page.
        rates: Estimates of each page, by estimator; the Gamma filter's first.
        low: The lower ends of the Gamma filter's 95 % intervals.
        high: Their upper ends.
    """

    day: float
    visits: Ints
    rates: dict[str, Floats]
    low: Floats
    high: Floats

    @property
    def errors(self) -> dict[str, float]:
        """The median of the pages' relative errors, by estimator."""
        true = np.array(list(PAGES.values()))
        return {
            name: float(np.median(np.abs(rate / true - 1.0))) for name, rate in self.rates.items()
        }

    @property
    def held(self) -> int:
        """How many intervals hold the true rate."""
        true = np.array(list(PAGES.values()))
        return int(((self.low <= true) & (true <= self.high)).sum())


def learn(lives: Lives, frames: int) -> Iterator[Frame]:
    """Give what the estimators know at so many times; days pass ever faster."""
    gamma = GammaFilter()
    methods: dict[str, Any] = {"GammaFilter": gamma, "LLN": LLN(), "MLE": MLE()}
    states = {name: method.start(len(PAGES)) for name, method in methods.items()}
    done = 0
    for day in np.geomspace(FIRST_DAY, LAST_DAY, frames + 1)[1:].tolist():
        rows = slice(done, lives.until(day))
        seen = Observations.of(
            lives.elapsed[rows],
            lives.changed[rows],
            page=lives.page[rows],
            pages=len(PAGES),
            crawl_rate=CRAWL_RATE,
        )
        states = {name: method.update(states[name], seen) for name, method in methods.items()}
        rates = {name: method.rate(states[name]) for name, method in methods.items()}
        belief = states["GammaFilter"]
        yield Frame(day, belief.visits, rates, *gamma.interval(belief))
        done = rows.stop
