"""Where settings come from: the command line, the environment and a file.

An option on the command line takes precedence over the environment (``RECRAWL_HOST_DELAY=2s``),
which takes precedence over a TOML file (``host_delay = "2s"``), and that over the default. In the
file, tables for URLs and hosts take precedence over the rest (`recrawl.config.sites`).
"""

import os
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from recrawl.config.kinds import parsed
from recrawl.config.secrets import Secret, without_arguments
from recrawl.config.settings import FIELDS, Settings
from recrawl.config.site_tables import FINGERPRINTS, TABLES, check_intervals, read_sites
from recrawl.config.sites import GLOBAL_NAMES
from recrawl.errors import AddressError, ArgumentError, SettingsError
from recrawl.units import quoted
from recrawl.urls import canonical

#: The default settings file.
FILE = "recrawl.toml"
#: The most parts of a key such as host.delay; parsing one takes time in proportion to their square.
MAX_KEY_PARTS = 1_000
#: A text on one line; the dots in it separate no parts of a key.
_TEXT = re.compile(r"""'[^'\n]*'?|"(?:[^"\\\n]|\\.)*"?""")
#: Former names of settings, which are refused with the current name.
OLD_NAMES = {
    "most_bytes": "max_bytes",
    "most_crawl_delay": "max_crawl_delay",
    "most_depth": "max_depth",
    "most_pages": "max_pages",
    "most_redirects": "max_redirects",
    "idle_timeout": "read_timeout",
    "link_share": "link_importance",
    "sitemap_every": "sitemap_interval",
}


def variable(name: str) -> str:
    """Return the environment variable of a setting.

    >>> variable("host_delay")
    'RECRAWL_HOST_DELAY'
    """
    return f"RECRAWL_{name.upper()}"


def option(name: str) -> str:
    """Return the command-line option of a setting.

    >>> option("host_delay")
    '--host-delay'
    """
    return f"--{name.replace('_', '-')}"


def load_settings(
    options: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    file: str | os.PathLike[str] | None = None,
) -> Settings:
    """Combine settings from options, environment and file.

    Args:
        options: Values by name, as text or parsed; None for an option that was not given.
        environ: The environment; by default, the process's own.
        file: A TOML file; by default, ``recrawl.toml`` in the current directory, if it exists.

    Raises:
        SettingsError: A setting is invalid; the message says which, and where it was set.

    >>> load_settings({"budget": "5/min"}, environ={"RECRAWL_HOST_DELAY": "2s"}).budget
    7200.0
    """
    given: dict[str, Any] = {}
    path = Path(file) if file is not None else Path(FILE)
    tables: dict[str, Any] = {}
    if file is not None or path.is_file():
        tables = read_table(path)
        given |= _from_file(path, tables)
    in_file, given = given, {}
    env = os.environ if environ is None else environ
    for name in (*OLD_NAMES, *FIELDS):
        if variable(name) in env:
            _check_name(name, "", variable)
            given[name] = parsed(FIELDS[name].metadata, env[variable(name)], variable(name))
    for name, value in (options or {}).items():
        _check_name(name, "", option)
        if value is not None:
            given[name] = parsed(FIELDS[name].metadata, value, option(name))
    overridden = frozenset(name for name, known in GLOBAL_NAMES.items() if known in given)
    sites = read_sites(tables, str(path), overridden)
    return _consistent(Settings(**{**in_file, **given}, sites=sites))


def read_table(path: Path) -> dict[str, Any]:
    """Read a settings file."""
    try:
        text = path.read_text("utf-8")
        if any(line.count(".") > MAX_KEY_PARTS for line in _TEXT.sub("", text).splitlines()):
            raise SettingsError(f"{path}: a key has more than {MAX_KEY_PARTS:,} parts")
        return tomllib.loads(text)
    except FileNotFoundError as error:
        raise SettingsError(f"{path}: there is no such file") from error
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error
    except RecursionError:
        raise SettingsError(f"{path}: values are nested too deeply") from None
    except ValueError as error:
        # Besides invalid TOML, bytes that are not UTF-8, and numbers of thousands of digits.
        raise SettingsError(f"{path}: invalid TOML: {error}") from error


def _from_file(path: Path, table: Mapping[str, Any]) -> dict[str, Any]:
    named = {name: value for name, value in table.items() if name not in TABLES}
    for name in named:
        _check_name(name, f"{path}: ")
    return {
        name: _beside(path, parsed(FIELDS[name].metadata, value, f"{path}, {name}"))
        for name, value in named.items()
    }


def _beside(path: Path, value: Any) -> Any:  # noqa: ANN401 - as settings are
    """Have a secret that is in a file looked for next to the settings file."""
    return replace(value, folder=str(path.parent)) if isinstance(value, Secret) else value


def _check_name(name: str, before: str, spelled: Callable[[str], str] = str) -> None:
    if name in OLD_NAMES:
        raise SettingsError(f"{before}{spelled(name)} is now {spelled(OLD_NAMES[name])}")
    if name not in FIELDS:
        raise SettingsError(f"{before}there is no setting '{name}'; `recrawl settings` lists them")


def _check_agent(settings: Settings) -> None:
    if settings.user_agent:
        from recrawl.http.robots import product_token

        try:
            product_token(settings.user_agent)
        except ArgumentError as error:
            raise SettingsError(f"user_agent: {error}") from None
    elif not settings.contact.isprintable():
        raise SettingsError(
            f"contact: {quoted(settings.contact)} cannot be sent; write a URL or an email address"
        )


def _consistent(settings: Settings) -> Settings:
    if settings.processes > 1 and sys.platform == "win32":
        raise SettingsError("processes: on Windows, one process fetches")
    if settings.public_url:
        try:
            canonical(settings.public_url)
        except AddressError as error:
            raise SettingsError(f"public_url: {error}") from None
    _check_agent(settings)
    if settings.fingerprint not in FINGERPRINTS:
        raise SettingsError(
            f"fingerprint: {quoted(settings.fingerprint)} is not one of {', '.join(FINGERPRINTS)}"
        )
    if settings.fingerprint == "selector" and not settings.selector:
        raise SettingsError(
            "selector is missing: fingerprint = selector compares the elements that a CSS "
            "selector matches; give one, such as --selector 'main article'"
        )
    if settings.selector and settings.fingerprint != "selector":
        raise SettingsError(
            "selector is given, but fingerprint is "
            f"{settings.fingerprint}; add --fingerprint selector, or leave the selector out"
        )
    try:
        shlex.split(settings.on_change)
    except ValueError:
        raise SettingsError(
            "on_change: a quotation mark is missing in "
            f"{quoted(without_arguments(settings.on_change))}"
        ) from None
    if 0.0 < settings.max_interval < settings.min_interval == Settings.min_interval:
        # An explicit maximum overrides the default minimum.
        return replace(settings, min_interval=settings.max_interval)
    check_intervals(settings.min_interval, settings.max_interval, "")
    return settings
