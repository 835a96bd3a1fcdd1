"""The cookie of a browser session, and whether it is sent over TLS."""

from starlette.datastructures import Headers

COOKIE = "recrawl_session"


def is_by_tls(headers: Headers) -> bool:
    """Whether a request came over TLS, according to a proxy in front of the service."""
    return headers.get("x-forwarded-proto") == "https"


def cookie_name(headers: Headers) -> str:
    """Return the name of the cookie: browsers send cookies to all ports of a host.

    >>> cookie_name(Headers({"host": "127.0.0.1:8321"})), cookie_name(Headers({"host": "[::1]"}))
    ('recrawl_session_8321', 'recrawl_session')
    """
    port = headers.get("host", "").rpartition("]")[2].partition(":")[2]
    return f"{COOKIE}_{port}" if port.isascii() and port.isdecimal() else COOKIE


def cookie_of(headers: Headers) -> str | None:
    """Return the session in a request's cookies, whatever others there are.

    >>> cookie_of(Headers({"cookie": "a[]=1; recrawl_session=x; b"}))
    'x'
    """
    wanted = cookie_name(headers)
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == wanted:
            return value
    return None
