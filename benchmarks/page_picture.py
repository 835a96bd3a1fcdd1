"""The picture of a page in the documentation: what is taken for its own, and what is not.

The page is made up. It is read by the crawler's own reader, after its site has shown other pages
and a week has passed, and each block is coloured by what the reader takes it for.
"""

import html
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.report import DOCS, Figure
from benchmarks.sizes import output
from recrawl.content.boilerplate.boxes import varied_boxes
from recrawl.content.boilerplate.template import SiteTemplate
from recrawl.content.reader import Reader, explain_blocks
from recrawl.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FILE = output(DOCS / "figures" / "page-blocks.png")
HTML = "text/html"
SITE_PAGES, SHOWN = 12, 4
#: Each kind: its colour, and how the legend calls it.
KINDS = {
    "own": ("#ffffff", "the page's own: any difference is a change"),
    "furniture": ("#cfe0f3", "furniture, by its marks (nav, aside, footer, …)"),
    "template": ("#fbe0b8", "the site's: learned from its other pages"),
    "noise": ("#f3cfe0", "noise: it differs between two fetches in a row"),
}
STORIES = (
    "Harbour wall to be raised by a metre",
    "Night ferry returns in spring",
    "Council votes on the old mill",
    "Choir festival: the full programme",
    "Flood barrier passes its first test",
    "Market hall opens on Sundays",
    "New signs for the coastal path",
    "School wins prize for its garden",
    "Bakery on Mill Lane to close",
)
TEXT = """\
The wall that protects the old town will be a metre higher by the end of next year, the harbour \
office said on Monday. Work begins in March at the northern end, next to the lighthouse.
The plan had been disputed for years. Residents feared for the view; the insurers, after two \
floods in three winters, for the houses. A model in the town hall shows both.
Some of the stone comes from the quarry above the town, which was closed a generation ago and \
will be open again for eighteen months. The rest arrives by ship.""".splitlines()


@dataclass(frozen=True)
class Part:
    """A part of the page: its markup, with its texts, and where it stands, in characters."""

    left: float
    width: float
    tag: str
    lines: Sequence[tuple[str, str]]

    def markup(self) -> str:
        """Return the part as HTML."""
        inside = "".join(
            f"<{tag}>{html.escape(text)}</{tag.split()[0]}>"
            if tag != "a"
            else f"<div><a href='/{text[:9]}'>{html.escape(text)}</a></div>"
            for tag, text in self.lines
        )
        closing = "".join(f"</{one.split()[0]}>" for one in reversed(self.tag.split("/")))
        return "".join(f"<{one}>" for one in self.tag.split("/")) + inside + closing


def page(number: int, day: int, fetch: int) -> dict[str, Part]:
    """Return the parts of a page of the site."""
    week = day // 7
    weekly = [STORIES[(number + 2 + 3 * week + n) % len(STORIES)] for n in range(3)]
    text = TEXT if number == 0 else [f"{line} So page {number} says." for line in TEXT]
    notice = (
        "Ferries are late today because of the storm. Please allow for an hour more than usual."
    )
    return {
        "notice": Part(0, 100, "div class=notice", [("p", notice)] if day > 3 else []),
        "menu": Part(0, 100, "header/nav", [("a", name) for name in
                     ("The Harbour Post", "News", "Weather", "Sport", "Tides", "Archive")]),
        "date": Part(0, 64, "div class=today", [("p", f"Monday, {2 + day} March")]),
        "text": Part(0, 64, "article", [
            ("h1", STORIES[number % len(STORIES)]),
            ("p class=summary", STORIES[number % len(STORIES)] + ": what happens next, and when"),
            *(("p", line) for line in text)]),
        "weekly": Part(0, 64, "div class=weekly", [("h3", "Most read this week"),
                       *(("a", story) for story in weekly)]),
        "related": Part(68, 32, "aside", [("h3", "Read on"), *(
            ("a", STORIES[(number + n) % len(STORIES)]) for n in (1, 4, 6))]),
        "counter": Part(68, 32, "div class=c", [("p", f"You are reader number {10_233 + fetch}")]),
        "quote": Part(68, 32, "div class=q", [("p", STORIES[fetch % 5].upper())]),
        "foot": Part(0, 100, "footer", [("p", "The Harbour Post, since 1904. Imprint. Privacy.")]),
    }  # fmt: skip


