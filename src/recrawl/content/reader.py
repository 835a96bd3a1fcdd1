"""Fingerprints of pages, from all their bytes down to the text of one element."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from recrawl.content.boxes import box_path, link_boxes
from recrawl.content.furniture import Kind, is_prose, kinds_of, sketches_of
from recrawl.content.html import (
    INLINE,
    MAX_BYTES,
    UNREAD,
    beginning,
    crude_lines,
    in_utf8,
    parse,
)
from recrawl.content.main_text import MAX_LINKED, keep_main
from recrawl.content.masking import is_dated, masked
from recrawl.content.noise import are_ignored, noise, position_keys, text_key
from recrawl.content.outline import WATCHED, Block, Element, outline
from recrawl.content.template import STEADY, SiteTemplate, Sketches
from recrawl.errors import ArgumentError
from recrawl.records import Change, ChangeKind, Fingerprint, digest_of

Mode = Literal["bytes", "text", "main", "selector"]

#: Increased whenever the same body would give another fingerprint.
VERSION = 4

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_LINES = frozenset(
    {"application/json", "application/xml", "application/javascript", "application/x-ndjson"}
)
#: Bytes checked to guess a missing type.
_SNIFFED = 512
#: Blocks of two contents together; finding the noise in more would take seconds.
_MAX_BLOCKS = 40_000
#: Noise that would hide more than this share of a page's prose is not believed.
_MAX_HIDDEN = 0.5
#: A line that tells when something was, or how many looked, is at most this long.
_SHORT = 200
#: Bytes of a fingerprint that are about the page's own blocks; the rest is about the others.
_OWN_BYTES = 16


@dataclass(frozen=True)
class Content:
    """What counts of a body, in blocks: lines of text, then links.

    Attributes:
        kind: The kind of its fingerprint.
        blocks: All blocks.
        whose: Whose each block is.
        is_exact: Whether nothing is furniture, so that any difference counts.
    """

    kind: str
    blocks: Sequence[Block]
    whose: Sequence[Kind] = field(repr=False)
    is_exact: bool = False

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts of all blocks."""
        return tuple(block.key for block in self.blocks)

    @cached_property
    def sketches(self) -> Sketches:
        """What the page has in its elements, for the template of its site."""
        whose = zip(self.blocks, self.whose, strict=True)
        boxes = link_boxes(block for block, kind in whose if kind is not Kind.FURNITURE)
        return {**sketches_of(self.blocks), **dict.fromkeys(map(box_path, boxes), STEADY)}

    def own(self, ignored: frozenset[bytes] = frozenset()) -> list[tuple[Block, Kind]]:
        """Return the page's own blocks, without ignored ones."""
        own = [
            (block, kind)
            for block, kind in zip(self.blocks, self.whose, strict=True)
            if kind <= Kind.BESIDE
        ]
        if not ignored:
            return own
        left = [
            pair
            for pair, is_ignored in zip(own, self._ignored(own, ignored), strict=True)
            if not is_ignored
        ]
        prose, kept = (
            sum(len(block.text) for block, _ in pairs if is_prose(block)) for pairs in (own, left)
        )
        return left if kept >= (1 - _MAX_HIDDEN) * prose else own

    @staticmethod
    def _ignored(own: list[tuple[Block, Kind]], ignored: frozenset[bytes]) -> list[bool]:
        return are_ignored([block for block, _ in own], ignored)

    def fingerprint(self, ignored: frozenset[bytes] = frozenset()) -> Fingerprint:
        """Return the fingerprint, without ignored blocks."""
        lines = list(zip(self.texts, self.whose, strict=True))
        if ignored:
            own = [(block.key, kind) for block, kind in self.own(ignored)]
        else:
            own = [pair for pair in lines if pair[1] <= Kind.BESIDE]
        others = [text for text, kind in lines if kind > Kind.BESIDE]
        counted = [_shape(text) if kind is Kind.BESIDE else text for text, kind in own]
        parts = (
            digest_of("\n".join(one).encode(errors="surrogatepass")) for one in (counted, others)
        )
        return Fingerprint(self.kind, next(parts) + next(parts)[:8])

    def difference(self, copy: "Content", ignored: frozenset[bytes] = frozenset()) -> Change | None:
        """Return how this content differs from that of a copy; None if it does not.

        A block is new only if it stands nowhere in the copy: what moved to another part of the page
        is neither new nor gone.
        """
        here, there = self.own(ignored), copy.own(ignored)
        new, old = self.apart(copy, ignored)
        if not new and not old:
            return self._rearranged(copy, here, there)
        texts = [
            sum(len(block.text) for block in blocks if not block.is_link) for blocks in (new, old)
        ]
        if not any(texts):
            return Change(ChangeKind.LINKS)
        total = max(_letters(here), _letters(there))
        return Change(ChangeKind.TEXT, min(max(texts) / total, 1.0))

    def apart(
        self, copy: "Content", ignored: frozenset[bytes] = frozenset()
    ) -> tuple[list[Block], list[Block]]:
        """Return the page's own blocks that the copy lacks, and the copy's that the page lacks."""
        return _absent(self.own(ignored), copy), _absent(copy.own(ignored), self)

    def _rearranged(
        self, copy: "Content", here: list[tuple[Block, Kind]], there: list[tuple[Block, Kind]]
    ) -> Change | None:
        """Return a difference between contents of the same texts."""
        orders = [[block.key for block, kind in own if kind is Kind.OWN] for own in (here, there)]
        if orders[0] != orders[1] and (self.is_exact or sorted(orders[0]) == sorted(orders[1])):
            return Change(ChangeKind.TEXT)
        return Change(ChangeKind.FURNITURE) if set(self.texts) != set(copy.texts) else None

    def noise(self, other: "Content") -> frozenset[bytes]:
        """Return the keys of the blocks that differ from another content, fetched in a row."""
        if self.texts == other.texts or len(self.texts) + len(other.texts) > _MAX_BLOCKS:
            return frozenset()
        return noise(*([block for block, _ in content.own()] for content in (self, other)))

    def same_keys(self, other: "Content") -> frozenset[bytes]:
        """Return the keys of texts and positions that are the same in another content."""
        here, there = ([block for block, _ in content.own()] for content in (self, other))
        positions = (
            {*zip(position_keys(blocks), (block.key for block in blocks), strict=True)}
            for blocks in (here, there)
        )
        texts = ({(text_key(block), block.key) for block in blocks} for blocks in (here, there))
        same = (next(positions) & next(positions)) | (next(texts) & next(texts))
        return frozenset(key for key, _ in same)


