"""Read cookies from a file in Netscape's format, cookies.txt, and choose those for a URL."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import final

from recrawl.errors import InputError
from recrawl.hosts import host_of

#: Precedes the domain of a cookie that scripts cannot read; other lines with a # are comments.
HTTP_ONLY = "#HttpOnly_"
_COLUMNS = 7
_BOOLEANS = {"TRUE": True, "FALSE": False}


@final
@dataclass(frozen=True, slots=True)
class Cookie:
    """A cookie and where it may be sent.

    Attributes:
        domain: The host, in lower case.
        with_subdomains: Whether it is also sent to subdomains.
        path: The prefix of the paths it is sent to.
        secure: Whether it is sent over https only.
        expires: Seconds since 1970; 0 for never.
        name: Its name.
        value: Its value.
    """

    domain: str
    with_subdomains: bool
    path: str
    secure: bool
    expires: int
    name: str = field(repr=False)
    value: str = field(repr=False)

    def is_for(self, url: str, now: float) -> bool:
        """Whether it is sent with a request for a URL.

        >>> mine = Cookie("example.org", True, "/a", True, 0, "name", "value")
        >>> urls = ("https://www.example.org/a/b", "http://example.org/a", "https://example.org/ab")
        >>> [mine.is_for(url, 0.0) for url in urls]
        [True, False, False]
        """
        host = _without_port(host_of(url))
        is_host = host == self.domain or (
            self.with_subdomains and host.endswith(f".{self.domain}") and not _is_address(host)
        )
        is_safe = not self.secure or url.startswith("https://")
        is_valid = self.expires == 0 or self.expires > now
        return is_host and is_safe and is_valid and _is_below(_path_of(url), self.path)


def read_cookies(lines: Iterable[str], name: str) -> tuple[Cookie, ...]:
    """Read the lines of a cookies file.

    Args:
        lines: The lines.
        name: The file's name, for messages, which never repeat a line.

    Raises:
        InputError: A line is not a cookie.
    """
    cookies = []
    for row, line in enumerate(lines, 1):
        text = line.rstrip("\r\n").removeprefix(HTTP_ONLY)
        if not text.strip() or text.startswith("#"):
            continue
        try:
            cookies.append(_cookie(text.split("\t")))
        except (ValueError, KeyError, OverflowError):
            problem = (
                "this is not a cookie; a line has domain, TRUE or FALSE, path, TRUE or FALSE, "
                "expiry, name and value, separated by tabs"
            )
            raise InputError(name, problem, row=row) from None
    return tuple(cookies)


def cookie_header(cookies: Iterable[Cookie], url: str, now: float) -> str:
    """Return the Cookie header of a request, longer paths first; "" without a cookie."""
    chosen = [cookie for cookie in cookies if cookie.is_for(url, now)]
    chosen.sort(key=lambda cookie: -len(cookie.path))
    return "; ".join(f"{one.name}={one.value}" if one.name else one.value for one in chosen)


def _cookie(cells: list[str]) -> Cookie:
    domain, with_subdomains, path, secure, expires, name, *values = cells
    value = values[0] if len(cells) == _COLUMNS else ""
    is_sendable = all(
        text.isascii() and text.isprintable() and ";" not in text for text in (name, value)
    )
    host = domain.lstrip(".").lower().rstrip(".")
    if len(cells) > _COLUMNS or not is_sendable or not host or not path.startswith("/"):
        raise ValueError(len(cells))
    return Cookie(
        host,
        _BOOLEANS[with_subdomains.upper()],
        path,
        _BOOLEANS[secure.upper()],
        max(int(float(expires or "0")), 0),
        name,
        value,
    )


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def _is_address(host: str) -> bool:
    return host.startswith("[") or host.rpartition(".")[2].isdigit()


def _path_of(url: str) -> str:
    path = url.partition("://")[2].partition("/")[2]
    return "/" + path.partition("?")[0]


def _is_below(path: str, beginning: str) -> bool:
    if not path.startswith(beginning):
        return False
    return beginning.endswith("/") or path[len(beginning) :][:1] in {"", "/"}
