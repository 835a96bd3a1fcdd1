"""A part of the report: text, pictures, the numbers behind them, and claims."""

from collections.abc import Iterable, Mapping
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
    """A statement of the paper, and the verdict on it.

    Attributes:
        section: Its section in the paper, such as "3.1"; claims are sorted by it.
        says: The statement, in our words.
        measured: The result, with numbers.
        verdict: Whether it holds.
    """

    section: str
    says: str
    measured: str
    verdict: Verdict


def judged(section: str, says: str, measured: str, *, holds: bool, remark: str = "") -> Claim:
    """Return a claim with its verdict.

    Args:
        section: Its section in the paper.
        says: The statement.
        measured: The result.
        holds: Whether the result agrees with the statement.
        remark: What a reader should know even if it does.

    >>> judged("3.1", "x tends to y", "within .01", holds=True, remark="Slowly.").verdict
    'holds with a remark'
    """
    verdict: Verdict = (
        "does not hold" if not holds else "holds with a remark" if remark else "holds"
    )
    return Claim(section, says, f"{measured} {remark}".strip(), verdict)


@dataclass(frozen=True)
class Table:
    """Columns of equal length, to be written as CSV.

    Attributes:
        name: The file's name without its extension.
        columns: Numbers or text by name; the same seed gives the same values.
    """

    name: str
    columns: Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True)
class Picture:
    """A rendered picture.

    Attributes:
        name: The files' name without the extension.
        caption: Its caption.
        png: The picture as PNG.
        svg: The picture as SVG.
    """

    name: str
    caption: str
    png: bytes
    svg: bytes


def drawn(name: str, caption: str, figure: "Figure") -> Picture:
    """Render a figure in both formats."""
    return Picture(name, caption, style.rendered(figure, "png"), style.rendered(figure, "svg"))


@dataclass(frozen=True)
class Section:
    """A part of the report.

    Attributes:
        title: Its heading.
        text: Paragraphs without markup.
        pictures: In the order of the report.
        tables: The numbers behind the pictures and the text.
        claims: The statements of the paper that this part checks.
        timings: Measured times by name; they differ from run to run.
    """

    title: str
    text: tuple[str, ...]
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    claims: tuple[Claim, ...] = ()
    timings: Mapping[str, NDArray[np.generic]] | None = None


#: The words for a verdict, singular and plural.
COUNTED: Mapping[Verdict, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "holds with a remark": ("holds with a remark", "hold with a remark"),
    "does not hold": ("does not hold", "do not hold"),
}


def claims_of(sections: Iterable[Section]) -> list[Claim]:
    """Return the claims of all parts in the order of the paper."""
    claims = [claim for section in sections for claim in section.claims]
    return sorted(claims, key=lambda claim: claim.section)


def counted(claims: Iterable[Claim]) -> str:
    """Return the numbers of claims by verdict, in words.

    >>> ones = [Claim("3.1", "", "", "holds"), Claim("3.2", "", "", "does not hold")]
    >>> counted([*ones, Claim("5", "", "", "holds")])
    '3 claims: 2 hold, 1 does not hold'
    >>> counted([])
    'no claims'
    """
    verdicts = [claim.verdict for claim in claims]
    if not verdicts:
        return "no claims"
    counts = [
        f"{verdicts.count(verdict)} {one if verdicts.count(verdict) == 1 else several}"
        for verdict, (one, several) in COUNTED.items()
        if verdict in verdicts
    ]
    return f"{len(verdicts)} claim{'s' * (len(verdicts) > 1)}: {', '.join(counts)}"
