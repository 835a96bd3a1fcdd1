"""Parse sitemaps and feeds: the pages of a site, and the dates of their last changes."""

import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from xml.parsers import expat

from recrawl.content.html.parse import in_utf8
from recrawl.errors import AddressError
from recrawl.units import parse_http_date, quoted
from recrawl.urls import canonical

#: The protocol's limits: bytes per sitemap, uncompressed, and entries.
MAX_BYTES = 50 * 1024 * 1024
MAX_ENTRIES = 50_000

_GZIP = b"\x1f\x8b"
_PIECE = 1 << 16
#: The elements of an entry, of its address and of its date.
_ENTRIES = frozenset({"url", "sitemap", "item", "entry"})
_ADDRESSES = frozenset({"loc", "link"})
_DATES = frozenset({"lastmod", "pubdate", "updated", "date"})
#: The kind of a file, by its root element.
_KINDS = {
    "urlset": "sitemap", "sitemapindex": "index", "rss": "feed", "feed": "feed", "rdf": "feed"
}  # fmt: skip
_HTML = re.compile(
    rb"\s*(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)
_MONTH = re.compile(r"\d{4}(-\d{2})?")
#: Characters read of an address or a date.
_MAX_TEXT = 8_192


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The contents of a sitemap.

    Attributes:
        entries: Canonical addresses of pages, each with the time of its last change in
            microseconds, or None.
        sitemaps: Addresses of other sitemaps, in the same form.
        is_whole: Whether it was read to the end: it is well-formed and within the limits.
        kind: ``sitemap``, ``index``, ``feed`` or ``list``.
        problem: Why it is none of these, in a few words; None if it is one.
    """

    entries: tuple[tuple[str, int | None], ...] = ()
    sitemaps: tuple[tuple[str, int | None], ...] = ()
    is_whole: bool = True
    kind: str = "sitemap"
    problem: str | None = None


def read_sitemap(body: bytes) -> Sitemap:
    """Read a sitemap, a sitemap index, an RSS or Atom feed, or a list of addresses.

    It may be compressed with gzip. If it is broken or too long, the entries before that count.
    Parsing stops at a declaration of an entity or of attributes, as no sitemap needs one.

    >>> page = b"<url><loc>http://e.org/a</loc><lastmod>2026-01-01</lastmod></url>"
    >>> read_sitemap(b"<urlset>" + page).entries
    (('http://e.org/a', 1767225600000000),)
    >>> read_sitemap(b"<!doctype html><title>Not found</title>").problem
    'it is an HTML page, not a sitemap or feed'
    """
    text = _Text(body)
    start = (first := next(text, b"")).lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        return _read_xml(first[first.find(start[:1]) :], text)
    whole = b"".join((first, *text))
    lines = in_utf8(whole, "text/plain").decode(errors="replace").splitlines()
    found = _Found()
    for line in lines[: MAX_ENTRIES + 1]:
        found.add("url", line.strip(), None)
    problem = None if found.entries else "it is empty" if not start else "there is no URL in it"
    return found.sitemap("list", problem, is_whole=text.is_whole)


class _Text:
    """The text of a sitemap up to the limit, decompressed a piece at a time.

    Attributes:
        is_whole: Whether all of it was read, and no more than the limit.
    """

    def __init__(self, body: bytes) -> None:
        self.is_whole = False
        self._pieces = self._unpacked(body) if body.startswith(_GZIP) else self._plain(body)

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces

    def __next__(self) -> bytes:
        return next(self._pieces)

    def _plain(self, body: bytes) -> Iterator[bytes]:
        self.is_whole = len(body) <= MAX_BYTES
        for at in range(0, min(len(body), MAX_BYTES), _PIECE):
            yield body[at : min(at + _PIECE, MAX_BYTES)]

    def _unpacked(self, body: bytes) -> Iterator[bytes]:
        unpacker = zlib.decompressobj(wbits=31)
        left, read, length = b"", 0, 0
        while not unpacker.eof and (left or read < len(body)) and length < MAX_BYTES:
            if not left:
                left, read = body[read : read + _PIECE], read + _PIECE
            try:
                piece = unpacker.decompress(left, min(_PIECE, MAX_BYTES - length))
            except zlib.error:
                return
            left = unpacker.unconsumed_tail
            length += len(piece)
            if piece:
                yield piece
        self.is_whole = unpacker.eof


@dataclass
class _Found:
    """Entries in order; of several with the same address, the first."""

    entries: dict[str, int | None] = field(default_factory=dict)
    sitemaps: dict[str, int | None] = field(default_factory=dict)
    is_full: bool = False

    def add(self, tag: str, address: str, date: int | None) -> None:
        if len(self.entries) + len(self.sitemaps) >= MAX_ENTRIES:
            self.is_full = True
            return
        with suppress(AddressError, ValueError):
            into = self.sitemaps if tag == "sitemap" else self.entries
            into.setdefault(canonical(address), date)

    def sitemap(self, kind: str, problem: str | None, *, is_whole: bool) -> Sitemap:
        return Sitemap(
            tuple(self.entries.items()),
            tuple(self.sitemaps.items()),
            is_whole and not self.is_full,
            kind,
            problem,
        )


class _DeclarationError(Exception):
    """The document declares entities, or defaults of attributes."""


class _Handler:
    """Handles elements as they are parsed, and adds each entry when it ends."""

    def __init__(self) -> None:
        self.found = _Found()
        self.root: str | None = None
        self.entry: str | None = None
        self.depth = 0
        self.address: str | None = None
        self.date: int | None = None
        self.text: list[str] | None = None
        self.length = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = _local(tag)
        self.root = self.root or name
        self.text, self.length = None, 0
        if self.entry is not None:
            self.depth += 1
            if self.depth == 1 and name in _ADDRESSES | _DATES:
                self.text = []
                if name == "link" and attributes.get("rel", "alternate") == "alternate":
                    self.address = self.address or attributes.get("href")
        elif name in _ENTRIES:
            self.entry, self.depth, self.address, self.date = name, 0, None, None

    def data(self, text: str) -> None:
        if self.text is not None and self.length < _MAX_TEXT:
            self.text.append(text)
            self.length += len(text)

    def end(self, tag: str) -> None:
        if self.entry is None:
            return
        if self.depth == 0:
            if self.address:
                self.found.add(self.entry, self.address.strip(), self.date)
            self.entry = None
            return
        if self.text is not None and self.depth == 1:
            self._set(_local(tag), "".join(self.text).strip())
        self.text = None
        self.depth -= 1

    def _set(self, name: str, text: str) -> None:
        if name in _ADDRESSES and text:
            self.address = text
        elif name in _DATES and self.date is None:
            self.date = read_date(text)

    def refuse(self, *_: object) -> None:
        raise _DeclarationError


def _read_xml(first: bytes, text: _Text) -> Sitemap:
    handler = _Handler()
    parser = expat.ParserCreate()
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.data
    parser.EntityDeclHandler = parser.AttlistDeclHandler = handler.refuse
    try:
        for piece in _whole_tokens(chain([first], text), parser):
            parser.Parse(piece, False)  # noqa: FBT003 - expat's
            if handler.found.is_full:
                break
        else:
            parser.Parse(b"", True)  # noqa: FBT003 - likewise
    except (expat.ExpatError, _DeclarationError, LookupError, ValueError):
        text.is_whole = False
    found, root = handler.found, handler.root
    kind = _KINDS.get(root or "")
    is_read = root != "html" and (found.entries or found.sitemaps)
    problem = None if is_read else _problem(first, root, is_whole=text.is_whole)
    usual = "index" if found.sitemaps else "sitemap"
    return found.sitemap(kind or usual, problem, is_whole=text.is_whole)


def _problem(first: bytes, root: str | None, *, is_whole: bool) -> str | None:
    """Return why a file without entries is not a sitemap; None for one that is merely empty."""
    if root == "html" or _HTML.match(first):
        return "it is an HTML page, not a sitemap or feed"
    if root is not None and root not in _KINDS:
        return f"its root element is {quoted(root)}, not one of a sitemap or feed"
    return None if is_whole else "it is not well-formed XML"


def _whole_tokens(pieces: Iterable[bytes], parser: expat.XMLParserType) -> Iterator[bytes]:
    """Join pieces that belong to one token, such as a comment of megabytes.

    The parser rereads an incomplete token from its beginning with every piece; if each piece
    doubles the length, that takes little more time than reading it once.
    """
    waiting, length, parsed = list[bytes](), 0, 0
    for piece in pieces:
        waiting.append(piece)
        length += len(piece)
        if length >= parsed - max(parser.CurrentByteIndex, 0):
            yield b"".join(waiting)
            parsed += length
            waiting, length = [], 0
    yield b"".join(waiting)


def _local(tag: str) -> str:
    """Return an element's name without its namespace prefix."""
    return tag.rpartition(":")[2].lower()


def read_date(text: str) -> int | None:
    """Return a date in a sitemap or feed in microseconds, None if it is not one.

    >>> read_date("2026-01"), read_date("soon")
    (1767225600000000, None)
    """
    text = text.strip()[:64]
    return parse_http_date((text + "-01-01")[:10] if _MONTH.fullmatch(text) else text)
