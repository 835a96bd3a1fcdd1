"""The picture of what the best sequences are."""

from typing import TYPE_CHECKING

import numpy as np

from recrawl.figures import style
from recrawl.paper.drawing import LOOKS, Look, name_ends, over_visits, panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from recrawl.paper.best_sequence import Answer, Scan

#: LLN's colour is the report's; the others are settings of one estimator.
STEP_LOOKS = {
    "LLN": LOOKS["LLN"],
    "averaged SA": Look(style.BLUE, "--"),
    "SA, γ = 0.75": Look(style.GREEN, "-"),
    "SA, γ = 1": Look(style.PURPLE, "-."),
}
ALPHA_LOOKS = {"RMSE": Look(style.ORANGE, "-"), "bias": Look(style.GREY, "--")}
LEAST, HIGHEST = 0.6, 12.0


def figure(found: "Answer") -> "Figure":
    """Draw LLN's error over α, and squared errors over visits."""
    from matplotlib.figure import Figure

    with style.styled():
        drawing = Figure(figsize=(12.0, 4.8), layout="constrained")
        places = drawing.add_gridspec(1, 2)
        left = panel(
            drawing,
            places[0],
            "LLN: α = 1 has no bias, 3 + p/Δ the least error",
            "constant α",
            "changes a day",
        )
        _draw_scan(left, found.scan)
        right = panel(
            drawing,
            places[1],
            "SA: only averaging comes back to LLN",
            "visits",
            "squared error over LLN's limit",
        )
        _draw_steps(right, found)
    return drawing


def _draw_scan(axes: "Axes", scan: "Scan") -> None:
    axes.set_xlim(0.0, 12.0)
    axes.set_ylim(-1.3, 1.45)
    axes.axhline(0.0, color=style.INK, linewidth=1.0)
    ends = {"RMSE": scan.rmse, "bias": scan.bias}
    for name, height in ends.items():
        look = ALPHA_LOOKS[name]
        axes.plot(scan.alpha, height, color=look.colour, linestyle=look.dashes, linewidth=2.2)
    unbiased, best = int(np.abs(scan.alpha - 1.0).argmin()), int(scan.rmse.argmin())
    axes.plot(scan.alpha[unbiased], scan.bias[unbiased], "o", color=ALPHA_LOOKS["bias"].colour)
    axes.plot(scan.alpha[best], scan.rmse[best], "o", color=ALPHA_LOOKS["RMSE"].colour)
    axes.annotate("no bias at α = 1", (1.0, 0.0), (8, 8), textcoords="offset points")
    axes.annotate(
        f"least RMSE, {scan.rmse[best]:.3f}, at α = {scan.best:.2f}",
        (scan.best, float(scan.rmse[best])),
        (0, -18),
        textcoords="offset points",
        horizontalalignment="left",
    )
    name_ends(axes, {name: float(height[-1]) for name, height in ends.items()}, ALPHA_LOOKS)


def _draw_steps(axes: "Axes", found: "Answer") -> None:
    over_visits(axes, float(found.visits[0]), float(found.visits[-1]))
    axes.set_yscale("log")
    axes.set_ylim(LEAST, HIGHEST)
    axes.set_yticks([0.7, 1.0, 2.0, 5.0, 10.0], ["0.7", "1", "2", "5", "10"])
    axes.minorticks_off()
    for name, look in STEP_LOOKS.items():
        axes.plot(
            found.visits, found.exact[name], color=look.colour, linestyle=look.dashes, linewidth=2
        )
        axes.plot(found.visits, found.measured[name], "o", color=look.colour, markersize=3.5)
    name_ends(axes, {name: float(height[-1]) for name, height in found.exact.items()}, STEP_LOOKS)
