"""Experiment 1: four estimators on one page, in one run and many, and the cost of an update."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from recrawl.estimation import Estimator
from recrawl.estimation.observations import Observations
from recrawl.kernels.jit import Floats, Ints
from recrawl.paper.experiment_1_figures import draw_bands, draw_times, draw_trajectories
from recrawl.paper.section import Claim, Section, Table, drawn, judged
from recrawl.paper.simulate import ESTIMATORS, checkpoints, follow

CHANGE_RATE = 5.0
CRAWL_RATE = 3.0
#: The estimators that the paper compares.
COMPARED = ("LLN", "SA", "Naive", "MLE")
BAND = (0.025, 0.975)
LAST, POINTS = 1_000, 60
#: The numbers of visits at which errors are reported.
REPORTED = (100, 1_000)
#: Pages updated together when timing, and the number of attempts; the fastest counts.
TIMED_PAGES, ATTEMPTS = 100, 5
TIMED_VISITS = (10, 32, 100, 316, 1_000, 3_162, 10_000)
#: Squared errors within this factor of the MLE's count as comparable.
COMPARABLE = 3.0
#: A mean within this share of the truth counts as close.
CLOSE = 0.1
#: Times that grow slower than k to the first power count as constant; to the second, as growing.
CONSTANT, INCREASING = 0.25, 0.5


@dataclass(frozen=True, eq=False)
class Errors:
    """The estimates of many runs at each number of visits.

    Attributes:
        visits: The numbers of visits.
        runs: The number of runs.
        one: The first run's estimates, by estimator.
        mean: The mean over runs, by estimator.
        low: The 2.5 % quantile, by estimator.
        high: The 97.5 % quantile, by estimator.
        rmse: The root of the mean squared error, by estimator.
    """

    visits: Ints
    runs: int
    one: dict[str, Floats]
    mean: dict[str, Floats]
    low: dict[str, Floats]
    high: dict[str, Floats]
    rmse: dict[str, Floats]

    def rmse_at(self, name: str, visits: int) -> float:
        """Return an estimator's RMSE after a number of visits."""
        return float(self.rmse[name][np.searchsorted(self.visits, visits)])

    def spread_at(self, name: str, visits: int) -> float:
        """Return an estimator's standard deviation after a number of visits."""
        bias = self.bias_at(name, visits)
        return float(np.sqrt(max(self.rmse_at(name, visits) ** 2 - bias**2, 0.0)))

    def bias_at(self, name: str, visits: int) -> float:
        """Return an estimator's bias after a number of visits."""
        return float(self.mean[name][np.searchsorted(self.visits, visits)]) - CHANGE_RATE


def run(runs: int, seed: int) -> Section:
    """Measure, draw and judge the claims."""
    errors = measure(runs, np.random.default_rng([seed, 1]))
    times = time_updates(np.random.default_rng([seed, 101]))
    kept = numbers_kept(np.random.default_rng([seed, 101]))
    return Section(
        "Experiment 1: accuracy and cost",
        text(errors, times),
        (
            drawn("experiment-1-one-run", "One run of each estimator.", draw_trajectories(errors)),
            drawn(
                "experiment-1",
                f"Means of {runs:,} runs, and bands with 95 % of them.",
                draw_bands(errors),
            ),
            drawn(
                "experiment-1-time",
                "Time of one update and estimate. It differs from run to run.",
                draw_times(times),
            ),
        ),
        (_curves_table(errors), _one_run_table(errors), _kept_table(kept)),
        claims(errors, times, kept),
        {"visits": np.array(TIMED_VISITS), **times},
    )


def measure(runs: int, rng: np.random.Generator) -> Errors:
    """Run the estimators on many simulated pages."""
    visits = np.union1d(checkpoints(1, LAST, POINTS), REPORTED)
    found = follow(ESTIMATORS, np.full(runs, CHANGE_RATE), CRAWL_RATE, visits, rng)
    bands = {name: np.quantile(rate, BAND, axis=1) for name, rate in found.items()}
    return Errors(
        visits,
        runs,
        {name: rate[:, 0] for name, rate in found.items()},
        {name: rate.mean(axis=1) for name, rate in found.items()},
        {name: band[0] for name, band in bands.items()},
        {name: band[1] for name, band in bands.items()},
        {name: np.sqrt(np.mean((rate - CHANGE_RATE) ** 2, axis=1)) for name, rate in found.items()},
    )


