"""The identity of a host, by which budgets, priors, politeness and replays group pages.

``A.org``, ``a.org.`` and ``a.org:443`` under https are one host; ``a.org:8080`` is another.
"""

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_PORTS = {"http": 80, "https": 443}
#: Characters that browsers drop from a URL, wherever they are.
BREAKS = str.maketrans("", "", "\t\n\r")

_MAX_PORT = 65_535
_START = re.compile(r"\s*([a-z][a-z0-9+.-]*)://([^/?#\\]*)", re.IGNORECASE)
#: The same for Arrow, which keeps everything that `host_of` may need.
_START_IN_ARROW = r"^(?P<start>[^/?#\\]*/[\t\n\r]*/[^/?#\\]*)"
#: A name as DNS allows it, plus the underscore, which hosts have although they must not.
_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_MAX_NAME_LENGTH = 253
_NUMBER = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)")
_IPV4_PARTS = 4


def address_and_port(text: str) -> tuple[str, int]:
    """Parse where a server listens; a port of 0 is any that is free.

    Raises:
        ValueError: It is not an address, or a name, and a port.

    >>> address_and_port("127.0.0.1:8321"), address_and_port("[::1]:80")
    (('127.0.0.1', 8321), ('::1', 80))
    """
    host, _, port = text.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (host and port.isascii() and port.isdecimal() and int(port) <= _MAX_PORT):
        raise ValueError(text)
    return host, int(port)


@lru_cache(maxsize=4096)
def host_of(url: str) -> str:
    """Return the host of a URL, with the port unless it is the default; "" if there is none.

    The spelling of the URL does not matter. An invalid host is returned in lower case.

    >>> host_of("http://Example.org.:80/a"), host_of("http://example.org:8080/a")
    ('example.org', 'example.org:8080')
    >>> host_of("https://bücher.example"), host_of("docs/install.md")
    ('xn--bcher-kva.example', '')
    """
    start = _START.match(url.translate(BREAKS))
    if start is None:
        return ""
    authority = start[2].rpartition("@")[2].strip()
    try:
        return normal_host(start[1].lower(), authority)
    except ValueError:
        return authority.lower()


def is_same_site(one: str, other: str) -> bool:
    """Whether two hosts are the same, or differ only in a leading ``www.``.

    >>> is_same_site("www.example.org", "example.org"), is_same_site("a.example", "b.example")
    (True, False)
    """
    return one.removeprefix("www.") == other.removeprefix("www.")


def number_hosts(names: Any) -> "tuple[NDArray[np.int64], list[str]]":  # noqa: ANN401 - pyarrow has no types
    """Number the hosts of pages from 0, in order of first appearance.

    Args:
        names: An Arrow array of the pages' names: URLs, or anything else.

    Returns:
        The host number of each page, and the hosts by number as `host_of` returns them. Pages whose
        names are not URLs share the host "".

    >>> import pyarrow as pa
    >>> number_hosts(pa.array(["http://a.org/x", "b", "http://A.org:80", "c"]))
    (array([0, 1, 0, 1]), ['a.org', ''])
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(names.type):
        return np.zeros(len(names), np.int64), [""]
    starts = pc.struct_field(pc.extract_regex(names, _START_IN_ARROW), "start").fill_null("")
    encoded = starts.dictionary_encode()
    hosts = [host_of(start) for start in encoded.dictionary.to_pylist()]
    number = {host: i for i, host in enumerate(dict.fromkeys(hosts))}
    return np.array([number[host] for host in hosts], np.int64)[encoded.indices], list(number)


@lru_cache(maxsize=2**12)
def normal_host(scheme: str, authority: str) -> str:
    """Return the normal form of a host and port, without the scheme's default port.

    Names are in lower case and ASCII without a trailing dot, IP addresses in their usual notation.

    Raises:
        ValueError: No such host can exist.
    """
    host, port = _split_port(authority)
    name = _normal_name(host)
    return name if port in (None, DEFAULT_PORTS.get(scheme)) else f"{name}:{port}"


def _split_port(authority: str) -> tuple[str, int | None]:
    host, colon, port = authority.rpartition(":")
    if not colon or port.endswith("]"):
        return authority, None
    if not port:
        return host, None
    if not (port.isascii() and port.isdigit() and 0 < int(port) <= _MAX_PORT):
        raise ValueError(port)
    return host, int(port)


def _normal_name(host: str) -> str:
    if host.startswith("[") and host.endswith("]") and "%" not in host:
        return f"[{IPv6Address(host[1:-1])}]"
    if not host.isascii():
        host = _in_ascii(host)
    name = host.lower().removesuffix(".")
    if len(name) > _MAX_NAME_LENGTH or not _NAME.fullmatch(name):
        raise ValueError(host)
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        return str(_ipv4(name))
    return name


def _in_ascii(host: str) -> str:
    """Return a name as ASCII, encoded as browsers do."""
    import idna

    try:
        return idna.encode(host, uts46=True).decode("ascii")
    except idna.IDNAError as error:
        try:
            # Names that IDNA 2008 rejects, such as those with emoji, are in use nevertheless.
            return host.encode("idna").decode("ascii")
        except UnicodeError:
            raise ValueError(str(error)) from None


def _ipv4(host: str) -> IPv4Address:
    """Read an IPv4 address as browsers do: 1 to 4 parts, each decimal, octal or hexadecimal.

    A host that ends in a number is an address or invalid: resolvers accept odd notations too, and
    what is checked must be what is connected to.
    """
    *leading, last = [_parse_number(part) for part in host.split(".")]
    if len(leading) >= _IPV4_PARTS or any(part >= 256 for part in leading):  # noqa: PLR2004 - a byte
        raise ValueError(host)
    if last >= 256 ** (_IPV4_PARTS - len(leading)):
        raise ValueError(host)
    return IPv4Address(sum(byte << (24 - 8 * i) for i, byte in enumerate(leading)) + last)


def _parse_number(part: str) -> int:
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8 if part.startswith("0") else 10)
