"""Fingerprints of pages, from all their bytes down to the text of one element."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from typing import Literal, get_args

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from recrawl.content.blocks import (
    Block,
    Element,
    block_elements,
    locate,
    noise,
    without_ignored,
)
from recrawl.content.html import (
    INLINE,
    MAX_BYTES,
    UNREAD,
    beginning,
    crude_lines,
    in_utf8,
    parse,
)
from recrawl.content.main_text import drop_link_lines, keep_main, mark_links
from recrawl.content.masking import steady_link, steady_text
from recrawl.errors import ArgumentError
from recrawl.records import Fingerprint, digest_of

Mode = Literal["bytes", "text", "main", "selector"]

#: Increased whenever the same body would give another fingerprint.
VERSION = 1

#: Cannot occur in a text: HTML has no way to write it.
_BREAK = "\0"
#: Begins a block that is a link.
_LINK = "\x02"
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_LINES = frozenset(
    {"application/json", "application/xml", "application/javascript", "application/x-ndjson"}
)
#: Bytes checked to guess a missing type.
_SNIFFED = 512
#: Blocks of two contents together; finding the noise in more would take seconds.
_MAX_BLOCKS = 40_000


@dataclass(frozen=True)
class Content:
    """What counts of a body, in blocks: lines of text, then links.

    Attributes:
        kind: The kind of its fingerprint.
        texts: The texts of the blocks.
    """

    kind: str
    texts: tuple[str, ...]
    _locate: Callable[[], list[Block]] = field(repr=False, compare=False)

    @cached_property
    def blocks(self) -> list[Block]:
        """The blocks with their elements; the body is parsed again for that."""
        return self._locate()

    def fingerprint(self, ignored: frozenset[bytes] = frozenset()) -> Fingerprint:
        """Return the fingerprint, without ignored blocks."""
        texts = without_ignored(self.blocks, ignored) if ignored else self.texts
        joined = "\n".join(texts).encode(errors="surrogatepass")
        return Fingerprint(self.kind, digest_of(joined))

    def noise(self, other: "Content") -> frozenset[bytes]:
        """Return the keys of the blocks that differ from another content, fetched in a row."""
        if self.texts == other.texts or len(self.texts) + len(other.texts) > _MAX_BLOCKS:
            return frozenset()
        return noise(self.blocks, other.blocks)


class Reader:
    r"""Makes fingerprints of bodies.

    Args:
        mode: What counts: ``"bytes"``, all of them; ``"text"``, the visible text and its links;
            ``"main"``, the same without menus, headers, footers and lists of links;
            ``"selector"``, the text and links of the elements that match a CSS selector.
        selector: One or more CSS selectors for the mode ``"selector"``; elements that match any of
            them count, in document order.

    Raises:
        ArgumentError: The mode is unknown, or the selector is missing, unexpected or invalid.

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

    def __init__(self, mode: Mode = "text", selector: str | Sequence[str] | None = None) -> None:
        if mode not in get_args(Mode):
            raise ArgumentError(f"mode: '{mode}' is not one of {', '.join(get_args(Mode))}")
        selectors = [selector] if isinstance(selector, str) else list(selector or ())
        if (mode == "selector") != bool(selectors):
            raise ArgumentError(
                "selector: required with the mode 'selector' and only then, such as 'div#main'"
            )
        self._mode = mode
        self._selector = ", ".join(selectors)
        for one in selectors:
            _check_selector(one)

    @property
    def kind(self) -> str:
        """The kind of the fingerprints: mode, version and selector. Only equal kinds compare."""
        selector = f":{self._selector}" if self._selector else ""
        return f"{self._mode}/{VERSION}{selector}"

    @property
    def may_be_empty(self) -> bool:
        """Whether a body with text can have no content: when the selector matches nothing."""
        return self._mode == "selector"

    def read(self, body: bytes, content_type: str | None = None) -> Content:
        """Read a body; nothing in it can make this fail or take long.

        HTML is read according to the mode. Other text, such as JSON or XML, is read line by line,
        and anything else as bytes. A missing type is guessed from the beginning of the body.
        """
        format_ = self._format(body, content_type)
        if format_ == "bytes":
            return self._of_lines([digest_of(body).hex()] if body else [])
        page = in_utf8(body, content_type)
        if format_ == "lines":
            return self._of_lines(page[:MAX_BYTES].decode(errors="replace").splitlines())
        tree = self._tree(page)
        if tree is None:
            return self._of_lines(crude_lines(page))
        return Content(self.kind, self._texts(tree), lambda: self._blocks(page))

    def beginning(self, body: bytes, content_type: str | None = None) -> bytes:
        """Return as much of a body as `read` looks at."""
        return body if self._format(body, content_type) == "bytes" else beginning(body)

    def _format(self, body: bytes, content_type: str | None) -> Literal["html", "lines", "bytes"]:
        return "bytes" if self._mode == "bytes" else _format(body, content_type)

    def _of_lines(self, lines: list[str]) -> Content:
        texts = tuple(filter(None, (_one_line(line) for line in lines)))
        return Content(
            self.kind,
            texts,
            lambda: [Block(text, Element(), f"line {n}") for n, text in enumerate(texts)],
        )

    def _tree(self, page: bytes) -> LexborHTMLParser | None:
        """Return the tree of what counts, None if it cannot be parsed in reasonable time."""
        tree = parse(page)
        if tree is None:
            return None
        if self._mode == "selector":
            found = tree.css(self._selector)
            inner = "".join(f"<div>{node.html}</div>" for node in _outermost(found))
            # Inline elements are unwrapped later, so matches get block elements of their own.
            tree = LexborHTMLParser(inner)
        for node in tree.css(UNREAD):
            node.decompose()
        return keep_main(tree) if self._mode == "main" else tree

    def _flatten(self, tree: LexborHTMLParser) -> list[str]:
        """Unwrap inline elements, so that each text node is a line; return the links."""
        links = tree.css("a[href]")
        hrefs = [_link_text(node.attributes) for node in links]
        if self._mode == "main":
            mark_links(links)
        tree.unwrap_tags(list(INLINE))
        tree.merge_text_nodes()
        return hrefs

    def _texts(self, tree: LexborHTMLParser) -> tuple[str, ...]:
        """Return the texts of the blocks of a tree, which is faster than `_blocks`."""
        hrefs = self._flatten(tree)
        if tree.body is None:
            return ()
        lines = steady_text(tree.body.text(separator=_BREAK)).split(_BREAK)
        if self._mode == "main":
            lines, is_kept = drop_link_lines(lines)
            hrefs = list(compress(hrefs, is_kept))
        return (*filter(None, map(_one_line, lines)), *hrefs)

    def _blocks(self, page: bytes) -> list[Block]:
        """Return the same blocks with their elements."""
        tree = self._tree(page)
        if tree is None:
            return []
        owners = block_elements(tree.css("a[href]"))
        hrefs = self._flatten(tree)
        located, elements = locate(tree)
        lines = [steady_text(line) for line, _ in located]
        is_kept = [True] * len(hrefs)
        if self._mode == "main":
            lines, is_kept = drop_link_lines(lines)
        page_itself = Element()
        links = [
            (href, elements.get(owner, page_itself))
            for href, owner in zip(hrefs, owners, strict=True)
        ]
        texts = [
            (_one_line(line), element) for line, (_, element) in zip(lines, located, strict=True)
        ]
        return [*_numbered("text", texts), *_numbered("link", compress(links, is_kept))]


