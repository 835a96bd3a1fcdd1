"""What the pictures of the report share: one look for each estimator, and names beside curves."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recrawl.figures import style
from recrawl.kernels.jit import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec


class Look(NamedTuple):
    """How a curve is told from others, by colour and by dashes.

    Attributes:
        colour: Of the line, and of its name.
        dashes: As Matplotlib writes them.
    """

    colour: str
    dashes: str


#: The same everywhere in the report.
LOOKS: Mapping[str, Look] = {
    "LLN": Look(style.ORANGE, "-"),
    "SA": Look(style.GREEN, "-"),
    "MLE": Look(style.BLUE, "-"),
    "MM": Look("#56B4E9", "-."),
    "Naive": Look(style.GREY, ":"),
    "Gamma": Look(style.PURPLE, "--"),
    "truth": Look(style.INK, "-"),
}
#: For curves that are settings of one estimator.
SERIES = (
    Look(style.BLUE, "-"),
    Look(style.ORANGE, "--"),
    Look(style.GREEN, "-."),
    Look(style.PURPLE, ":"),
    Look("#56B4E9", "-"),
    Look(style.GREY, "--"),
)
#: The least distance between two names at the end of curves, as a share of the axes' height.
APART = 0.062


def panel(figure: "Figure", place: "SubplotSpec", title: str, x: str, y: str) -> "Axes":
    """Give axes with a title at the left and both axes named."""
    axes = style.plain_axes(figure, place)
    axes.set_title(title, loc="left", fontsize=11.5, fontweight="bold")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    return axes


def over_visits(axes: "Axes", first: float, last: float) -> None:
    """Make the horizontal axis one of visits, logarithmic, with a tick at each power of ten."""
    axes.set_xscale("log")
    axes.set_xlim(first, last)
    low, high = int(np.ceil(np.log10(first))), int(np.floor(np.log10(last)))
    ticks = 10 ** np.arange(low, high + 1)
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks.tolist()])
    axes.minorticks_off()


def name_ends(axes: "Axes", ends: Mapping[str, float], looks: Mapping[str, Look]) -> None:
    """Write each curve's name to the right of where it ends, moved apart where they would touch.

    Call it when the axes' limits and scales are set; they must not change afterwards.

    Args:
        axes: Where the curves are.
        ends: Each curve's last height, in the axes' numbers, by the name to write.
        looks: Each name's.
    """
    names = sorted(ends, key=lambda name: ends[name])
    low, high = axes.get_ylim()
    heights = np.array([ends[name] for name in names])
    if axes.get_yscale() == "log":
        heights, low, high = np.log(heights), np.log(low), np.log(high)
    places = _spread(np.clip((heights - low) / (high - low), 0.0, 1.0))
    for name, place in zip(names, places.tolist(), strict=True):
        axes.text(
            1.015,
            place,
            name,
            transform=axes.transAxes,
            color=looks[name].colour,
            fontweight="bold",
            verticalalignment="center",
            fontsize=10,
        )


def _spread(places: Floats) -> Floats:
    """Move sorted places apart, as little as it takes and about where they are.

    >>> _spread(np.array([0.5, 0.5, 0.9])).round(3)
    array([0.469, 0.531, 0.9  ])
    """
    groups = [(place, 1) for place in places.tolist()]
    merged: list[tuple[float, int]] = []
    for group in groups:
        merged.append(group)
        while len(merged) > 1 and _touch(merged[-2], merged[-1]):
            (left, few), (right, more) = merged[-2:]
            merged[-2:] = [((left * few + right * more) / (few + more), few + more)]
    return np.concatenate(
        [middle + APART * (np.arange(size) - 0.5 * (size - 1)) for middle, size in merged]
    )


def _touch(left: tuple[float, int], right: tuple[float, int]) -> bool:
    return right[0] - left[0] < 0.5 * APART * (left[1] + right[1])
