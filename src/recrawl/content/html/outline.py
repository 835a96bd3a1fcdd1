"""Outline a page: its blocks, each in an element that is identified by its path.

The parser's own serialisation is scanned once: walking its nodes from Python takes several times as
long. Elements with the same path, such as all items of a list, are a single element here.
"""

import re
from hashlib import blake2b
from html import unescape
from typing import TYPE_CHECKING

from recrawl.content.html.parse import INLINE
from recrawl.content.noise.masking import masked, steady_link, steady_text
from recrawl.content.noise.remembering import Remembered

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The parser escapes "<" and ">" in texts and attributes, but not in comments, nor in these.
_RAW = frozenset({"xmp", "plaintext", "noembed", "noframes"})
#: Both also match what never ends: otherwise each that might begin would be searched for its end.
_TAG = re.compile(r"<(/?[a-zA-Z][^>]*+)(?:>|\Z)")
_COMMENT = re.compile(r"<!--[\s\S]*?(?:-->|\Z)")
_HAS_DIGIT = re.compile(r"\d").search
_WITHOUT_DIGIT = re.compile(r"(?<!\S)[^\s\d]+(?!\S)").findall
_INLINE = frozenset(INLINE)
_VOID = frozenset(
    "area base basefont bgsound br col embed frame hr img input keygen param source track".split()
)
#: Elements nested deeper than this are treated as one: no page written for people has them.
_MAX_DEPTH = 200
#: The prefix of a block that is a link.
_LINK = "\x02"
#: Mark the start and end of bold and of italics.
_STRESS = {"b": "\x03\x04", "strong": "\x03\x04", "i": "\x05\x06", "em": "\x05\x06"}
_STRESSED = re.compile("[\x03-\x06]")
_NOT_STRESSED = re.compile("([\x04\x06])[^\x03-\x06]+")
#: Marks with nothing between them.
_EMPTY_STRESS = re.compile("\x03\x04|\x04\x03|\x05\x06|\x06\x05")
#: Elements whose lines look distinctive.
_SET_APART = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "li"})
#: The attribute of elements that the user wants watched.
WATCHED = "data-recrawl-watch"
#: The end of the name of an element that browsers do not show.
_HIDDEN = "[hidden]"
_NOT_SHOWN = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE
)
#: The maximum number of tags of a page whose tags and lines are cached for others.
_MAX_TAGS = 16_384


class Element:
    """All elements of a page that have the same path.

    Attributes:
        tag: Its tag.
        parent: The element around it; None for the page.
        name: Its name on the path: its tag, id and classes, without those with digits, which may
            be random, its role, and whether it is hidden.
        hint: Its role, id and classes, verbatim, and its tag if that is not of HTML.
        depth: The number of elements around it.
        is_watched: Whether the user wants it watched, whatever it looks like.
        is_set_apart: Whether lines in it look distinctive.
        is_hidden: Whether browsers do not show it, at least until a script does.
    """

    __slots__ = (
        "_path",
        "depth",
        "hint",
        "is_hidden",
        "is_set_apart",
        "is_watched",
        "name",
        "parent",
        "tag",
    )

    def __init__(
        self, tag: str = "", parent: "Element | None" = None, name: str = "", hint: str = ""
    ) -> None:
        self.tag = tag
        self.parent = parent
        self.name = name
        self.hint = hint
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.is_watched: bool = parent is not None and (parent.is_watched or name.endswith(WATCHED))
        self.is_set_apart: bool = tag in _SET_APART
        self.is_hidden: bool = name.endswith(_HIDDEN)
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


class Block:
    """A line of text, or a link.

    Attributes:
        text: The text, or the address of the link with its title.
        element: The element it is in.
        is_link: Whether it is a link.
        linked: The share of the line's letters that are in links.
        key: The text; of a link, with a mark that no text begins with.
        look: How the line is formatted: as a heading of some level or an item, and what is
            stressed.
    """

    __slots__ = ("element", "is_link", "key", "linked", "look", "text")

    def __init__(
        self, text: str, element: Element, linked: float = 0.0, look: str = "", key: str = ""
    ) -> None:
        self.text = text
        self.element = element
        self.linked = linked
        self.look = look
        self.is_link: bool = key != ""
        self.key = key or text


#: What a tag does in the scan; those up to breaks end a line, the others are in it.
_OPENS, _CLOSES, _BREAKS, _NOTHING, _STRESSES, _LINKS, _OPENS_LINK, _CLOSES_LINK = range(8)

#: A tag: what it does; the element, where the link leads, or the mark of the stress; and of an
#: element its name on the path and its hint. Not named tuples, which take much longer to unpack.
_Tag = tuple[int, str, str, str]

#: What is between two tags that end a line: its text with the marks of stress, how many of its
#: letters are in links, where its links lead, and the element it is in.
_RawLine = tuple[str, int, list[str], Element]

