"""Compare a response with the stored copy: what a visit found. Pure: no I/O, no clock."""

from dataclasses import dataclass, replace

from recrawl.challenges import challenge_in_body
from recrawl.content.absence import (
    Patience,
    is_not_found,
    is_refused,
    is_trusted,
    not_found,
    refused,
)
from recrawl.content.boilerplate.boxes import varied_boxes
from recrawl.content.boilerplate.lone_page import marked_around
from recrawl.content.boilerplate.template import SiteTemplate
from recrawl.content.comparison import Comparison, failed, found_body, not_modified, outcome_of
from recrawl.content.html.outline import Block, Element
from recrawl.content.media_type import format_of
from recrawl.content.noise.history import History
from recrawl.content.page_content import Content, is_same
from recrawl.content.reader import Reader
from recrawl.records import Change, ChangeKind, Outcome, Page, Response, digest_of

#: How many 304 responses in a row are trusted before the page is fetched in full.
FULL_EVERY = 20
#: Keys of ignored blocks per page. A page that needs more is all noise, and compared as it is.
MAX_IGNORED = 500

_SUCCESS = range(200, 300)


def compare(
    page: Page,
    response: Response,
    reader: Reader,
    previous: Content | bytes | None = None,
    *,
    patience: Patience = Patience(),  # noqa: B008 - frozen
    outage: str | None = None,
    template: SiteTemplate | None = None,
    digest: bytes | None = None,
) -> Comparison:
    """Compare a response with the stored copy of a page.

    - An error teaches nothing: FAILED, one more failure in a row, everything else unchanged.
    - A challenge, or a page that blocks bots, is a failure too, whatever its status.
    - A refusal (401, 403, 451, robots.txt, an address that is not public) teaches nothing either,
      and is not a visit: the state is REFUSED, with the reason.
    - Not found (404, 410, or a redirect from deep inside the site to its front page): GONE. The
      state is MISSING until this is confirmed several times and over some time, then GONE. Failures
      in between do not decide. During an outage, when its neighbours are missing too, it is FAILED,
      and the state does not change.
    - Not modified: UNCHANGED, with new validators if the response has any.
    - A body: FIRST without a copy to compare with; CHANGED if the page's own content differs, or
      if the page had been missing; otherwise UNCHANGED. A body identical to the copy is not even
      parsed, so a page has no fingerprint until a different body arrives. The validators are always
      those of this response. The copy is replaced if the page or the site's boilerplate changed:
      otherwise the copy is current.

    Args:
        page: The page before the visit.
        response: The response.
        reader: Makes fingerprints. If the copy's is missing or of another kind, it is made now, so
            that changing the kind does not count as a change of the page.
        previous: The copy. Without it, fingerprints decide, and if those cannot be compared the
            outcome is FIRST.
        patience: When to give up on a page that is not found or refused.
        outage: The page's host or folder, if that is down.
        template: The site's template, if known.
        digest: The digest of the whole body, if the response has only its beginning.
    """
    if is_refused(response):
        return refused(page, response, patience)
    if response.error is not None:
        return failed(page, response.error)
    if is_not_found(page, response):
        return not_found(page, response.at, patience, outage)
    if response.is_not_modified:
        return not_modified(page, response)
    if response.status not in _SUCCESS or response.body is None:
        return failed(page, f"the server answered {response.status} without a page")
    found = response.body, digest or digest_of(response.body)
    return compare_body(page, response, found, BodyReader(reader, template, previous))


def wants_full(page: Page, every: int = FULL_EVERY) -> bool:
    """Whether to fetch a page in full: some servers respond "not modified" forever."""
    return page.not_modified >= every


@dataclass(frozen=True, slots=True)
class BodyReader:
    """Reads the bodies of a page: the responses, and the copy they are compared with."""

    reader: Reader
    template: SiteTemplate | None
    previous: Content | bytes | None

    def read(self, body: bytes, response: Response) -> Content:
        """Read a body."""
        return self.reader.read(body, response.header("content-type"), self.template)

    def copy(self, response: Response) -> Content | None:
        """Read the copy, if there is one."""
        if isinstance(self.previous, bytes):
            return self.read(self.previous, response)
        known = self.previous
        return known if known is not None and known.kind == self.reader.kind else None


