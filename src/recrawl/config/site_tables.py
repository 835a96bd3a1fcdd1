"""Parse and check the tables for sites in a settings file; no error message contains a secret."""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from recrawl.config.kinds import (
    DURATION,
    NUMBER,
    PROXY,
    RATE,
    SECONDS,
    SELECTORS,
    SHARE,
    TEXT,
    Kind,
    parsed,
)
from recrawl.config.secrets import Secret, without_credentials
from recrawl.config.sites import Scope, Section, Sites, path_of
from recrawl.errors import AddressError, SettingsError
from recrawl.hosts import host_of, normal_host
from recrawl.units import quoted
from recrawl.urls import redirected

HOST, URL = "host", "url"
TABLES = (HOST, URL)
FINGERPRINTS = ("bytes", "text", "main", "selector")
#: Politeness applies to a whole host.
FOR_HOSTS_ONLY = frozenset({"delay", "budget"})
#: Headers that the crawler sets itself, and what to use instead.
RESERVED_HEADERS = {
    "user-agent": "set user_agent instead, which also applies to robots.txt",
    "accept-encoding": "the crawler decompresses what it can",
    "connection": "the crawler keeps connections itself",
    "content-length": "requests have no body",
    "host": "it follows from the URL",
    "if-modified-since": "the crawler sends it",
    "if-none-match": "the crawler sends it",
    "proxy-authorization": "write user:password@ in proxy",
    "range": "the crawler needs whole pages",
    "te": "the crawler decompresses what it can",
    "transfer-encoding": "requests have no body",
    "upgrade": "the crawler speaks HTTP",
}
#: Headers whose values are not secret.
HARMLESS_HEADERS = frozenset({"accept", "accept-language", "dnt", "referer", "sec-gpc"})

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PATTERN = re.compile(r"(https?)://([^/?#]*)(.*)", re.IGNORECASE | re.DOTALL)
_ANY_SUBDOMAIN = "*."


def _described(
    kind: Kind, meaning: str, minimum: float | None = None, maximum: str | None = None
) -> dict[str, Any]:
    return {"kind": kind, "meaning": meaning, "minimum": minimum, "maximum": maximum}


HEADERS = Kind("headers", '{ Accept-Language = "de" }', str)
SECRET = Kind("a secret", "user:password, env:MY_LOGIN, file:login.txt", str)
COOKIES = Kind("a file", "cookies.txt", str)
#: The settings that a table may have.
SITE_FIELDS: dict[str, dict[str, Any]] = {
    "delay": _described(
        SECONDS,
        "Delay between two requests to the host; robots.txt may ask for more.",
        0,
        "30d",
    ),
    "budget": _described(
        RATE, "Maximum rate of visits to the host; 0 for no limit.", 0, "1000000M/day"
    ),
    "fingerprint": _described(TEXT, "What is compared: bytes, text, main or selector."),
    "selector": _described(TEXT, "CSS selector of the elements to compare."),
    "watch": _described(SELECTORS, "Elements that always count, whatever was learned."),
    "ignore": _described(SELECTORS, "Elements that never count."),
    "min_change": _described(
        SHARE, "Share of a page's own text that must differ for a change to count.", 0, "1"
    ),
    "headers": _described(HEADERS, "Headers to send."),
    "cookies": _described(COOKIES, "File with cookies to send, in Netscape's cookies.txt format."),
    "auth": _described(SECRET, "User and password for basic authentication, as user:password."),
    "proxy": _described(PROXY, "Proxy for the requests."),
    "importance": _described(NUMBER, "Importance of pages added without one.", 0, "1000000"),
    "min_interval": _described(DURATION, "Minimum time between two visits to a page.", 0, "10000y"),
    "max_interval": _described(
        DURATION,
        "Maximum time between two visits to a page, as far as the budget allows; 0 for no limit.",
        0,
        "10000y",
    ),
}


