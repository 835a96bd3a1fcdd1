"""Parse and format header values."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recrawl.units import SECONDS_A_DAY, parse_http_date

if TYPE_CHECKING:
    from recrawl.records import Validators

#: The longest Retry-After that is honoured, in seconds.
MAX_RETRY_AFTER = SECONDS_A_DAY


def retry_after(value: str | None, now: float) -> float | None:
    """Parse a Retry-After header, in seconds or as a date; at most a day, None if invalid.

    Args:
        value: The header.
        now: Seconds since 1970.

    >>> retry_after("120", 0.0), retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 0.0)
    (120.0, 60.0)
    """
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        # Do not parse a number of thousands of digits.
        return min(float(text[:20]), MAX_RETRY_AFTER)
    date = parse_http_date(text)
    return None if date is None else min(max(date / 1e6 - now, 0.0), MAX_RETRY_AFTER)


def conditions(validators: "Validators") -> dict[str, str]:
    """Return the headers of a conditional request: only if there is a newer version."""
    headers: dict[str, str] = {}
    if (etag := sendable(validators.etag)) is not None:
        headers["If-None-Match"] = etag
    if (last_modified := sendable(validators.last_modified)) is not None:
        headers["If-Modified-Since"] = last_modified
    return headers


def sendable(value: str | None) -> str | None:
    """Return a header value that is sent as the same bytes that were received; None if impossible.

    Headers are received as Latin-1, in which any byte is valid, and sent as UTF-8.
    """
    if not value or value.isspace():
        return None
    if value.isascii():
        return value if value.isprintable() else None
    try:
        text = value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return None
    return text if text.isprintable() else None


def decoded(raw: Sequence[tuple[bytes, bytes]]) -> tuple[tuple[str, str], ...]:
    """Return received headers as text."""
    return tuple([(name.decode("latin-1"), value.decode("latin-1")) for name, value in raw])


def location(value: str) -> str:
    """Return a Location header as text; servers that do not write ASCII write UTF-8."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value
