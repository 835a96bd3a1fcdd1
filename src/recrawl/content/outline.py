"""The outline of a page: its blocks, each in an element that is known by its path.

The parser's own serialisation is scanned once: walking its nodes from Python takes several times as
long. Elements of the same path, such as all items of a list, are one element here: what is said of
one is said of all.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from html import unescape
from typing import TYPE_CHECKING, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from recrawl.content.html import INLINE
from recrawl.content.masking import steady_link, steady_text

if TYPE_CHECKING:
    from collections.abc import Iterator

# As the parser writes them: attribute values in double quotes, "<" in texts escaped.
_TAG = re.compile(r'(<(?:!--[\s\S]*?--|[^<>"]*(?:"[^"]*"[^<>"]*)*)>)')
_HAS_DIGIT = re.compile(r"\d").search
_INLINE = frozenset(INLINE)
_UNWRAPPED = [tag for tag in INLINE if tag != "a"]
_VOID = frozenset(
    "area base basefont bgsound br col embed frame hr img input keygen param source track".split()
)
#: Elements nested deeper than this are taken for one: no page written for people has them.
_MAX_DEPTH = 200
#: Begins a block that is a link.
_LINK = "\x02"
#: The attribute of elements that the user wants watched.
WATCHED = "data-recrawl-watch"
#: Cannot occur in a text: HTML has no way to write it.
_BREAK = "\0"


@dataclass(slots=True, eq=False)
class Element:
    """All elements of a page that have the same path.

    Attributes:
        tag: Its tag.
        parent: The element around it; None for the page.
        name: What it is called on the path: its tag, id and classes, without those that have
            digits, which may be random, and its role.
        hint: Its role, id and classes, verbatim, and its tag if that is not of HTML.
        depth: The number of elements around it.
        path: Hash of the names on the path to it.
        is_watched: Whether the user wants it watched, whatever it looks like.
    """

    tag: str = ""
    parent: "Element | None" = None
    name: str = ""
    hint: str = ""
    depth: int = 0
    path: bytes = b""
    is_watched: bool = False
    children: "dict[str, Element]" = field(default_factory=dict)

    def child(self, tag: "_Tag") -> "Element":
        """Add a child and return it."""
        path = blake2b(self.path + tag.name.encode(errors="replace"), digest_size=8).digest()
        watched = self.is_watched or tag.name.endswith(WATCHED)
        child = Element(tag.opens, self, tag.name, tag.hint, self.depth + 1, path, watched)
        self.children[tag.name] = child
        return child

    def ancestors(self) -> "Iterator[Element]":
        """Iterate over the element itself and the elements around it, inside out."""
        element: Element | None = self
        while element is not None:
            yield element
            element = element.parent


class Block(NamedTuple):
    """A line of text, or a link.

    Attributes:
        text: The text, or the address of the link with its title.
        element: The element it is in.
        is_link: Whether it is a link.
        linked: The share of the line's letters that are in links.
    """

    text: str
    element: Element
    is_link: bool = False
    linked: float = 0.0

    @property
    def key(self) -> str:
        """The text; of a link, with a mark that no text begins with."""
        return _LINK + self.text if self.is_link else self.text


class _Tag(NamedTuple):
    """What a tag means for the scan."""

    opens: str = ""
    closes: str = ""
    name: str = ""
    hint: str = ""
    href: str | None = None
    is_inline: bool = False


_IS_LINK = True
_COMMENT, _LINE_BREAK = _Tag(is_inline=True), _Tag()


def outline(tree: LexborHTMLParser) -> list[Block]:  # noqa: C901 - one pass, and every call costs
    """Return the blocks of a page in document order: its lines of text, then its links."""
    page = Element()
    tree.unwrap_tags(_UNWRAPPED)
    body = tree.body
    if body is None or not (html := body.html):
        return []
    parts = _TAG.split(html)
    lines, links = list[tuple[str, Element, float]](), list[Block]()
    pending = list[tuple[str, Element]]()
    stack, element = list[Element](), page
    line, linked, in_link = list[str](), 0, False
    for text, raw in zip(parts[::2], parts[1::2], strict=False):
        if text and (line or not text.isspace()):
            line.append(text)
            if in_link:
                linked += len(text) - text.count(" ")
        tag = _read_tag(raw)
        if tag.is_inline:
            if tag.href is not None:
                pending.append((tag.href, element))
            in_link = tag.opens == "a" or (in_link and tag.closes != "a")
            continue
        if line:
            whole = "".join(line)
            letters = len(whole) - whole.count(" ")
            lines.append((whole, element, linked / letters if letters else 0.0))
            line, linked = [], 0
        if pending:
            share = lines[-1][2] if lines and lines[-1][1] is element else 1.0
            links += [Block(href, inside, _IS_LINK, share) for href, inside in pending]
            pending = []
        if tag.opens:
            stack.append(element)
            if len(stack) <= _MAX_DEPTH:
                element = element.children.get(tag.name) or element.child(tag)
        elif tag.closes == element.tag or len(stack) > _MAX_DEPTH:
            element = stack.pop() if stack else page
    return _blocks(lines) + links


def _blocks(lines: list[tuple[str, Element, float]]) -> list[Block]:
    """Return the lines that have text, without what is never content."""
    if not lines:
        return []
    texts = steady_text(_BREAK.join([text for text, _, _ in lines])).split(_BREAK)
    return [
        Block(line, element, linked=share)
        for text, (_, element, share) in zip(texts, lines, strict=True)
        if (line := " ".join((unescape(text) if "&" in text else text).split()))
    ]


@lru_cache(maxsize=4096)
def _read_tag(raw: str) -> _Tag:
    """Read a tag as the parser writes it; the pages of a site share most of theirs."""
    if raw.startswith("</"):
        tag = raw[2:-1]
        return _Tag(closes=tag, is_inline=tag in _INLINE)
    if raw.startswith("<!"):
        return _COMMENT
    tag = raw[1:-1].partition(" ")[0]
    if tag in _INLINE:
        href = _attribute(raw, ' href="') if tag == "a" else ""
        return _Tag(opens=tag, is_inline=True, href=_link(raw, href) if href else None)
    if tag in _VOID:
        return _LINE_BREAK
    id_, classes = _attribute(raw, ' id="'), _attribute(raw, ' class="')
    role = _attribute(raw, ' role="')
    name = tag if not id_ or _HAS_DIGIT(id_) else f"{tag}#{id_}"
    if classes:
        name += "".join(sorted(f".{one}" for one in classes.split() if not _HAS_DIGIT(one)))
    if role:
        name += f"@{role}"
    if WATCHED in raw:
        name += WATCHED
    # Tags that sites make up have a hyphen, and often tell what they are for.
    made_up = tag if "-" in tag else ""
    return _Tag(tag, "", name, f"{id_} {classes} {role} {made_up}")


def _attribute(raw: str, start: str) -> str:
    """Return the value of an attribute: quotes inside values are escaped."""
    at = raw.find(start)
    if at < 0:
        return ""
    at += len(start)
    return raw[at : raw.index('"', at)]


def _link(raw: str, href: str) -> str:
    """Return where a link leads, with its title."""
    href = steady_link(unescape(href) if "&" in href else href)
    title = _attribute(raw, ' title="')
    return f"{href} {' '.join(steady_text(unescape(title)).split())}" if title else href