def read_sites(
    table: Mapping[str, Any], file: str = "", overridden: frozenset[str] = frozenset()
) -> Sites:
    """Read the tables for sites from a settings file's contents.

    Raises:
        SettingsError: A table or a value is invalid; the message contains no secret.
    """
    before = f"{file}, " if file else ""
    sections: list[Section] = []
    for kind in TABLES:
        tables = table.get(kind, {})
        if not isinstance(tables, Mapping):
            example = f'[{kind}."{_EXAMPLES[kind]}"]'
            raise SettingsError(f"{before}{kind}: write a table, such as {example}")
        for name, values in tables.items():
            if not isinstance(values, Mapping):
                raise SettingsError(
                    f"{before}{kind}.{name}: write a table with a name in quotes, such as "
                    f'[{kind}."{_EXAMPLES[kind]}"]'
                )
            sections.append(_section(kind, name, values, before, len(sections), file))
    sections.sort(key=lambda section: (*section.scope.specificity, section.order), reverse=True)
    return Sites(tuple(sections), overridden)


_EXAMPLES = {HOST: "example.org", URL: "https://example.org/news/*"}


def _section(
    kind: str, name: str, given: Mapping[str, Any], before: str, order: int, file: str
) -> Section:
    title = f'[{kind}."{without_credentials(name) if kind == URL else name}"]'
    source = f"{before}{title}"
    try:
        scope = _host_scope(name) if kind == HOST else _url_scope(name)
    except (ValueError, AddressError) as error:
        why = str(error) if isinstance(error, AddressError) else "this is not a valid host"
        raise SettingsError(f"{source}: {why}") from None
    values: dict[str, Any] = {}
    typed: dict[str, str] = {}
    for key, value in given.items():
        at = f"{source}, {key}"
        if key not in SITE_FIELDS:
            nested = ' (put the name in quotes: [host."example.org"])'
            raise SettingsError(
                f"{source}: there is no setting {quoted(key)} for a site; choose one of "
                f"{', '.join(SITE_FIELDS)}{nested if isinstance(value, Mapping) else ''}"
            )
        if kind == URL and key in FOR_HOSTS_ONLY:
            raise SettingsError(f'{at}: it applies to a whole host; set it in [host."..."]')
        values[key], typed[key] = _PARSERS.get(key, _plain)(key, value, at, file)
    _check_together(values, source)
    return Section(title, source, values, typed, scope, order)


def _host_scope(name: str) -> Scope:
    if "/" in name:
        raise AddressError('write only the host, such as example.org, or use a table [url."..."]')
    host = normal_host("https", name.removeprefix(_ANY_SUBDOMAIN))
    return Scope(host, with_subdomains=name.startswith(_ANY_SUBDOMAIN))


def _url_scope(pattern: str) -> Scope:
    parts = _PATTERN.fullmatch(pattern)
    if parts is None:
        raise AddressError(
            "a pattern begins with http:// or https://, as https://example.org/news/*"
        )
    scheme, authority, path = parts[1].lower(), parts[2], parts[3] or "/"
    plain = authority.removeprefix(_ANY_SUBDOMAIN)
    if "*" in plain:
        # A * elsewhere could match somebody else's host, which would be sent the headers.
        raise AddressError(
            "in the host, * may only stand for subdomains, as https://*.example.org/"
        )
    url = redirected(f"{scheme}://{plain}/", f"{scheme}://{plain}{path}")
    escaped = path_of(url)
    return Scope(
        host_of(url),
        with_subdomains=plain != authority,
        scheme=scheme,
        path=escaped,
        literal=len(escaped.replace("*", "")),
    )


