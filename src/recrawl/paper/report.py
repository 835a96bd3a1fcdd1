"""Write the results as one self-contained page of HTML."""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from recrawl.paper.section import Claim, Picture, Section, Table, Verdict, claims_of, counted
from recrawl.paper.typesetting import html, plain

TITLE = "Change rates and freshness: the paper, reproduced"
PAPER = (
    "K. Avrachenkov, K. Patil and G. Thoppe",
    "Change Rate Estimation and Optimal Freshness in Web Page Crawling",
    "VALUETOOLS 2020",
)
#: Files next to the report.
CLAIMS, TIMINGS = "claims.csv", "timings.json"
#: Rows of a table shown in the report; its file has all.
ROWS_SHOWN = 20
#: The mark of a verdict, and its class in the style sheet.
MARKS: Mapping[Verdict, tuple[str, str]] = {
    "holds": ("✓", "yes"),
    "holds with a remark": ("✓", "but"),
    "does not hold": ("✗", "no"),
}


@dataclass(frozen=True)
class Origin:
    """The arguments of the reproduction, so that others can repeat it.

    Attributes:
        experiment: Which experiment, or "all".
        runs: How often each page was simulated.
        seed: Of all randomness.
    """

    experiment: str
    runs: int
    seed: int


def report_html(sections: Mapping[str, Section], origin: Origin) -> str:
    """Return the report.

    It contains nothing about time or machine except the timings in the sections: the same numbers
    give the same bytes.

    Args:
        sections: The results by part.
        origin: The arguments.
    """
    claims = claims_of(sections.values())
    parts = [_part(name, section) for name, section in sections.items()]
    if claims:
        parts.append(_claims(claims))
    is_timed = any(section.timings for section in sections.values())
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(TITLE)}</title>",
            f"<style>\n{_style()}</style>\n</head>\n<body>",
            _top(claims, origin),
            _contents(sections, has_claims=bool(claims)),
            f"<main>\n{_joined(parts)}\n</main>",
            _end(origin, is_timed=is_timed),
            "</body>\n</html>\n",
        ]
    )


def _style() -> str:
    return files("recrawl.paper").joinpath("report.css").read_text("utf-8")


def _top(claims: list[Claim], origin: Origin) -> str:
    """Return the header: what this is, and the outcome."""
    authors, title, where = PAPER
    lead = (
        f"What {escape(authors)} say in <cite>{escape(title)}</cite> ({escape(where)}), measured "
        f"with recrawl on {_run_count(origin.runs)}."
    )
    outcome = f'<p><a href="#claims">{escape(counted(claims))}</a>.</p>\n' if claims else ""
    return f"<header>\n<h1>{escape(TITLE)}</h1>\n<p>{lead}</p>\n{outcome}</header>"


def _run_count(runs: int) -> str:
    """Return the number of runs in words.

    >>> _run_count(1), _run_count(1_000)
    ('1 random run', 'up to 1,000 random runs')
    """
    return "1 random run" if runs == 1 else f"up to {runs:,} random runs"


def _contents(sections: Mapping[str, Section], *, has_claims: bool) -> str:
    """Return links to all parts."""
    links = [(name, section.title) for name, section in sections.items()]
    if has_claims:
        links.append(("claims", "The claims"))
    links.append(("origin", "What was run"))
    items = [f'<li><a href="#{escape(name)}">{escape(title)}</a></li>' for name, title in links]
    return f'<nav aria-label="Contents">\n<ol>\n{_joined(items)}\n</ol>\n</nav>'


def _part(name: str, section: Section) -> str:
    pieces = [
        f"<h2>{escape(section.title)}</h2>",
        *(f"<p>{html(paragraph)}</p>" for paragraph in section.text),
        *(_figure(picture) for picture in section.pictures),
        *(_numbers(table) for table in section.tables),
    ]
    return f'<section id="{escape(name)}">\n{_joined(pieces)}\n</section>'


