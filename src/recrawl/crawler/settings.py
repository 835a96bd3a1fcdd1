"""The crawler's settings: their defaults, units and meanings, and where they can be set.

An option on the command line takes precedence over the environment (``RECRAWL_HOST_DELAY=2s``),
which takes precedence over a TOML file (``host_delay = "2s"``), and that over the default.
"""

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from recrawl.errors import ArgumentError, SettingsError
from recrawl.units import SECONDS_A_DAY, parse_duration, parse_rate, quoted
from recrawl.urls import pattern_of

#: The file that is read if none is named.
FILE = "recrawl.toml"
_SIZES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class Kind(NamedTuple):
    """The type of a setting's values.

    Attributes:
        name: What it is called in messages and tables.
        examples: Some values.
        parse: Parses text, or raises ArgumentError, ValueError, KeyError or OverflowError.
    """

    name: str
    examples: str
    parse: Callable[[str], Any]


def _seconds(text: str) -> float:
    return parse_duration(text) * SECONDS_A_DAY


def _bytes(text: str) -> int:
    number = text.strip().lower().rstrip("bkmg")
    return round(float(number) * _SIZES[text.strip().lower()[len(number) :].strip()])


def _patterns(text: str) -> tuple[str, ...]:
    # A comma may be part of a URL: it separates patterns only before the beginning of another.
    parts = re.split(r"\n+|[\s,]+(?=https?:|\*)", text.strip(" \t\r\n,"), flags=re.IGNORECASE)
    return tuple(pattern_of(part) for part in parts if part)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


TEXT = Kind("text", "recrawl.db", str)
BOOLEAN = Kind("true or false", "true, false", lambda text: _BOOLEANS[text.strip().lower()])
COUNT = Kind("a number", "1, 20", int)
SHARE = Kind("a share", "0, 0.5, 1", float)
RATE = Kind("a rate", "2000/day, 5/min", parse_rate)
DURATION = Kind("a duration", "1s, 30d", parse_duration)
SECONDS = Kind("a duration", "500s, 1m", _seconds)
SIZE = Kind("a size", "10MB, 500kB", _bytes)
NAMES = Kind("names", "example.org, example.net", _names)
PATTERNS = Kind("a list of URL patterns", "https://example.org/news/*, *.pdf", _patterns)


def setting(
    default: str,
    kind: Kind,
    meaning: str,
    *,
    minimum: float | None = None,
) -> Any:  # noqa: ANN401 - as dataclasses.field
    """Describe a field of `Settings`; the default is written as a user would type it."""
    described = {"kind": kind, "meaning": meaning, "minimum": minimum, "typed": default}
    return field(default=kind.parse(default), metadata=described)


@dataclass(frozen=True)
class Settings:
    """Settings of a crawl. Delays and timeouts are in seconds, other durations in days.

    >>> Settings().host_delay
    1.0
    """

    store: str = setting("recrawl.db", TEXT, "File that holds pages, visits and copies.")
    budget: float = setting(
        "1000/day",
        RATE,
        "Maximum rate of requests for pages: first fetches, revisits, redirects and retries.",
        minimum=1e-9,
    )
    contact: str = setting(
        "", TEXT, "URL or email address for site owners to write to; sent in the User-Agent."
    )
    user_agent: str = setting(
        "", TEXT, "Complete User-Agent to send instead of recrawl/VERSION with the contact."
    )
    connections: int = setting("64", COUNT, "Maximum number of concurrent requests.", minimum=1)
    host_connections: int = setting(
        "1", COUNT, "Maximum number of concurrent requests to one host.", minimum=1
    )
    host_delay: float = setting(
        "1s",
        SECONDS,
        "Minimum delay between two requests to a host; robots.txt may ask for more.",
        minimum=0,
    )
    host_budget: float = setting(
        "0/day", RATE, "Maximum rate of visits to one host; 0 for no limit.", minimum=0
    )
    max_crawl_delay: float = setting(
        "30s", SECONDS, "Longest Crawl-delay in robots.txt that is honoured.", minimum=0
    )
    connect_timeout: float = setting(
        "10s", SECONDS, "Time limit for opening a connection.", minimum=0.001
    )
    read_timeout: float = setting(
        "15s", SECONDS, "Time limit for a server to send the next byte.", minimum=0.001
    )
    total_timeout: float = setting(
        "60s", SECONDS, "Time limit for a request and its response.", minimum=0.001
    )
    max_bytes: int = setting(
        "10MB", SIZE, "Maximum size of a page, decompressed; the rest is not read.", minimum=1
    )
    max_redirects: int = setting("5", COUNT, "Maximum number of redirects to follow.", minimum=0)
    allow_private: bool = setting(
        "false", BOOLEAN, "Also crawl private, loopback and link-local addresses (intranets)."
    )
    fingerprint: str = setting(
        "text", TEXT, "What is compared to detect changes: bytes, text, main or selector."
    )
    selector: str = setting(
        "", TEXT, "With fingerprint = selector: CSS selector of the elements to compare."
    )
    full_fetch_every: int = setting(
        "20",
        COUNT,
        "After this many 304 responses in a row, request the page unconditionally.",
        minimum=1,
    )
    gone_after: int = setting(
        "3",
        COUNT,
        "After this many 404 or 410 responses in a row over gone_after_time, a page is gone.",
        minimum=1,
    )
    gone_after_time: float = setting(
        "1d", DURATION, "Minimum time for which a page is not found before it is gone.", minimum=0
    )
    refused_retry: float = setting(
        "3d",
        DURATION,
        "Time after which a page that robots.txt or its server refused is looked at again.",
        minimum=1e-6,
    )
    half_life: float = setting(
        "365d",
        DURATION,
        "Time after which half of what was learned about a page is forgotten.",
        minimum=1e-9,
    )
    neighbours: bool = setting(
        "true", BOOLEAN, "Whether a change on one page is evidence about pages near it."
    )
    sitemap_interval: float = setting(
        "1d", DURATION, "Time between two reads of a sitemap or feed.", minimum=1e-6
    )
    sitemap_budget: float = setting(
        "1000/day",
        RATE,
        "Maximum rate of requests for sitemaps and feeds, counted over 24 hours.",
        minimum=0,
    )
    max_sitemap_pages: int = setting(
        "1000000", COUNT, "Number of pages at which sitemaps and feeds add no more.", minimum=0
    )
    robots_sitemaps: bool = setting(
        "false", BOOLEAN, "Also read the sitemaps that robots.txt of crawled hosts names."
    )
    include: tuple[str, ...] = setting(
        "", PATTERNS, "Only URLs like these are added by sitemaps, feeds and links; * is anything."
    )
    exclude: tuple[str, ...] = setting(
        "", PATTERNS, "URLs like these are never added by sitemaps, feeds and links; * is anything."
    )
    follow: bool = setting("false", BOOLEAN, "Add the pages that crawled pages link to.")
    follow_hosts: tuple[str, ...] = setting(
        "", NAMES, "With follow: hosts to stay within; by default, those of the pages you added."
    )
    max_depth: int = setting(
        "3", COUNT, "With follow: maximum number of links from a page you added.", minimum=0
    )
    max_pages: int = setting(
        "100000", COUNT, "With follow: number of pages at which no more are added.", minimum=0
    )
    link_importance: float = setting(
        "0.5",
        SHARE,
        "With follow: importance of a linked page, as a share of the linking page's.",
        minimum=0,
    )


