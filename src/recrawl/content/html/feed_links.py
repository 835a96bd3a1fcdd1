"""Find the WebSub hub of a feed, and the topic by which the hub knows it."""

import re
import zlib
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple
from xml.parsers import expat

from recrawl.errors import AddressError
from recrawl.urls import redirected

#: Bytes of a feed that are searched, and characters of its Link headers.
MAX_BYTES, MAX_HEADER = 65_536, 8_192
_GZIP = b"\x1f\x8b"
#: A feed's own metadata ends where its entries begin.
_ENTRIES = frozenset({"item", "entry"})
_LINK = re.compile(r'<([^<>]*)>((?:[^,<"]|"[^"]*")*)')
_REL = re.compile(r';\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]*))', re.IGNORECASE)


class HubLinks(NamedTuple):
    """A feed's hub.

    Attributes:
        hub: The hub's URL.
        topic: The URL by which the hub knows the feed.
    """

    hub: str
    topic: str


def hub_links(url: str, link_headers: Iterable[str], body: bytes) -> HubLinks | None:
    """Return the hub that a feed names, in its headers or else in its body; None if it names none.

    Of several hubs, the first with https is returned, or else the first.

    Args:
        url: The URL of the feed.
        link_headers: The values of its Link headers.
        body: The feed, which may be compressed with gzip.

    >>> hub_links("https://e.org/f", ['<https://hub.example/>; rel="hub"'], b"")
    HubLinks(hub='https://hub.example/', topic='https://e.org/f')
    """
    links = _in_headers(link_headers)
    if not any(rel == "hub" for rel, _ in links):
        links = _in_feed(body)
    hubs = _resolved(url, (href for rel, href in links if rel == "hub"))
    topics = _resolved(url, (href for rel, href in links if rel == "self"))
    if not hubs:
        return None
    hub = next((one for one in hubs if one.startswith("https:")), hubs[0])
    return HubLinks(hub, topics[0] if topics else url)


def _in_headers(values: Iterable[str]) -> list[tuple[str, str]]:
    found = []
    for target, parameters in _LINK.findall(", ".join(values)[:MAX_HEADER]):
        rel = _REL.search(parameters)
        if rel is not None:
            found += [(one.lower(), target) for one in (rel[1] or rel[2] or "").split()]
    return found


class _EndOfHead(Exception):  # noqa: N818 - news, not an error
    """The feed's own metadata has ended, or it is not a feed."""


def _in_feed(body: bytes) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2].lower()
        if name in _ENTRIES:
            raise _EndOfHead
        if name == "link" and "href" in attributes:
            rels = attributes.get("rel", "").lower().split()
            found.extend((rel, attributes["href"]) for rel in rels)

    def refuse(*_: object) -> None:
        raise _EndOfHead

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EntityDeclHandler = parser.AttlistDeclHandler = refuse
    with suppress(_EndOfHead, expat.ExpatError, LookupError, ValueError, zlib.error):
        parser.Parse(_head(body), False)  # noqa: FBT003 - expat's
    return found


def _head(body: bytes) -> bytes:
    if body.startswith(_GZIP):
        return zlib.decompressobj(wbits=31).decompress(body, MAX_BYTES)
    return body[:MAX_BYTES]


def _resolved(url: str, links: Iterable[str]) -> list[str]:
    """Return the links that are URLs, in full."""
    found = []
    for link in links:
        try:
            found.append(redirected(url, link))
        except (AddressError, ValueError):
            continue
    return found
