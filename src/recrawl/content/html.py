"""From bytes to text and to a tree, however hostile the page."""

import re
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from selectolax.lexbor import LexborHTMLParser, SelectolaxError
from w3lib.encoding import (
    html_body_declared_encoding,
    http_content_type_encoding,
    read_bom,
    to_unicode,
)

#: Bytes parsed per page; the rest is ignored.
MAX_BYTES = 2_000_000

#: Bytes in which an encoding of two or four bytes per character shows.
_SNIFFED = 1_024

#: The bytes of a character in UTF-8 after its first.
_CONTINUATION = bytes(range(0x80, 0xC0))

#: Elements whose text is not visible.
UNREAD = (
    "script,style,noscript,template,svg,iframe,object,canvas,audio,video,link,meta,head,"
    "img,source,input,title"
)

#: Elements that do not break a line: the text inside and around them is one block.
INLINE = (
    *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn"),
    *("em", "font", "i", "ins", "kbd", "label", "mark", "nobr", "q", "s", "samp", "small", "span"),
    *("strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
)

#: Elements that do not nest: they are void, or closed by the next of their kind.
_FLAT = frozenset(
    slash + name
    for name in (
        b"area base br col embed hr img input link meta param source track wbr p li dd dt option "
        b"optgroup tr td th tbody thead tfoot colgroup html head body path rp rt"
    ).split()
    for slash in (b"", b"/")
)
#: Formatting elements, which the parser reopens in every block until they are closed.
_REOPENED = frozenset(b"a b big code em font i nobr s small strike strong tt u".split())

#: With no more start tags than this, nothing takes long.
_MAX_DEPTH = 2_000
_MAX_ATTRIBUTES = 2_000
#: Elements that reopening may create.
_MAX_REOPENED = 1_000_000
#: Tags that are looked at one by one; if more are doubtful, all of the page is scanned.
_FEW = 100
#: A tag with too many attributes is at least this long.
_LONG = 16_000
#: In pages longer than this, every tag is checked: one with a hundred thousand attributes could
#: escape the quick check and take minutes to parse. In shorter pages it takes seconds at worst.
_LARGE = 500_000

_Bytes: TypeAlias = npt.NDArray[np.uint8]
_Positions: TypeAlias = npt.NDArray[np.intp]
_IS_LETTER = np.array([bytes([code]).isalpha() for code in range(256)])
_OPENS_VALUE = np.array([code in b"= \t\n\f\r" for code in range(256)])

#: Python's codecs that no page is written in; some take quadratic time.
_NOT_FOR_PAGES = frozenset(
    {"idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}
)
_UTF8 = frozenset({"ascii", "utf-8", "utf8"})

# The character after the name distinguishes a tag from "i<b.length" in a script.
_TAG = re.compile(rb"<(/?[a-zA-Z][a-zA-Z0-9]*+)[\s/>]")
_ATTRIBUTE = re.compile(rb"""[^\s/>=]++(?:\s*+=\s*+(?:"[^"]*+"?|'[^']*+'?|[^\s>"'][^\s>]*+))?+""")
# A whole tag, as the HTML tokenizer reads it, or a comment. Matches at every "<" followed by a
# letter, so that the search is linear.
_WHOLE_TAG = re.compile(
    rb"""<(?:[a-zA-Z](?:[^>=]++|=\s*+(?:"[^"]*+"?+|'[^']*+'?+|[^\s>"'][^\s>]*+)?+)*+"""
    rb"|!--(?:[^-]++|-(?!->))*+)"
)


def beginning(body: bytes) -> bytes:
    """Return the beginning of a body, from which as much is parsed as from all of it.

    No character of UTF-8 is cut in half: the encoding may have to be guessed.

    >>> len(beginning(b"a" * 5_000_000)), len(beginning("ü".encode("utf-16-le") * 5_000_000))
    (2000000, 8000000)
    """
    size = MAX_BYTES * (4 if b"\0" in body[:_SNIFFED] else 1)
    after = body[size : size + 4]
    continued = len(after) - len(after.lstrip(_CONTINUATION))
    return body[: size + continued]


def in_utf8(body: bytes, content_type: str | None = None) -> bytes:
    """Return a body as valid UTF-8, by its byte order mark, the header, its own charset or a guess.

    The guess is UTF-8 if the bytes are valid UTF-8, otherwise Windows-1252. Invalid bytes become
    U+FFFD; nothing raises. Most pages are UTF-8 already and are returned as they are.

    >>> in_utf8("Zürich".encode("latin-1"), "text/html; charset=iso-8859-1").decode()
    'Zürich'
    >>> in_utf8("<meta charset='utf-8'>Zürich".encode()).decode()
    "<meta charset='utf-8'>Zürich"
    >>> in_utf8("Zürich".encode("cp1252"), "text/html; charset=no-such-thing").decode()
    'Zürich'
    """
    mark, start = read_bom(body)
    if mark is not None and start is not None:
        return _converted(body[len(start) :], mark)
    named = _known(http_content_type_encoding(content_type)) or _known(
        html_body_declared_encoding(body)
    )
    if named is not None:
        return _converted(body, named)
    return body if _is_utf8(body) else _converted(body, "cp1252")


def _converted(body: bytes, encoding: str) -> bytes:
    if encoding in _UTF8 and _is_utf8(body):
        return body
    return to_unicode(body, encoding).encode(errors="replace")


def _is_utf8(body: bytes) -> bool:
    if body.isascii():
        return True
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _known(encoding: str | None) -> str | None:
    """Return the encoding if it decodes bytes to text, None otherwise."""
    if encoding is None or encoding.replace("_", "-").lower() in _NOT_FOR_PAGES:
        return None
    try:
        b"a".decode(encoding)
    except UnicodeError:
        # Half a character in this encoding.
        return encoding
    except LookupError:
        return None
    return encoding


def parse(page: bytes) -> LexborHTMLParser | None:
    """Return the tree of a page in UTF-8, None if parsing would take too long.

    The parser takes quadratic time for deep nesting, for thousands of attributes in one tag, and
    for formatting elements that are never closed. No page written for people has these.
    """
    page = page[:MAX_BYTES]
    if not is_parsable(page):
        return None
    try:
        return LexborHTMLParser(page)
    except SelectolaxError:
        # It parses whatever there is memory for.
        raise MemoryError from None


def is_parsable(page: bytes) -> bool:
    """Whether a page can be parsed in reasonable time.

    >>> is_parsable(b"<p>One <b>two</b>" * 2_000)
    True
    >>> is_parsable(b"<div>" * 10_000)
    False
    """
    # Arrays, as loops over all tags would take as long as parsing.
    at = np.flatnonzero(np.frombuffer(page, np.uint8) == ord("<"))
    if _has_huge_tag(page, at):
        return False
    # What follows a "<" at the very end is no slash.
    ends = np.frombuffer(page + b"_", np.uint8)[at + 1] == ord("/")
    if at.size - np.count_nonzero(ends) <= _MAX_DEPTH:
        return True
    return not _nests_deeply(_TAG.findall(page))


def crude_lines(page: bytes) -> list[str]:
    """Return the text between the tags of a page, without parsing it or reading its scripts."""
    parts = (part.partition(b">") for part in page[:MAX_BYTES].split(b"<"))
    return [
        rest.decode(errors="replace")
        for tag, _, rest in parts
        if rest and not tag[:6].lower().startswith((b"script", b"style"))
    ]


def _has_huge_tag(page: bytes, at: _Positions) -> bool:
    """Whether a tag has many attributes, given where tags may begin."""
    ends = np.append(at[1:], len(page))
    long = np.flatnonzero(ends - at > _LONG).tolist()
    parts = (page[at[number] + 1 : ends[number]] for number in long)
    may_be = any(map(_may_be_huge_tag, parts))
    if not may_be and len(page) <= _LARGE:
        return False
    # What follows a "<" at the very end is no letter.
    doubtful = _doubtful_tags(np.frombuffer(page + b"_", np.uint8), at).tolist()
    tags = (
        _WHOLE_TAG.findall(page)
        if may_be or len(doubtful) > _FEW
        else [_WHOLE_TAG.match(page, start)[0] for start in doubtful]  # type: ignore[index]
    )
    return any(_has_many_attributes(tag) for tag in tags if len(tag) > _LONG and tag[1:2] != b"!")


def _may_be_huge_tag(part: bytes) -> bool:
    """Whether what follows a "<", up to the next, may be a tag with many attributes."""
    is_tag = b">" not in part[:_LONG] and part[:1].isalpha()
    return is_tag and _has_many_attributes(part)


def _has_many_attributes(tag: bytes) -> bool:
    return len(_ATTRIBUTE.findall(tag)) > _MAX_ATTRIBUTES


def _doubtful_tags(codes: _Bytes, at: _Positions) -> _Positions:
    """Return where tags begin that may go on behind the first ">", or are long before it.

    A tag goes on only if the last quotation mark before the ">" opens a value, so that it stands
    after "=" or a space.
    """
    starts: _Positions = at[_IS_LETTER[codes[at + 1]]]
    closing = np.append(np.flatnonzero(codes == ord(">")), len(codes) + _LONG)
    first = closing[np.searchsorted(closing, starts)]
    is_doubtful: npt.NDArray[np.bool_] = first - starts > _LONG
    for quote in b"\"'":
        quotes = np.append(0, np.flatnonzero(codes == quote))
        last = quotes[np.searchsorted(quotes, first) - 1]
        is_doubtful |= (last > starts) & _OPENS_VALUE[codes[last - 1]]
    doubtful: _Positions = starts[is_doubtful]
    return doubtful


def _nests_deeply(tags: list[bytes]) -> bool:
    """Whether more elements seem to be open at once than can be parsed quickly.

    An end tag closes an element of its own name only: one that closes nothing must not hide an
    element that stays open.
    """
    steps = {
        tag: (name.lstrip(b"/"), -1 if name[:1] == b"/" else 1)
        for tag in set(tags)
        if (name := tag.lower()) not in _FLAT
    }
    still_open = dict.fromkeys((name for name, _ in steps.values()), 0)
    depth = reopened = 0
    max_reopened = _MAX_REOPENED // (len(tags) + 1)
    for name, step in [steps[tag] for tag in tags if tag in steps]:
        already = still_open[name]
        if already + step < 0:
            continue
        still_open[name] = already + step
        depth += step
        if name in _REOPENED:
            reopened += step
        if depth > _MAX_DEPTH or reopened > max_reopened:
            return True
    return False