def time_updates(rng: np.random.Generator) -> dict[str, Floats]:
    """Time one more visit after each number of visits, in microseconds per page."""
    times: dict[str, list[float]] = {name: [] for name in ESTIMATORS}
    for visits in TIMED_VISITS:
        past, news = (_observations(count, rng) for count in (visits, 1))
        for name, estimator in ESTIMATORS.items():
            state = estimator.update(estimator.start(TIMED_PAGES), past)
            times[name].append(min(_seconds(estimator, state, news) for _ in range(ATTEMPTS)))
    return {name: 1e6 * np.array(taken) / TIMED_PAGES for name, taken in times.items()}


def _observations(visits: int, rng: np.random.Generator) -> Observations:
    page = np.repeat(np.arange(TIMED_PAGES), visits)
    elapsed = rng.exponential(1.0 / CRAWL_RATE, page.size)
    changed = rng.random(page.size) >= np.exp(-CHANGE_RATE * elapsed)
    return Observations.of(elapsed, changed, page=page, crawl_rate=CRAWL_RATE)


def _seconds(estimator: Estimator[Any], state: Any, news: Observations) -> float:  # noqa: ANN401
    start = time.perf_counter()
    estimator.rate(estimator.update(state, news))
    return time.perf_counter() - start


def growth(times: Floats) -> float:
    """Return the power of k with which times grow, from 100 visits on.

    >>> round(growth(np.array([9.0, 9.0, 10.0, 31.6, 100.0, 316.0, 1_000.0])), 2)
    1.0
    """
    late = np.array(TIMED_VISITS) >= REPORTED[0]
    return float(np.polyfit(np.log(np.array(TIMED_VISITS)[late]), np.log(times[late]), 1)[0])


def text(errors: Errors, times: dict[str, Floats]) -> tuple[str, ...]:
    """Return the paragraphs."""
    rmse = "; ".join(
        f"{name} {' / '.join(f'{errors.rmse_at(name, k):.3f}' for k in REPORTED)}"
        for name in ESTIMATORS
    )
    last = ", ".join(f"{name} {taken[-1]:.3g} µs" for name, taken in times.items())
    done = (
        f"One page changes {CHANGE_RATE:g} times per day and is visited {CRAWL_RATE:g} times per "
        "day at random times. Each visit yields one bit. All estimators see the same bits, in "
        f"{errors.runs:,} runs; LLN with α = 1, SA with γ = 0.75."
    )
    found = (
        f"Root mean squared errors after {' / '.join(f'{k:,}' for k in REPORTED)} visits: {rmse}. "
        "MM and Gamma are not in the paper's experiment; Gamma is recrawl's default."
    )
    cost = (
        f"After {TIMED_VISITS[-1]:,} visits, one more costs on this machine {last}. MLE's time "
        f"grows as k^{growth(times['MLE']):.2f}, LLN's as k^{growth(times['LLN']):.2f}."
    )
    return done, found, cost


def claims(errors: Errors, times: dict[str, Floats], kept: dict[str, Ints]) -> tuple[Claim, ...]:
    """Judge what the paper says about this experiment."""
    return (*_quality_claims(errors), *_cost_claims(times, kept))