#: An element with those inside it, by name.
_Node = tuple[Element, dict[str, "_Node"]]


def outline(html: str) -> list[Block]:
    """Return the blocks of a page in document order: its lines of text, then its links.

    Args:
        html: The body of the page, as the parser writes it, without elements that are not read.
    """
    texts, tags, line_of = _texts_and_tags(html)
    lines, links = list[Block](), list[Block]()
    last, share = None, 0.0
    for raw, linked, hrefs, element in _raw_lines(texts, tags):
        if raw:
            share = linked / ((len(raw) - raw.count(" ")) or 1) if linked else 0.0
            last = element
            text, stressed = line_of[raw]
            if text:
                look = element.tag + stressed if element.is_set_apart else stressed
                lines.append(Block(text, element, share, look))
        if hrefs:
            around = share if last is element else 1.0
            look = element.tag if element.is_set_apart else ""
            for href in hrefs:
                links.append(Block(href, element, around, look, _LINK + href))
    return lines + links


def _raw_lines(  # noqa: C901 - one pass; calls cost
    texts: list[str], tags: "Iterator[_Tag]"
) -> "Iterator[_RawLine]":
    """Iterate over the lines of a page, given its texts and the tags that follow them."""
    page: _Node = (Element(), {})
    node, stack = page, list[_Node]()
    element, inside = page
    line, hrefs, linked, in_link = list[str](), list[str](), 0, False
    for part, (does, tag, name, hint) in zip(texts, tags, strict=False):
        if part and (line or not part.isspace()):
            line.append(part)
            if in_link:
                linked += len(part) - part.count(" ")
        if does > _BREAKS:
            if does > _STRESSES:
                in_link = does != _CLOSES_LINK
                if does == _LINKS:
                    hrefs.append(tag)
            elif does == _STRESSES:
                line.append(tag)
            continue
        if line or hrefs:
            yield "".join(line), linked, hrefs, element
            line, hrefs, linked = [], [], 0
        if does == _OPENS:
            stack.append(node)
            if len(stack) <= _MAX_DEPTH:
                if name not in inside:
                    inside[name] = (Element(tag, element, name, hint), {})
                node = inside[name]
                element, inside = node
        elif does == _CLOSES and (tag == element.tag or len(stack) > _MAX_DEPTH):
            node = stack.pop() if stack else page
            element, inside = node


