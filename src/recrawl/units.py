"""Rates, durations and times as people type and read them: ``500/h``, ``30d``, ``2026-01-01``.

Inside the library rates are per day, durations are in days and times are in UTC; this is the only
module that knows other units.
"""

import math
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache

from recrawl.errors import ArgumentError

SECONDS_A_DAY = 86_400.0
MICROSECONDS_A_SECOND = 1_000_000
MICROSECONDS_A_DAY = SECONDS_A_DAY * MICROSECONDS_A_SECOND

RATE_EXAMPLES = "500/h, 2/s, 1000/day or 1.5M/day"
DURATION_EXAMPLES = "30d, 6h or 1h30m"
SIZE_EXAMPLES = "2GB, 512MiB or 1.5TB"
TIME_EXAMPLES = "2026-01-31, 2026-01-31T12:30:00Z or Unix seconds"

_SECOND, _MINUTE, _HOUR, _DAY, _WEEK, _YEAR = 1 / SECONDS_A_DAY, 1 / 1440, 1 / 24, 1.0, 7.0, 365.25
#: A month is a twelfth of a year: 30.44 days.
_MONTH = _YEAR / 12
_DAYS_IN = {
    name: days
    for names, days in [
        (("ms", "millisecond", "milliseconds"), _SECOND / 1000),
        (("s", "sec", "second", "seconds"), _SECOND),
        (("m", "min", "minute", "minutes"), _MINUTE),
        (("h", "hour", "hours"), _HOUR),
        (("d", "day", "days"), _DAY),
        (("w", "week", "weeks"), _WEEK),
        (("month", "months"), _MONTH),
        (("y", "year", "years"), _YEAR),
    ]
    for name in names
}
_PREFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}

