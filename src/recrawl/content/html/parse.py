"""Decode and parse HTML, however hostile the page."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from selectolax.lexbor import LexborHTMLParser, SelectolaxError
from w3lib.encoding import (
    html_body_declared_encoding,
    http_content_type_encoding,
    read_bom,
    to_unicode,
)

#: Bytes parsed per page; the rest is ignored.
MAX_BYTES = 2_000_000

#: Bytes checked for an encoding of two or four bytes per character.
_SNIFFED = 1_024

#: Bytes that are decoded at a time, to see whether they are UTF-8.
_DECODED = 16_384

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


def _tags(names: bytes) -> frozenset[bytes]:
    return frozenset(slash + name for name in names.split() for slash in (b"", b"/"))


#: Items, which close the one before them, unless that is an item of another kind of list.
_ITEMS, _OTHER_ITEMS = _tags(b"li"), _tags(b"dd dt")
#: What closes the SVG or the formula around it, in which nothing is void.
_NEVER_FOREIGN = _tags(b"br embed hr img meta p head body li dd dt")
_FOREIGN = re.compile(rb"<(?:svg|math)[\s/>]", re.IGNORECASE)
#: Elements that do not nest: they are void, or closed by the next of their kind.
_FLAT = _NEVER_FOREIGN | _tags(
    b"area base col input link param source track wbr option tr td th tbody thead tfoot colgroup "
    b"html"
)
#: Elements that do not nest where they belong: in a select, a ruby, or an SVG, with a "/>".
_FLAT_AT_HOME = _FLAT | _tags(b"optgroup path rp rt")
#: Tags after which the parser's tree is measured, where counting tags does not say how deep it is.
_MEASURED = 8_000
#: Formatting elements, which the parser reopens in every block until they are closed.
_REOPENED = frozenset(b"a b big code em font i nobr s small strike strong tt u".split())

#: With no more start tags than this, parsing never takes long.
_MAX_DEPTH = 2_000
_MAX_ATTRIBUTES = 2_000
#: Elements that reopening may create.
_MAX_REOPENED = 1_000_000
#: Doubtful tags that are checked one by one; if there are more, the whole page is scanned.
_FEW = 100
#: Ends of tags that are tried, until one is found that is surely not in a value.
_TRIED = 20
#: Bytes before a quote that are looked at; if they are all space, a "=" may be before them.
_SPACE = 8
#: A tag with too many attributes is at least this long.
_LONG = 16_000
#: In pages longer than this, every tag is checked: one with a hundred thousand attributes could
#: escape the quick check and take minutes to parse. In shorter pages it takes seconds at worst.
_LARGE = 500_000

#: Python's codecs that no page is written in; some take quadratic time.
_NOT_FOR_PAGES = frozenset(
    {"idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}
)
_UTF8 = frozenset({"ascii", "utf-8", "utf8"})

# The character after the name distinguishes a tag from "i<b.length" in a script.
_TAG = re.compile(rb"<(/?[a-zA-Z][a-zA-Z0-9]*+)[\s/>]")
_ATTRIBUTE = re.compile(rb"""[^\s/>=]++(?:\s*+=\s*+(?:"[^"]*+"?|'[^']*+'?|[^\s>"'][^\s>]*+))?+""")
_TAG_START = re.compile(rb"<([a-zA-Z])")
_VALUE_WITH_END = re.compile(rb"""=\s*+(?:"[^">]*+>|'[^'>]*+>)""")
# A whole tag, as the HTML tokenizer reads it, or a comment. Matches at every "<" followed by a
# letter, so that the search is linear.
_WHOLE_TAG = re.compile(
    rb"""<(?:[a-zA-Z](?:[^>=]++|=\s*+(?:"[^"]*+"?+|'[^']*+'?+|[^\s>"'][^\s>]*+)?+)*+"""
    rb"|!--(?:[^-]++|-(?!->))*+)"
)


def beginning(body: bytes) -> bytes:
    """Return the part of a body that is parsed: its beginning.

    No UTF-8 character is cut in half, as the encoding may have to be guessed.

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
    """Whether bytes are valid UTF-8; what is ASCII, as most of a page is, need not be decoded."""
    at = 0
    while at < len(body):
        end = at + _DECODED
        after = body[end : end + 3]
        # No character is cut in half.
        end += len(after) - len(after.lstrip(_CONTINUATION))
        piece = body[at:end]
        if not piece.isascii():
            try:
                piece.decode()
            except UnicodeDecodeError:
                return False
        at = end
    return True


def _known(encoding: str | None) -> str | None:
    """Return the encoding if it decodes bytes to text, None otherwise."""
    if encoding is None or encoding.replace("_", "-").lower() in _NOT_FOR_PAGES:
        return None
    try:
        b"a".decode(encoding)
    except UnicodeError:
        # It is half a character in this encoding.
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
        # The parser only fails if there is no memory.
        raise MemoryError from None


def is_parsable(page: bytes) -> bool:
    """Whether a page can be parsed in reasonable time.

    >>> is_parsable(b"<p>One <b>two</b>" * 2_000)
    True
    >>> is_parsable(b"<div>" * 10_000), is_parsable(b"<li>" * 10_000), is_parsable(b"<rt>" * 10_000)
    (False, True, False)
    """
    if _has_huge_tag(page):
        return False
    # Counting starts is faster than reading tags, and most pages have few; single letters are
    # fastest, as Python creates no new objects for them.
    if len(_TAG_START.findall(page)) <= _MAX_DEPTH:
        return True
    tags = _TAG.findall(page)
    if _nests_deeply(tags, _FLAT_AT_HOME):
        return False
    return not _nests_deeply(tags, _surely_flat(page, tags)) or not _is_deep(page)


def crude_lines(page: bytes) -> list[str]:
    """Return the text between the tags of a page, without parsing it or reading its scripts."""
    parts = (part.partition(b">") for part in page[:MAX_BYTES].split(b"<"))
    return [
        rest.decode(errors="replace")
        for tag, _, rest in parts
        if rest and not tag[:6].lower().startswith((b"script", b"style"))
    ]


def _has_huge_tag(page: bytes) -> bool:
    """Whether a tag has many attributes."""
    doubtful = list[bytes]()
    if len(page) > _LARGE and _may_hide_long_tag(page):
        doubtful = list(islice(_doubtful(page), _FEW))
    if len(doubtful) == _FEW or any(map(_may_be_huge_tag, _long_parts(page))):
        doubtful = [match[0] for match in _WHOLE_TAG.finditer(page)]
    return any(
        _has_many_attributes(tag) for tag in doubtful if len(tag) > _LONG and tag[1:2] != b"!"
    )


def _may_hide_long_tag(page: bytes) -> bool:
    """Whether a long tag may have a ">" in it, in a quoted value.

    No tag goes on after a ">" before which no value is open. Such places are looked for, each
    within reach of the one before, or the next ">" after it: what is between them is no long tag,
    or one without a ">".
    """
    at = 0
    while True:
        end = page.rfind(b">", at, at + _LONG)
        if end < 0:
            end = page.find(b">", at + _LONG)
            if end < 0:
                return False
        tried = 1
        while _may_be_in_value(page, at, end):
            end = page.rfind(b">", at, end)
            tried += 1
            if end < 0 or tried > _TRIED:
                return True
        at = end + 1


def _may_be_in_value(page: bytes, begin: int, at: int) -> bool:
    """Whether a place may be in a quoted value of a tag that starts after another place."""
    for quote in (b'"', b"'"):
        last = page.rfind(quote, begin, at)
        if last >= 0:
            before = page[max(begin, last - _SPACE) : last].rstrip()
            if not before or before.endswith(b"="):
                return True
    return False


def _long_parts(page: bytes) -> Iterator[bytes]:
    """Iterate over the long parts between two ">".

    It jumps from one ">" to the last one within reach, so that it visits few of them.
    """
    at = -1
    while at < len(page):
        following = page.rfind(b">", at + 1, at + 1 + _LONG)
        if following < 0:
            following = page.find(b">", at + 1 + _LONG)
            following = len(page) if following < 0 else following
            if following - at > _LONG:
                yield page[at + 1 : following]
        at = following


def _may_be_huge_tag(part: bytes) -> bool:
    """Whether a part without ">" may be most of a tag with many attributes."""
    start = _TAG_START.search(part)
    return start is not None and _has_many_attributes(part[start.start() :])


def _doubtful(page: bytes) -> Iterator[bytes]:
    """Iterate over the tags whose first ">" is in a quoted value, and so does not end them."""
    for value in _VALUE_WITH_END.finditer(page):
        begin = page.rfind(b">", 0, value.start()) + 1
        start = _TAG_START.search(page, begin, value.start())
        if start is not None:
            yield _WHOLE_TAG.match(page, start.start())[0]  # type: ignore[index]


def _has_many_attributes(tag: bytes) -> bool:
    return any(islice(_ATTRIBUTE.finditer(tag), _MAX_ATTRIBUTES, None))


def _surely_flat(page: bytes, tags: list[bytes]) -> frozenset[bytes]:
    """Return the tags of elements that do not nest in this page."""
    flat = _NEVER_FOREIGN if _FOREIGN.search(page) else _FLAT
    if _OTHER_ITEMS.isdisjoint(map(bytes.lower, set(tags))):
        return flat
    return flat - _ITEMS - _OTHER_ITEMS


def _is_deep(page: bytes) -> bool:
    """Whether elements are inside each other so often that parsing takes too long.

    Ever more of the page is parsed, so that this is known in time: what takes long is to go on from
    where many are open.
    """
    cuts = (match.start() for match in islice(_TAG.finditer(page), _MEASURED, None, _MEASURED))
    return any(_is_open_deep(LexborHTMLParser(page[:end])) for end in (*cuts, len(page)))


def _is_open_deep(tree: LexborHTMLParser) -> bool:
    """Whether many elements are open at the end of a page."""
    left = [node for node in (tree.root,) if node is not None]
    seen = 0
    while left and seen <= _MAX_DEPTH:
        node = left.pop()
        seen += 1
        last = node.last_child
        if node.tag == "table" and node.prev is not None:
            # What does not belong in a table is put before it.
            left.append(node.prev)
        while last is not None and not last.is_element_node and seen <= _MAX_DEPTH:
            last = last.prev
            seen += 1
        if last is not None:
            left.append(last)
    return seen > _MAX_DEPTH


def _nests_deeply(tags: list[bytes], flat: frozenset[bytes]) -> bool:
    """Whether more elements seem to be open at once than can be parsed quickly.

    An end tag closes only an element of its own name: one that closes nothing must not hide an
    element that stays open.
    """
    counts = Counter(tags)
    if sum(count for tag, count in counts.items() if tag[:1] != b"/") <= _MAX_DEPTH:
        return False
    steps = {
        tag: (name.lstrip(b"/"), -1 if name[:1] == b"/" else 1)
        for tag in counts
        if (name := tag.lower()) not in flat
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
