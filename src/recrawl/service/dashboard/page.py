"""One page: its visits over time, its estimated change rate, its copies and what changed."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from recrawl.crawler.page_text import TextReader
from recrawl.crawler.settings import Settings
from recrawl.estimation.shown_rates import ShownRates
from recrawl.records import digest_of
from recrawl.service.api.needs import TheService, needs
from recrawl.service.auth import Access
from recrawl.service.bodies import MAX_IMPORTANCE, MAX_URL
from recrawl.service.dashboard import charts
from recrawl.service.dashboard.forms import OwnForm
from recrawl.service.dashboard.html_route import HtmlRoute
from recrawl.service.dashboard.rendering import page_link, render
from recrawl.store.rows import Copy
from recrawl.store.sqlite import SqliteStore

router = APIRouter(
    include_in_schema=False, route_class=HtmlRoute, dependencies=[needs(Access.READ)]
)

#: Visits that are drawn, and those of them that are listed.
VISITS, LISTED = 200, 25
#: Lines of a difference that are shown, and characters of a line.
MAX_LINES, MAX_CHARACTERS = 400, 2_000
#: Lines around a difference; lines that are compared word by word, at once, and how many words of
#: two lines; and how alike they must be.
CONTEXT, MAX_PAIRS, MAX_WORDS, ALIKE = 2, 20, 1_000, 0.5
#: Bytes of a copy, and lines of it, that are compared: with more, somebody would have to wait.
MAX_BYTES, MAX_COMPARED = 2_000_000, 1_000

#: A word or a mark with the space after it: space alone does not make lines alike.
_WORD = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")

TheUrl = Annotated[str, Query(min_length=1, max_length=MAX_URL)]
Digest = Annotated[str, Query(max_length=64, pattern="^[0-9a-f]*$")]
#: What was done, by the word in the URL to which a form leads.
DONE = {
    "recheck": "The page will be visited as soon as its host allows.",
    "importance": "The importance has been changed.",
}


@dataclass(frozen=True)
class Version:
    """A copy of a page.

    Attributes:
        at: When it was made, in microseconds.
        digest: What it is stored under, as hexadecimal.
        size: Its bytes.
        is_current: Whether it is the current copy.
    """

    at: int
    digest: str
    size: int
    is_current: bool


@dataclass(frozen=True)
class Line:
    """A line of a difference.

    Attributes:
        kind: ``same``, ``new``, ``old``, or ``skip`` where lines are left out.
        parts: The line in parts, and whether each is not in the line that it stands against.
    """

    kind: Literal["same", "new", "old", "skip"]
    parts: tuple[tuple[str, bool], ...]

    @property
    def text(self) -> str:
        """The whole line."""
        return "".join(text for text, _ in self.parts)


@dataclass(frozen=True)
class Diff:
    """What changed between two copies.

    Attributes:
        before: When the older one was made, in microseconds.
        after: When the newer one was.
        lines: The lines in which they differ, with some around them.
        is_cut: Whether there are more.
        problem: Why there are none; empty otherwise.
    """

    before: int | None = None
    after: int | None = None
    lines: Sequence[Line] = ()
    is_cut: bool = False
    problem: str = ""


@router.get("/page", response_class=Response)
async def page(
    request: Request,
    service: TheService,
    url: TheUrl,
    before: Digest = "",
    after: Digest = "",
    done: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    """Show a page."""
    details = await service.page(url, VISITS)
    found = details.explanation
    versions, diff, rates = await service.read(_read, found.page.url, service, before, after)
    return render(
        request,
        "page.html",
        page=found.page,
        found=found,
        visits=details.visits,
        listed=LISTED,
        changed_at=details.changed_at,
        next_visit=details.next_visit,
        why=details.why,
        versions=versions,
        diff=diff,
        timeline=charts.timeline(found, rates, details.visits),
        belief=charts.belief_curve(found, rates),
        done=DONE.get(done, ""),
        now=found.now,
        max_importance=MAX_IMPORTANCE,
    )


@router.get("/diff", response_class=Response)
async def diff(
    request: Request, service: TheService, url: TheUrl, before: Digest, after: Digest
) -> Response:
    """Show what changed between two copies, and nothing around it."""
    known = await service.known(url)
    _, found, _ = await service.read(_read, known.url, service, before, after)
    return render(request, "diff.html", diff=found)


@router.post("/page/recheck", dependencies=[needs(Access.CRAWL), OwnForm], response_class=Response)
async def recheck(service: TheService, url: TheUrl) -> Response:
    """Have a page visited as soon as possible."""
    await service.recheck(url)
    return RedirectResponse(page_link(url, done="recheck"), HTTPStatus.SEE_OTHER)


@router.post(
    "/page/importance", dependencies=[needs(Access.CRAWL), OwnForm], response_class=Response
)
async def set_importance(
    service: TheService,
    url: TheUrl,
    importance: Annotated[float, Form(ge=0.0, le=MAX_IMPORTANCE, allow_inf_nan=False)],
) -> Response:
    """Change how much the freshness of a page counts."""
    await service.set_importance(url, importance)
    return RedirectResponse(page_link(url, done="importance"), HTTPStatus.SEE_OTHER)


def _read(
    store: SqliteStore, url: str, service: TheService, before: str, after: str
) -> tuple[list[Version], Diff | None, ShownRates | None]:
    """Return a page's copies, what changed between two of them, and how often it changes."""
    known = store.page(url)
    if known is None:
        return [], None, None
    copies = {digest_of(copy.response.body or b"").hex(): copy for copy in store.versions(known)}
    versions = [
        Version(copy.response.at, digest, len(copy.response.body or b""), is_current=not number)
        for number, (digest, copy) in enumerate(copies.items())
    ]
    digests = list(copies)
    if not before and len(digests) > 1:
        before, after = digests[1], digests[0]
    shown = compare(store, service.settings, copies, before, after) if before else None
    belief = store.belief(known.number)
    return versions, shown, None if belief is None else belief.rates


