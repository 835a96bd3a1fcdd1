"""The pictures of the second experiment."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from recrawl.figures import style
from recrawl.kernels.jit import Floats, Ints
from recrawl.paper.drawing import LOOKS, Look, curve, name_ends, over_visits, panel
from recrawl.paper.experiment_2_numbers import SHOWN, Experiment2, Followed
from recrawl.paper.section import Picture, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


VISITS_NAME = "visits to each page, k"
SIZE = (12.0, 4.6)
#: Lower curves are wider, so that they show where curves coincide.
WIDEST = 4.0
WIDTH = 1.7


def pictures(found: Experiment2) -> tuple[Picture, ...]:
    """Draw all three pictures."""
    with style.styled():
        return (
            drawn(
                "experiment-2",
                "One draw of 100 pages. Left: page 2's crawl rate according to the estimates so "
                "far. Right: the freshness of all pages at these rates.",
                _first_draw(found.few),
            ),
            drawn(
                "experiment-2-runs",
                "Many draws. Left: how far freshness stays below the optimum in the median draw, "
                "with a band of 95 % of draws for LLN and the Gamma filter; it falls by 0.01 when "
                "the last page without visits is found to change. Right: mean freshness for "
                "random and regular visits; dotted lines are equal rates, and the best ones for "
                "the true change rates.",
                _all_draws(found),
            ),
            drawn(
                "experiment-2-later",
                "Ten times as many visits. Left: error of the crawl rates over all pages. Right: "
                "how far freshness stays below the optimum in the median draw.",
                _later(found),
            ),
        )


def _figure() -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=SIZE, layout="constrained")


def _first_draw(few: Followed) -> "Figure":
    figure = _figure()
    grid = figure.add_gridspec(1, 2)
    names = ("LLN", "SA", "Naive", "MLE")
    left = panel(
        figure,
        grid[0, 0],
        "Page 2's crawl rate settles slowly",
        VISITS_NAME,
        "best crawl rate, visits per day",
    )
    rates = {name: few.crawl_rate[name][:, 0, SHOWN] for name in names}
    best = few.best_rate[0, SHOWN]
    _lines(left, few.visits, rates, best)
    left.set_ylim(0.0, 1.08 * max(rate.max() for rate in [*rates.values(), best]))
    _name_all(left, rates, best)
    right = panel(
        figure, grid[0, 1], "Freshness hardly tells them apart", VISITS_NAME, "share of pages fresh"
    )
    fresh = {name: few.freshness[name][:, 0] for name in names}
    _lines(right, few.visits, fresh, few.best_freshness[0], widest=WIDEST)
    right.set_ylim(0.0, 1.0)
    _name_all(right, fresh, few.best_freshness[0])
    return figure


def _all_draws(found: Experiment2) -> "Figure":
    few = found.few
    figure = _figure()
    grid = figure.add_gridspec(1, 2)
    left = panel(
        figure,
        grid[0, 0],
        "Giving up no page matters most",
        VISITS_NAME,
        "freshness lost, share of pages",
    )
    left.set_yscale("log")
    for name in ("LLN", "Gamma"):
        low, high = np.quantile(few.gap(name), (0.025, 0.975), axis=1)
        left.fill_between(few.visits, low, high, color=LOOKS[name].colour, alpha=0.13, linewidth=0)
    gaps = {name: np.median(few.gap(name), axis=1) for name in few.freshness}
    _lines(left, few.visits, gaps, widest=WIDEST)
    _name_all(left, gaps)
    right = panel(
        figure,
        grid[0, 1],
        "Regular visits gain more than estimates can",
        VISITS_NAME,
        "mean share of pages fresh",
    )
    _random_and_regular(right, found)
    return figure


def _random_and_regular(axes: "Axes", found: Experiment2) -> None:
    """Draw two estimators for both kinds of visits, and the reference levels."""
    visits = found.few.visits
    for name in ("LLN", "Gamma"):
        random = found.few.freshness[name].mean(axis=1)
        colour = LOOKS[name].colour
        axes.plot(visits, random, color=colour, linestyle="-", label=f"{name}, random visits")
        axes.plot(
            visits, found.regular[name], color=colour, linestyle="--", label=f"{name}, regular"
        )
    over_visits(axes, visits[0], visits[-1])
    low = min(float(found.few.freshness["LLN"].mean(axis=1).min()), 0.5)
    axes.set_ylim(max(low - 0.05, 0.0), 0.85)
    for level in found.levels.values():
        axes.axhline(level, color=style.GREY, linestyle=":", linewidth=1.1)
    ends = {name.replace("optimum", "best"): level for name, level in found.levels.items()}
    name_ends(axes, ends, dict.fromkeys(ends, LOOKS["Naive"]))
    axes.legend(loc="lower right", frameon=False, fontsize=10)


def _later(found: Experiment2) -> "Figure":
    later = found.later
    figure = _figure()
    grid = figure.add_gridspec(1, 2)
    errors = {name: later.rmse(name) for name in later.freshness}
    gaps = {name: np.median(later.gap(name), axis=1) for name in later.freshness}
    for cell, title, y, values, limit in (
        (
            grid[0, 0],
            "Crawl rates: Naive stops, LLN and SA go on",
            "RMSE of crawl rates, visits per day",
            errors,
            found.naive_rmse,
        ),
        (
            grid[0, 1],
            "Freshness: what Naive loses is tiny",
            "freshness lost, share of pages",
            gaps,
            found.naive_gap,
        ),
    ):
        axes = panel(figure, cell, title, VISITS_NAME, y)
        axes.set_yscale("log")
        _lines(axes, later.visits, values)
        axes.axhline(limit, color=style.GREY, linewidth=0.9)
        axes.text(later.visits[0] * 1.1, limit, "Naive's limit", color=style.GREY, va="bottom")
        _name_all(axes, values)
    return figure


def _lines(
    axes: "Axes",
    visits: Ints,
    values: Mapping[str, Floats],
    truth: float | None = None,
    *,
    widest: float = WIDTH,
) -> None:
    if truth is not None:
        axes.axhline(truth, color=LOOKS["truth"].colour, linewidth=1.0)
    widths = np.linspace(widest, WIDTH, len(values)).tolist()
    for (name, line), width in zip(values.items(), widths, strict=True):
        curve(axes, visits, line, LOOKS[name], width)
    over_visits(axes, visits[0], visits[-1])


def _name_all(axes: "Axes", values: Mapping[str, Floats], truth: float | None = None) -> None:
    floor = axes.get_ylim()[0]
    ends = {name: max(float(line[-1]), floor) for name, line in values.items()}
    looks: dict[str, Look] = dict(LOOKS)
    if truth is not None:
        ends["optimum"] = truth
        looks["optimum"] = LOOKS["truth"]
    name_ends(axes, ends, looks)
