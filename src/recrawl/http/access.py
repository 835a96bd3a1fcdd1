"""Headers, cookies, credentials and proxies of requests to a site."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import final
from urllib.parse import unquote, urlsplit

from recrawl.errors import ArgumentError
from recrawl.hosts import host_of
from recrawl.http.address_guard import is_public
from recrawl.http.cookies import Cookie, cookie_header

#: Response headers that may hold a session's secret.
SESSION_HEADERS = frozenset({"set-cookie", "set-cookie2", "authentication-info"})
_PROXY_SCHEMES = ("http", "https")
_LOCAL = "localhost"


@final
@dataclass(frozen=True)
class Proxy:
    """A proxy.

    Attributes:
        url: Its URL, without credentials.
        user: For basic authentication; "" for none.
        password: The same.
    """

    url: str
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)


@final
@dataclass(frozen=True)
class Access:
    """What is sent with requests to a site, and through which proxy; none of it is ever printed.

    Attributes:
        headers: Names and values.
        cookies: Sent where their domain, path and expiry allow.
        proxy: None for a direct connection.
    """

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    cookies: tuple[Cookie, ...] = field(default=(), repr=False)
    proxy: Proxy | None = field(default=None, repr=False)

    def headers_for(self, url: str, now: float) -> dict[str, str]:
        """Return the headers to send to a URL.

        Args:
            url: Its address.
            now: Seconds since 1970.
        """
        headers = dict(self.headers)
        cookies = cookie_header(self.cookies, url, now) if self.cookies else ""
        if cookies:
            headers["Cookie"] = cookies
        return headers


#: For sites without settings of their own.
NO_ACCESS = Access()


def basic_auth(credentials: str) -> str:
    """Return the Authorization header of basic authentication.

    >>> basic_auth("user:word")
    'Basic dXNlcjp3b3Jk'
    """
    return f"Basic {base64.b64encode(credentials.encode()).decode('ascii')}"


def parse_proxy(url: str) -> Proxy:
    """Parse a proxy's URL.

    Raises:
        ArgumentError: It is invalid; the message does not repeat it.

    >>> parse_proxy("http://user:word@proxy.example:3128").url
    'http://proxy.example:3128'
    """
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ArgumentError("this is not a proxy URL such as http://proxy.example:3128") from None
    if parts.scheme not in _PROXY_SCHEMES or not host:
        raise ArgumentError(
            "this is not a proxy URL such as http://proxy.example:3128; http and https are "
            "supported, SOCKS is not"
        )
    name = f"[{host}]" if ":" in host else host
    address = f"{parts.scheme}://{name}{'' if port is None else f':{port}'}"
    return Proxy(address, unquote(parts.username or ""), unquote(parts.password or ""))


def is_private_name(url: str) -> bool:
    """Whether a URL spells out a private address, which must not be requested through a proxy.

    Other names are resolved by the proxy, to addresses that cannot be checked here.

    >>> [is_private_name(url) for url in ("http://10.0.0.1/", "http://localhost/", "http://a.org/")]
    [True, True, False]
    """
    host = host_of(url)
    name = host if host.endswith("]") else host.partition(":")[0] or host
    if host.startswith("["):
        name = host[1:].partition("]")[0]
    if name == _LOCAL or name.endswith(f".{_LOCAL}"):
        return True
    try:
        return not is_public(ip_address(name))
    except ValueError:
        return False