def _plain(name: str, value: Any, at: str, _file: str) -> tuple[Any, str]:  # noqa: ANN401
    found = parsed(SITE_FIELDS[name], value, at)
    if name == "fingerprint" and found not in FINGERPRINTS:
        raise SettingsError(f"{at}: {quoted(found)} is not one of {', '.join(FINGERPRINTS)}")
    return found, ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _secret(name: str, value: Any, at: str, file: str) -> tuple[Secret, str]:  # noqa: ANN401
    if not isinstance(value, str) or not value.strip():
        raise SettingsError(
            f"{at}: write text in quotes, such as {SITE_FIELDS[name]['kind'].examples}"
        )
    secret = Secret(value, str(Path(file).parent))
    if name == "auth" and not secret.is_elsewhere and ":" not in value:
        raise SettingsError(
            f"{at}: write user:password, or env:NAME or file:PATH to read it from there"
        )
    return secret, shown_proxy(secret) if name == "proxy" else str(secret)


def _cookies(name: str, value: Any, at: str, file: str) -> tuple[str, str]:  # noqa: ANN401
    if not isinstance(value, str) or not value.strip():
        raise SettingsError(f"{at}: name a file, such as {SITE_FIELDS[name]['kind'].examples}")
    return str(Path(Path(file).parent, value).expanduser()), value


def _headers(
    _name: str,
    value: Any,  # noqa: ANN401
    at: str,
    file: str,
) -> tuple[tuple[tuple[str, Secret], ...], str]:
    if not isinstance(value, Mapping):
        raise SettingsError(f"{at}: write names and values, as {HEADERS.examples}")
    headers: list[tuple[str, Secret]] = []
    for name, text in value.items():
        if not _TOKEN.fullmatch(name):
            raise SettingsError(f"{at}: {quoted(name)} cannot be the name of a header")
        if name.lower() in RESERVED_HEADERS:
            raise SettingsError(f"{at}: {name}: {RESERVED_HEADERS[name.lower()]}")
        if not isinstance(text, str) or not is_sendable(text):
            raise SettingsError(f"{at}: {name}: a value is text on one line, in ASCII")
        headers.append((name, Secret(text, str(Path(file).parent))))
    return tuple(headers), shown_headers(headers)


def shown_headers(headers: Iterable[tuple[str, Secret]]) -> str:
    """Return headers for display, with all but harmless values masked.

    >>> shown_headers([("DNT", Secret("1")), ("X-Key", Secret("1234"))])
    'DNT: 1, X-Key: ••••'
    """
    return ", ".join(
        f"{name}: {value.typed if name.lower() in HARMLESS_HEADERS else value}"
        for name, value in headers
    )


def shown_proxy(proxy: Secret | None) -> str:
    """Return a proxy for display, with credentials masked."""
    if proxy is None:
        return ""
    return str(proxy) if proxy.is_elsewhere else without_credentials(proxy.typed)


def is_sendable(value: str) -> bool:
    r"""Whether a header's value can be sent.

    >>> is_sendable("Bearer 1"), is_sendable("a\r\nHost: b")
    (True, False)
    """
    return value.isascii() and value.isprintable() and bool(value.strip())


_PARSERS: dict[str, Callable[[str, Any, str, str], tuple[Any, str]]] = {
    "headers": _headers,
    "cookies": _cookies,
    "auth": _secret,
    "proxy": _secret,
}


def _check_together(values: dict[str, Any], source: str) -> None:
    """Reject settings of a table that contradict each other; fill in what follows from others."""
    if "selector" in values:
        values.setdefault("fingerprint", "selector")
    if "fingerprint" in values:
        values.setdefault("selector", "")
        if (values["fingerprint"] == "selector") != bool(values["selector"]):
            raise SettingsError(
                f"{source}, selector: give it with fingerprint = selector, and only then"
            )
    names = {name.lower() for name, _ in values.get("headers", ())}
    for header, name in (("authorization", "auth"), ("cookie", "cookies")):
        if header in names and name in values:
            raise SettingsError(
                f"{source}: {name} and the header {header.title()} cannot be combined"
            )
    check_intervals(values.get("min_interval", 0.0), values.get("max_interval", 0.0), f"{source}, ")


def check_intervals(low: float, high: float, before: str) -> None:
    """Reject a maximum interval below the minimum."""
    if 0.0 < high < low:
        raise SettingsError(f"{before}max_interval: it is shorter than min_interval")
