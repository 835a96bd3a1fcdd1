"""Draw how fresh a copy can be kept, as a function of the visits per day."""

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from recrawl.figures import style
from recrawl.kernels.jit import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: Visits per day, and a freshness from 0 to 1.
Point = tuple[float, float]
#: Above this, labels are too long for ticks at 1, 2 and 5 times each power of ten.
LONG = 1e6
#: Points on the line.
SMOOTH = 200


def freshness_figure(
    budgets: ArrayLike,
    freshness: ArrayLike,
    *,
    asked: Point | None = None,
    now: Point | None = None,
) -> "Figure":
    """Draw the best freshness for each budget, and a smooth line through them.

    Args:
        budgets: Visits per day, ascending, above 0.
        freshness: The best for each of them, 0 to 1, as `recrawl.freshness_curve` returns it.
        asked: A requested freshness to mark, and the budget it needs.
        now: The visits per day of a log and their freshness, to mark if between the budgets.
    """
    from matplotlib.figure import Figure

    visits = np.asarray(budgets, np.float64)
    with style.styled():
        figure = Figure(figsize=(8.4, 4.4), layout="constrained")
        axes = style.plain_axes(figure)
        axes.plot(*_smooth(visits, freshness), color=style.BLUE, linewidth=2.4, zorder=3)
        _set_axes(axes, float(visits[0]), float(visits[-1]))
        if asked is not None:
            _mark_asked(axes, asked)
        if now is not None and visits[0] <= now[0] <= visits[-1]:
            _mark_now(axes, now)
    return figure


def _smooth(budgets: Floats, freshness: ArrayLike) -> tuple[Floats, Floats]:
    """Return points on a smooth line that is monotonic where the given points are."""
    from scipy.interpolate import PchipInterpolator

    line = PchipInterpolator(np.log(budgets), np.asarray(freshness, np.float64))
    between = np.geomspace(budgets[0], budgets[-1], SMOOTH)
    return between, line(np.log(between))


def _set_axes(axes: "Axes", first: float, last: float) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, PercentFormatter

    axes.set_xscale("log")
    axes.set_xlim(first, last)
    axes.set_ylim(0.0, 1.0)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if last > LONG else (1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda visits, _position: plain_number(visits)))
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    axes.set_xlabel("budget (visits per day)")
    axes.set_ylabel("expected freshness\n(share of pages up to date)")
    axes.set_title(
        "What a budget buys: the best freshness for each number of visits",
        loc="left",
        fontsize=12.5,
        fontweight="bold",
        pad=12,
    )


def plain_number(number: float) -> str:
    """Return a number in plain digits, not as a power of ten.

    >>> plain_number(0.05), plain_number(20_000.0)
    ('0.05', '20,000')
    """
    return f"{number:,.0f}" if number >= 1 else f"{number:g}"


def _mark_asked(axes: "Axes", asked: Point) -> None:
    """Draw lines from the requested freshness to the curve, and down to its budget."""
    lines: Any = {"color": style.ORANGE, "linewidth": 1.4, "linestyle": "--", "zorder": 2}
    budget, freshness = asked
    axes.plot([axes.get_xlim()[0], budget], [freshness, freshness], **lines)
    axes.plot([budget, budget], [0.0, freshness], **lines)
    axes.plot(budget, freshness, "o", color=style.ORANGE, markersize=8, zorder=4)
    visits = f"{budget:.3g}" if budget < 100 else f"{budget:,.0f}"  # noqa: PLR2004
    axes.annotate(
        f"{100 * freshness:.10g} % fresh:\n{visits} visits per day",
        (budget, freshness / 2.0),
        (8, 0),
        textcoords="offset points",
        color=style.ORANGE,
        fontweight="bold",
        verticalalignment="center",
    )


def _mark_now(axes: "Axes", now: Point) -> None:
    axes.plot(*now, "D", markerfacecolor="white", markeredgecolor=style.INK, markersize=7, zorder=4)
    axes.annotate(
        "as in the log",
        now,
        # Below the best curve and to the right of the point, where no curve can be.
        (9, -5),
        textcoords="offset points",
        color=style.INK,
        horizontalalignment="left",
        verticalalignment="top",
        zorder=4,
    )


def draw_freshness(
    path: str | os.PathLike[str],
    budgets: ArrayLike,
    freshness: ArrayLike,
    *,
    asked: Point | None = None,
    now: Point | None = None,
) -> None:
    """Draw freshness over budget, as PNG or SVG by the file's extension."""
    style.save(freshness_figure(budgets, freshness, asked=asked, now=now), path)