def compare_body(
    page: Page,
    response: Response,
    found: tuple[bytes, bytes],
    bodies: BodyReader,
    *,
    is_after_noise: bool = False,
) -> Comparison:
    """Compare a body and its digest with the copy; if they are identical, without parsing."""
    body, digest = found
    if digest != page.body and format_of(body, response.header("content-type")) == "html":
        challenge = challenge_in_body(body)
        if challenge is not None:
            return failed(page, challenge)
    if page.body is None or digest == page.body:
        outcome = Outcome.FIRST if page.body is None else outcome_of(page, is_same=True)
        return found_body(page, response, found, outcome)
    content = bodies.read(body, response)
    known = page.fingerprint
    if known is not None and known.kind != content.kind:
        # Keys learned with another kind of fingerprint no longer apply.
        page = replace(page, ignored=frozenset(), suspects=b"", fingerprint=None)
    elif known is not None and content.has_markup(known.markup):
        return found_body(page, response, found, outcome_of(page, is_same=True))
    change, is_first = _difference(page, content, response, bodies)
    if not is_first and _is_suddenly_empty(page, response, content, bodies):
        since = response.at if page.missing_since is None else page.missing_since
        return failed(page, "the response is empty", since)
    is_change = change is not None and change.kind is not ChangeKind.FURNITURE
    if change is not None and change.kind in {ChangeKind.TEXT, ChangeKind.LAYOUT}:
        is_change = change.share >= bodies.reader.min_change
    outcome = Outcome.FIRST if is_first else outcome_of(page, is_same=not is_change)
    after = replace(page, fingerprint=content.fingerprint(page.ignored))
    copy = bodies.copy(response) if is_change else None
    if change is None or copy is None or content.is_exact:
        return found_body(after, response, found, outcome, change)
    new, old = content.apart(copy, page.ignored)
    if not is_after_noise:
        template = bodies.template
        is_alone = template is None or not template.has_siblings
        marked = marked_around([*new, *old], content.blocks) if is_alone else frozenset()
        after = _remember(after, content, copy, (new, old), marked, change.share)
    visited = found_body(after, response, found, outcome, change)
    was = copy.fingerprint(page.ignored).digest
    return replace(visited, varied=varied_boxes(new, old), was=was)


def _difference(
    page: Page, content: Content, response: Response, bodies: BodyReader
) -> tuple[Change | None, bool]:
    """Return how a content differs from the copy, and whether there is no copy to compare with."""
    known, now = page.fingerprint, content.fingerprint(page.ignored)
    if known is not None and is_same(known, now):
        return (None if known == now else Change(ChangeKind.FURNITURE)), False
    copy = bodies.copy(response)
    if copy is not None:
        return content.difference(copy, page.ignored), False
    return (None if known is None else Change(ChangeKind.TEXT, 1.0)), known is None


def _remember(
    page: Page,
    content: Content,
    copy: Content,
    apart: tuple[list[Block], list[Block]],
    marked: frozenset[Element],
    share: float,
) -> Page:
    """Return the page with this change added to its history, which may reveal slow noise."""
    now = page.fingerprint
    if now is None:
        return page
    history = History.from_bytes(page.suspects)
    if not history.digests:
        was = copy.fingerprint(page.ignored).digest
        history, _ = history.after(was, (), ())
    history, learned = history.after(now.digest, *apart, marked, share)
    ignored = page.ignored | learned
    if len(ignored) > MAX_IGNORED:
        return page
    return replace(
        page,
        suspects=history.to_bytes(),
        ignored=ignored,
        fingerprint=content.fingerprint(ignored) if learned else now,
    )


def _is_suddenly_empty(
    page: Page, response: Response, content: Content, bodies: BodyReader
) -> bool:
    """Whether a page that had content has none, which is more often a server fault than an edit."""
    body, at = response.body or b"", response.at
    has_content = body.strip() if bodies.reader.may_be_empty else content.texts
    if has_content:
        return False
    if is_trusted(page, at):
        return False
    had = page.fingerprint
    if had is None and (copy := bodies.copy(response)) is not None:
        had = copy.fingerprint()
    return had is not None and had.digest != content.fingerprint().digest
