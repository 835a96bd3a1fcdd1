"""Read a body that differs from the copy: compare the two, and extract links.

As the bytes are untrusted, this may take any time; the crawler calls it in a process that can be
killed, unless the bodies are harmless. The arguments are as short as possible, see `beginnings`,
and the result is small: bodies are not sent back.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from recrawl.content.absence import Patience
from recrawl.content.boilerplate.template import SiteTemplate, Sketches
from recrawl.content.compare import compare
from recrawl.content.comparison import Comparison
from recrawl.content.html.links import links
from recrawl.content.page_content import Content
from recrawl.content.reader import Reader
from recrawl.content.second_fetch import compare_twice
from recrawl.records import Outcome, Page, Response, digest_of, quick

#: A body of at most so many bytes, with at most so many tags, is harmless: reading it takes a few
#: milliseconds, whatever it contains. The parser's time is at most quadratic in the start tags, as
#: each block may reopen all formatting elements before it; end tags add little.
HARMLESS_BYTES, HARMLESS_STARTS, HARMLESS_ENDS = 12_000, 100, 200


@quick
@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading one or two responses.

    Attributes:
        found: What the visit found, without the new copy.
        copy: Which response has the new copy, counted from 0; None if there is none.
        links: The addresses that the new copy links to, if requested.
        sketches: Sketches of the page's elements, for the template of its site.
    """

    found: Comparison
    copy: int | None = None
    links: tuple[str, ...] = ()
    sketches: Sketches | None = None


def read_response(
    page: Page,
    response: Response,
    reader: Reader,
    previous: bytes | None,
    *,
    patience: Patience,
    digests: tuple[bytes | None, ...] = (None,),
    outage: str | None = None,
    follow: bool = False,
    template: SiteTemplate | None = None,
) -> Reading:
    """Compare a response with the copy, as `compare` does, and find the links of a new copy."""
    reader = _Once(reader)
    found = compare(
        page,
        response,
        reader,
        previous,
        patience=patience,
        outage=outage,
        template=template,
        digest=digests[0],
    )
    responses = (response,)
    return _reading(page, found, responses, digests, reader, template, follow=follow)


def read_twice(
    page: Page,
    first: Response,
    second: Response,
    reader: Reader,
    previous: bytes | None,
    *,
    patience: Patience,
    digests: tuple[bytes | None, ...] = (None, None),
    follow: bool = False,
    template: SiteTemplate | None = None,
) -> Reading:
    """Compare two responses with the copy, as `compare_twice` does; and find the links."""
    reader = _Once(reader)
    found = compare_twice(
        page,
        first,
        second,
        reader,
        previous,
        patience=patience,
        template=template,
        digests=digests,
    )
    responses = (first, second)
    return _reading(page, found, responses, digests, reader, template, follow=follow)


def beginnings(
    responses: Sequence[Response], reader: Reader, previous: bytes | None
) -> tuple[tuple[Response, ...], bytes | None]:
    """Return responses and the copy with only the parts of their bodies that are read."""
    kinds = [response.header("content-type") for response in responses]
    short = list[Response]()
    for response, kind in zip(responses, kinds, strict=True):
        body = response.body or b""
        part = reader.beginning(body, kind)
        short.append(response if len(part) == len(body) else replace(response, body=part))
    if previous is not None:
        previous = max((reader.beginning(previous, kind) for kind in kinds), key=len)
    return tuple(short), previous


def _reading(
    page: Page,
    found: Comparison,
    responses: tuple[Response, ...],
    digests: tuple[bytes | None, ...],
    reader: Reader,
    template: SiteTemplate | None,
    *,
    follow: bool,
) -> Reading:
    if found.outcome is Outcome.FAILED:
        # It is not the page that was read.
        return Reading(found)
    sketches = _sketches(page, responses[-1], reader, template, found.varied)
    if found.content is None:
        return Reading(found, sketches=sketches)
    # Of equal bodies, either will do; but those with the same beginning may differ.
    copy = next(
        number
        for number, (response, digest) in enumerate(zip(responses, digests, strict=True))
        if (digest or digest_of(response.body or b"")) == found.page.body
    )
    source = responses[copy]
    linked = (
        links(found.content, source.header("Content-Type") or "", source.url, source.headers)
        if follow
        else ()
    )
    return Reading(replace(found, content=None), copy, tuple(linked), sketches)


class _Once(Reader):
    """Reads each body once."""

    def __init__(self, reader: Reader) -> None:
        self.__dict__ = dict(reader.__dict__)
        self._read = dict[int, Content]()

    def read(
        self, body: bytes, content_type: str | None = None, template: SiteTemplate | None = None
    ) -> Content:
        """Read a body, or return the cached result; the bodies outlive this object."""
        found = self._read.get(id(body))
        if found is None:
            found = self._read[id(body)] = super().read(body, content_type, template)
        return found


def _sketches(
    page: Page,
    response: Response,
    reader: Reader,
    template: SiteTemplate | None,
    varied: Sketches | None,
) -> Sketches | None:
    """Return sketches of a body for the template of its site, if it should learn from it."""
    if template is None or not reader.learns or not is_parsed(page, response, template=template):
        return None
    content = reader.read(response.body or b"", response.header("content-type"), template)
    known = page.fingerprint
    if known is not None and content.has_markup(known.markup) and not template.is_young:
        # It is the same as when it was last learned from.
        return None
    sketches = content.sketches
    return {**sketches, **varied} if varied else sketches


def is_parsed(
    page: Page, response: Response, *, follow: bool = False, template: SiteTemplate | None = None
) -> bool:
    """Whether reading a response means parsing it.

    A body identical to the copy is not parsed, nor is a first one, unless its links are followed or
    little is known yet about its site's template.
    """
    if response.error is not None or response.body is None:
        return False
    if page.body is None:
        return follow or (template is not None and template.is_young)
    return digest_of(response.body) != page.body


def is_harmless(*bodies: bytes | None) -> bool:
    """Whether reading bodies takes a few milliseconds at most, whatever is in them.

    >>> is_harmless(b"<p>One <b>two</b>" * 40), is_harmless(b"<b><p>" * 100)
    (True, False)
    """
    given = [body for body in bodies if body]
    if sum(map(len, given)) > HARMLESS_BYTES:
        return False
    ends = sum(body.count(b"</") for body in given)
    starts = sum(body.count(b"<") for body in given) - ends
    return starts <= HARMLESS_STARTS and ends <= HARMLESS_ENDS
