"""Types of settings: how their values are typed, parsed and bounded."""

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, NamedTuple

from recrawl.config.secrets import Secret
from recrawl.errors import ArgumentError, SettingsError
from recrawl.hosts import address_and_port, normal_host
from recrawl.units import SECONDS_A_DAY, parse_duration, parse_rate, parse_share, quoted
from recrawl.urls import pattern_of

_SIZES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class Kind(NamedTuple):
    """The type of a setting's values.

    Attributes:
        name: What it is called in messages and tables.
        examples: Some values.
        parse: Parses text, or raises ArgumentError, ValueError, KeyError or OverflowError.
        unit: The unit of parsed values; None if they are not quantities.
    """

    name: str
    examples: str
    parse: Callable[[str], Any]
    unit: str | None = None


#: A comma may be part of a URL: it separates patterns only where another one begins.
_BETWEEN_PATTERNS = re.compile(r"(?<![\s,])[\s,]++(?=https?:|\*)", re.IGNORECASE)


def _seconds(text: str) -> float:
    return parse_duration(text) * SECONDS_A_DAY


def _bytes(text: str) -> int:
    number = text.strip().lower().rstrip("bkmg")
    return round(float(number) * _SIZES[text.strip().lower()[len(number) :].strip()])


def _patterns(text: str) -> tuple[str, ...]:
    lines = (line.strip(" \t\r,") for line in text.split("\n"))
    parts = (part for line in lines for part in _BETWEEN_PATTERNS.split(line))
    return tuple(pattern_of(part) for part in parts if part)


def _hosts(text: str) -> tuple[str, ...]:
    return tuple(_host(name.strip()) for name in text.split(",") if name.strip())


def _host(name: str) -> str:
    if "/" in name:
        raise ArgumentError(f"{quoted(name)}: write only the host, such as example.org")
    return normal_host("https", name)


def _selectors(text: str) -> tuple[str, ...]:
    # A comma may be part of a selector. Otherwise it means "or", so there is no need to split
    # there.
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def _listening(text: str) -> str:
    address_and_port(text)
    return text


TEXT = Kind("text", "recrawl.db", str)
BOOLEAN = Kind("true or false", "true, false", lambda text: _BOOLEANS[text.strip().lower()])
COUNT = Kind("a number", "1, 20", int)
SHARE = Kind("a share", "0.05, 5%", parse_share)
RATE = Kind("a rate", "2000/day, 5/min", parse_rate, "per day")
DURATION = Kind("a duration", "1s, 30d", parse_duration, "days")
SECONDS = Kind("a duration", "500s, 1m", _seconds, "seconds")
SIZE = Kind("a size", "10MB, 500kB", _bytes, "bytes")
HOSTS = Kind("a list of hosts", "example.org, example.net", _hosts)
PATTERNS = Kind("a list of URL patterns", "https://example.org/news/*, *.pdf", _patterns)
SELECTORS = Kind("a list of CSS selectors", "nav.related, #comments", _selectors)
SPENDING = Kind("worth or all", "worth, all", lambda text: {"worth": "worth", "all": "all"}[text])
KEEPING = Kind("keep or drop", "keep, drop", lambda text: {"keep": "keep", "drop": "drop"}[text])
FILLING = Kind(
    "polite or budget",
    "polite, budget",
    lambda text: {"polite": "polite", "budget": "budget"}[text],
)
NUMBER = Kind("a number", "0.5, 2, 10", float)
LISTENING = Kind("an address and a port", "127.0.0.1:8321", _listening)
PROXY = Kind(
    "a proxy",
    "http://proxy.example:3128, env:MY_PROXY",
    lambda text: Secret(text) if text.strip() else None,
)


def setting(
    default: str,
    kind: Kind,
    meaning: str,
    *,
    minimum: float | None = None,
    maximum: str | None = None,
) -> Any:  # noqa: ANN401 - as dataclasses.field
    """Describe a field of `Settings`; default and maximum are written as users type them."""
    described = {
        "kind": kind,
        "meaning": meaning,
        "minimum": minimum,
        "maximum": maximum,
        "typed": default,
    }
    return field(default=kind.parse(default), metadata=described)


def parsed(described: Mapping[str, Any], given: Any, source: str) -> Any:  # noqa: ANN401
    """Parse the value of a setting; an error names the source it came from."""
    kind: Kind = described["kind"]
    between = "\n" if kind in (PATTERNS, SELECTORS) else ","
    text = between.join(map(str, given)) if isinstance(given, (list, tuple)) else str(given)
    try:
        value = kind.parse(text)
    except ArgumentError as error:
        raise SettingsError(f"{source}: {error}") from error
    except (ValueError, KeyError, OverflowError):
        raise SettingsError(
            f"{source}: {quoted(text)} is not {kind.name}; write for example {kind.examples}"
        ) from None
    minimum, maximum = described["minimum"], described["maximum"]
    if minimum is not None and not value >= minimum:
        least = f"{minimum:g}" if kind.unit is None else f"{minimum:g} {kind.unit}"
        raise SettingsError(f"{source}: {quoted(text)} is too small; the minimum is {least}")
    if maximum is not None and not value <= kind.parse(maximum):
        raise SettingsError(f"{source}: {quoted(text)} is too large; the maximum is {maximum}")
    return value