def _quality_claims(errors: Errors) -> tuple[Claim, ...]:
    last = REPORTED[-1]
    rmse = {name: errors.rmse_at(name, last) for name in ESTIMATORS}
    needed = {name: (rmse[name] / rmse["MLE"]) ** 2 for name in ("LLN", "SA")}
    lead = [errors.rmse_at("Naive", k) / errors.rmse_at("MLE", k) for k in (10, *REPORTED)]
    bias = {name: errors.bias_at(name, last) for name in ("LLN", "SA", "MLE")}
    spread = {name: errors.spread_at(name, last) for name in ("LLN", "SA", "MLE")}
    return (
        judged(
            "3.3",
            "The MLE improves rapidly, compared with the naive estimator, as visits add up.",
            "Naive's error is "
            + ", ".join(f"{ratio:.1f}" for ratio in lead)
            + f" times the MLE's after 10, {', '.join(f'{k:,}' for k in REPORTED)} visits.",
            holds=bool(np.all(np.diff(lead) > 0)),
        ),
        judged(
            "4, Expt 1",
            "LLN, SA and MLE perform comparably, and all outperform the naive estimator.",
            f"RMSE after {last:,} visits: "
            + ", ".join(f"{name} {rmse[name]:.3f}" for name in COMPARED)
            + ".",
            holds=max(needed.values()) < COMPARABLE
            and all(rmse[name] < rmse["Naive"] for name in ("LLN", "SA", "MLE")),
            remark=f"For the MLE's error LLN needs {needed['LLN']:.1f} times the visits, and SA "
            f"{needed['SA']:.1f} times.",
        ),
        judged(
            "4, Expt 1",
            "LLN and SA are close to the MLE in mean and in variance, though they do not look at "
            "the lengths of gaps.",
            "Bias "
            + ", ".join(f"{name} {bias[name]:+.3f}" for name in bias)
            + "; standard deviation "
            + ", ".join(f"{name} {spread[name]:.3f}" for name in spread)
            + f", after {last:,} visits.",
            holds=max(map(abs, bias.values())) < CLOSE * CHANGE_RATE
            and max(needed.values()) < COMPARABLE,
            remark="In mean yes; the gaps they ignore are what the variance lacks.",
        ),
    )


def _cost_claims(times: dict[str, Floats], kept: dict[str, Ints]) -> tuple[Claim, ...]:
    """Judge by times, but report what is the same in every run: how many numbers are read."""
    grows = {name: growth(taken) for name, taken in times.items()}
    online = max(grows["LLN"], grows["SA"]) < CONSTANT

    def read(*names: str) -> str:
        counts = ", ".join(f"{name} {kept[name][0]:,} and {kept[name][-1]:,}" for name in names)
        return (
            f"Numbers an estimate is made from, after {TIMED_VISITS[0]} and {TIMED_VISITS[-1]:,} "
            f"visits: {counts}. The times are in the text and in timings.json."
        )

    return (
        judged(
            "3.3",
            "Solving the likelihood equation takes ever more time as visits add up, and must be "
            "done afresh each time.",
            read("MLE"),
            holds=grows["MLE"] > INCREASING,
        ),
        judged(
            "3.3",
            "Moment matching is simpler than the MLE but has the same computational trouble.",
            read("MM"),
            holds=grows["MM"] > INCREASING,
        ),
        judged(
            "3.3",
            "LLN and SA are online: an update is simple, and as quick after many visits as at the "
            "start.",
            read("LLN", "SA"),
            holds=online,
        ),
        judged(
            "4, Expt 1",
            "The time of an MLE iteration grows rapidly with k, that of LLN and SA does not.",
            read("MLE", "LLN", "SA"),
            holds=grows["MLE"] > INCREASING and online,
            remark="The Gamma filter has the MLE's error and the LLN's cost.",
        ),
    )


def _curves_table(errors: Errors) -> Table:
    names = list(ESTIMATORS)
    return Table(
        "experiment-1",
        {
            "estimator": np.repeat(names, errors.visits.size),
            "visits": np.tile(errors.visits, len(names)),
            "mean": np.concatenate([errors.mean[name] for name in names]),
            "low": np.concatenate([errors.low[name] for name in names]),
            "high": np.concatenate([errors.high[name] for name in names]),
            "rmse": np.concatenate([errors.rmse[name] for name in names]),
        },
    )


def _one_run_table(errors: Errors) -> Table:
    return Table("experiment-1-one-run", {"visits": errors.visits, **errors.one})


def numbers_kept(rng: np.random.Generator) -> dict[str, Ints]:
    """Return how many numbers a page's state holds after each number of visits."""
    kept: dict[str, list[int]] = {name: [] for name in ESTIMATORS}
    for visits in TIMED_VISITS:
        seen = _observations(visits, rng)
        for name, estimator in ESTIMATORS.items():
            state = estimator.update(estimator.start(TIMED_PAGES), seen)
            kept[name].append(sum(column.size for column in state) // TIMED_PAGES)
    return {name: np.array(held) for name, held in kept.items()}


def _kept_table(kept: dict[str, Ints]) -> Table:
    columns = {f"numbers_kept_by_{name.lower()}": held for name, held in kept.items()}
    return Table("experiment-1-time", {"visits": np.array(TIMED_VISITS), **columns})
