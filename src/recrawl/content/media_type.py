"""Decide how to read a body, by its media type or its first bytes."""

from typing import Literal

Format = Literal["html", "lines", "bytes"]

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_LINES = frozenset(
    {"application/json", "application/xml", "application/javascript", "application/x-ndjson"}
)
#: Bytes checked to guess a missing type.
_SNIFFED = 512


def format_of(body: bytes, content_type: str | None) -> Format:
    """Return how to read a body."""
    media_type = (content_type or "").partition(";")[0].strip().lower()
    if media_type in _HTML:
        return "html"
    if media_type.startswith("image/"):
        return "bytes"
    if (
        media_type in _LINES
        or media_type.startswith("text/")
        or media_type.endswith(("+json", "+xml"))
    ):
        return "lines"
    if media_type:
        return "bytes"
    start = body[:_SNIFFED].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"<") and not start.startswith(b"<?xml"):
        return "html"
    return "bytes" if b"\0" in start else "lines"


def is_binary(body: bytes, content_type: str | None) -> bool:
    """Whether a body is not text, such as a picture."""
    return format_of(body, content_type) == "bytes"