def _body(parts: dict[str, Part]) -> bytes:
    return f"<body>{''.join(part.markup() for part in parts.values())}</body>".encode()


def learned() -> tuple[SiteTemplate, frozenset[bytes]]:
    """Return what the crawler knows of the site after a week, and of the noise of the page."""
    template, reader = SiteTemplate(), Reader()
    for day in (0, 4, 8):
        for number in range(1, SITE_PAGES):
            content = reader.read(_body(page(number, day, number)), HTML, template)
            before = reader.read(_body(page(number, day - 4, number)), HTML, template)
            varied = varied_boxes(*content.apart(before)) if day else {}
            template.learn(number, {**content.sketches, **varied})
    one, other = (reader.read(_body(page(0, 8, fetch)), HTML, template) for fetch in (1, 2))
    return template, one.noise(other)


def run() -> list[Figure]:
    """Draw the picture; its only figure is that every kind of block is in it."""
    template, ignored = learned()
    parts = page(0, SHOWN + 4, 3)
    blocks = explain_blocks(_body(parts), HTML, Reader(), template, ignored)
    # The lines of text come first, in the order of the document; the links after them.
    kinds = [kind for kind, _, _ in blocks]
    _draw(parts, iter(kinds))
    missing = set(KINDS) - set(kinds)
    return [Figure("kinds of blocks that the picture of a page lacks", len(missing), 0.0)]


def _draw(parts: dict[str, Part], kinds: Iterator[str]) -> None:
    from matplotlib.figure import Figure as Canvas
    from matplotlib.patches import Patch

    figure = Canvas(figsize=(9.0, 6.8), layout="constrained")
    axes = figure.add_subplot()
    top = right = 0.0
    for name, part in parts.items():
        if part.left == 0.0:
            top = max(top, right) if name == "foot" else top
            top = _draw_part(axes, part, kinds, top)
            right = right or (top if name == "menu" else 0.0)
        else:
            right = _draw_part(axes, part, kinds, right)
    axes.set_xlim(-1, 101)
    axes.set_ylim(top + 0.4, -0.6)
    axes.set_axis_off()
    patches = [Patch(facecolor=colour, edgecolor="#999999", label=label)
               for colour, label in KINDS.values()]  # fmt: skip
    figure.legend(handles=patches, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    style.save(figure, FILE)


def _draw_part(axes: "Axes", part: Part, kinds: Iterator[str], top: float) -> float:
    """Draw a part from a height on; return where the next one begins."""
    from matplotlib.patches import Rectangle

    if not part.lines:
        return top
    is_row = part.tag.endswith("nav")
    begin, left = top, part.left + 1.5
    for tag, text in part.lines:
        size = {"h1": 14.0, "h3": 9.5}.get(tag, 8.6)
        lines = textwrap.wrap(text, round(part.width * 1.28 * 8.6 / size))
        height = 0.82 * len(lines) * size / 8.6 + 0.85
        colour = KINDS[next(kinds)][0]
        width = 1.0 * len(text) + 3 if is_row else part.width - 2
        axes.add_patch(Rectangle((left - 0.8, top + 0.1), width, height - 0.15, facecolor=colour,
                                 edgecolor="none"))  # fmt: skip
        axes.text(left, top + 0.4, "\n".join(lines), va="top", fontsize=size, linespacing=1.25,
                  fontweight="bold" if tag.startswith("h") else "normal",
                  color="#1a4e8a" if tag == "a" else "#222222")  # fmt: skip
        if is_row:
            left += width + 0.8
        else:
            top += height
    end = (top + height if is_row else top) + 0.2
    axes.add_patch(Rectangle((part.left, begin), part.width, end - begin, fill=False,
                             edgecolor="#bbbbbb", linewidth=0.8))  # fmt: skip
    return end + 0.35
