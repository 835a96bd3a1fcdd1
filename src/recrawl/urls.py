"""One address for one page, however it was written."""

import re
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import urljoin

from w3lib.url import canonicalize_url, safe_url_string

from recrawl.errors import AddressError

#: The longest address that is a page's. Servers agree on little more than 2,000 characters; what
#: is longer than this is a trap more often than a page.
MAX_CHARACTERS = 4_096

_USUAL_PORTS = {"http": 80, "https": 443}
_MAX_PORT = 65_535
_START = re.compile(r"([a-z][a-z0-9+.-]*)://([^/?\\]*)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BREAKS = str.maketrans("", "", "\t\n\r")
#: A name as DNS takes it; an underscore is against the rules of hosts, and in use.
_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_MAX_OF_A_NAME = 253
_NUMBER = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)")
_PARTS_OF_IPV4 = 4


def canonical(url: str) -> str:
    """Give the one way to write an address: the key that a page is known by.

    The query is sorted and the fragment dropped, as by w3lib; the host is in lower case and in
    ASCII, without a dot at its end; the usual port is dropped; an IP address in an odd notation is
    written plainly.

    Raises:
        AddressError: It is no address of a page; the message says why.

    >>> canonical(" HTTP://Example.ORG:80/a/../b?y=2&x=1#top")
    'http://example.org/b?x=1&y=2'
    >>> canonical("http://bücher.example")
    'http://xn--bcher-kva.example/'
    >>> canonical("http://0x7f.1/")
    'http://127.0.0.1/'
    """
    return _checked(url, canonicalize_url(_with_plain_host(url)))


def redirected(url: str, location: str) -> str:
    """Give where a redirect leads: the host as `canonical` writes it, the rest as it came.

    A query keeps its order here, since an address that was signed must be asked for as it is.

    Raises:
        AddressError: It leads to no address of a page.

    >>> redirected("http://example.org/a/b", "../c?y=2&x=1#top")
    'http://example.org/c?y=2&x=1'
    """
    try:
        joined = urljoin(url, location.strip())
    except ValueError:
        raise _refused(location, "this is not a valid address") from None
    target = safe_url_string(_with_plain_host(joined))
    # Without a path there is no slash after the host.
    return _checked(location, target if target.count("/") > len("//") else f"{target}/")


def host_of(url: str) -> str:
    """Give the host of a canonical address, with the port if that is unusual.

    >>> host_of("http://example.org:8080/a")
    'example.org:8080'
    """
    return url.split("/", 3)[2]


def origin_of(url: str) -> str:
    """Give scheme and host of a canonical address, which a robots.txt speaks for.

    >>> origin_of("http://example.org:8080/a")
    'http://example.org:8080'
    """
    return url[: url.index("/", len("https://"))]


def _refused(url: str, problem: str) -> AddressError:
    """Make an error that names as much of the address as a person wants to read."""
    most = 100
    shown = url if url.isprintable() else ascii(url)[1:-1]
    return AddressError(f"{shown[:most]}{'...' * (len(shown) > most)}: {problem}")


def _checked(url: str, result: str) -> str:
    """Refuse an address that has become too long, or is none."""
    if len(result) > MAX_CHARACTERS:
        raise _refused(url, f"an address has at most {MAX_CHARACTERS:,} characters")
    return result


def _with_plain_host(url: str) -> str:
    """Write scheme and host in the one way, leave path and query, and drop the fragment."""
    text = url.strip().translate(_BREAKS).partition("#")[0]
    _checked(url, text)
    if _CONTROL.search(text):
        raise _refused(url, "there are control characters in it")
    start = _START.match(text)
    if start is None:
        raise _refused(url, "say http:// or https:// first")
    scheme = start[1].lower()
    if scheme not in _USUAL_PORTS:
        raise _refused(url, f"{scheme} is not crawled; http and https are")
    if "@" in start[2]:
        # The password is not repeated: what is refused ends up in logs.
        safe = f"{scheme}://...@{start[2].rpartition('@')[2]}{text[start.end() :]}"
        raise _refused(safe, "it has a user name or password, and credentials in URLs are not used")
    try:
        host, port = _split_port(start[2])
        authority = _plain_host(host)
        if port is not None and port != _USUAL_PORTS[scheme]:
            authority = f"{authority}:{port}"
        rest = text[start.end() :].encode("utf-8").decode("utf-8")
    except ValueError:
        raise _refused(url, "this is not a valid address") from None
    return f"{scheme}://{authority}{rest}"


def _split_port(authority: str) -> tuple[str, int | None]:
    """Take host and port apart; no port and an empty one mean the usual one."""
    host, colon, port = authority.rpartition(":")
    if not colon or port.endswith("]"):
        return authority, None
    if not port:
        return host, None
    if not (port.isascii() and port.isdigit() and 0 < int(port) <= _MAX_PORT):
        raise ValueError(port)
    return host, int(port)


def _plain_host(host: str) -> str:
    """Write a name in ASCII and lower case, and an IP address as everybody does."""
    if host.startswith("[") and host.endswith("]") and "%" not in host:
        return f"[{IPv6Address(host[1:-1])}]"
    if not host.isascii():
        from yarl import URL

        host = URL.build(scheme="http", host=host).raw_host or ""
    name = host.lower().removesuffix(".")
    if len(name) > _MAX_OF_A_NAME or not _NAME.fullmatch(name):
        raise ValueError(host)
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        return str(_ipv4(name))
    return name


def _ipv4(host: str) -> IPv4Address:
    """Read an address as browsers do: in 1 to 4 parts, each decimal, octal or hexadecimal.

    A host that ends in a number is an address or nothing: a system's resolver reads odd notations
    too, and what is checked must be what is connected to.
    """
    parts = [_number(part) for part in host.split(".")]
    *bytes_, last = parts
    room = 256 ** (_PARTS_OF_IPV4 - len(bytes_))
    if len(parts) > _PARTS_OF_IPV4 or any(byte > 255 for byte in bytes_) or last >= room:  # noqa: PLR2004 - a byte
        raise ValueError(host)
    return IPv4Address(sum(byte << (24 - 8 * at) for at, byte in enumerate(bytes_)) + last)


def _number(part: str) -> int:
    """Read one part of an address, whatever its base."""
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8 if part.startswith("0") else 10)
