"""The picture of the corners: how likely they are, visit by visit."""

from typing import TYPE_CHECKING

import numpy as np

from recrawl.figures import style
from recrawl.paper.drawing import SERIES, over_visits, panel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from recrawl.kernels.jit import Floats, Ints
    from recrawl.paper.corners import Measured

#: Below it no share of a thousand lives can be seen.
LEAST = 3e-4


def draw(found: "Measured", ratios: "Sequence[float]") -> "Figure":
    """Draw both corners' probabilities as lines, and shares as dots."""
    from matplotlib.figure import Figure

    names = [f"Δ/p = {ratio:.3g}" for ratio in ratios]
    with style.styled():
        figure = Figure(figsize=(11.5, 4.9), layout="constrained")
        grid = figure.add_gridspec(1, 2, wspace=0.06)
        for place, (corner, rows) in enumerate(found.predicted.items()):
            axes = panel(figure, grid[place], corner.capitalize(), "visits", "probability")
            _curves(axes, found.visits, rows, found.shares[corner], names)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=10)
    return figure


def _curves(
    axes: "Axes", visits: "Ints", predicted: "Floats", shares: "Floats", names: "Sequence[str]"
) -> None:
    for look, name, line, share in zip(SERIES, names, predicted, shares, strict=True):
        seen = share > 0.0
        # Far below the axis a line would be drawn to where floats end.
        kept = np.maximum(line, LEAST * 1e-6)
        axes.plot(visits, kept, color=look.colour, linestyle=look.dashes, linewidth=2, label=name)
        axes.plot(visits[seen], share[seen], "o", color=look.colour, markersize=3.5, alpha=0.7)
    over_visits(axes, 0.9, float(visits[-1]) * 1.1)
    axes.set_yscale("log")
    axes.set_ylim(LEAST, 1.4)
    ticks = (0.001, 0.01, 0.1, 1.0)
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
