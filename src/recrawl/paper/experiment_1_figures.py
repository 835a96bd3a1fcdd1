"""The pictures of experiment 1."""

from typing import TYPE_CHECKING

import numpy as np

from recrawl.figures import style
from recrawl.kernels.jit import Floats
from recrawl.paper.drawing import LOOKS, curve, log_heights, name_ends, over_visits, panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

    from recrawl.paper.experiment_1 import Errors

VISITS = "visits to the page"
RATE = "estimated change rate\n(changes per day)"
#: The top of the vertical axis in changes per day, and the first number of visits shown.
HIGHEST, FIRST = 12.0, 5
ERRORS = (0.15, 20.0)
TRUTH = 5.0


def draw_trajectories(errors: "Errors") -> "Figure":
    """Draw one run of each estimator that the paper compares."""
    from matplotlib.figure import Figure

    with style.styled():
        figure = Figure(figsize=(8.4, 4.2), layout="constrained")
        axes = panel(
            figure,
            figure.add_gridspec(1, 1)[0],
            "One run: all but Naive find the truth",
            VISITS,
            RATE,
        )
        over_visits(axes, FIRST, errors.visits[-1])
        axes.set_ylim(0.0, HIGHEST)
        axes.axhline(TRUTH, color=style.INK, linewidth=1.2)
        shown = errors.visits >= FIRST
        ends = {}
        for name in ("MLE", "LLN", "SA", "Naive"):
            curve(axes, errors.visits[shown], errors.one[name][shown], LOOKS[name])
            ends[name] = float(errors.one[name][-1])
        name_ends(axes, {**ends, "truth": TRUTH}, LOOKS)
    return figure


def draw_bands(errors: "Errors") -> "Figure":
    """Draw each estimator's mean and band in its own panel, and all errors in the last."""
    from matplotlib.figure import Figure

    with style.styled():
        figure = Figure(figsize=(13.0, 6.4), layout="constrained")
        grid = figure.add_gridspec(2, 3)
        for number, name in enumerate(("MLE", "LLN", "SA", "Gamma", "Naive")):
            _draw_band(figure, grid[number // 3, number % 3], name, errors)
        _draw_errors(figure, grid[1, 2], errors)
        figure.suptitle(
            "Learning that a page changes 5 times per day, from 3 visits per day of one bit each. "
            f"Lines: means; bands: the middle 95 % of {errors.runs:,} runs",
            x=0.01,
            horizontalalignment="left",
            fontsize=12,
        )
    return figure


def _draw_errors(figure: "Figure", cell: "SubplotSpec", errors: "Errors") -> None:
    axes = panel(figure, cell, "Errors (RMSE, changes per day)", VISITS, "")
    shown = errors.visits >= FIRST
    over_visits(axes, FIRST, errors.visits[-1])
    log_heights(axes, *ERRORS, (0.2, 0.5, 1.0, 2.0, 5.0, 10.0))
    names = ("MLE", "LLN", "SA", "Gamma", "Naive")
    for name in names:
        curve(axes, errors.visits[shown], errors.rmse[name][shown], LOOKS[name])
    name_ends(axes, {name: float(errors.rmse[name][-1]) for name in names}, LOOKS)


def _draw_band(figure: "Figure", cell: "SubplotSpec", name: str, errors: "Errors") -> None:
    shown = errors.visits >= FIRST
    visits, colour = errors.visits[shown], LOOKS[name].colour
    title = f"{name}: off by {errors.rmse[name][-1]:.2f} in the end"
    axes = panel(
        figure,
        cell,
        title,
        VISITS if cell.is_last_row() else "",
        RATE if cell.is_first_col() else "",
    )
    over_visits(axes, FIRST, visits[-1])
    axes.set_ylim(0.0, HIGHEST)
    low, high = errors.low[name][shown], errors.high[name][shown]
    axes.fill_between(visits, low, high, color=colour, alpha=0.25, linewidth=0)
    axes.plot(visits, errors.mean[name][shown], color=colour, linewidth=2.2)
    axes.axhline(TRUTH, color=style.INK, linewidth=1.2, linestyle=(0, (4, 2)))
    name_ends(axes, {"truth": TRUTH}, LOOKS)


def draw_times(times: dict[str, Floats]) -> "Figure":
    """Draw the cost of one more visit after k visits."""
    from matplotlib.figure import Figure

    from recrawl.paper.experiment_1 import TIMED_VISITS

    with style.styled():
        figure = Figure(figsize=(8.4, 4.2), layout="constrained")
        axes = panel(
            figure,
            figure.add_gridspec(1, 1)[0],
            "One more visit: the MLE reads all past visits again",
            "visits before it",
            "time of one update and estimate\n(microseconds per page)",
        )
        over_visits(axes, TIMED_VISITS[0], TIMED_VISITS[-1])
        axes.set_yscale("log")
        values = np.concatenate(list(times.values()))
        axes.set_ylim(0.5 * values.min(), 2.0 * values.max())
        for name, taken in times.items():
            curve(axes, TIMED_VISITS, taken, LOOKS[name])
            axes.plot(TIMED_VISITS, taken, "o", color=LOOKS[name].colour, markersize=4)
        name_ends(axes, {name: float(taken[-1]) for name, taken in times.items()}, LOOKS)
    return figure
