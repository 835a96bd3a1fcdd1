"""One page: its visits over time, its estimated change rate, its copies and what changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from recrawl.content.html.copy_text import CopySource
from recrawl.content.html.text_diff import Line, marked_diff
from recrawl.errors import StoreError
from recrawl.estimation.shown.rates import ShownRates
from recrawl.inspect.text import TextReader
from recrawl.records import digest_of
from recrawl.service.api.dependencies import TheService, needs
from recrawl.service.auth.tokens import Access
from recrawl.service.dashboard import charts
from recrawl.service.dashboard.forms import OwnForm
from recrawl.service.dashboard.html_route import HtmlRoute
from recrawl.service.dashboard.rendering import page_link, render
from recrawl.service.models.bodies import MAX_IMPORTANCE, MAX_URL
from recrawl.store.rows import Copy
from recrawl.store.sqlite import SqliteStore

router = APIRouter(
    include_in_schema=False, route_class=HtmlRoute, dependencies=[needs(Access.READ)]
)

#: Visits that are drawn, and those of them that are listed.
VISITS, LISTED = 200, 25
#: Lines of a difference that are shown, and characters of a line.
MAX_LINES, MAX_CHARACTERS = 400, 2_000
#: Bytes of a copy, and lines of it, that are compared: with more, somebody would have to wait.
MAX_BYTES, MAX_COMPARED = 2_000_000, 1_000

TOO_LONG = "The copies are too long to compare here; use recrawl diff."
TOO_EXPENSIVE = "The copies take too much time or memory to compare."

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
class Chosen:
    """Two copies to compare.

    Attributes:
        before: When the older one was made, in microseconds.
        after: When the newer one was.
        sources: What their texts are read from.
    """

    before: int
    after: int
    sources: tuple[CopySource, CopySource]


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
    versions, chosen, rates = await service.read(_read, found.page.url, service, before, after)
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
        no_text=details.no_text,
        versions=versions,
        diff=await _compared(service, found.page.url, chosen),
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
    _, chosen, _ = await service.read(_read, known.url, service, before, after)
    return render(request, "diff.html", diff=await _compared(service, known.url, chosen))


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
) -> tuple[list[Version], Chosen | Diff | None, ShownRates | None]:
    """Return a page's copies, two of them to compare or why not, and how often it changes."""
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
    chosen = _chosen(TextReader(store, service.settings), copies, before, after) if before else None
    belief = store.belief(known.number)
    return versions, chosen, None if belief is None else belief.rates


def _chosen(reader: TextReader, copies: dict[str, Copy], before: str, after: str) -> Chosen | Diff:
    """Return two copies to compare, by their digests, or why they cannot be compared."""
    if before not in copies or after not in copies:
        return Diff(
            problem="The copies of this change are no longer kept; keep_versions can keep more."
        )
    old, new = copies[before], copies[after]
    times = old.response.at, new.response.at
    if max(len(copy.response.body or b"") for copy in (old, new)) > MAX_BYTES:
        return Diff(*times, problem=TOO_LONG)
    return Chosen(*times, (reader.source(old), reader.source(new)))


async def _compared(service: TheService, url: str, chosen: Chosen | Diff | None) -> Diff | None:
    """Return what changed in a page's own text between two copies."""
    if not isinstance(chosen, Chosen):
        return chosen
    times = chosen.before, chosen.after
    try:
        lines = await service.copies.run(
            url, marked_diff, *chosen.sources, MAX_COMPARED, MAX_CHARACTERS
        )
    except StoreError:
        return Diff(*times, problem=TOO_EXPENSIVE)
    if lines is None:
        return Diff(*times, problem=TOO_LONG)
    if not lines:
        return Diff(
            *times,
            problem="The page's own text is the same in both; only what is around it may differ.",
        )
    return Diff(*times, lines[:MAX_LINES], is_cut=len(lines) > MAX_LINES)
