"""Extract the links of a page."""

import re
from collections.abc import Iterable
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser

from recrawl.content.html.parse import in_utf8, parse
from recrawl.errors import AddressError
from recrawl.urls import canonical

_ENDINGS = (
    "jpg jpeg png gif webp avif svg ico bmp tif tiff heic "
    "mp3 mp4 m4a m4v ogg oga ogv wav flac webm avi mov mkv wmv mpg mpeg "
    "zip gz tgz bz2 xz 7z rar tar jar war iso dmg exe msi deb rpm apk pkg bin img "
    "woff woff2 ttf otf eot wasm swf torrent"
)
#: Extensions of media, archives, programs and other files that are not pages. Scripts and styles
#: are not among them, as pages are named after projects such as node.js and normalize.css: their
#: media type decides when they are first requested.
NOT_PAGES = frozenset(_ENDINGS.split())

#: Links read per page; the rest is ignored.
MAX_LINKS = 10_000

_HTML = ("text/html", "application/xhtml+xml")
_WORDS = re.compile(r"[,\s]+")
_NOFOLLOW = frozenset({"nofollow", "none"})


def links(
    body: bytes,
    content_type: str | None,
    url: str,
    headers: Iterable[tuple[str, str]] = (),
) -> list[str]:
    """Return the canonical addresses that a page links to, in order, once each, without its own.

    Only ``<a href>`` and ``<area href>`` in HTML count, resolved against ``<base href>``. Links
    with ``rel=nofollow`` do not count, nor does any link on a page that says nofollow in a robots
    ``<meta>`` or the X-Robots-Tag header. Addresses with an extension in `NOT_PAGES` are left out:
    what follows the last dot of the last segment, if something precedes it.

    Args:
        body: The page.
        content_type: The Content-Type header.
        url: Its address, after redirects.
        headers: All headers, as received.

    >>> links(b'<a href="b?y=2&x=1#c">B</a> <a href="/i.png">I</a>', "text/html", "http://e.org/a/")
    ['http://e.org/a/b?x=1&y=2']
    """
    if content_type and not content_type.lower().strip().startswith(_HTML):
        return []
    if any(name.lower() == "x-robots-tag" and _is_nofollow(value) for name, value in headers):
        return []
    tree = parse(in_utf8(body, content_type))
    if tree is None or _has_nofollow(tree):
        return []
    base = _base(tree, url)
    hrefs = dict[str, None]()
    for node in tree.css("a[href],area[href]")[:MAX_LINKS]:
        attributes = node.attributes
        if "nofollow" not in (attributes.get("rel") or "").lower().split():
            hrefs[(attributes.get("href") or "").strip().partition("#")[0]] = None
    found = dict.fromkeys(_resolved(base, href) for href in hrefs if href)
    itself = _resolved(url, "")
    return [address for address in found if address is not None and address != itself]


def _is_nofollow(value: str) -> bool:
    """Whether a robots tag says nofollow to all; one that starts with a name is for that robot."""
    return ":" not in value and not _NOFOLLOW.isdisjoint(_WORDS.split(value.lower()))


def _has_nofollow(tree: LexborHTMLParser) -> bool:
    return any(
        (meta.attributes.get("name") or "").strip().lower() == "robots"
        and _is_nofollow(meta.attributes.get("content") or "")
        for meta in tree.css("meta[name][content]")
    )


def _base(tree: LexborHTMLParser, url: str) -> str:
    node = tree.css_first("base[href]")
    href = (node.attributes.get("href") or "").strip() if node is not None else ""
    try:
        return urljoin(url, href)
    except ValueError:
        return url


def _resolved(base: str, href: str) -> str | None:
    """Return the canonical address, None if it is not that of a page."""
    try:
        address = canonical(urljoin(base, href))
        path = urlsplit(address).path
    except (AddressError, ValueError):
        return None
    stem, _, extension = path.rpartition("/")[2].rpartition(".")
    return None if stem and extension.lower() in NOT_PAGES else address
