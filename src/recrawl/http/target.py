"""Split a URL into the server and the path of a request."""

import re
from functools import lru_cache
from typing import NamedTuple

from recrawl.hosts import DEFAULT_PORTS, host_of

#: What a request line must not contain, as it would allow request smuggling.
UNSAFE = re.compile(r"[^\x21-\x7e]")


class Target(NamedTuple):
    """Where a request goes.

    Attributes:
        is_secure: Whether over TLS.
        host: The name to connect to, without brackets.
        port: The port.
        authority: Host and port as they are written in requests.
        path: Path and query.
    """

    is_secure: bool
    host: str
    port: int
    authority: str
    path: str


def target_of(url: str) -> Target:
    """Return where a URL leads.

    Raises:
        ValueError: It cannot be requested.

    >>> target_of("https://example.org/a?b=1#c")
    Target(is_secure=True, host='example.org', port=443, authority='example.org', path='/a?b=1')
    """
    scheme, _, rest = url.partition("://")
    written, slash, path = rest.partition("#")[0].partition("/")
    target = slash + path or "/"
    if UNSAFE.search(target):
        raise ValueError(url)
    return Target(*_server(scheme, written), target)


@lru_cache(maxsize=4096)
def _server(scheme: str, written: str) -> tuple[bool, str, int, str]:
    authority = host_of(f"{scheme}://{written}")
    if scheme not in DEFAULT_PORTS or UNSAFE.search(authority):
        raise ValueError(scheme)
    name, colon, port = authority.rpartition(":")
    if not colon or port.endswith("]"):
        name, port = authority, str(DEFAULT_PORTS[scheme])
    return scheme == "https", name.strip("[]"), int(port), authority