FIELDS = {one.name: one for one in fields(Settings)}
FINGERPRINTS = ("bytes", "text", "main", "selector")
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
    if file is not None or path.is_file():
        given |= _from_file(path)
    env = os.environ if environ is None else environ
    for name in (*OLD_NAMES, *FIELDS):
        if variable(name) in env:
            _check_name(name, "", variable)
            given[name] = _value(name, env[variable(name)], variable(name))
    for name, value in (options or {}).items():
        _check_name(name, "", option)
        if value is not None:
            given[name] = _value(name, value, option(name))
    return _consistent(Settings(**given))


def _from_file(path: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: invalid TOML: {error}") from error
    for name in table:
        _check_name(name, f"{path}: ")
    return {name: _value(name, value, f"{path}, {name}") for name, value in table.items()}


def _check_name(name: str, before: str, spelled: Callable[[str], str] = str) -> None:
    if name in OLD_NAMES:
        raise SettingsError(f"{before}{spelled(name)} is now {spelled(OLD_NAMES[name])}")
    if name not in FIELDS:
        raise SettingsError(f"{before}there is no setting '{name}'; `recrawl settings` lists them")


def _value(name: str, given: Any, source: str) -> Any:  # noqa: ANN401
    """Parse the value of a setting; an error names the source it came from."""
    described = FIELDS[name].metadata
    kind: Kind = described["kind"]
    between = "\n" if kind is PATTERNS else ","
    text = between.join(map(str, given)) if isinstance(given, (list, tuple)) else str(given)
    try:
        value = kind.parse(text)
    except ArgumentError as error:
        raise SettingsError(f"{source}: {error}") from error
    except (ValueError, KeyError, OverflowError):
        raise SettingsError(
            f"{source}: {quoted(text)} is not {kind.name}; write for example {kind.examples}"
        ) from None
    minimum = described["minimum"]
    if minimum is not None and not value >= minimum:
        raise SettingsError(f"{source}: {quoted(text)} is too small; the minimum is {minimum:g}")
    return value


def _consistent(settings: Settings) -> Settings:
    if settings.fingerprint not in FINGERPRINTS:
        raise SettingsError(
            f"fingerprint: '{settings.fingerprint}' is not one of {', '.join(FINGERPRINTS)}"
        )
    if (settings.fingerprint == "selector") != bool(settings.selector):
        raise SettingsError("selector: give it with fingerprint = selector, and only then")
    return settings


def agent_of(settings: Settings) -> str:
    """Return the User-Agent: the program, and whom to contact.

    >>> agent_of(Settings(contact="https://example.org/bot")).partition("/")[2][-26:]
    '(+https://example.org/bot)'
    """
    from importlib.metadata import version

    if settings.user_agent:
        return settings.user_agent
    name = f"recrawl/{version('recrawl')}"
    return f"{name} (+{settings.contact})" if settings.contact else name
