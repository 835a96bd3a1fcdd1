"""From the settings of sites to what their requests are made with: secrets are read once, here."""

from collections.abc import Callable, Mapping
from pathlib import Path

from recrawl.crawler.secrets import Secret
from recrawl.crawler.settings import Settings
from recrawl.crawler.site_tables import is_sendable
from recrawl.crawler.sites import Site
from recrawl.errors import ArgumentError, InputError, SettingsError
from recrawl.http.access import NO_ACCESS, Access, basic_auth, parse_proxy
from recrawl.http.cookies import Cookie, read_cookies


def site_access(
    settings: Settings, environ: Mapping[str, str] | None = None
) -> Callable[[str], Access]:
    """Return a function from a URL to what requests for it are made with.

    Raises:
        SettingsError: A secret or a cookies file is missing or cannot be used.
    """
    made: dict[tuple[object, ...], Access] = {}

    def of(url: str) -> Access:
        site = settings.site_of(url)
        if not site.has_access:
            return NO_ACCESS
        key = (site.headers, site.cookies, site.auth, site.proxy)
        if key not in made:
            made[key] = _access(site, environ)
        return made[key]

    # Whatever is missing is found out before the first request.
    _access(settings.sites.merged((), settings), environ)
    for number in range(len(settings.sites.sections)):
        _access(settings.sites.merged((number,), settings), environ)
    return of


def _access(site: Site, environ: Mapping[str, str] | None) -> Access:
    def source(name: str) -> str:
        table = site.set_by.get(name)
        return name if table is None else f"{table}, {name}"

    headers = {
        name: _header(value, f"{source('headers')}, {name}", environ)
        for name, value in site.headers
    }
    if site.auth is not None:
        credentials = site.auth.reveal(source("auth"), environ)
        if ":" not in credentials:
            raise SettingsError(f"{source('auth')}: its value is not user:password")
        headers = {**_without(headers, "authorization"), "Authorization": basic_auth(credentials)}
    if site.cookies:
        headers = _without(headers, "cookie")
    cookies = _cookies(site.cookies, source("cookies")) if site.cookies else ()
    if site.proxy is None:
        return Access(headers, cookies)
    try:
        return Access(headers, cookies, parse_proxy(site.proxy.reveal(source("proxy"), environ)))
    except ArgumentError as error:
        raise SettingsError(f"{source('proxy')}: {error}") from None


def _without(headers: Mapping[str, str], unwanted: str) -> dict[str, str]:
    """Return headers without one that another table sets in another way."""
    return {name: value for name, value in headers.items() if name.lower() != unwanted}


def _header(value: Secret, source: str, environ: Mapping[str, str] | None) -> str:
    text = value.reveal(source, environ)
    if not is_sendable(text):
        raise SettingsError(f"{source}: its value is not a single line of ASCII text")
    return text


def _cookies(path: str, source: str) -> tuple[Cookie, ...]:
    try:
        with Path(path).open(encoding="utf-8") as file:
            return read_cookies(file, path)
    except OSError as error:
        raise SettingsError(f"{source}: {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{source}: {path}: this is not text in UTF-8") from None
    except InputError as error:
        raise SettingsError(f"{source}: {error}") from None
