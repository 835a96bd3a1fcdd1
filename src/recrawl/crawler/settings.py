"""Every knob of the crawler: its default, its unit, what it means, and where it can be set.

A flag of the command line comes first, then the environment (``RECRAWL_HOST_DELAY=2s``), then a
TOML file (``host_delay = "2s"``), then the default.
"""

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from recrawl.errors import ArgumentError, SettingsError
from recrawl.units import parse_duration, parse_rate, quoted

#: The file that is read when nobody names one.
FILE = "recrawl.toml"
PREFIX = "RECRAWL_"
SECONDS_A_DAY = 86_400.0
_SIZES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}
_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class Kind(NamedTuple):
    """What a knob's values look like.

    Attributes:
        name: What it is, for people.
        examples: Values of it.
        read: Turns text into a value, or raises ArgumentError or ValueError.
    """

    name: str
    examples: str
    read: Callable[[str], Any]


def _seconds(text: str) -> float:
    return parse_duration(text) * SECONDS_A_DAY


def _bytes(text: str) -> int:
    number = text.strip().lower().rstrip("bkmg")
    return round(float(number) * _SIZES[text.strip().lower()[len(number) :].strip()])


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


TEXT = Kind("text", "recrawl.db", str)
YES_NO = Kind("true or false", "true, false", lambda text: _WORDS[text.strip().lower()])
COUNT = Kind("a number", "1, 20", int)
SHARE = Kind("a share", "0, 0.5, 1", float)
RATE = Kind("visits", "2000/day, 5/min", parse_rate)
DURATION = Kind("a duration", "1s, 30d", parse_duration)
SECONDS = Kind("a duration", "500s, 1m", _seconds)
SIZE = Kind("a size", "10MB, 500kB", _bytes)
WORDS = Kind("names", "example.org, example.net", _words)


def knob(default: str, kind: Kind, meaning: str, *, least: float | None = None) -> Any:  # noqa: ANN401
    """Describe a field of `Settings`; the default is written as people would type it."""
    described = {"kind": kind, "meaning": meaning, "least": least, "typed": default}
    return field(default=kind.read(default), metadata=described)


@dataclass(frozen=True)
class Settings:
    """What a crawl is told. Durations that end up in requests are seconds, others days.

    >>> Settings().host_delay
    1.0
    """

    store: str = knob("recrawl.db", TEXT, "The file that pages, visits and copies are kept in.")
    budget: float = knob(
        "1000/day",
        RATE,
        "Requests for pages: first fetches, revisits, hops and retries alike.",
        least=1e-9,
    )
    contact: str = knob(
        "", TEXT, "A URL or address that site owners can write to; it stands in the User-Agent."
    )
    user_agent: str = knob(
        "", TEXT, "The whole User-Agent, where recrawl/VERSION with the contact is not wanted."
    )
    connections: int = knob("64", COUNT, "Requests under way at once.", least=1)
    host_connections: int = knob("1", COUNT, "Requests under way at once to one host.", least=1)
    host_delay: float = knob(
        "1s", SECONDS, "Rest between two requests to a host; robots.txt may ask for more.", least=0
    )
    host_budget: float = knob("0/day", RATE, "Visits to one host at most; 0 for no limit.", least=0)
    max_crawl_delay: float = knob(
        "30s", SECONDS, "The longest rest that robots.txt is granted.", least=0
    )
    connect_timeout: float = knob("10s", SECONDS, "How long a connection may take.", least=0.001)
    idle_timeout: float = knob("15s", SECONDS, "How long a server may say nothing.", least=0.001)
    total_timeout: float = knob("60s", SECONDS, "How long a page may take in all.", least=0.001)
    max_bytes: int = knob("10MB", SIZE, "How much of a page is read, decompressed.", least=1)
    max_redirects: int = knob("5", COUNT, "How many redirects are followed.", least=0)
    allow_private: bool = knob(
        "false", YES_NO, "Crawl private, loopback and link-local addresses too, as in an intranet."
    )
    fingerprint: str = knob(
        "text", TEXT, "What counts as the page: bytes, text, main, or selector."
    )
    selector: str = knob("", TEXT, "With fingerprint = selector: the CSS selector of what counts.")
    full_fetch_every: int = knob(
        "20",
        COUNT,
        "After so many 304 responses in a row, ask for the page without conditions.",
        least=1,
    )
    gone_after: int = knob(
        "3", COUNT, "A page is retired after so many 404 or 410 responses in a row.", least=1
    )
    half_life: float = knob(
        "365d",
        DURATION,
        "After this time half of what was learned of a page is forgotten.",
        least=1e-9,
    )
    neighbours: bool = knob(
        "true", YES_NO, "Whether a change on one page is evidence about those beside it."
    )
    sitemap_every: float = knob("1d", DURATION, "How often sitemaps are read again.", least=1e-6)
    follow: bool = knob("false", YES_NO, "Take in pages that crawled pages link to.")
    follow_hosts: tuple[str, ...] = knob(
        "", WORDS, "With follow: hosts to stay within; those of the pages asked for if not given."
    )
    max_depth: int = knob("3", COUNT, "With follow: links from a page asked for.", least=0)
    max_pages: int = knob("100000", COUNT, "With follow: pages taken in in all.", least=0)
    link_share: float = knob(
        "0.5",
        SHARE,
        "With follow: a page's importance, as a share of that of the page that links to it.",
        least=0,
    )


