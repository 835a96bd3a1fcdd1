"""Fingerprint pages, by anything from all their bytes to the text of one element."""

from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from typing import Literal, get_args

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from recrawl.content.boilerplate.boilerplate import Kind, kinds_of
from recrawl.content.boilerplate.lone_page import lone_kinds
from recrawl.content.boilerplate.template import SiteTemplate
from recrawl.content.html.main_text import MAX_LINKED, keep_main
from recrawl.content.html.outline import WATCHED, Block, Element, outline
from recrawl.content.html.parse import (
    INLINE,
    MAX_BYTES,
    UNREAD,
    beginning,
    crude_lines,
    in_utf8,
    parse,
)
from recrawl.content.media_type import Format, format_of
from recrawl.content.page_content import Content
from recrawl.errors import ArgumentError
from recrawl.records import MARKUP_BYTES, digest_of

Mode = Literal["bytes", "text", "main", "selector"]

#: Incremented whenever the same body would have a different fingerprint.
VERSION = 9


class Reader:
    r"""Makes fingerprints of bodies.

    Args:
        mode: What counts: ``"bytes"``, all of them; ``"text"``, the visible text and its links,
            without the site's furniture; ``"main"``, only running text in the main part;
            ``"selector"``, the text and links of the elements that match a CSS selector.
        selector: One or more CSS selectors for the mode ``"selector"``; elements that match any of
            them count, in document order.
        watch: CSS selectors of elements that are always the page's own.
        ignore: CSS selectors of elements that never count.
        min_change: The share of the page's own text that must differ to be a change.

    Raises:
        ArgumentError: The mode is unknown, or a selector is missing, unexpected or invalid.

    >>> reader = Reader()
    >>> reader.kind
    'text/9'
    >>> page = b"<script>t=1</script><h1>Soup</h1><p>Of <b>the</b> day: <a href=/leek>leek</a>"
    >>> [text for text in reader.read(page, "text/html").texts]
    ['Soup', 'Of the day: leek', '\x02/leek']
    >>> again = page.replace(b"t=1", b"t=2")
    >>> reader.read(page).fingerprint() == reader.read(again).fingerprint()
    True
    """

    def __init__(
        self,
        mode: Mode = "text",
        selector: str | Sequence[str] | None = None,
        *,
        watch: Sequence[str] = (),
        ignore: Sequence[str] = (),
        min_change: float = 0.0,
    ) -> None:
        if mode not in get_args(Mode):
            raise ArgumentError(f"mode: '{mode}' is not one of {', '.join(get_args(Mode))}")
        selectors = [selector] if isinstance(selector, str) else list(selector or ())
        if (mode == "selector") != bool(selectors):
            raise ArgumentError(
                "selector: required with the mode 'selector' and only then, such as 'div#main'"
            )
        self._mode = mode
        self._selector = ", ".join(selectors)
        self._watch, self._ignore = ", ".join(watch), ", ".join(ignore)
        self.min_change = min_change
        for name, ones in (("selector", selectors), ("watch", watch), ("ignore", ignore)):
            for one in ones:
                _check_selector(name, one)

    @property
    def kind(self) -> str:
        """The kind of the fingerprints: mode, version and selectors. Only equal kinds compare."""
        selectors = {"": self._selector, "watch": self._watch, "ignore": self._ignore}
        return f"{self._mode}/{VERSION}" + "".join(
            f"{':' if not name else f' {name}:'}{given}"
            for name, given in selectors.items()
            if given
        )

    @property
    def may_be_empty(self) -> bool:
        """Whether a body with text can have no content: when the selector matches nothing."""
        return self._mode == "selector"

    @property
    def learns(self) -> bool:
        """Whether templates of sites are used."""
        return self._mode == "text"

    def read(
        self, body: bytes, content_type: str | None = None, template: SiteTemplate | None = None
    ) -> Content:
        """Read a body; nothing in it can make this fail or take long.

        HTML is read according to the mode. Other text, such as JSON or XML, is read line by line,
        and anything else as bytes. A missing type is guessed from the beginning of the body.

        Args:
            body: The body.
            content_type: Its media type.
            template: The site's template, if known.
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
        html = (tree.body and tree.body.html) or ""
        markup = sha256(html.encode(errors="surrogatepass")).digest()[:MARKUP_BYTES]
        is_exact = self._mode != "text"
        furniture = None
        if template is not None and template.has_siblings and not is_exact:
            furniture = template.furniture
        # Neither refers to the reader, which may cache the content: cycles are freed late.
        blocks = partial(_unlinked if self._mode == "main" else outline, html)
        kinds = _all_own if is_exact else partial(_kinds, furniture)
        return Content(self.kind, blocks, kinds, markup, is_exact=is_exact)

    def beginning(self, body: bytes, content_type: str | None = None) -> bytes:
        """Return the part of a body that `read` uses."""
        return body if self._format(body, content_type) == "bytes" else beginning(body)

    def _format(self, body: bytes, content_type: str | None) -> Format:
        return "bytes" if self._mode == "bytes" else format_of(body, content_type)

    def _of_lines(self, lines: list[str]) -> Content:
        page = Element()
        blocks = [Block(text, page) for line in lines if (text := " ".join(line.split()))]
        return Content(self.kind, lambda: blocks, _all_own, is_exact=True)

    def _tree(self, page: bytes) -> LexborHTMLParser | None:
        """Return the tree of what counts, None if it cannot be parsed in reasonable time."""
        tree = parse(page)
        if tree is None:
            return None
        if self._ignore:
            for node in tree.css(self._ignore):
                node.decompose()
        if self._mode == "selector":
            found = tree.css(self._selector)
            inner = "".join(f"<div>{node.html}</div>" for node in _outermost(found))
            # Inline elements do not break lines, so matches are wrapped in block elements.
            tree = LexborHTMLParser(inner)
        for node in tree.css(UNREAD):
            node.decompose()
        if self._watch:
            for node in tree.css(self._watch):
                _block_around(node).attrs[WATCHED] = ""
        return keep_main(tree) if self._mode == "main" else tree


def _unlinked(html: str) -> list[Block]:
    """Return the blocks of a page that are not mostly links."""
    return [block for block in outline(html) if block.linked <= MAX_LINKED]


def _all_own(blocks: Sequence[Block]) -> Sequence[Kind]:
    return [Kind.OWN] * len(blocks)


def _kinds(furniture: frozenset[bytes] | None, blocks: Sequence[Block]) -> Sequence[Kind]:
    """Classify each block, given the furniture of its site, if known."""
    return lone_kinds(blocks) if furniture is None else kinds_of(blocks, furniture)


def explain_blocks(
    body: bytes,
    content_type: str | None,
    reader: Reader,
    template: SiteTemplate | None = None,
    ignored: frozenset[bytes] = frozenset(),
) -> list[tuple[str, str, str]]:
    """Return each block of a body: own, furniture, template or noise; its path; its text."""
    content = reader.read(body, content_type, template)
    own = {id(block) for block, _ in content.own(ignored)}
    explained = []
    for block, kind in zip(content.blocks, content.whose, strict=True):
        name = "furniture" if kind is Kind.FURNITURE else "template"
        if kind <= Kind.BESIDE:
            name = "own" if id(block) in own else "noise"
        path = "/".join(
            around.name for around in reversed([*block.element.ancestors()]) if around.name
        )
        explained.append((name, path, block.text))
    return explained


def _block_around(node: LexborNode) -> LexborNode:
    """Return the block element that contains a node: itself, or one around it."""
    while node.tag in INLINE and node.parent is not None:
        node = node.parent
    return node


def _check_selector(name: str, selector: str) -> None:
    try:
        LexborHTMLParser("<p>").css(selector)
    except SelectolaxError:
        raise ArgumentError(f"{name}: '{selector}' is not a CSS selector") from None


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
