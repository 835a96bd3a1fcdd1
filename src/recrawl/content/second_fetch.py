"""Use a second fetch right after the first: what differs between the two is noise."""

from dataclasses import replace

from recrawl.content.absence import Patience
from recrawl.content.boilerplate.template import SiteTemplate
from recrawl.content.compare import MAX_IGNORED, BodyReader, compare, compare_body
from recrawl.content.comparison import Comparison, found_body
from recrawl.content.page_content import Content
from recrawl.content.reader import Reader
from recrawl.records import Outcome, Page, Response, digest_of

#: Changes in a row after which a page is first suspected of being noisy.
_SUSPICIOUS = 3
#: Two fetches are in a row if the time between two visits is at least this many times as long.
_IN_A_ROW = 20


def wants_second_fetch(before: Page, after: Page) -> bool:
    """Whether to fetch a page again immediately, to see whether it really changed.

    True at the first change, unless the server responded "not modified" last time, and so now says
    itself that there is a new version; and after 3, 6, 12, 24, … changes in a row, as some pages
    are different every time.

    >>> page = Page(0, "", "")
    >>> seen = [replace(page, streak=n, changes=n + 1) for n in range(30)]
    >>> [after.streak for after in seen if wants_second_fetch(page, after)]
    [0, 3, 6, 12, 24]
    """
    multiple, remainder = divmod(after.streak, _SUSPICIOUS)
    is_first = after.changes == 1 and not before.not_modified
    return is_first or (remainder == 0 and multiple.bit_count() == 1)


def compare_twice(
    page: Page,
    first: Response,
    second: Response,
    reader: Reader,
    previous: Content | bytes | None = None,
    *,
    patience: Patience = Patience(),  # noqa: B008 - frozen
    template: SiteTemplate | None = None,
    digests: tuple[bytes | None, ...] = (None, None),
) -> Comparison:
    """Compare two responses fetched in a row with the copy: what differs between them is noise.

    If the page differs from its copy only in noise, it is UNCHANGED. If the two are equal, or one
    is unusable, the result is that of `compare` for the first.

    Args:
        page: The page before both fetches.
        first: The response that was taken for a change.
        second: The response to an unconditional request right after it.
        reader: Makes fingerprints.
        previous: The copy. Without it, the change stands.
        patience: As for `compare`.
        template: As for `compare`.
        digests: As for `compare`, of both bodies.
    """
    found, again = (
        compare(
            page, response, reader, previous, patience=patience, template=template, digest=digest
        )
        for response, digest in zip((first, second), digests, strict=True)
    )
    if Outcome.CHANGED not in {found.outcome, again.outcome} or not (first.body and second.body):
        return found
    if again.page.fingerprint is None or again.outcome in {Outcome.FAILED, Outcome.GONE}:
        return found
    if not _are_in_a_row(page, first, second):
        return found
    here, there = (
        reader.read(body, response.header("content-type"), template)
        for body, response in ((first.body, first), (second.body, second))
    )
    bodies = BodyReader(reader, template, previous)
    learned = learn_noise(page, here, there, bodies.copy(first))
    if learned is page:
        return found
    new = second.body, digests[1] or digest_of(second.body)
    if previous is None:
        return found_body(learned, second, new, Outcome.CHANGED, found.change)
    before = replace(learned, fingerprint=None)
    return compare_body(before, second, new, bodies, is_after_noise=True)


def learn_noise(page: Page, first: Content, second: Content, copy: Content | None = None) -> Page:
    """Return the page, ignoring what differs between two contents; itself if nothing is learned.

    What is the same in the first as in the copy may have been edited just before the second.
    """
    steady = frozenset[bytes]() if copy is None else first.same_keys(copy)
    ignored = page.ignored | (first.noise(second) - steady)
    if ignored == page.ignored or len(ignored) > MAX_IGNORED:
        return page
    return replace(page, ignored=ignored, fingerprint=second.fingerprint(ignored))


def _are_in_a_row(page: Page, first: Response, second: Response) -> bool:
    """Whether there is so little time between two responses that a change is unlikely."""
    before = first.at if page.last_visit is None else page.last_visit
    return _IN_A_ROW * (second.at - first.at) <= first.at - before
