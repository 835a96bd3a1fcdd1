"""What is done with a body that differs: compared with the copy, and searched for links.

It reads foreign bytes, so that it may take any time; the crawler calls it in a process that can be
killed, unless the bodies are harmless. What it returns is small: bodies are not sent back.
"""

from dataclasses import dataclass, replace

from recrawl.content.compare import Comparison, Patience, compare, compare_twice
from recrawl.content.links import links
from recrawl.content.reader import Reader
from recrawl.records import Page, Response, digest_of

#: A body of at most so many bytes, with at most so many tags, is harmless: reading it takes a few
#: milliseconds whatever is in it. What the parser does is at most quadratic in the start tags, as
#: each block may reopen all formatting elements before it; end tags add little.
HARMLESS_BYTES, HARMLESS_STARTS, HARMLESS_ENDS = 12_000, 100, 200


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading one or two responses found.

    Attributes:
        found: What the visit found, without the new copy.
        copy: Which response has the new copy, counted from 0; None if there is none.
        links: The addresses that the new copy links to, if they were asked for.
    """

    found: Comparison
    copy: int | None = None
    links: tuple[str, ...] = ()


def read_response(
    page: Page,
    response: Response,
    reader: Reader,
    previous: bytes | None,
    *,
    patience: Patience,
    outage: str | None = None,
    follow: bool = False,
) -> Reading:
    """Compare a response with the copy, as `compare` does, and find the links of a new copy."""
    found = compare(page, response, reader, previous, patience=patience, outage=outage)
    return _reading(found, (response,), follow=follow)


def read_twice(
    page: Page,
    first: Response,
    second: Response,
    reader: Reader,
    previous: bytes | None,
    *,
    patience: Patience,
    follow: bool = False,
) -> Reading:
    """Compare two responses with the copy, as `compare_twice` does; and find the links."""
    found = compare_twice(page, first, second, reader, previous, patience=patience)
    return _reading(found, (first, second), follow=follow)


def _reading(found: Comparison, responses: tuple[Response, ...], *, follow: bool) -> Reading:
    if found.content is None:
        return Reading(found)
    bodies = [response.body for response in responses]
    # Equal bodies are as good as one another.
    copy = bodies.index(found.content)
    source = responses[copy]
    linked = (
        links(found.content, source.header("Content-Type") or "", source.url, source.headers)
        if follow
        else ()
    )
    return Reading(replace(found, content=None), copy, tuple(linked))


def is_parsed(page: Page, response: Response, *, follow: bool) -> bool:
    """Whether reading a response means parsing it; a body identical to the copy is not parsed."""
    if response.error is not None or response.body is None:
        return False
    if page.body is None:
        return follow
    return digest_of(response.body) != page.body


def is_harmless(*bodies: bytes | None) -> bool:
    """Whether reading bodies takes a few milliseconds at most, whatever is in them.

    >>> is_harmless(b"<p>One <b>two</b>" * 40), is_harmless(b"<b><p>" * 100)
    (True, False)
    """
    given = [body for body in bodies if body]
    ends = sum(body.count(b"</") for body in given)
    starts = sum(body.count(b"<") for body in given) - ends
    is_short = sum(map(len, given)) <= HARMLESS_BYTES
    return is_short and starts <= HARMLESS_STARTS and ends <= HARMLESS_ENDS
