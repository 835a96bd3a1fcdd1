"""The style of pictures, and saving them reproducibly: the same data gives the same bytes."""

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

#: Colours that are distinct for every kind of colour vision (Okabe and Ito).
BLUE: Final = "#0072B2"
ORANGE: Final = "#D55E00"
GREEN: Final = "#009E73"
PURPLE: Final = "#AA4499"
GREY: Final = "#6E6E6E"
INK: Final = "#222222"
FAINT: Final = "#E3E3E3"

DPI: Final = 160
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
#: Metadata about time and program, left out.
_NO_METADATA: Final[dict[str, dict[str, None]]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the project's style, whatever the user's own settings."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def plain_axes(figure: Figure, cell: SubplotSpec | None = None) -> Axes:
    """Return axes with a light horizontal grid and nothing superfluous.

    Args:
        figure: The figure to add them to.
        cell: The part of it to fill; by default all of it.
    """
    axes = figure.add_subplot() if cell is None else figure.add_subplot(cell)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=3)
    return axes


def rendered(figure: Figure, kind: str) -> bytes:
    """Return the bytes of a picture in the format "png" or "svg"."""
    file = io.BytesIO()
    with styled():
        figure.savefig(file, format=kind, dpi=DPI, facecolor="white", metadata=_NO_METADATA[kind])
    return file.getvalue()


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Save a picture as PNG or SVG by the file's extension, atomically.

    >>> save(Figure(), "picture.gif")
    Traceback (most recent call last):
    recrawl.errors.ArgumentError: path: 'picture.gif' is neither a .png nor a .svg file
    """
    target = Path(path)
    kind = target.suffix.lower().removeprefix(".")
    if kind not in _NO_METADATA:
        raise ArgumentError(f"path: '{target}' is neither a .png nor a .svg file")
    with whole_file(target) as file:
        file.write(rendered(figure, kind))