def _texts_and_tags(
    html: str,
) -> "tuple[list[str], Iterator[_Tag], Remembered[tuple[str, str]]]":
    """Return the texts of what the parser wrote, the tags after them, and what lines are."""
    html = _without_comments(html)
    parts = html.replace(">", "<").split("<")
    tag_of, line_of = _remembered(len(parts) // 2)
    # Most tags are on the page several times: its own dictionary is small, and so it is fast.
    tags = _read_tags(parts, tag_of)
    # A tag without an end swallows the next: "<br <p>" is a tag with an attribute named "<p".
    is_swallowed = 2 * html.count(">") != len(parts) - 1
    if is_swallowed or any(tag in _RAW for _, tag, _, _ in tags.values()):
        parts = _split(html)
        tags = _read_tags(parts, tag_of)
    return parts[::2], map(tags.__getitem__, parts[1::2]), line_of


def _split(html: str) -> list[str]:
    """Return texts and tags in turn, where not every bracket is that of a tag.

    >>> _split('<p>1 < 2</p><br <p="">3')
    ['', 'p', '1 < 2', '/p', '', 'br <p=""', '3']
    """
    # After the last bracket nothing can be a tag.
    end = html.rfind(">") + 1
    *parts, last = _TAG.split(html[:end])
    return [*parts, last + html[end:]]


def _read_tags(parts: list[str], tag_of: Remembered[_Tag]) -> dict[str, _Tag]:
    different = set(parts[1::2])
    return dict(zip(different, map(tag_of.__getitem__, different), strict=True))


def _without_comments(html: str) -> str:
    first, *others = html.split("<!--")
    if not others:
        return html
    if "-->" not in others[-1]:
        # It is text, of an element whose text is not escaped.
        end = html.rfind("-->") + len("-->")
        return html if end < len("-->") else _COMMENT.sub("", html[:end]) + html[end:]
    return first + "".join([part.partition("-->")[2] for part in others])


def _remembered(tags: int) -> tuple[Remembered[_Tag], Remembered[tuple[str, str]]]:
    """Return the caches of tags and lines, for a page with so many tags.

    A page with absurdly many gets its own: it would fill the shared caches.
    """
    if tags <= _MAX_TAGS:
        return _TAGS, _LINES
    return Remembered(_read_tag), Remembered(_line)


def _line(text: str) -> tuple[str, str]:
    r"""Return a line without noise and needless whitespace, and what is stressed in it.

    >>> _line("Of \x03the \x04 \x03day\x04")
    ('Of the day', '\x03theday\x04')
    """
    text = steady_text(text)
    text = _unescaped(text) if "&" in text else text
    if text.isprintable():
        # Checking for it is much faster than splitting a long text.
        text = text.strip()
        return text if "  " not in text else " ".join(text.split()), ""
    # Looking for the marks one by one is quicker than for any of them.
    bare = text.replace("\x03", "").replace("\x04", "").replace("\x05", "").replace("\x06", "")
    return " ".join(bare.split()), "" if len(bare) == len(text) else _stressed(text)


def _unescaped(text: str) -> str:
    r"""Return a text as `html.unescape` does, in less time where it has nothing but these two.

    >>> _unescaped("Salt &amp;&nbsp;pepper"), _unescaped("1 &lt; 2")
    ('Salt &\xa0pepper', '1 < 2')
    """
    if text.count("&") > text.count("&amp;") + text.count("&nbsp;"):
        return unescape(text)
    return text.replace("&nbsp;", "\xa0").replace("&amp;", "&")


def _stressed(text: str) -> str:
    r"""Return what is between the marks of a text, with the marks.

    >>> _stressed("Of \x03the\x04 very \x05day\x06!")
    '\x03the\x04\x05day\x06'
    """
    marked = _EMPTY_STRESS.sub("", _EMPTY_STRESS.sub("", "".join(text.split())))
    first = _STRESSED.search(marked)
    return "" if first is None else _NOT_STRESSED.sub(r"\1", marked[first.start() :])


def _read_tag(raw: str) -> _Tag:
    """Read a tag as the parser writes it, without its brackets."""
    if raw.startswith("/"):
        tag = raw[1:]
        if tag not in _INLINE or tag == "a":
            return _CLOSES_LINK if tag == "a" else _CLOSES, tag, "", ""
        return (_STRESSES, _STRESS[tag][1], "", "") if tag in _STRESS else _IGNORED
    tag = raw.partition(" ")[0]
    if tag == "a":
        href = _attribute(raw, ' href="')
        return (_LINKS, _link(raw, href), "", "") if href else (_OPENS_LINK, tag, "", "")
    if tag in _INLINE:
        return (_STRESSES, _STRESS[tag][0], "", "") if tag in _STRESS else _IGNORED
    if tag in _VOID:
        return _BREAKS, tag, "", ""
    return _OPENS, tag, *_name_and_hint(raw, tag)


def _name_and_hint(raw: str, tag: str) -> tuple[str, str]:
    """Return an element's name on the path, and its hint."""
    id_, classes = _attribute(raw, ' id="'), _attribute(raw, ' class="')
    role = _attribute(raw, ' role="')
    name = tag if not id_ or _HAS_DIGIT(id_) else f"{tag}#{id_}"
    if classes:
        steady = _WITHOUT_DIGIT(classes) if _HAS_DIGIT(classes) else classes.split()
        name = ".".join((name, *sorted(steady)))
    if role:
        name += f"@{role}"
    # Few elements have either, and asking here saves calls.
    if (' style="' in raw or ' hidden="' in raw) and _is_hidden(raw):
        name += _HIDDEN
    if WATCHED in raw:
        name += WATCHED
    # Custom elements have a hyphen, and often a telling name.
    made_up = tag if "-" in tag else ""
    return name, f"{id_} {classes} {role} {made_up}"


def _is_hidden(raw: str) -> bool:
    """Whether an element is hidden by its markup, not by its class.

    >>> _is_hidden('div hidden=""'), _is_hidden('p style="color: red; display: none"')
    (True, True)
    >>> _is_hidden('div hidden="until-found"'), _is_hidden('div title=" hidden="')
    (False, False)
    """
    style = _attribute(raw, ' style="')
    if style and _NOT_SHOWN.search(style):
        return True
    # Browsers search what is hidden until it is found.
    return _attribute(raw, ' hidden="', "until-found") != "until-found"


def _attribute(raw: str, start: str, default: str = "") -> str:
    """Return the value of an attribute: quotes inside values are escaped."""
    at = raw.find(start)
    # The value of another attribute may look like this: `title=" class="`.
    while at >= 0 and raw.count('"', 0, at) % 2:
        at = raw.find(start, at + 1)
    return raw[at + len(start) :].partition('"')[0] if at >= 0 else default


def _link(raw: str, href: str) -> str:
    """Return the target of a link, with its title, in which numbers do not count."""
    href = steady_link(_unescaped(href) if "&" in href else href)
    title = _attribute(raw, ' title="')
    return f"{href} {' '.join(masked(unescape(title)).split())}" if title else href


_IGNORED: _Tag = _NOTHING, "", "", ""
_TAGS, _LINES = Remembered(_read_tag), Remembered(_line)
