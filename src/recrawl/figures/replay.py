"""Draw how policies compare: the staleness of each, overall and over time."""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from recrawl.errors import ArgumentError
from recrawl.figures import style
from recrawl.kernels.jit import Floats, Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Scored(Protocol):
    """What the picture needs from a policy's score."""

    @property
    def policy(self) -> str:
        """The policy's name."""
        ...

    @property
    def staleness(self) -> float:
        """The share of time during which copies were stale."""
        ...

    @property
    def curve(self) -> Floats:
        """Staleness in equal slices of the window."""
        ...


#: A share of fewer visits is too uncertain to be drawn.
MIN_CALIBRATED = 10


class Calibrated(Protocol):
    """What the picture needs from a policy's calibration, in tenths of the expected chance."""

    #: How many visits there were.
    visits: Ints

    @property
    def expected(self) -> Floats:
        """The mean chance of a change; NaN where there were no visits."""
        ...

    @property
    def found(self) -> Floats:
        """The share of visits that found one."""
        ...


#: Colour and dashes of a curve.
Look = tuple[str, Any]

#: The policies whose curves are drawn if present: the product, common rules, the paper and a
#: bound. The others are bars only.
NOTABLE: dict[str, Look] = {
    "index": (style.BLUE, "-"),
    "uniform": (style.ORANGE, "--"),
    "nutch": (style.PURPLE, "-."),
    "paper-lln": (style.GREEN, (0, (6, 1, 1, 1, 1, 1))),
    "index-known": (style.INK, ":"),
}
#: The look of the best policy's curve if it is none of these.
BEST: Look = ("#E69F00", "-")
OTHER = "#BDBDBD"
#: A curve above this multiple of the median is left out, so that others stay visible. Its bar is
#: drawn in full: a bar that is cut looks like a smaller number.
MAX_OVER_MEDIAN = 3.0
#: Slices averaged per point of a curve.
SMOOTH = 5
#: Inches: the width, the height per bar, the margins, the minimum height, and the heading's.
WIDTH, BAR_HEIGHT, MARGINS, MIN_HEIGHT, HEADING = 12.0, 0.29, 1.5, 4.8, 0.72
#: The minimum number of bars to leave space for, so that few bars are not thick.
MIN_BARS = 6
#: The distance between labels at the ends of curves, in inches.
LABEL_GAP = 0.21


