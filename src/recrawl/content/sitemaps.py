"""Sitemaps and feeds: which pages a site has, and when they changed as far as it tells."""

import re
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from xml.parsers import expat

from recrawl.content.charset import in_utf8
from recrawl.errors import AddressError
from recrawl.urls import canonical

#: The protocol's limits: of a sitemap when unpacked, and of its entries.
MAX_BYTES = 50 * 1024 * 1024
MAX_ENTRIES = 50_000

_GZIP = b"\x1f\x8b"
_PIECE = 1 << 16
#: What one entry is, and where its address and its date stand; "@" is an attribute.
_ENTRIES = frozenset({"url", "sitemap", "item", "entry"})
_ADDRESSES = frozenset({"loc", "link"})
_DATES = frozenset({"lastmod", "pubdate", "updated", "date"})
_MONTH = re.compile(r"\d{4}(-\d{2})?")
#: Longest text of an address or a date.
_MAX_TEXT = 8_192


@dataclass(frozen=True, slots=True)
class Sitemap:
    """What a sitemap lists.

    Attributes:
        entries: Pages, canonical, each with when it changed last in microseconds, or None.
        sitemaps: Further sitemaps, likewise.
        is_whole: Whether it was read to its end: it is well-formed and within the limits.
    """

    entries: tuple[tuple[str, int | None], ...] = ()
    sitemaps: tuple[tuple[str, int | None], ...] = ()
    is_whole: bool = True


def read_sitemap(body: bytes) -> Sitemap:
    """Read a sitemap, an index of sitemaps, an RSS or Atom feed, or a list of addresses.

    It may be packed with gzip. Of one that is damaged or too long, what comes before that counts.
    One that declares entities is refused from there on, as no sitemap needs them.

    >>> read_sitemap(b"<urlset><url><loc>http://e.org/a</loc><lastmod>2026-01-01</lastmod></url>")
    Sitemap(entries=(('http://e.org/a', 1767225600000000),), sitemaps=(), is_whole=False)
    """
    text, is_whole = _unpacked(body)
    start = text[:_PIECE].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        return _read_xml(text[text.find(start[:1]) :], is_whole=is_whole)
    lines = in_utf8(text, "text/plain").decode(errors="replace").splitlines()
    found = _Found()
    for line in lines[: MAX_ENTRIES + 1]:
        found.add("url", line.strip(), None)
    return found.sitemap(is_whole=is_whole)


def _unpacked(body: bytes) -> tuple[bytes, bool]:
    """Give the text up to the limit, and whether that is all of it."""
    if not body.startswith(_GZIP):
        return body[:MAX_BYTES], len(body) <= MAX_BYTES
    unpacker = zlib.decompressobj(wbits=31)
    text = bytearray()
    with suppress(zlib.error):
        for at in range(0, len(body), _PIECE):
            text += unpacker.decompress(body[at : at + _PIECE], MAX_BYTES - len(text))
            if unpacker.eof or len(text) >= MAX_BYTES:
                break
    return bytes(text), unpacker.eof


@dataclass
class _Found:
    """Entries in order, the first of each address."""

    entries: dict[str, int | None] = field(default_factory=dict)
    sitemaps: dict[str, int | None] = field(default_factory=dict)
    is_full: bool = False

    def add(self, sort: str, address: str, date: int | None) -> None:
        if len(self.entries) + len(self.sitemaps) >= MAX_ENTRIES:
            self.is_full = True
            return
        with suppress(AddressError, ValueError):
            into = self.sitemaps if sort == "sitemap" else self.entries
            into.setdefault(canonical(address), date)

    def sitemap(self, *, is_whole: bool) -> Sitemap:
        return Sitemap(
            tuple(self.entries.items()),
            tuple(self.sitemaps.items()),
            is_whole and not self.is_full,
        )


class _EntityError(Exception):
    """The document declares entities."""


class _Handler:
    """Hears of elements as they come, and notes an entry when it ends."""

    def __init__(self) -> None:
        self.found = _Found()
        self.entry: str | None = None
        self.depth = 0
        self.address: str | None = None
        self.date: int | None = None
        self.text: list[str] | None = None
        self.length = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = _local(tag)
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
            self._note(_local(tag), "".join(self.text).strip())
        self.text = None
        self.depth -= 1

    def _note(self, name: str, text: str) -> None:
        if name in _ADDRESSES and text:
            self.address = text
        elif name in _DATES and self.date is None:
            self.date = read_date(text)

    def refuse(self, *_: object) -> None:
        raise _EntityError


def _read_xml(text: bytes, *, is_whole: bool) -> Sitemap:
    handler = _Handler()
    parser = expat.ParserCreate()
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.data
    parser.EntityDeclHandler = handler.refuse
    try:
        for at in range(0, len(text), _PIECE):
            parser.Parse(text[at : at + _PIECE], False)  # noqa: FBT003 - expat's
            if handler.found.is_full:
                break
        else:
            parser.Parse(b"", True)  # noqa: FBT003 - likewise
    except (expat.ExpatError, _EntityError, LookupError, ValueError):
        is_whole = False
    return handler.found.sitemap(is_whole=is_whole)


def _local(tag: str) -> str:
    """Give an element's name without its prefix; feeds and sitemaps are told apart without one."""
    return tag.rpartition(":")[2].lower()


def read_date(text: str) -> int | None:
    """Read a date as sitemaps and feeds write it, in microseconds; None where it says nothing.

    >>> read_date("2026-01-01T12:00:00+01:00"), read_date("Thu, 01 Jan 2026 11:00:00 GMT")
    (1767265200000000, 1767265200000000)
    >>> read_date("2026-01"), read_date("soon")
    (1767225600000000, None)
    """
    text = text.strip()[:64]
    if _MONTH.fullmatch(text):
        text = (text + "-01-01")[:10]
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError, TypeError, IndexError, OverflowError):
            date = read(text)
            date = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
            return round(date.timestamp() * 1e6)
    return None
