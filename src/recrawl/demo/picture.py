"""The demo's picture: how fresh the copy was, beside what others would have made of it."""

import os
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from recrawl.demo.playing import Sight
from recrawl.figures import style
from recrawl.figures.replay import smooth, spread_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 10.0, 5.2
#: Names at the ends of curves are so far apart, as a share of the height.
APART = 0.06
#: The slices that a curve is drawn with.
SLICES = 100


def demo_figure(sight: Sight) -> "Figure":
    """Draw freshness over time: recrawl's, uniform crawling's and the best possible."""
    from matplotlib.figure import Figure

    with style.styled():
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        axes = style.plain_axes(figure)
        lines = {
            "best possible": (sight.best, style.INK, ":"),
            "recrawl": (sight.ours, style.BLUE, "-"),
            "uniform": (sight.uniform, style.ORANGE, "--"),
        }
        edges = np.linspace(0.0, sight.seconds, SLICES + 1)
        ends = {}
        for name, (curve, colour, dashes) in lines.items():
            means = [curve.mean(a, b) for a, b in pairwise(edges.tolist())]
            line = smooth(np.array(means))
            axes.plot((edges[1:] + edges[:-1]) / 2, line, color=colour, linestyle=dashes, lw=2.0)
            said = f"{name}\n{100 * curve.mean(0.0, sight.seconds):.1f} %"
            ends[name] = (said, colour, float(line[-1]))
        _set_axes(axes, sight)
        _name_curves(axes, list(ends.values()))
    return figure


def _set_axes(axes: "Axes", sight: Sight) -> None:
    from matplotlib.ticker import PercentFormatter

    lowest = min(axes.get_ylim()[0], 0.9)
    axes.set_xlim(0.0, sight.seconds)
    axes.set_ylim(np.floor(10.0 * max(lowest, 0.0)) / 10.0, 1.0)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    axes.set_xlabel("seconds since the little web began to change")
    axes.set_ylabel("true freshness (share of copies\nthat are current, by importance)")
    axes.set_title(
        f"How fresh {sight.view.requests:,} requests kept {sight.view.pages:,} pages",
        loc="left",
        fontsize=12.5,
        fontweight="bold",
        pad=12,
    )


def _name_curves(axes: "Axes", ends: list[tuple[str, str, float]]) -> None:
    bottom, top = axes.get_ylim()
    places = spread_out([(end - bottom) / (top - bottom) for _, _, end in ends], 2 * APART)
    for (said, colour, _), place in zip(ends, places, strict=True):
        axes.annotate(
            said,
            (1.01, place),
            xycoords="axes fraction",
            color=colour,
            fontweight="bold",
            fontsize=10,
            verticalalignment="center",
            annotation_clip=False,
        )


def draw_demo(path: str | os.PathLike[str], sight: Sight) -> None:
    """Draw how the demo went, and save the picture as PNG or SVG by the file's name."""
    style.save(demo_figure(sight), path)
