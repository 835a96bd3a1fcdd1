"""What the pictures of the report share: a look per estimator, and labels next to curves."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recrawl.figures import style
from recrawl.kernels.jit import Floats
from recrawl.paper.typesetting import picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec


class Look(NamedTuple):
    """A curve's colour and dashes.

    Attributes:
        colour: Of the line and its label.
        dashes: In Matplotlib's notation.
    """

    colour: str
    dashes: str


#: The looks of the estimators throughout the report.
LOOKS: Mapping[str, Look] = {
    "LLN": Look(style.ORANGE, "-"),
    "SA": Look(style.GREEN, "-"),
    "MLE": Look(style.BLUE, "-"),
    "MM": Look("#56B4E9", "-."),
    "Naive": Look(style.GREY, ":"),
    "Gamma": Look(style.PURPLE, "--"),
    "truth": Look(style.INK, "-"),
}
#: For curves of one estimator with different settings.
SERIES = (
    Look(style.BLUE, "-"),
    Look(style.ORANGE, "--"),
    Look(style.GREEN, "-."),
    Look(style.PURPLE, ":"),
    Look("#56B4E9", "-"),
    Look(style.GREY, "--"),
)
#: The minimum distance between two labels, as a share of the axes' height.
LABEL_GAP = 0.062
#: The lowest that a label may stand, so that it does not touch the numbers of the axis below.
LOWEST_LABEL = 0.03


def panel(figure: "Figure", cell: "SubplotSpec", title: str, x: str, y: str) -> "Axes":
    """Return axes with a left-aligned title and both axes labelled."""
    axes = style.plain_axes(figure, cell)
    axes.set_title(picture(title), loc="left", fontsize=11.5, fontweight="bold")
    axes.set_xlabel(picture(x))
    axes.set_ylabel(picture(y))
    return axes


def over_visits(axes: "Axes", first: float, last: float) -> None:
    """Make the horizontal axis a logarithmic one of visits, with a tick per power of ten."""
    axes.set_xscale("log")
    axes.set_xlim(first, last)
    low, high = int(np.ceil(np.log10(first))), int(np.floor(np.log10(last)))
    ticks = 10 ** np.arange(low, high + 1)
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks.tolist()])
    axes.minorticks_off()


def log_heights(axes: "Axes", low: float, high: float, ticks: Sequence[float]) -> None:
    """Make the vertical axis logarithmic, with plain numbers at the ticks."""
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()


def curve(axes: "Axes", x: ArrayLike, y: ArrayLike, look: Look, width: float = 2.0) -> None:
    """Draw a curve in its look."""
    axes.plot(x, y, color=look.colour, linestyle=look.dashes, linewidth=width)


def name_ends(axes: "Axes", ends: Mapping[str, float], looks: Mapping[str, Look]) -> None:
    """Label each curve to the right of its end, moving labels apart where they would overlap.

    Call it once the axes' limits and scales are final.

    Args:
        axes: The axes with the curves.
        ends: Each curve's last value, by its label.
        looks: Each curve's look, by its label.
    """
    names = sorted(ends, key=lambda name: ends[name])
    low, high = axes.get_ylim()
    heights = np.array([ends[name] for name in names])
    if axes.get_yscale() == "log":
        heights, low, high = np.log(heights), np.log(low), np.log(high)
    positions = _spread(np.clip((heights - low) / (high - low), 0.0, 1.0))
    for name, position in zip(names, positions.tolist(), strict=True):
        axes.text(
            1.015,
            position,
            picture(name),
            transform=axes.transAxes,
            color=looks[name].colour,
            fontweight="bold",
            verticalalignment="center",
            fontsize=10,
        )


def _spread(positions: Floats) -> Floats:
    """Move sorted positions apart, as little as necessary.

    >>> _spread(np.array([0.5, 0.5, 0.9])).round(3)
    array([0.469, 0.531, 0.9  ])
    """
    groups = [(position, 1) for position in positions.tolist()]
    merged: list[tuple[float, int]] = []
    for group in groups:
        merged.append(group)
        while len(merged) > 1 and _touch(merged[-2], merged[-1]):
            (left, few), (right, more) = merged[-2:]
            merged[-2:] = [((left * few + right * more) / (few + more), few + more)]
    apart = np.concatenate(
        [middle + LABEL_GAP * (np.arange(size) - 0.5 * (size - 1)) for middle, size in merged]
    )
    # Below the axis stand its ticks, and above it the title.
    steps = LABEL_GAP * np.arange(positions.size)
    inside: Floats = np.maximum(np.minimum(apart, 1.0 - steps[::-1]), LOWEST_LABEL + steps)
    return inside


def _touch(left: tuple[float, int], right: tuple[float, int]) -> bool:
    return right[0] - left[0] < 0.5 * LABEL_GAP * (left[1] + right[1])
