"""The outline of a page: its blocks, each in an element that is known by its path.

The parser's own serialisation is scanned once: walking its nodes from Python takes several times as
long. Elements of the same path, such as all items of a list, are one element here: what is said of
one is said of all.
"""

import re
from collections.abc import Callable
from hashlib import blake2b
from html import unescape
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from selectolax.lexbor import LexborHTMLParser

from recrawl.content.html import INLINE
from recrawl.content.masking import masked, steady_link, steady_text

if TYPE_CHECKING:
    from collections.abc import Iterator

# As the parser writes them: attribute values in double quotes, "<" in texts escaped.
_TAG = re.compile(r'(<(?:!--[\s\S]*?--|[^<>"]*+(?:"[^"]*+"[^<>"]*+)*+)>)')
_HAS_DIGIT = re.compile(r"\d").search
_INLINE = frozenset(INLINE)
_VOID = frozenset(
    "area base basefont bgsound br col embed frame hr img input keygen param source track".split()
)
#: Elements nested deeper than this are taken for one: no page written for people has them.
_MAX_DEPTH = 200
#: Begins a block that is a link.
_LINK = "\x02"
#: Begin and end what is set in bold, and in italics.
_STRESS = {"b": "\x03\x04", "strong": "\x03\x04", "i": "\x05\x06", "em": "\x05\x06"}
_STRESSED = re.compile("[\x03-\x06]")
_NOT_STRESSED = re.compile("(?:^|(?<=[\x04\x06]))[^\x03-\x06]+")
#: Marks between which there is nothing.
_NOTHING = re.compile("\x03\x04|\x04\x03|\x05\x06|\x06\x05")
#: Elements that look like nothing else.
_SET_APART = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "li"})
#: The attribute of elements that the user wants watched.
WATCHED = "data-recrawl-watch"
#: Tags and lines that are remembered, each of at most so many characters.
_REMEMBERED, _MAX_LENGTH = 16_384, 300

_Value = TypeVar("_Value")