def _numbered(name: str, texts: Iterable[tuple[str, Element]]) -> Iterator[Block]:
    """Number the texts, or links, of each element."""
    counts = Counter[Element]()
    for text, element in texts:
        if text:
            counts[element] += 1
            yield Block(text, element, f"{name} {counts[element]}")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _link_text(attributes: dict[str, str | None]) -> str:
    """Return where a link leads, with its title."""
    title = attributes.get("title")
    href = steady_link(attributes.get("href") or "")
    return f"{_LINK}{href} {_one_line(steady_text(title))}" if title else _LINK + href


def _check_selector(selector: str) -> None:
    try:
        LexborHTMLParser("<p>").css(selector)
    except SelectolaxError:
        raise ArgumentError(f"selector: '{selector}' is not a CSS selector") from None


def _outermost(nodes: list[LexborNode]) -> list[LexborNode]:
    """Leave out matches inside other matches, which would count twice."""
    found = {node.mem_id for node in nodes}
    known = dict[int, bool]()
    return [node for node in nodes if not _is_inside(node.parent, found, known)]


def _is_inside(node: LexborNode | None, found: set[int], known: dict[int, bool]) -> bool:
    """Whether an element or an ancestor was found; each element is visited once."""
    path = list[int]()
    while node is not None and node.mem_id not in known and node.mem_id not in found:
        path.append(node.mem_id)
        node = node.parent
    inside = node is not None and known.get(node.mem_id, True)
    known.update(dict.fromkeys(path, inside))
    return inside


def _format(body: bytes, content_type: str | None) -> Literal["html", "lines", "bytes"]:
    """Return how to read a body."""
    media_type = (content_type or "").partition(";")[0].strip().lower()
    if media_type in _HTML:
        return "html"
    if media_type.startswith("image/"):
        return "bytes"
    if (
        media_type in _LINES
        or media_type.startswith("text/")
        or media_type.endswith(("+json", "+xml"))
    ):
        return "lines"
    if media_type:
        return "bytes"
    start = body[:_SNIFFED].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"<") and not start.startswith(b"<?xml"):
        return "html"
    return "bytes" if b"\0" in start else "lines"
