"""What is said in the headers of requests and responses."""

from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recrawl.records import Validators

#: The longest time that a server is left alone because it asks for it, in seconds.
MAX_SECONDS = 86_400.0


def retry_after(value: str | None, now: float) -> float | None:
    """Read a Retry-After: seconds or a date, at most a day; None where it says nothing.

    Args:
        value: The header.
        now: Seconds since 1970.

    >>> retry_after("120", 0.0), retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 0.0)
    (120.0, 60.0)
    """
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        # More digits than any time has are not worth being read as a number.
        return min(float(text[:20]), MAX_SECONDS)
    try:
        date = parsedate_to_datetime(text)
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        seconds = date.timestamp() - now
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return min(max(seconds, 0.0), MAX_SECONDS)


def conditions(validators: "Validators") -> dict[str, str]:
    """Give the headers that ask for a page only if it is another version than the one known."""
    headers = {}
    etag, date = sendable(validators.etag), sendable(validators.last_modified)
    if etag is not None:
        headers["If-None-Match"] = etag
    if date is not None:
        headers["If-Modified-Since"] = date
    return headers


def sendable(value: str | None) -> str | None:
    """Give a header's value so that the bytes sent are the bytes received, or None if impossible.

    Headers are received as Latin-1, which every byte is valid in, and sent as UTF-8.
    """
    if not value or not value.strip():
        return None
    if value.isascii():
        return value if value.isprintable() else None
    try:
        text = value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return None
    return text if text.isprintable() else None


def received(raw: tuple[tuple[bytes, bytes], ...]) -> tuple[tuple[str, str], ...]:
    """Give headers as text."""
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in raw)


def location(value: str) -> str:
    """Read a Location, which servers write in UTF-8 if they do not write ASCII."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value