def is_same(one: Fingerprint, other: Fingerprint) -> bool:
    """Whether two fingerprints are of contents whose own blocks are the same."""
    return one.kind == other.kind and one.digest[:_OWN_BYTES] == other.digest[:_OWN_BYTES]


def _absent(own: list[tuple[Block, Kind]], other: Content) -> list[Block]:
    """Return the own blocks of one content that stand nowhere in another, whosever they are there.

    In the text of a page it counts how often: a cell of a table that says "no" where it said "yes"
    is new, although others say so too.
    """
    left = Counter(other.texts)
    absent = list[tuple[Block, Kind]]()
    for block, kind in own:
        if not left.get(block.key):
            absent.append((block, kind))
        elif kind is Kind.OWN:
            left[block.key] -= 1
    dated = [
        block for block, kind in absent if kind is Kind.BESIDE and block.key != _shape(block.key)
    ]
    shapes = frozenset(map(_shape, other.texts)) if dated else frozenset[str]()
    same = {id(block) for block in dated if _shape(block.key) in shapes}
    return [block for block, _ in absent if id(block) not in same]


def _shape(text: str) -> str:
    """Return a line outside the text of a page as it counts: without dates and counts of views."""
    return masked(text) if len(text) <= _SHORT and is_dated(text) else text


def _letters(own: list[tuple[Block, Kind]]) -> int:
    return sum(len(block.text) for block, _ in own if not block.is_link) or 1


class Reader:
    r"""Makes fingerprints of bodies.

    Args:
        mode: What counts: ``"bytes"``, all of them; ``"text"``, the visible text and its links,
            without what the site puts around them; ``"main"``, only running text in the main part;
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
    'text/4'
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
        """Whether it matters what the pages of a site have in common."""
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
            template: What is known of the site's template.
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
        blocks = outline(tree)
        if self._mode == "main":
            blocks = [block for block in blocks if block.linked <= MAX_LINKED]
        if self._mode != "text":
            return Content(self.kind, blocks, [Kind.OWN] * len(blocks), is_exact=True)
        if template is None or not template.has_siblings:
            # Without another page of the site there is nothing to confirm what marks say.
            return Content(self.kind, blocks, [Kind.OWN] * len(blocks))
        return Content(self.kind, blocks, kinds_of(blocks, template.furniture))

    def beginning(self, body: bytes, content_type: str | None = None) -> bytes:
        """Return as much of a body as `read` looks at."""
        return body if self._format(body, content_type) == "bytes" else beginning(body)

    def _format(self, body: bytes, content_type: str | None) -> Literal["html", "lines", "bytes"]:
        return "bytes" if self._mode == "bytes" else _format(body, content_type)

    def _of_lines(self, lines: list[str]) -> Content:
        page = Element()
        blocks = [Block(text, page) for line in lines if (text := " ".join(line.split()))]
        return Content(self.kind, blocks, [Kind.OWN] * len(blocks), is_exact=True)

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
            # Inline elements do not break lines, so matches get block elements of their own.
            tree = LexborHTMLParser(inner)
        for node in tree.css(UNREAD):
            node.decompose()
        if self._watch:
            for node in tree.css(self._watch):
                _block_around(node).attrs[WATCHED] = ""
        return keep_main(tree) if self._mode == "main" else tree


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


def is_binary(body: bytes, content_type: str | None) -> bool:
    """Whether a body is no text, as a picture."""
    return _format(body, content_type) == "bytes"


def _block_around(node: LexborNode) -> LexborNode:
    """Return the element that breaks the line that a node is in: itself, or one around it."""
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