def _figure(picture: Picture) -> str:
    """Return a picture as a separate image, so that its ids cannot clash with other pictures'."""
    name, alt = escape(picture.name), escape(plain(picture.caption))
    inside = base64.b64encode(picture.svg).decode("ascii")
    return (
        f'<figure>\n<img src="data:image/svg+xml;base64,{inside}" alt="{alt}">\n'
        f"<figcaption>{html(picture.caption)} "
        f'<span class="files"><a href="{name}.png">PNG</a> <a href="{name}.svg">SVG</a></span>'
        "</figcaption>\n</figure>"
    )


def _numbers(table: Table) -> str:
    """Return the first rows of a table, collapsed."""
    rows = max((column.size for column in table.columns.values()), default=0)
    file = escape(f"{table.name}.csv")
    shown = f"the first {ROWS_SHOWN} of {rows:,} rows" if rows > ROWS_SHOWN else _rows(rows)
    heads = [f'<th scope="col">{html(name)}</th>' for name in table.columns]
    columns = [_cells(column[:ROWS_SHOWN]) for column in table.columns.values()]
    lines = ["".join(row) for row in zip(*columns, strict=True)]
    return (
        f'<details>\n<summary>Numbers: {shown} of <a href="{file}">{file}</a></summary>\n'
        f'<div class="wide"><table>\n<thead><tr>{"".join(heads)}</tr></thead>\n<tbody>\n'
        f"{_joined(f'<tr>{line}</tr>' for line in lines)}\n</tbody>\n</table></div>\n</details>"
    )


def _rows(rows: int) -> str:
    return "the one row" if rows == 1 else f"all {rows} rows"


def _cells(column: NDArray[np.generic]) -> list[str]:
    """Return a column's cells; numbers are right-aligned.

    >>> _cells(np.array([0.123456789, 2.0])), _cells(np.array(["a<b"]))
    (['<td class="number">0.12346</td>', '<td class="number">2</td>'], ['<td>a&lt;b</td>'])
    """
    if column.dtype.kind == "f":
        return [f'<td class="number">{html(f"{value:.5g}")}</td>' for value in column.tolist()]
    if column.dtype.kind in "iu":
        return [f'<td class="number">{html(str(value))}</td>' for value in column.tolist()]
    return [f"<td>{html(str(value))}</td>" for value in column.tolist()]


def _claims(claims: list[Claim]) -> str:
    """Return the table of claims."""
    names = ("Section", "The paper says", "Measured", "Verdict")
    heads = "".join(f'<th scope="col">{name}</th>' for name in names)
    return (
        '<section id="claims">\n<h2>The claims</h2>\n'
        f"<p>Each quantitative or comparative statement of the paper, in our words: "
        f'{escape(counted(claims))}. The same as a table: <a href="{CLAIMS}">{CLAIMS}</a>.</p>\n'
        f'<div class="wide"><table class="claims">\n<thead><tr>{heads}</tr></thead>\n<tbody>\n'
        f"{_joined(_claim(claim) for claim in claims)}\n</tbody>\n</table></div>\n</section>"
    )


def _claim(claim: Claim) -> str:
    mark, kind = MARKS[claim.verdict]
    return (
        f"<tr><td>{escape(claim.section)}</td><td>{html(claim.says)}</td>"
        f"<td>{html(claim.measured)}</td>"
        f'<td><span class="verdict {kind}">{mark} {escape(claim.verdict)}</span></td></tr>'
    )


def _end(origin: Origin, *, is_timed: bool) -> str:
    """Return the footer: what was run, what may differ in another run, and the paper."""
    authors, title, where = PAPER
    command = f"recrawl paper {origin.experiment} --runs {origin.runs} --seed {origin.seed}"
    same = "The same command gives the same numbers, byte for byte."
    if is_timed:
        same = (
            f'The same command gives the same numbers, byte for byte; only timings, in <a href="'
            f'{TIMINGS}">{TIMINGS}</a> and in the pictures and sentences that show them, '
            "depend on the machine."
        )
    return (
        '<footer id="origin">\n<h2>What was run</h2>\n'
        f"<p><code>{escape(command)}</code>, with recrawl {escape(version('recrawl'))}. "
        f"{same}</p>\n"
        f"<p>The paper: {escape(authors)}, <cite>{escape(title)}</cite>, {escape(where)}.</p>\n"
        "</footer>"
    )


def _joined(pieces: Iterable[str]) -> str:
    return "\n".join(pieces)
