"""What one part of the reproduction gives: text, pictures, the numbers behind them, and claims."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from recrawl.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Verdict = Literal["holds", "holds with a remark", "does not hold"]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and how it turned out.

    Attributes:
        place: Where it stands, such as "3.1" for its section, so that claims can be put in order.
        says: What it says, in our words.
        measured: What was found, with numbers.
        verdict: Whether it holds.
    """

    place: str
    says: str
    measured: str
    verdict: Verdict


def judged(place: str, says: str, measured: str, *, holds: bool, remark: str = "") -> Claim:
    """Give a claim with the verdict that a measurement allows.

    Args:
        place: Where it stands in the paper.
        says: What it says.
        measured: What was found.
        holds: Whether what was found agrees.
        remark: What a reader should know even if it does.

    >>> judged("3.1", "x tends to y", "within .01", holds=True, remark="Slowly.").verdict
    'holds with a remark'
    """
    verdict: Verdict = (
        "does not hold" if not holds else "holds with a remark" if remark else "holds"
    )
    return Claim(place, says, f"{measured} {remark}".strip(), verdict)


@dataclass(frozen=True)
class Table:
    """Columns of equal length, to be written as CSV.

    Attributes:
        name: The file's name without its ending.
        columns: Numbers or text, by name. The same seed gives the same.
    """

    name: str
    columns: Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True)
class Picture:
    """A picture, drawn.

    Attributes:
        name: The files' name without their ending.
        caption: What there is to see.
        png: As PNG.
        svg: As SVG.
    """

    name: str
    caption: str
    png: bytes
    svg: bytes


def drawn(name: str, caption: str, figure: "Figure") -> Picture:
    """Give a figure as a picture in both formats."""
    return Picture(name, caption, style.rendered(figure, "png"), style.rendered(figure, "svg"))


@dataclass(frozen=True)
class Section:
    """A part of the report.

    Attributes:
        title: Its heading.
        text: Paragraphs, with no markup.
        pictures: In the order they are shown.
        tables: The numbers behind the pictures, and those that the text speaks of.
        claims: The paper's sentences that this part checks.
        timings: What was measured in seconds, by name; another run gives other numbers.
    """

    title: str
    text: tuple[str, ...]
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    claims: tuple[Claim, ...] = ()
    timings: Mapping[str, NDArray[np.generic]] | None = None
