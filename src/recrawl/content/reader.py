"""What a page says, as far as it counts: a ladder of readings, from all bytes to one element."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Literal, get_args

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from recrawl.content.blocks import Block, Place, kept, laid_out, owners
from recrawl.content.charset import in_utf8
from recrawl.content.html import INLINE, MAX_BYTES, UNREAD, crude_lines, parse
from recrawl.content.main_text import keep_main, mark_links, sift
from recrawl.content.masking import steady_link, steady_text
from recrawl.content.noise import noise
from recrawl.errors import ArgumentError
from recrawl.records import Fingerprint

Kind = Literal["bytes", "text", "main", "selector"]

#: Rises when the same body would be read in another way, so that the reading is not compared.
VERSION = 1

#: Cannot be in a text: HTML has no way to write it.
_BREAK = "\0"
#: Begins a block that is a link, and no text.
_LINK = "\x02"
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_LINES = frozenset(
    {"application/json", "application/xml", "application/javascript", "application/x-ndjson"}
)
_SNIFFED = 512
#: Of two contents together; a lesson from more would take seconds.
_MAX_BLOCKS = 40_000


@dataclass(frozen=True)
class Content:
    """What a page says, in blocks: lines of text, then links.

    Attributes:
        kind: How it was read.
        texts: The blocks.
    """

    kind: str
    texts: tuple[str, ...]
    _place: Callable[[], list[Block]] = field(repr=False, compare=False)

    @cached_property
    def blocks(self) -> list[Block]:
        """The blocks with their places; the body is read again for that."""
        return self._place()

    def fingerprint(self, ignored: frozenset[bytes] = frozenset()) -> Fingerprint:
        """Give what is equal for contents that say the same, ignored blocks apart."""
        texts = kept(self.blocks, ignored) if ignored else self.texts
        joined = "\n".join(texts).encode(errors="surrogatepass")
        return Fingerprint(self.kind, blake2b(joined, digest_size=16).digest())

    def noise(self, other: "Content") -> frozenset[bytes]:
        """Give the keys to ignore from now on, as two contents fetched in a row differ in them."""
        if self.texts == other.texts or len(self.texts) + len(other.texts) > _MAX_BLOCKS:
            return frozenset()
        return noise(self.blocks, other.blocks)


class Reader:
    r"""Reads bodies in one of four ways.

    Args:
        kind: What counts: ``"bytes"``, all of them; ``"text"``, the text people see, with its
            links; ``"main"``, the same without menus, headers, footers and lists of links;
            ``"selector"``, the text and links of what a CSS selector finds.
        selector: For that: one, or several; what any of them finds counts, in the page's order.

    Raises:
        ArgumentError: The kind is none of these, or the selector is missing, not asked for, or no
            CSS.

    >>> reader = Reader()
    >>> reader.kind
    'text/1'
    >>> page = b"<script>t=1</script><h1>Soup</h1><p>Of <b>the</b> day: <a href=/leek>leek</a>"
    >>> [text for text in reader.read(page, "text/html").texts]
    ['Soup', 'Of the day: leek', '\x02/leek']
    >>> again = page.replace(b"t=1", b"t=2")
    >>> reader.read(page).fingerprint() == reader.read(again).fingerprint()
    True
    """

    def __init__(self, kind: Kind = "text", selector: str | Sequence[str] | None = None) -> None:
        if kind not in get_args(Kind):
            ways = ", ".join(get_args(Kind))
            raise ArgumentError(f"kind: there is no way '{kind}' to compare pages, only {ways}")
        selectors = [selector] if isinstance(selector, str) else list(selector or ())
        if (kind == "selector") != bool(selectors):
            raise ArgumentError(
                "selector: give one with the kind 'selector', and only then, such as 'div#main'"
            )
        self._way = kind
        self._selector = ", ".join(selectors)
        for one in selectors:
            _check_selector(one)

    @property
    def kind(self) -> str:
        """The kind with its version and the selector: the same kind compares with the same."""
        of = f":{self._selector}" if self._selector else ""
        return f"{self._way}/{VERSION}{of}"

    @property
    def may_be_empty(self) -> bool:
        """Whether a page that has something to read can come out as nothing."""
        return self._way == "selector"

    def read(self, body: bytes, content_type: str | None = None) -> Content:
        """Read a body; nothing in it can make this fail or take long.

        HTML is read as said above. Other text, such as JSON or XML, is read line by line, and
        anything else as bytes. Where the type is not told, the body's beginning tells.
        """
        form = "bytes" if self._way == "bytes" else _form(body, content_type)
        if form == "bytes":
            digest = blake2b(body, digest_size=16).hexdigest()
            return self._of_lines([digest] if body else [])
        page = in_utf8(body, content_type)
        if form == "lines":
            return self._of_lines(page[:MAX_BYTES].decode(errors="replace").splitlines())
        tree = self._tree(page)
        if tree is None:
            return self._of_lines(crude_lines(page))
        return Content(self.kind, self._texts(tree), lambda: self._blocks(page))

    def _of_lines(self, lines: list[str]) -> Content:
        texts = tuple(filter(None, (_one_line(line) for line in lines)))
        return Content(
            self.kind,
            texts,
            lambda: [Block(text, Place(), f"line {n}") for n, text in enumerate(texts)],
        )

    def _tree(self, page: bytes) -> LexborHTMLParser | None:
        """Give the tree of what counts, the rest cut away."""
        tree = parse(page)
        if tree is None:
            return None
        if self._way == "selector":
            found = tree.css(self._selector)
            inner = "".join(f"<div>{node.html}</div>" for node in _outermost(found))
            # Inline elements are unwrapped later, so what was found gets a tree of its own.
            tree = LexborHTMLParser(inner)
        for node in tree.css(UNREAD):
            node.decompose()
        return keep_main(tree) if self._way == "main" else tree

    def _texts(self, tree: LexborHTMLParser) -> tuple[str, ...]:
        """Give the blocks of a tree without their places, which is quick."""
        links = tree.css("a[href]")
        hrefs = [_link_text(node.attributes) for node in links]
        if self._way == "main":
            mark_links(links)
        tree.unwrap_tags(list(INLINE))
        tree.merge_text_nodes()
        if tree.body is None:
            return ()
        lines = steady_text(tree.body.text(separator=_BREAK)).split(_BREAK)
        if self._way == "main":
            lines, of = sift(lines)
            hrefs = [href for href, is_kept in zip(hrefs, of, strict=False) if is_kept]
        return (*filter(None, map(_one_line, lines)), *hrefs)

    def _blocks(self, page: bytes) -> list[Block]:
        """Give the same blocks with their places."""
        tree = self._tree(page)
        if tree is None:
            return []
        links = tree.css("a[href]")
        hrefs, places_of_links = [_link_text(node.attributes) for node in links], owners(links)
        if self._way == "main":
            mark_links(links)
        tree.unwrap_tags(list(INLINE))
        tree.merge_text_nodes()
        placed, places = laid_out(tree)
        lines = [steady_text(line) for line, _ in placed]
        of = [True] * len(hrefs)
        if self._way == "main":
            lines, of = sift(lines)
        nowhere = Place()
        return _numbered(
            [(_one_line(line), place) for line, (_, place) in zip(lines, placed, strict=True)],
            [
                (href, places.get(owner, nowhere))
                for href, owner, is_kept in zip(hrefs, places_of_links, of, strict=False)
                if is_kept
            ],
        )


def _numbered(lines: list[tuple[str, Place]], links: list[tuple[str, Place]]) -> list[Block]:
    """Number the texts, and the links, of each element."""
    blocks = list[Block]()
    for sort, group in (("text", lines), ("link", links)):
        counts = dict[Place, int]()
        for text, place in group:
            if text:
                counts[place] = counts.get(place, 0) + 1
                blocks.append(Block(text, place, f"{sort} {counts[place]}"))
    return blocks


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _link_text(attributes: dict[str, str | None]) -> str:
    """Give where a link leads, with the title that shows over it."""
    title = attributes.get("title")
    href = steady_link(attributes.get("href") or "")
    return f"{_LINK}{href} {_one_line(steady_text(title))}" if title else _LINK + href


def _check_selector(selector: str) -> None:
    try:
        LexborHTMLParser("<p>").css(selector)
    except SelectolaxError:
        raise ArgumentError(f"selector: '{selector}' is no CSS selector") from None


def _outermost(nodes: list[LexborNode]) -> list[LexborNode]:
    """Leave out what is inside of something else that was found: it would count twice."""
    found = {node.mem_id for node in nodes}
    known = dict[int, bool]()
    return [node for node in nodes if not _is_inside(node.parent, found, known)]


def _is_inside(node: LexborNode | None, found: set[int], known: dict[int, bool]) -> bool:
    """Whether an element or one around it was found; every element is looked at once."""
    way = list[int]()
    while node is not None and node.mem_id not in known and node.mem_id not in found:
        way.append(node.mem_id)
        node = node.parent
    inside = node is not None and known.get(node.mem_id, True)
    known.update(dict.fromkeys(way, inside))
    return inside


def _form(body: bytes, content_type: str | None) -> Literal["html", "lines", "bytes"]:
    """Tell what a body is to be read as."""
    told = (content_type or "").partition(";")[0].strip().lower()
    if told in _HTML:
        return "html"
    if told.startswith("image/"):
        return "bytes"
    if told in _LINES or told.startswith("text/") or told.endswith(("+json", "+xml")):
        return "lines"
    if told:
        return "bytes"
    start = body[:_SNIFFED].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"<") and not start.startswith(b"<?xml"):
        return "html"
    return "bytes" if b"\0" in start else "lines"
