"""Times and sizes for people and for JSON."""

import math
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from recrawl.cli.output import say
from recrawl.escaping import printable
from recrawl.records import MICROSECONDS_A_DAY
from recrawl.units import format_duration, format_time

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SIZES = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


def minute(at: int) -> str:
    """Write a time to the minute.

    >>> minute(0)
    '1970-01-01 00:00'
    """
    return f"{_time(at):%Y-%m-%d %H:%M}"


def second(at: int) -> str:
    """Write a time to the second.

    >>> second(1_000_000)
    '1970-01-01 00:00:01'
    """
    return f"{_time(at):%Y-%m-%d %H:%M:%S}"


def iso(at: int | None) -> str | None:
    """Write a time as ISO 8601, to the microsecond; None stays None.

    >>> iso(1_500_000)
    '1970-01-01T00:00:01.500000Z'
    """
    return None if at is None else format_time(at)


def until(at: int, now: int) -> str:
    """Write how far ahead a time is.

    >>> until(3_600_000_000, 0), until(0, 1)
    ('in 1 h', 'now')
    """
    return "now" if at <= now else f"in {format_duration((at - now) / MICROSECONDS_A_DAY)}"


def size(count: int) -> str:
    """Write a number of bytes.

    >>> size(512), size(5_100), size(12_000_000)
    ('512 bytes', '5.1 kB', '12 MB')
    """
    for unit, name in _SIZES:
        if count >= unit:
            return (
                f"{count / unit:.2g} {name}" if count < 100 * unit else f"{count // unit:,} {name}"
            )
    return f"{count} bytes"


def finite(number: float | None) -> float | None:
    """Return a number that JSON can represent; None for others.

    >>> finite(1.5), finite(math.inf)
    (1.5, None)
    """
    return number if number is not None and math.isfinite(number) else None


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print names and values in two columns."""
    rows = list(facts)
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        say(f"{name:{width}}  {printable(value)}", indent=width + 2)


def _time(at: int) -> datetime:
    return _EPOCH + timedelta(microseconds=at)