_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?"
_RATE = re.compile(rf"({_NUMBER})\s*+([kmg]?)\s*+/\s*([a-z]+)")
_DURATION_PART = re.compile(rf"({_NUMBER})\s*([a-z]+)\s*")
_SIZE = re.compile(rf"({_NUMBER})\s*([kmgt]?)(i?)b?")
_SIGNED_NUMBER = re.compile(rf"[+-]?{_NUMBER}", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

#: A rate per day that no page has and no crawler reaches: a billion per second.
_UNLIMITED = SECONDS_A_DAY * 1e9
#: How much of the user's text a message quotes.
_MAX_QUOTED = 40


def quoted(text: str) -> str:
    """Quote what a user typed, shortened and on one line, for use in a message.

    >>> quoted("five a day")
    "'five a day'"
    """
    return repr(text if len(text) <= _MAX_QUOTED else text[: _MAX_QUOTED - 1] + "…")


def parse_rate(text: str) -> float:
    """Parse a rate such as ``500/h``; return it per day.

    >>> parse_rate("500/h"), parse_rate("10k / day"), parse_rate("14/week")
    (12000.0, 10000.0, 2.0)
    """
    match = _RATE.fullmatch(text.strip().lower())
    if match is None or match[3] not in _DAYS_IN:
        raise _not_understood(text, "rate", RATE_EXAMPLES)
    rate = float(match[1]) * _PREFIXES[match[2]] / _DAYS_IN[match[3]]
    if math.isinf(rate):
        raise ArgumentError(f"{quoted(text)} is too large; write for example {RATE_EXAMPLES}")
    return rate


def parse_duration(text: str) -> float:
    """Parse a duration such as ``1h30m``; return it in days.

    >>> parse_duration("30d"), parse_duration("1h30m") * 24
    (30.0, 1.5)
    """
    rest = text.strip().lower()
    days = 0.0
    while (match := _DURATION_PART.match(rest)) and match[2] in _DAYS_IN:
        days += float(match[1]) * _DAYS_IN[match[2]]
        rest = rest[match.end() :]
    if rest or not text.strip():
        raise _not_understood(text, "duration", DURATION_EXAMPLES)
    if math.isinf(days):
        raise ArgumentError(f"{quoted(text)} is too long; write for example {DURATION_EXAMPLES}")
    return days


def _not_understood(text: str, kind: str, examples: str) -> ArgumentError:
    has_no_unit = _SIGNED_NUMBER.fullmatch(text.strip())
    problem = "has no unit" if has_no_unit else f"is not a {kind}"
    return ArgumentError(f"{quoted(text)} {problem}; write for example {examples}")


def parse_size(text: str) -> float:
    """Parse a size such as ``2GB``; return it in bytes.

    >>> parse_size("2GB"), parse_size("1.5 MiB"), parse_size("100")
    (2000000000.0, 1572864.0, 100.0)
    """
    match = _SIZE.fullmatch(text.strip().lower())
    if match is None or (match[3] and not match[2]):
        raise _not_understood(text, "size", SIZE_EXAMPLES)
    step = 1024.0 if match[3] else 1000.0
    return float(match[1]) * step ** " kmgt".index(match[2] or " ")


def parse_time(text: str) -> datetime:
    """Parse an ISO 8601 date or time, or a number of Unix seconds; return it in UTC.

    A time without a zone is in UTC. A plain number is always Unix seconds.

    >>> parse_time("2026-01-01T12:00:00+02:00").isoformat()
    '2026-01-01T10:00:00+00:00'
    """
    stripped = text.strip()
    try:
        if _SIGNED_NUMBER.fullmatch(stripped):
            return _EPOCH + timedelta(seconds=float(stripped))
        at = datetime.fromisoformat(stripped)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except OverflowError:
        raise ArgumentError(f"{quoted(text)} is outside the years 1 to 9999") from None
    except ValueError:
        raise ArgumentError(f"{quoted(text)} is not a time; write {TIME_EXAMPLES}") from None


def format_time(microseconds: int) -> str:
    """Format microseconds since 1970 as ISO 8601, in UTC.

    >>> format_time(1_500_000)
    '1970-01-01T00:00:01.500000Z'
    """
    return f"{_EPOCH + timedelta(microseconds=microseconds):%Y-%m-%dT%H:%M:%S.%fZ}"


@lru_cache(maxsize=4096)
def parse_http_date(text: str | None) -> int | None:
    """Parse a date from a server, in HTTP's format or ISO 8601; return microseconds since 1970.

    Returns:
        None if it is not a date. A date without a time zone is assumed to be UTC.

    >>> parse_http_date("Thu, 01 Jan 2026 11:00:00 GMT"), parse_http_date("never")
    (1767265200000000, None)
    >>> parse_http_date("2026-01-01T12:00:00+01:00")
    1767265200000000
    """
    # It imports sockets, which most commands do not need.
    from email.utils import parsedate_to_datetime

    for parse in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            date = parse((text or "").strip())
            date = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
            return round(date.timestamp() * 1e6)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None


def format_rate(rate: float) -> str:
    """Format a rate, given per day, for people.

    >>> format_rate(3.2), format_rate(1 / 12), format_rate(7200.0), format_rate(0.0)
    ('3.2 per day', 'every 12 days', '5 per minute', 'never')
    """
    if math.isnan(rate):
        return "unknown"
    if rate <= 0:
        return "never"
    if rate > _UNLIMITED:
        return "no limit"
    if rate < 0.95:  # noqa: PLR2004 - what would round to "every 1 day" is "1 per day"
        return f"every {format_duration(1 / rate)}"
    for days, name in [(_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute")]:
        if rate * days < 100:  # noqa: PLR2004 - two digits read well
            return f"{_two_digits(rate * days)} per {name}"
    return f"{_two_digits(rate * _SECOND)} per second"


def write_rate(rate: float) -> str:
    """Write a rate, given per day, as people type it: in the unit that makes it a round number.

    >>> write_rate(2000.0), write_rate(12000.0), write_rate(7200.0), write_rate(1.5e6)
    ('2000/day', '500/h', '5/min', '1.5M/day')
    >>> write_rate(0.5), write_rate(1e99)
    ('0.5/day', 'no limit')
    """
    if rate > _UNLIMITED:
        return "no limit"
    units = [(_DAY, "day"), (_HOUR, "h"), (_MINUTE, "min"), (_SECOND, "s")]
    numbers = [(_six_digits(rate * days), name) for days, name in units]
    number, unit = min(numbers, key=_roundness)
    is_long = "." not in number and len(number) > 6  # noqa: PLR2004 - from a million on
    return f"{_six_digits(float(number) / 1e6)}M/{unit}" if is_long else f"{number}/{unit}"


def _roundness(written: tuple[str, str]) -> tuple[int, int]:
    """Return the digits of a number that are not zeros at its ends, and all of them."""
    number, _ = written
    return len(number.replace(".", "").strip("0")), len(number)


def _six_digits(number: float) -> str:
    """Round to six significant digits, without an exponent."""
    return format(Decimal(f"{number:.6g}").normalize(), "f")


def format_worth(worth: float) -> str:
    """Format what a visit is worth, in importance times days, for people.

    It is for how long a page of importance 1 stays fresh.

    >>> format_worth(2 / 86_400), format_worth(3.5), format_worth(1.13e-10)
    ('2 s of freshness', '3.5 days of freshness', '9.8 µs of freshness')
    """
    seconds = worth * SECONDS_A_DAY
    if not 0.0 < seconds < 1.0:
        return f"{format_duration(worth)} of freshness"
    for unit, name in [(1e-3, "ms"), (1e-6, "µs")]:
        if seconds >= unit:
            return f"{_two_digits(seconds / unit)} {name} of freshness"
    return f"{_two_digits(seconds / 1e-9)} ns of freshness"


def format_duration(days: float) -> str:
    """Format a duration, given in days, for people.

    >>> format_duration(12.0), format_duration(5 / 1440), format_duration(1.0)
    ('12 days', '5 min', '1 day')
    """
    if days > 2 * _YEAR:
        return f"{_two_digits(days / _YEAR)} years"
    if days >= _DAY:
        number = _two_digits(days)
        return f"{number} day" if number == "1" else f"{number} days"
    for unit, name in [(_HOUR, "h"), (_MINUTE, "min")]:
        if days >= unit:
            return f"{_two_digits(days / unit)} {name}"
    return f"{_two_digits(days / _SECOND)} s"


def _two_digits(number: float) -> str:
    """Round to two significant digits, or to a whole number with thousands separators."""
    return f"{number:.2g}" if number < 99.5 else f"{number:,.0f}"  # noqa: PLR2004


def parse_share(text: str) -> float:
    """Parse a share, which may be in percent.

    Raises:
        ArgumentError: It is not a number.

    >>> parse_share("0.05"), parse_share("5%"), parse_share("12.5 %")
    (0.05, 0.05, 0.125)
    """
    written = text.strip()
    number = written.removesuffix("%")
    try:
        share = float(number)
    except ValueError:
        problem = f"{quoted(text)} is not a share; write for example 0.95 or 95%"
        raise ArgumentError(problem) from None
    return share if number == written else share / 100
