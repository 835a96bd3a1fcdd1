"""Recognise redirects to a sign-in page, which says nothing about the page. Pure: no I/O."""

import re
from urllib.parse import SplitResult, parse_qsl, urlsplit

from recrawl.content.html.parse import MAX_BYTES

#: Names of sign-in pages, as a whole part of a path between slashes, hyphens and the like.
_NAME = re.compile(
    r"(?:^|[/._-])(?:service|user)?(?:log[_-]?in|log[_-]?on|sign[_-]?in|sso|saml2?|oauth2?|auth|"
    r"authori[sz]e|authenticate)(?=[/._-]|$)"
)
#: The first labels of hosts that do nothing but sign people in.
_HOSTS = frozenset({"login", "signin", "sso", "auth", "accounts", "idp"})
#: Parameters that say where to go after signing in, or that protocols for it have.
_RETURNS = frozenset(
    "next return returnto return_to returnurl return_url redirect redirect_to redirect_uri "
    "redirecturl redirect_url continue service goto target destination dest backurl callback "
    "callbackurl callback_url samlrequest relaystate client_id response_type".split()
)
_PASSWORD = re.compile(rb"\btype\s{0,8}=\s{0,8}[\"']?password\b", re.IGNORECASE)


def is_elsewhere(url: str, final: str) -> bool:
    """Whether a redirect led to another page, rather than to another way to write its address.

    >>> is_elsewhere("http://example.org/a", "https://www.example.org/A/?x=1")
    False
    >>> is_elsewhere("https://example.org/a", "https://example.org/b")
    True
    """
    return url != final and _host_and_path(urlsplit(url)) != _host_and_path(urlsplit(final))


def has_password(body: bytes) -> bool:
    """Whether a page asks for a password.

    >>> has_password(b"<input name=p type = 'Password'>"), has_password(b"<p>a password")
    (True, False)
    """
    return _PASSWORD.search(body, 0, MAX_BYTES) is not None


def is_sign_in(url: str, final: str, body: bytes) -> bool:
    """Whether a redirect led to a sign-in page: its URL says so, and its form or a parameter, too.

    Args:
        url: The page, which is not itself one to sign in.
        final: Where the redirect led.
        body: What was there.

    >>> here, there = "https://example.org/a", "https://example.org/users/sign_in"
    >>> is_sign_in(here, f"{there}?return_to=%2Fa", b""), is_sign_in(here, there, b"How to sign in")
    (True, False)
    """
    page, end = urlsplit(url), urlsplit(final)
    if not is_elsewhere(url, final) or _is_named_so(page) or not _is_named_so(end):
        return False
    returns = (name.lower() in _RETURNS for name, _ in parse_qsl(end.query))
    return has_password(body) or any(returns)


def without_query(url: str) -> str:
    """Return a URL as messages show it: a query may hold a secret."""
    return url.partition("?")[0]


def _host_and_path(url: SplitResult) -> tuple[str, str]:
    return url.netloc.removeprefix("www."), url.path.rstrip("/").lower()


def _is_named_so(url: SplitResult) -> bool:
    host, path = (url.hostname or "").partition(".")[0], url.path.lower()
    return host in _HOSTS or _NAME.search(path) is not None
