"""HTML to a tree, however hostile it is."""

import re

from selectolax.lexbor import LexborHTMLParser

#: Bytes of a page that are parsed; the rest does not count.
MAX_BYTES = 2_000_000

#: Elements whose text nobody reads.
UNREAD = "script,style,noscript,template,svg,iframe,object,canvas,audio,video,link,meta,head"

#: Elements that do not break a line: what is in them and around them is one block.
INLINE = (
    *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn"),
    *("em", "font", "i", "ins", "kbd", "label", "mark", "nobr", "q", "s", "samp", "small", "span"),
    *("strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
)

#: Elements that have no inside, or that the next of their kind closes: they do not nest.
_FLAT = frozenset(
    slash + name
    for name in (
        b"area base br col embed hr img input link meta param source track wbr p li dd dt option "
        b"optgroup tr td th tbody thead tfoot colgroup html head body path rp rt"
    ).split()
    for slash in (b"", b"/")
)
#: Elements that are opened anew in every block until they are closed.
_REOPENED = frozenset(b"a b big code em font i nobr s small strike strong tt u".split())

#: Below this, nothing a page does takes long.
_FEW_TAGS = 2_000
_MAX_DEPTH = 2_000
_MAX_ATTRIBUTES = 2_000
#: Elements that reopening may make.
_MAX_REOPENED = 1_000_000
#: A tag with too many attributes is at least this long.
_LONG = 16_000
#: Above this, tags are looked through one by one: one with a hundred thousand attributes could hide
#: from a quick look, and take minutes. Below, it takes seconds at worst.
_LARGE = 500_000

# What follows the name tells a tag from a script's "i<b.length".
_TAG = re.compile(rb"<(/?[a-zA-Z][a-zA-Z0-9]*+)[\s/>]")
_ATTRIBUTE = re.compile(rb"""[^\s/>=]++(?:\s*+=\s*+(?:"[^"]*+"?|'[^']*+'?|[^\s>"'][^\s>]*+))?+""")
# A tag up to its end, as the tokenizer of HTML reads it, or a comment; always matches, so that
# the search is linear.
_WHOLE_TAG = re.compile(
    rb"<(?:[a-zA-Z](?:[\s/]++|[^\s/>=][^\s/>=]*+"
    rb"""|=\s*+(?:"[^"]*+"?+|'[^']*+'?+|[^\s>"'][^\s>]*+)?+)*+"""
    rb"|!--(?:[^-]++|-(?!->))*+)"
)


def parse(page: bytes) -> LexborHTMLParser | None:
    """Give a page in UTF-8 as a tree; None where the tree would take too long to grow.

    The parser takes quadratic time for deep nesting, for thousands of attributes in one tag, and
    for inline elements that are never closed. No page for people has these.
    """
    page = page[:MAX_BYTES]
    return LexborHTMLParser(page) if is_bearable(page) else None


def is_bearable(page: bytes) -> bool:
    """Whether a page can be parsed in reasonable time.

    >>> is_bearable(b"<p>One <b>two</b>" * 2_000)
    True
    >>> is_bearable(b"<div>" * 10_000)
    False
    """
    if len(page) > _LARGE and _is_long_tag_in(page):
        return False
    parts = page.split(b"<")
    long = [part for part in parts if len(part) > _LONG]
    if any(map(_may_be_tag, long)) and _is_long_tag_in(page):
        return False
    return len(parts) <= _FEW_TAGS or not _nests_deeply(_TAG.findall(page))


def crude_lines(page: bytes) -> list[str]:
    """Give the text of a page without a tree: all between tags, scripts and styles left out."""
    parts = (part.partition(b">") for part in page[:MAX_BYTES].split(b"<"))
    return [
        rest.decode(errors="replace")
        for tag, _, rest in parts
        if rest and not tag[:6].lower().startswith((b"script", b"style"))
    ]


def _may_be_tag(part: bytes) -> bool:
    """Whether what follows a "<" may be a tag with many attributes: a cheap first look."""
    is_tag = b">" not in part[:_LONG] and part[:1].isalpha()
    return is_tag and len(_ATTRIBUTE.findall(part)) > _MAX_ATTRIBUTES


def _is_long_tag_in(page: bytes) -> bool:
    long = (tag for tag in _WHOLE_TAG.findall(page) if len(tag) > _LONG and tag[1:2] != b"!")
    return any(len(_ATTRIBUTE.findall(tag)) > _MAX_ATTRIBUTES for tag in long)


def _nests_deeply(tags: list[bytes]) -> bool:
    """Whether more elements are open at once, as far as one can tell, than is bearable.

    An end tag closes one of its own name only: one that closes nothing must not hide an element
    that stays open.
    """
    still_open = dict[bytes, int]()
    depth = reopened = 0
    max_reopened = _MAX_REOPENED // (len(tags) + 1)
    for tag in map(bytes.lower, tags):
        if tag in _FLAT:
            continue
        name = tag.lstrip(b"/")
        already = still_open.get(name, 0)
        step = -1 if tag[:1] == b"/" else 1
        if already + step < 0:
            continue
        still_open[name] = already + step
        depth += step
        if name in _REOPENED:
            reopened += step
        if depth > _MAX_DEPTH or reopened > max_reopened:
            return True
    return False
