"""Draw how fresh recrawl kept the demo's copy, compared with two other policies."""

import os
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from recrawl.demo.run import Snapshot
from recrawl.figures import style
from recrawl.figures.replay import smooth, spread_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 10.0, 5.2
#: The distance between labels at the ends of curves, as a share of the height.
LABEL_GAP = 0.06
#: Points per curve.
SLICES = 100


def demo_figure(snapshot: Snapshot) -> "Figure":
    """Draw freshness over time: recrawl's, uniform crawling's and the best possible."""
    from matplotlib.figure import Figure

    with style.styled():
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        axes = style.plain_axes(figure)
        lines = {
            "best possible": (snapshot.best, style.INK, ":"),
            "recrawl": (snapshot.ours, style.BLUE, "-"),
            "uniform": (snapshot.uniform, style.ORANGE, "--"),
        }
        edges = np.linspace(0.0, snapshot.seconds, SLICES + 1)
        ends = {}
        for name, (curve, colour, dashes) in lines.items():
            means = [curve.mean(a, b) for a, b in pairwise(edges.tolist())]
            line = smooth(np.array(means))
            axes.plot((edges[1:] + edges[:-1]) / 2, line, color=colour, linestyle=dashes, lw=2.0)
            label = f"{name}\nmean {100 * curve.mean(0.0, snapshot.seconds):.1f} %"
            ends[name] = (label, colour, float(line[-1]))
        _set_axes(axes, snapshot)
        _name_curves(axes, list(ends.values()))
    return figure


def _set_axes(axes: "Axes", snapshot: Snapshot) -> None:
    from matplotlib.ticker import PercentFormatter

    lowest = min(axes.get_ylim()[0], 0.9)
    axes.set_xlim(0.0, snapshot.seconds)
    axes.set_ylim(np.floor(10.0 * max(lowest, 0.0)) / 10.0, 1.0)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    axes.set_xlabel("seconds since the demo web began to change")
    axes.set_ylabel("true freshness (share of copies\nthat are current, by importance)")
    axes.set_title(
        f"How fresh {snapshot.stats.requests:,} requests kept {snapshot.stats.pages:,} pages",
        loc="left",
        fontsize=12.5,
        fontweight="bold",
        pad=12,
    )


def _name_curves(axes: "Axes", ends: list[tuple[str, str, float]]) -> None:
    bottom, top = axes.get_ylim()
    heights = spread_out([(end - bottom) / (top - bottom) for _, _, end in ends], 2 * LABEL_GAP)
    for (label, colour, end), height in zip(ends, heights, strict=True):
        axes.annotate(
            label,
            (axes.get_xlim()[1], end),
            (1.03, height),
            xycoords="data",
            textcoords="axes fraction",
            arrowprops={"arrowstyle": "-", "color": colour, "relpos": (0.0, 0.5)},
            color=colour,
            fontweight="bold",
            fontsize=10,
            verticalalignment="center",
            annotation_clip=False,
        )


def draw_demo(path: str | os.PathLike[str], snapshot: Snapshot) -> None:
    """Draw the result of the demo, as PNG or SVG by the file's extension."""
    style.save(demo_figure(snapshot), path)