def replay_figure(
    scores: Sequence[Scored],
    *,
    days: float,
    start: datetime | None = None,
    subtitle: str = "",
    notes: Mapping[str, str] | None = None,
    calibrations: Mapping[str, Calibrated] | None = None,
) -> "Figure":
    """Draw staleness as bars, the best policy on top, and over time for a few policies.

    Args:
        scores: One per policy, in any order.
        days: How long the policies ran.
        start: When they started; without it the axis shows days.
        subtitle: What they were run on, in one line.
        notes: Short notes on some policies, by name.
        calibrations: Predicted and actual frequency of changes for some policies, by name; drawn in
            a third panel.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    if not scores:
        raise ArgumentError("scores: there is nothing to draw; give one or more")
    ranked = sorted(scores, key=lambda score: score.staleness)
    height = max(BAR_HEIGHT * len(ranked) + MARGINS, MIN_HEIGHT)
    with style.styled():
        below = ConstrainedLayoutEngine(rect=(0.0, 0.0, 1.0, 1.0 - HEADING / height), wspace=0.04)
        panels = (1.15, 1.0, 0.62) if calibrations else (1.15, 1.0)
        width = WIDTH * sum(panels) / sum(panels[:2])
        figure = Figure(figsize=(width, height), layout=below)
        _write_heading(figure, width, height, subtitle)
        grid = figure.add_gridspec(1, len(panels), width_ratios=panels)
        bars, curves = (style.plain_axes(figure, grid[column]) for column in (0, 1))
        looks = _looks(ranked)
        end = _end(ranked)
        _draw_bars(bars, ranked, looks, notes or {})
        _set_times(curves, days, start)
        near = [score for score in ranked if score.policy in looks and score.staleness <= end]
        _draw_curves(curves, near, looks, LABEL_GAP / (height - MARGINS))
        if calibrations:
            _draw_calibrations(style.plain_axes(figure, grid[2]), calibrations, looks)
    return figure


def _draw_calibrations(
    axes: "Axes", calibrations: Mapping[str, Calibrated], looks: Mapping[str, Look]
) -> None:
    """Draw how often changes were found against how often they were expected."""
    axes.plot([0.0, 1.0], [0.0, 1.0], color=style.FAINT, linewidth=1.5, zorder=1)
    for name, calibration in calibrations.items():
        colour, dashes = looks.get(name, (OTHER, "-"))
        known = calibration.visits >= MIN_CALIBRATED
        expected, found = calibration.expected[known], calibration.found[known]
        axes.plot(
            expected, found, color=colour, linestyle=dashes, marker="o", markersize=4, label=name
        )
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, 1.0)
    # The panel is narrow: more labels would touch.
    axes.set_xticks([0.0, 0.5, 1.0])
    axes.xaxis.set_major_formatter(_percent)
    axes.yaxis.set_major_formatter(_percent)
    axes.set_xlabel("expected chance\nof a change")
    axes.set_ylabel("share of visits that found one")
    axes.legend(frameon=False, loc="upper left", fontsize=9)


def _looks(ranked: Sequence[Scored]) -> dict[str, Look]:
    """Return the looks of the policies whose curves are drawn."""
    names = {score.policy for score in ranked}
    return {ranked[0].policy: BEST} | {name: NOTABLE[name] for name in NOTABLE if name in names}


def _write_heading(figure: "Figure", width: float, height: float, subtitle: str) -> None:
    left = 0.05 / width
    title = "How stale each policy leaves the copy"
    figure.text(left, 1.0 - 0.3 / height, title, fontsize=13, fontweight="bold")
    figure.text(left, 1.0 - 0.54 / height, subtitle, fontsize=10, color=style.GREY)


def _end(ranked: Sequence[Scored]) -> float:
    """Return the staleness up to which curves are drawn."""
    staleness = [score.staleness for score in ranked]
    cut = MAX_OVER_MEDIAN * float(np.median(staleness))
    return min(max(staleness), cut) or max(staleness) or 1.0


def _draw_bars(
    axes: "Axes",
    ranked: Sequence[Scored],
    looks: Mapping[str, Look],
    notes: Mapping[str, str],
) -> None:
    for row, score in enumerate(ranked):
        name, share = score.policy, score.staleness
        colour = looks[name][0] if name in looks else OTHER
        axes.barh(row, share, color=colour, height=0.72)
        number = axes.annotate(
            f"{100 * share:#.3g}".rstrip(".") + " %",
            (share, row),
            (5, 0),
            textcoords="offset points",
            verticalalignment="center",
            fontweight="bold" if name in looks else "normal",
            fontsize=10,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
        )
        axes.annotate(
            notes.get(name, ""),
            (1.0, 0.5),
            (6, 0),
            xycoords=number,
            textcoords="offset points",
            verticalalignment="center",
            fontsize=9,
            color=style.GREY,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
        )
    axes.set_yticks(range(len(ranked)), [score.policy for score in ranked])
    axes.set_ylim(max(len(ranked), MIN_BARS) - 0.4, -0.6)
    _set_bars(axes, ranked[-1].staleness or 1.0)


def _set_bars(axes: "Axes", end: float) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color=style.FAINT, linewidth=0.8)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    # The longest bar needs space for its number, and perhaps a note.
    axes.set_xlim(0.0, 1.45 * end)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(_percent)
    axes.set_xlabel("staleness: share of time during which\ncopies were out of date, by importance")


def _percent(share: float, _position: float) -> str:
    return f"{100.0 * share:g} %"


def _draw_curves(
    axes: "Axes", ranked: Sequence[Scored], looks: Mapping[str, Look], apart: float
) -> None:
    lines = {score.policy: smooth(score.curve) for score in ranked}
    first, last = axes.get_xlim()
    for score in reversed(ranked):
        line = lines[score.policy]
        colour, dashes = looks[score.policy]
        times = first + (last - first) * (np.arange(line.size) + 0.5) / line.size
        axes.plot(times, line, color=colour, linestyle=dashes, linewidth=2.0)
    axes.set_ylim(0.0, 1.05 * max(float(line.max()) for line in lines.values()) or 1.0)
    axes.yaxis.set_major_formatter(_percent)
    axes.set_ylabel("staleness over time")
    top = axes.get_ylim()[1]
    ends = {name: float(line[-1]) for name, line in lines.items()}
    heights = spread_out([end / top for end in ends.values()], apart)
    for (name, end), height in zip(ends.items(), heights, strict=True):
        _label_curve(axes, name, looks[name][0], end, height)


def smooth(curve: Floats) -> Floats:
    """Average each slice with its neighbours, of which there are fewer at the ends.

    >>> smooth(np.array([0.0, 0.0, 5.0, 0.0, 0.0, 0.0])).round(2)
    array([1.67, 1.25, 1.  , 1.  , 1.25, 0.  ])
    """
    window = np.ones(SMOOTH)
    return np.convolve(curve, window, "same") / np.convolve(np.ones(curve.size), window, "same")


def _label_curve(axes: "Axes", name: str, colour: str, end: float, height: float) -> None:
    """Label a curve at its end, or as close as other labels allow."""
    axes.annotate(
        name,
        (axes.get_xlim()[1], end),
        (1.03, height),
        xycoords="data",
        textcoords="axes fraction",
        color=colour,
        fontweight="bold",
        fontsize=10,
        verticalalignment="center",
        arrowprops={"arrowstyle": "-", "color": colour, "relpos": (0.0, 0.5)},
        annotation_clip=False,
    )


def spread_out(positions: Sequence[float], apart: float) -> list[float]:
    """Move positions apart, from the lowest up, and no further than necessary.

    >>> [round(position, 2) for position in spread_out([0.5, 0.1, 0.12], 0.05)]
    [0.5, 0.1, 0.15]
    """
    order = sorted(range(len(positions)), key=lambda number: positions[number])
    moved = list(positions)
    for below, here in pairwise(order):
        moved[here] = max(moved[here], moved[below] + apart)
    # Positions pushed over the top are moved down again, and so are those below them.
    highest = max(1.0, apart * (len(positions) - 1))
    for here in reversed(order):
        moved[here] = min(moved[here], highest)
        highest = moved[here] - apart
    return moved


def _set_times(axes: "Axes", days: float, start: datetime | None) -> None:
    """Set the axis of time: dates, or days if the start is unknown."""
    import matplotlib.dates

    if start is None:
        axes.set_xlim(0.0, days)
        axes.set_xlabel("days since the start")
        return
    dates: Any = matplotlib.dates
    first = dates.date2num(start)
    axes.set_xlim(first, first + days)
    locator = dates.AutoDateLocator(minticks=3, maxticks=7)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))


def draw_replay(
    path: str | os.PathLike[str],
    scores: Sequence[Scored],
    *,
    days: float,
    start: datetime | None = None,
    subtitle: str = "",
    notes: Mapping[str, str] | None = None,
    calibrations: Mapping[str, Calibrated] | None = None,
) -> None:
    """Draw how policies compare, as PNG or SVG by the file's extension."""
    figure = replay_figure(
        scores,
        days=days,
        start=start,
        subtitle=subtitle,
        notes=notes,
        calibrations=calibrations,
    )
    style.save(figure, path)
