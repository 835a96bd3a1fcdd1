"""The picture of the slopes: mean errors over visits, and slopes beside their predictions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from recrawl.figures import style
from recrawl.paper.drawing import SERIES, Look, name_ends, over_visits, panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from recrawl.paper.slopes import Measured, Slope

#: Guides are dashed, so curves are not; but this one lies on that of α = 1.
COVERING = "α = log(k+1)"
ERRORS = (0.01, 6.0)


def draw(found: "Measured") -> "Figure":
    """Draw errors with guides above, and slopes with bands below."""
    from matplotlib.figure import Figure

    settings = list(found.errors)
    lln, sa = settings[: len(found.far)], settings[len(found.far) :]
    with style.styled():
        figure = Figure(figsize=(11.5, 9.0), layout="constrained")
        grid = figure.add_gridspec(2, 2, height_ratios=(1.25, 1.0), wspace=0.04, hspace=0.06)
        for place, title, names in ((grid[0, 0], "LLN, by α", lln), (grid[0, 1], "SA, by γ", sa)):
            axes = panel(figure, place, title, "visits", "mean error, changes a day")
            _errors(axes, found, names)
        for place, names in ((grid[1, 0], lln), (grid[1, 1], sa)):
            axes = panel(figure, place, "", "slope of the mean error", "")
            _slopes(axes, found, names)
    return figure


def _looks(names: Sequence[str]) -> dict[str, Look]:
    return dict(zip(names, SERIES, strict=False))


def _errors(axes: "Axes", found: "Measured", names: Sequence[str]) -> None:
    looks = _looks(names)
    late = found.visits >= found.fitted_from
    for name in names:
        errors = found.errors[name]
        dashes = (0, (2, 2)) if name == COVERING else "-"
        axes.plot(found.visits, errors, color=looks[name].colour, linestyle=dashes, linewidth=2.4)
        guide = found.visits ** found.near[name].predicted
        height = np.exp(np.mean(np.log(np.maximum(errors, ERRORS[0] / 9) / guide)[late]))
        axes.plot(
            found.visits[late],
            (height * guide)[late],
            color=style.INK,
            linewidth=0.9,
            linestyle=(0, (6, 4)),
        )
    over_visits(axes, float(found.visits[0]), float(found.visits[-1]))
    axes.set_yscale("log")
    axes.set_ylim(*ERRORS)
    ticks = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    name_ends(axes, {name: max(float(found.errors[name][-1]), ERRORS[0]) for name in names}, looks)


def _slopes(axes: "Axes", found: "Measured", names: Sequence[str]) -> None:
    looks = _looks(names)
    for row, name in enumerate(names):
        near = found.near[name]
        axes.plot([near.predicted] * 2, [row - 0.36, row + 0.36], color=style.INK, linewidth=2)
        both = name in found.far
        _dot(axes, near, row - 0.16 * both, looks[name].colour, looks[name].colour)
        if both:
            _dot(axes, found.far[name], row + 0.16, looks[name].colour, "white")
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlim(-0.6, 0.02)
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color=style.FAINT, linewidth=0.8)
    far = " · circle: measured at 10¹² to 10¹⁴ visits" if names[0] in found.far else ""
    axes.set_title(f"mark: predicted · dot: measured at 10³ to 10⁵{far}", loc="left", fontsize=9)


def _dot(axes: "Axes", slope: "Slope", row: float, colour: str, face: str) -> None:
    axes.plot([slope.low, slope.high], [row, row], color=colour, linewidth=2)
    axes.plot([slope.fitted], [row], "o", color=colour, markerfacecolor=face, markersize=6)