KNOBS = {one.name: one for one in fields(Settings)}
FINGERPRINTS = ("bytes", "text", "main", "selector")


def load_settings(
    flags: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    file: str | os.PathLike[str] | None = None,
) -> Settings:
    """Gather settings from flags, environment and file.

    Args:
        flags: By a knob's name, as typed or as a value; None for one that was not given.
        environ: The environment; the process's own unless given.
        file: A TOML file; ``recrawl.toml`` in the current directory, if there is one, unless given.

    Raises:
        SettingsError: Something cannot be used; the message says what and where it was set.

    >>> load_settings({"budget": "5/min"}, environ={"RECRAWL_HOST_DELAY": "2s"}).budget
    7200.0
    """
    told: dict[str, Any] = {}
    path = Path(file) if file is not None else Path(FILE)
    if file is not None or path.is_file():
        told |= _from_file(path)
    env = os.environ if environ is None else environ
    for name in KNOBS:
        text = env.get(PREFIX + name.upper())
        if text is not None:
            told[name] = _value(name, text, PREFIX + name.upper())
    for name, value in (flags or {}).items():
        if value is not None:
            told[name] = _value(name, value, f"--{name.replace('_', '-')}")
    return _consistent(Settings(**told))


def _from_file(path: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: this is not TOML: {error}") from error
    unknown = [name for name in table if name not in KNOBS]
    if unknown:
        raise SettingsError(
            f"{path}: there is no setting '{unknown[0]}'; `recrawl settings` lists them"
        )
    return {name: _value(name, value, f"{path}, {name}") for name, value in table.items()}


def _value(name: str, given: Any, place: str) -> Any:  # noqa: ANN401
    """Give a knob's value from what was typed, or say what is wrong with it."""
    described = KNOBS[name].metadata
    kind: Kind = described["kind"]
    text = ",".join(map(str, given)) if isinstance(given, (list, tuple)) else str(given)
    try:
        value = kind.read(text)
    except ArgumentError as error:
        raise SettingsError(f"{place}: {error}") from error
    except (ValueError, KeyError, OverflowError):
        raise SettingsError(
            f"{place}: {quoted(text)} is not {kind.name}; write for example {kind.examples}"
        ) from None
    least = described["least"]
    if least is not None and not value >= least:
        raise SettingsError(f"{place}: {quoted(text)} is too small; at least {least:g}")
    return value


def _consistent(settings: Settings) -> Settings:
    if settings.fingerprint not in FINGERPRINTS:
        raise SettingsError(
            f"fingerprint: '{settings.fingerprint}' is not one of {', '.join(FINGERPRINTS)}"
        )
    if (settings.fingerprint == "selector") != bool(settings.selector):
        raise SettingsError("selector: goes with fingerprint = selector, and only with that")
    return settings


def agent_of(settings: Settings) -> str:
    """Give the User-Agent: who we are, and whom to write to.

    >>> agent_of(Settings(contact="https://example.org/bot")).partition("/")[2][-26:]
    '(+https://example.org/bot)'
    """
    from importlib.metadata import version

    if settings.user_agent:
        return settings.user_agent
    name = f"recrawl/{version('recrawl')}"
    return f"{name} (+{settings.contact})" if settings.contact else name
