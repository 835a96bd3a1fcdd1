"""The picture of freshness while change rates are learned."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from recrawl.figures import style
from recrawl.kernels.jit import Floats
from recrawl.paper.drawing import LOOKS, Look, name_ends, panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Each policy's, and the name that is shown.
SHOWN = {
    "index-known": ("index, known", Look(style.INK, "--")),
    "index": ("index", Look(style.PURPLE, "-")),
    "uniform": ("in turn", Look(style.GREY, "-.")),
    "poisson-known": ("optimum, known", Look(style.INK, ":")),
    "paper-sa": ("SA", LOOKS["SA"]),
    "paper-lln": ("LLN", LOOKS["LLN"]),
    "paper-mle": ("MLE", LOOKS["MLE"]),
}
#: How many slices are averaged for a point of a curve.
SMOOTH = 5
LOWEST, HIGHEST = 0.58, 0.84


def figure(freshness: Mapping[str, Floats], days: float) -> "Figure":
    """Draw freshness over time, and over all of it.

    Args:
        freshness: For each policy a row for each draw, with the freshness in each slice of time.
        days: How long all slices are.
    """
    from matplotlib.figure import Figure

    with style.styled():
        drawing = Figure(figsize=(12.0, 5.0), layout="constrained")
        places = drawing.add_gridspec(1, 2, width_ratios=[1.25, 1.0])
        title = "Learning costs little; visits at random times cost more"
        left = panel(drawing, places[0], title, "days", "share of copies that are fresh")
        _draw_curves(left, freshness, days)
        right = panel(
            drawing, places[1], "Mean over all days", "share of copies that are fresh", ""
        )
        _draw_means(right, freshness)
    return drawing


def _draw_curves(axes: "Axes", freshness: Mapping[str, Floats], days: float) -> None:
    axes.set_xlim(0.0, days)
    axes.set_ylim(LOWEST, HIGHEST)
    ends = {}
    for policy, (name, look) in SHOWN.items():
        draws = freshness[policy]
        coarse = draws.reshape(draws.shape[0], -1, SMOOTH).mean(axis=2)
        mean = coarse.mean(axis=0)
        error = coarse.std(axis=0, ddof=1) / np.sqrt(draws.shape[0])
        day = (np.arange(mean.size) + 0.5) * days / mean.size
        axes.fill_between(
            day, mean - 2 * error, mean + 2 * error, color=look.colour, alpha=0.08, linewidth=0
        )
        axes.plot(day, mean, color=look.colour, linestyle=look.dashes, linewidth=1.8)
        ends[name] = float(mean[-1])
    name_ends(axes, ends, dict(SHOWN.values()))


def _draw_means(axes: "Axes", freshness: Mapping[str, Floats]) -> None:
    for row, (policy, (_, look)) in enumerate(reversed(SHOWN.items())):
        overall = freshness[policy].mean(axis=1)
        reach = 2.0 * overall.std(ddof=1) / np.sqrt(overall.size)
        axes.errorbar(
            overall.mean(), row, xerr=reach, fmt="o", color=look.colour, capsize=4, linewidth=2
        )
        axes.annotate(
            f"{overall.mean():.3f}",
            (float(overall.mean()), row),
            (0, 8),
            textcoords="offset points",
            horizontalalignment="center",
            color=look.colour,
        )
    names = [name for name, _ in reversed(SHOWN.values())]
    ticks = np.arange(0.6, HIGHEST, 0.05)
    axes.set_xlim(LOWEST + 0.04, HIGHEST)
    axes.set_xticks(ticks[1:], [f"{tick:.2f}" for tick in ticks[1:].tolist()])
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.3)
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x", color=style.FAINT, linewidth=0.8)