class Element:
    """All elements of a page that have the same path.

    Attributes:
        tag: Its tag.
        parent: The element around it; None for the page.
        name: What it is called on the path: its tag, id and classes, without those that have
            digits, which may be random, and its role.
        hint: Its role, id and classes, verbatim, and its tag if that is not of HTML.
        depth: The number of elements around it.
        is_watched: Whether the user wants it watched, whatever it looks like.
    """

    __slots__ = ("_path", "depth", "hint", "is_watched", "name", "parent", "tag")

    def __init__(
        self, tag: str = "", parent: "Element | None" = None, name: str = "", hint: str = ""
    ) -> None:
        self.tag = tag
        self.parent = parent
        self.name = name
        self.hint = hint
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.is_watched: bool = parent is not None and (parent.is_watched or name.endswith(WATCHED))
        self._path: bytes | None = None

    @property
    def path(self) -> bytes:
        """Hash of the names on the path to it."""
        if self._path is None:
            around = b"" if self.parent is None else self.parent.path
            named = around + self.name.encode(errors="replace")
            self._path = b"" if self.parent is None else blake2b(named, digest_size=8).digest()
        return self._path

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
        stressed: What is set in bold or italics, between marks.
    """

    text: str
    element: Element
    is_link: bool = False
    linked: float = 0.0
    stressed: str = ""

    @property
    def key(self) -> str:
        """The text; of a link, with a mark that no text begins with."""
        return _LINK + self.text if self.is_link else self.text

    @property
    def look(self) -> str:
        """How the line is set: as a heading of some level or an item, and what is stressed."""
        tag = self.element.tag
        return tag + self.stressed if tag in _SET_APART else self.stressed


class _Tag(NamedTuple):
    """What a tag means for the scan."""

    opens: str = ""
    closes: str = ""
    name: str = ""
    hint: str = ""
    href: str | None = None
    is_inline: bool = False
    stress: str = ""


#: An element with those inside it, by name.
_Node = tuple[Element, dict[str, "_Node"]]

_IS_LINK, _NO_LINK = True, False
_COMMENT, _LINE_BREAK = _Tag(is_inline=True), _Tag()


def outline(tree: LexborHTMLParser) -> list[Block]:  # noqa: C901, PLR0912 - one pass; calls cost
    """Return the blocks of a page in document order: its lines of text, then its links."""
    body = tree.body
    if body is None or not (html := body.html):
        return []
    lines, links = list[tuple[str, Element, float]](), list[Block]()
    pending = list[tuple[str, Element]]()
    page: _Node = (Element(), {})
    node, element, stack = page, page[0], list[_Node]()
    line, linked, in_link = list[str](), 0, False
    parts = iter(_TAG.split(html))
    for text, raw in zip(parts, parts, strict=False):
        if text and (line or not text.isspace()):
            line.append(text)
            if in_link:
                linked += len(text) - text.count(" ")
        opens, closes, name, hint, href, is_inline, stress = _TAGS[raw]
        if is_inline:
            if stress:
                line.append(stress)
            if href is not None:
                pending.append((href, element))
            in_link = opens == "a" or (in_link and closes != "a")
            continue
        if line:
            whole = "".join(line) if len(line) > 1 else line[0]
            share = linked / ((len(whole) - whole.count(" ")) or 1) if linked else 0.0
            lines.append((whole, element, share))
            line, linked = [], 0
        if pending:
            share = lines[-1][2] if lines and lines[-1][1] is element else 1.0
            links += [Block(href, around, _IS_LINK, share) for href, around in pending]
            pending = []
        if opens:
            stack.append(node)
            if len(stack) <= _MAX_DEPTH:
                inside = node[1]
                if name not in inside:
                    inside[name] = (Element(opens, element, name, hint), {})
                node = inside[name]
                element = node[0]
        elif closes == element.tag or len(stack) > _MAX_DEPTH:
            node = stack.pop() if stack else page
            element = node[0]
    return _blocks(lines) + links


def _blocks(lines: list[tuple[str, Element, float]]) -> list[Block]:
    """Return the lines that have text, without what is never content."""
    return [
        Block(line[0], element, _NO_LINK, share, line[1])
        for text, element, share in lines
        if (line := _LINES[text])[0]
    ]


class _Remembered(dict[str, _Value], Generic[_Value]):
    """What a function makes of strings: two readings of a page, and its site, share most of them.

    Unlike that of `functools`, it keeps no long strings, which a hostile page could fill it with.
    """

    def __init__(self, function: Callable[[str], _Value]) -> None:
        self._function = function

    def __missing__(self, text: str) -> _Value:
        value = self._function(text)
        if len(text) <= _MAX_LENGTH:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[text] = value
        return value


def _line(text: str) -> tuple[str, str]:
    r"""Return a line without what is never content or needless whitespace, and what it stresses.

    >>> _line("Of \x03the \x04 \x03day\x04")
    ('Of the day', '\x03theday\x04')
    """
    text = steady_text(text) if _HAS_DIGIT(text) else text
    text = unescape(text) if "&" in text else text
    if not _STRESSED.search(text):
        return " ".join(text.split()), ""
    stressed = _NOTHING.sub("", _NOTHING.sub("", "".join(text.split())))
    return " ".join(_STRESSED.sub("", text).split()), _NOT_STRESSED.sub("", stressed)


def _read_tag(raw: str) -> _Tag:
    """Read a tag as the parser writes it."""
    if raw.startswith("</"):
        tag = raw[2:-1]
        return _Tag(closes=tag, is_inline=tag in _INLINE, stress=_STRESS.get(tag, "")[1:])
    if raw.startswith("<!"):
        return _COMMENT
    tag = raw[1:-1].partition(" ")[0]
    if tag in _INLINE:
        href = _attribute(raw, ' href="') if tag == "a" else ""
        stress = _STRESS.get(tag, "")[:1]
        return _Tag(tag, is_inline=True, href=_link(raw, href) if href else None, stress=stress)
    if tag in _VOID:
        return _LINE_BREAK
    id_, classes = _attribute(raw, ' id="'), _attribute(raw, ' class="')
    role = _attribute(raw, ' role="')
    name = tag if not id_ or _HAS_DIGIT(id_) else f"{tag}#{id_}"
    if classes:
        steady = classes.split()
        if _HAS_DIGIT(classes):
            steady = [one for one in steady if not _HAS_DIGIT(one)]
        name += "".join(sorted(f".{one}" for one in steady))
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
    """Return where a link leads, with its title, in which numbers do not count."""
    href = steady_link(unescape(href) if "&" in href else href)
    title = _attribute(raw, ' title="')
    return f"{href} {' '.join(masked(unescape(title)).split())}" if title else href


_TAGS, _LINES = _Remembered(_read_tag), _Remembered(_line)
