"""The canonical form of a URL: one address per page, however it was written."""

import re
from collections.abc import Collection
from urllib.parse import urljoin

from recrawl.errors import AddressError
from recrawl.hosts import BREAKS, DEFAULT_PORTS, normal_host

#: The longest URL that is crawled. Servers agree on little more than 2,000 characters; anything
#: longer than this is more often a trap than a page.
MAX_CHARACTERS = 4_096

_MAX_SHOWN = 100
#: A plain name, which cannot be mistaken for an IP address, and a path with nothing to escape or to
#: remove. Such a URL is canonical; most are, and need not be parsed.
_PLAIN_TEXT = (
    r"https?://(?=[^/]{1,253}/)(?:[a-z0-9-]{1,63}\.)+[a-z][a-z0-9-]{0,62}"
    r"(?:/(?!\.)[A-Za-z0-9_.~-]*+)++"
)
_PLAIN = re.compile(_PLAIN_TEXT)
_PLAIN_LINES = re.compile(rf"(?:{_PLAIN_TEXT}\n)*+")
_START = re.compile(r"([a-z][a-z0-9+.-]*)://([^/?\\]*)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def canonical(url: str) -> str:
    """Return the canonical form of a URL: the key that a page is known by.

    The query is sorted and the fragment dropped, as by w3lib; the host is in lower case and ASCII,
    without a trailing dot; the default port is dropped; an IP address in an odd notation is written
    in the usual one.

    Raises:
        AddressError: The URL cannot be crawled; the message says why.

    >>> canonical(" HTTP://Example.ORG:80/a/../b?y=2&x=1#top")
    'http://example.org/b?x=1&y=2'
    >>> canonical("http://bücher.example")
    'http://xn--bcher-kva.example/'
    >>> canonical("http://0x7f.1/")
    'http://127.0.0.1/'
    """
    if _PLAIN.fullmatch(url) and len(url) <= MAX_CHARACTERS:
        return url
    # It imports TLS and e-mail, which most URLs, and many commands and processes, do not need.
    from w3lib.url import canonicalize_url

    return _checked_length(url, canonicalize_url(_with_normal_host(url)))


def are_plain(urls: Collection[str]) -> bool:
    """Whether some URLs are obviously all canonical, as most are; a quick check.

    >>> are_plain(["http://example.org/a", "http://example.org/b.html"])
    True
    >>> are_plain(["http://example.org/a", "http://example.org"])
    False
    """
    lines = "\n".join([*urls, ""])
    # A URL with a line break in it would be taken for two.
    is_a_line_each = lines.count("\n") == len(urls)
    is_short = max(map(len, urls), default=0) <= MAX_CHARACTERS
    return is_a_line_each and is_short and _PLAIN_LINES.fullmatch(lines) is not None


def redirected(url: str, location: str) -> str:
    """Return the target of a redirect: the host as in `canonical`, the rest as received.

    The query keeps its order, since a signed URL must be requested as it is.

    Raises:
        AddressError: The target cannot be crawled.

    >>> redirected("http://example.org/a/b", "../c?y=2&x=1#top")
    'http://example.org/c?y=2&x=1'
    """
    from w3lib.url import safe_url_string

    try:
        joined = urljoin(url, location.strip())
    except ValueError:
        raise _error(location, "this is not a valid URL") from None
    target = safe_url_string(_with_normal_host(joined))
    has_path = target.count("/") > len("//")
    return _checked_length(location, target if has_path else f"{target}/")


def origin_of(url: str) -> str:
    """Return scheme and host of a canonical URL: what a robots.txt applies to.

    >>> origin_of("http://example.org:8080/a")
    'http://example.org:8080'
    """
    return url[: url.index("/", len("https://"))]


def host_in(url: str) -> str:
    """Return the host of a canonical URL, as `host_of` does for any URL.

    >>> host_in("http://example.org:8080/a")
    'example.org:8080'
    """
    return url.split("/", 3)[2]


def pattern_of(text: str) -> str:
    """Return a URL pattern for `matches`, with its literal part in canonical form.

    Raises:
        AddressError: It cannot match any page.

    >>> pattern_of("HTTPS://Example.org/old/*"), pattern_of("*.pdf")
    ('https://example.org/old/*', '*.pdf')
    >>> pattern_of("https://example.org/?b=2&a=1#top")
    'https://example.org/?a=1&b=2'
    """
    text = text.strip()
    if text.startswith("*"):
        return text
    start, mark, query = text.partition("?")
    authority = _START.match(start)
    if authority is None or authority[1].lower() not in DEFAULT_PORTS:
        raise _error(text, "a pattern of URLs begins with http://, https:// or *")
    if "*" not in text:
        return canonical(text)
    if "*" in authority[2]:
        return authority[0].lower() + text[authority.end() :]
    return canonical(start) + mark + query


def matches(pattern: str, url: str) -> bool:
    """Whether a canonical URL matches a pattern: ``*`` stands for anything, the rest for itself.

    It takes time proportional to the URL's length, whatever the pattern is.

    >>> matches("https://example.org/old/*", "https://example.org/old/a?b=c")
    True
    >>> matches("*.pdf", "https://example.org/a.pdf?b"), matches("*/a*a", "https://e.org/a")
    (False, False)
    """
    first, *middle = pattern.split("*")
    if not middle:
        return url == pattern
    last = middle.pop()
    at, end = len(first), len(url) - len(last)
    if at > end or not (url.startswith(first) and url.endswith(last)):
        return False
    for piece in middle:
        found = url.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def _error(url: str, problem: str) -> AddressError:
    shown = url if url.isprintable() else ascii(url)[1:-1]
    return AddressError(f"{shown[:_MAX_SHOWN]}{'...' * (len(shown) > _MAX_SHOWN)}: {problem}")


def _checked_length(url: str, result: str) -> str:
    if len(result) > MAX_CHARACTERS:
        raise _error(url, f"a URL has at most {MAX_CHARACTERS:,} characters")
    return result


def _with_normal_host(url: str) -> str:
    """Normalise scheme and host, keep path and query, and drop the fragment."""
    text = url.strip().translate(BREAKS).partition("#")[0]
    _checked_length(url, text)
    if _CONTROL.search(text):
        raise _error(url, "it contains control characters")
    start = _START.match(text)
    if start is None:
        raise _error(url, "it must begin with http:// or https://")
    scheme = start[1].lower()
    if scheme not in DEFAULT_PORTS:
        raise _error(url, f"{scheme} is not supported; http and https are")
    if "@" in start[2]:
        # The password is not repeated: rejected URLs end up in logs.
        safe = f"{scheme}://...@{start[2].rpartition('@')[2]}{text[start.end() :]}"
        raise _error(safe, "it has a user name or password, and credentials in URLs are not used")
    try:
        host = normal_host(scheme, start[2])
        rest = text[start.end() :].encode("utf-8").decode("utf-8")
    except ValueError:
        raise _error(url, "this is not a valid URL") from None
    return f"{scheme}://{host}{rest}"
