"""How estimates of one page's change rate approach the truth, visit by visit."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recrawl.errors import ArgumentError
from recrawl.estimation import LLN, Estimator, GammaFilter, Naive, Observations
from recrawl.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The page of the paper's first experiment: changes and visits a day.
CHANGE_RATE = 5.0
CRAWL_RATE = 3.0
#: The share of runs below the band, within it at the middle, and above it.
BAND = (0.05, 0.5, 0.95)
FIRST_VISITS, LAST_VISITS, POINTS = 20, 2_000, 40
#: Where the picture's vertical axis ends, in true change rates.
HIGHEST = 2.1


@dataclass(frozen=True, eq=False)
class Curve:
    """An estimator's quantiles over runs, one element for each number of visits.

    Attributes:
        name: The estimator's.
        low: The 5 % quantile.
        middle: The median.
        high: The 95 % quantile.
    """

    name: str
    low: NDArray[np.float64]
    middle: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LearningCurves:
    """What the picture shows.

    Attributes:
        change_rate: The truth, in changes a day.
        crawl_rate: Visits a day.
        runs: How many times the page's life was drawn.
        visits: The numbers of visits at which estimates were taken.
        curves: One an estimator.
    """

    change_rate: float
    crawl_rate: float
    runs: int
    visits: NDArray[np.int64]
    curves: tuple[Curve, ...]


def learning_curves(
    *,
    runs: int = 1_000,
    seed: int = 0,
    change_rate: float = CHANGE_RATE,
    crawl_rate: float = CRAWL_RATE,
    last_visits: int = LAST_VISITS,
) -> LearningCurves:
    """Follow the estimators through many lives of one page that is visited at random times.

    Args:
        runs: How many lives.
        seed: Of their randomness.
        change_rate: Changes a day.
        crawl_rate: Visits a day; the LLN and the naive estimator are told.
        last_visits: Visits in each life.

    >>> found = learning_curves(runs=50, last_visits=500)
    >>> {curve.name: float(curve.middle[-1].round(1)) for curve in found.curves}
    {'Naive': 1.9, 'LLN': 5.0, 'GammaFilter': 4.9}
    """
    if runs < 1 or last_visits < FIRST_VISITS:
        raise ArgumentError(f"runs: at least 1, and last_visits: at least {FIRST_VISITS}")
    rng = np.random.default_rng(seed)
    elapsed = rng.exponential(1.0 / crawl_rate, (last_visits, runs))
    changed = rng.random(elapsed.shape) < -np.expm1(-change_rate * elapsed)
    visits = np.unique(np.geomspace(FIRST_VISITS, last_visits, POINTS).round().astype(np.int64))
    curves = tuple(
        _curve(estimator, visits, elapsed, changed, crawl_rate)
        for estimator in (Naive(), LLN(), GammaFilter())
    )
    return LearningCurves(change_rate, crawl_rate, runs, visits, curves)


def _curve(
    estimator: Estimator[Any],
    visits: NDArray[np.int64],
    elapsed: NDArray[np.float64],
    changed: NDArray[np.bool_],
    crawl_rate: float,
) -> Curve:
    """Fold the runs, each as a page of its own, and stop to look at the numbers of visits."""
    runs = elapsed.shape[1]
    state = estimator.start(runs)
    quantiles = []
    done = 0
    for count in visits.tolist():
        seen = Observations.of(
            elapsed[done:count].ravel(),
            changed[done:count].ravel(),
            page=np.tile(np.arange(runs), count - done),
            crawl_rate=crawl_rate,
        )
        state = estimator.update(state, seen)
        quantiles.append(np.quantile(estimator.rate(state), BAND))
        done = count
    return Curve(type(estimator).__name__, *np.array(quantiles).T)


#: Line, band and dashes. Bands are opaque, so that the one behind shows where it is wider.
_LOOKS = {
    "Naive": (style.GREY, "#DEDEDE", ":"),
    "LLN": (style.ORANGE, "#F6D3BC", "--"),
    "GammaFilter": (style.BLUE, "#B4D4E8", "-"),
}


def learning_figure(curves: LearningCurves) -> "Figure":
    """Draw medians and bands of the estimates over the number of visits."""
    from matplotlib.figure import Figure

    with style.styled():
        figure = Figure(figsize=(8.4, 4.4), layout="constrained")
        axes = style.plain_axes(figure)
        axes.axhline(curves.change_rate, color=style.INK, linewidth=1.2, zorder=3)
        for curve in curves.curves:
            line, band, dashes = _LOOKS[curve.name]
            axes.fill_between(curves.visits, curve.low, curve.high, color=band, linewidth=0)
            axes.plot(curves.visits, curve.middle, color=line, linestyle=dashes, linewidth=2.2)
        _set_axes(axes, curves)
        _label_curves(axes, curves)
    return figure


def _set_axes(axes: "Axes", curves: LearningCurves) -> None:
    first, last = int(curves.visits[0]), int(curves.visits[-1])
    axes.set_xscale("log")
    axes.set_xlim(first, last)
    axes.set_ylim(0.0, HIGHEST * curves.change_rate)
    ticks = [k for k in (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000) if first <= k <= last]
    axes.set_xticks(ticks, [f"{k:,}" for k in ticks])
    axes.minorticks_off()
    axes.set_xlabel("visits to the page, each with one answer: changed or not")
    axes.set_ylabel("estimated change rate\n(changes a day)")
    axes.set_title(
        f"Learning the change rate of a page that changes {curves.change_rate:g} times a day",
        loc="left",
        fontsize=12.5,
        fontweight="bold",
        pad=22,
    )
    axes.text(
        0.0,
        1.03,
        f"{curves.crawl_rate:g} visits a day at random times. Lines: medians; "
        f"bands: 5–95 % of {curves.runs:,} runs",
        transform=axes.transAxes,
        fontsize=10,
        color=style.GREY,
    )


def _label_curves(axes: "Axes", curves: LearningCurves) -> None:
    """Name every curve where it is, instead of in a legend."""
    found = {curve.name: curve for curve in curves.curves}
    truth = curves.change_rate
    at = curves.visits.size // 5
    here = float(curves.visits[at])
    axes.text(here, 1.22 * truth, "GammaFilter", color=style.BLUE, fontweight="bold")
    axes.annotate(
        "LLN",
        (here, float(found["LLN"].high[at])),
        (16, 22),
        textcoords="offset points",
        color=style.ORANGE,
        fontweight="bold",
        arrowprops={"arrowstyle": "-", "color": style.ORANGE, "relpos": (0, 0.3)},
    )
    axes.text(
        here,
        float(found["Naive"].low[at]) - 0.04 * truth,
        "Naive: counts two changes in one gap as one",
        color=style.GREY,
        fontweight="bold",
        verticalalignment="top",
    )
    for text, height, colour in (
        (f"truth: {truth:g}", truth, style.INK),
        (f"{found['Naive'].middle[-1]:.1f}", float(found["Naive"].middle[-1]), style.GREY),
    ):
        axes.text(
            1.01,
            height,
            text,
            color=colour,
            transform=axes.get_yaxis_transform(),
            verticalalignment="center",
        )


def draw_learning(path: str | os.PathLike[str], *, runs: int = 1_000, seed: int = 0) -> None:
    """Draw how the estimators learn, and save the picture as PNG or SVG by the file's name."""
    style.save(learning_figure(learning_curves(runs=runs, seed=seed)), path)
