"""How pictures look, and how they are saved: the same bytes for the same data."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec

from recrawl.errors import ArgumentError
from recrawl.formats.tables import whole_file

#: Colours that people with any kind of colour vision tell apart (Okabe and Ito).
BLUE: Final = "#0072B2"
ORANGE: Final = "#D55E00"
GREEN: Final = "#009E73"
PURPLE: Final = "#AA4499"
GREY: Final = "#6E6E6E"
INK: Final = "#222222"
FAINT: Final = "#E3E3E3"

DOTS_AN_INCH: Final = 160
_SETTINGS: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "svg.hashsalt": "recrawl",
}
#: What a format would write about the time and the program, left out.
_UNTOLD: Final[dict[str, dict[str, None]]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the project's style, whatever the reader's own settings are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def plain_axes(figure: Figure, place: SubplotSpec | None = None) -> Axes:
    """Give axes with a light horizontal grid and nothing that is not needed.

    Args:
        figure: Where they are drawn.
        place: Which part of it they fill; all unless given.
    """
    axes = figure.add_subplot() if place is None else figure.add_subplot(place)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=3)
    return axes


def rendered(figure: Figure, kind: str) -> bytes:
    """Give a picture as a file of the kind "png" or "svg" would hold it."""
    file = io.BytesIO()
    with styled():
        figure.savefig(
            file, format=kind, dpi=DOTS_AN_INCH, facecolor="white", metadata=_UNTOLD[kind]
        )
    return file.getvalue()


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Save a picture as PNG or SVG, as the file's name says; it is there complete or not at all.

    >>> save(Figure(), "picture.gif")
    Traceback (most recent call last):
    recrawl.errors.ArgumentError: path: 'picture.gif' is neither a .png nor a .svg file
    """
    target = Path(path)
    kind = target.suffix.lower().removeprefix(".")
    if kind not in _UNTOLD:
        raise ArgumentError(f"path: '{target}' is neither a .png nor a .svg file")
    with whole_file(target) as file:
        file.write(rendered(figure, kind))
