"""Turn the settings of sites into headers, credentials and proxies; secrets are read once, here."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import final

from recrawl.config.secrets import Secret
from recrawl.config.settings import Settings
from recrawl.config.site_tables import is_sendable
from recrawl.config.sites import Site
from recrawl.errors import ArgumentError, InputError, SettingsError
from recrawl.http.access import NO_ACCESS, Access, basic_auth, parse_proxy
from recrawl.http.cookies import Cookie, read_cookies


def site_access(
    settings: Settings, environ: Mapping[str, str] | None = None
) -> Callable[[str], Access]:
    """Return a function from a URL to the headers, credentials and proxy for it.

    Raises:
        SettingsError: A secret or a cookies file is missing or cannot be used.
    """
    made: dict[tuple[object, ...], Access] = {}
    vault = _Vault(environ)

    def of(url: str) -> Access:
        site = settings.site_of(url)
        if not site.has_access:
            return NO_ACCESS
        key = (site.headers, site.cookies, site.auth, site.proxy)
        if key not in made:
            made[key] = _access(site, vault)
        return made[key]

    # Missing secrets are reported before the first request.
    _access(settings.sites.merged((), settings), vault)
    for number in range(len(settings.sites.sections)):
        _access(settings.sites.merged((number,), settings), vault)
    return of


@final
class _Vault:
    """Secrets and cookies, each read once: tables meet in ways that show only in mid-crawl.

    Args:
        environ: The environment; by default, the process's own.
    """

    def __init__(self, environ: Mapping[str, str] | None) -> None:
        self._environ = environ
        self._revealed: dict[tuple[str, str], str] = {}
        self._cookies: dict[str, tuple[Cookie, ...]] = {}

    def reveal(self, secret: Secret, source: str) -> str:
        """Return a secret itself, as it was when it was first asked for."""
        key = secret.typed, secret.folder
        if key not in self._revealed:
            self._revealed[key] = secret.reveal(source, self._environ)
        return self._revealed[key]

    def cookies(self, path: str, source: str) -> tuple[Cookie, ...]:
        """Return the cookies in a file, as they were when they were first asked for."""
        if path not in self._cookies:
            self._cookies[path] = _read_cookies(path, source)
        return self._cookies[path]


def _access(site: Site, vault: _Vault) -> Access:
    def source(name: str) -> str:
        table = site.set_by.get(name)
        return name if table is None else f"{table}, {name}"

    headers = {
        name: _header(value, f"{source('headers')}, {name}", vault) for name, value in site.headers
    }
    if site.auth is not None:
        credentials = vault.reveal(site.auth, source("auth"))
        if ":" not in credentials:
            raise SettingsError(f"{source('auth')}: its value is not user:password")
        headers = {**_without(headers, "authorization"), "Authorization": basic_auth(credentials)}
    if site.cookies:
        headers = _without(headers, "cookie")
    cookies = vault.cookies(site.cookies, source("cookies")) if site.cookies else ()
    if site.proxy is None:
        return Access(headers, cookies)
    try:
        return Access(headers, cookies, parse_proxy(vault.reveal(site.proxy, source("proxy"))))
    except ArgumentError as error:
        raise SettingsError(f"{source('proxy')}: {error}") from None


def _without(headers: Mapping[str, str], unwanted: str) -> dict[str, str]:
    """Return headers without one that another setting replaces."""
    return {name: value for name, value in headers.items() if name.lower() != unwanted}


def _header(value: Secret, source: str, vault: _Vault) -> str:
    text = vault.reveal(value, source)
    if not is_sendable(text):
        raise SettingsError(f"{source}: its value is not a single line of ASCII text")
    return text


def _read_cookies(path: str, source: str) -> tuple[Cookie, ...]:
    try:
        with Path(path).open(encoding="utf-8") as file:
            return read_cookies(file, path)
    except OSError as error:
        raise SettingsError(f"{source}: {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{source}: {path}: this is not text in UTF-8") from None
    except InputError as error:
        raise SettingsError(f"{source}: {error}") from None