def compare(
    store: SqliteStore, settings: Settings, copies: dict[str, Copy], before: str, after: str
) -> Diff:
    """Return what changed in a page's own text between two copies, by their digests."""
    if before not in copies or after not in copies:
        return Diff(
            problem="The copies of this change are no longer kept; keep_versions can keep more."
        )
    old, new = copies[before], copies[after]
    times = old.response.at, new.response.at
    too_long = Diff(*times, problem="The copies are too long to compare here; use recrawl diff.")
    if max(len(copy.response.body or b"") for copy in (old, new)) > MAX_BYTES:
        return too_long
    reader = TextReader(store, settings)
    texts = [[line.text[:MAX_CHARACTERS] for line in reader.lines(copy)] for copy in (old, new)]
    if max(map(len, texts)) > MAX_COMPARED:
        return too_long
    lines = diff_lines(*texts)
    if not lines:
        return Diff(
            *times,
            problem="The page's own text is the same in both; only what is around it may differ.",
        )
    return Diff(*times, lines[:MAX_LINES], is_cut=len(lines) > MAX_LINES)


def diff_lines(before: Sequence[str], after: Sequence[str]) -> list[Line]:
    """Return the lines in which two texts differ, with some around them.

    >>> [(line.kind, line.text) for line in diff_lines(["a", "b"], ["a", "c"])]
    [('same', 'a'), ('old', 'b'), ('new', 'c')]
    """
    lines: list[Line] = []
    matcher = difflib.SequenceMatcher(None, before, after)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        if lines:
            lines.append(Line("skip", (("…", False),)))
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                lines += [Line("same", ((line, False),)) for line in before[start:end]]
            else:
                lines += _replaced(before[start:end], after[new_start:new_end])
    return lines


def _replaced(before: Sequence[str], after: Sequence[str]) -> list[Line]:
    """Return replaced lines and their replacements; if there are as many of each, compare words."""
    if len(before) == len(after) <= MAX_PAIRS:
        pairs = [_marked(old, new) for old, new in zip(before, after, strict=True)]
        return [*(Line("old", old) for old, _ in pairs), *(Line("new", new) for _, new in pairs)]
    olds = [Line("old", ((line, False),)) for line in before]
    return [*olds, *(Line("new", ((line, False),)) for line in after)]


def _marked(
    old: str, new: str
) -> tuple[tuple[tuple[str, bool], ...], tuple[tuple[str, bool], ...]]:
    """Return two lines in parts, with the words marked that only one of them has.

    >>> _marked("Price: 5 euros", "Price: 6 euros")[1]
    (('Price: ', False), ('6 ', True), ('euros', False))
    """
    words = [_WORD.findall(line) for line in (old, new)]
    matcher = difflib.SequenceMatcher(None, words[0], words[1], autojunk=False)
    is_long = len(words[0]) + len(words[1]) > MAX_WORDS
    if is_long or matcher.quick_ratio() < ALIKE or matcher.ratio() < ALIKE:
        return ((old, False),), ((new, False),)
    sides: tuple[list[tuple[str, bool]], list[tuple[str, bool]]] = [], []
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        for side, text in zip(
            sides, (words[0][start:end], words[1][new_start:new_end]), strict=True
        ):
            if text:
                side.append(("".join(text), tag != "equal"))
    return tuple(sides[0]), tuple(sides[1])
