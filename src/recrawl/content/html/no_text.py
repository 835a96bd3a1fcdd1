"""Tell pages with next to no text, whose scripts probably write it. A quick look, not a parse."""

import re

from recrawl.content.media_type import format_of

#: A page with at least this many characters of text, besides spaces, has some.
MIN_TEXT = 60
#: Bytes and tags that are looked at; if they do not settle it, the page counts as one with text.
MAX_BYTES, MAX_TAGS = 500_000, 2_000

#: Elements whose content nobody reads, at least not with scripts.
_UNREAD = re.compile(rb"<(script|style|noscript|template|title|svg|iframe|textarea)\b")
_SPACE = re.compile(rb"\s|&nbsp;|&#160;|\xc2\xa0")


def has_no_text(body: bytes, content_type: str | None) -> bool:
    """Whether a page has scripts and next to no text.

    >>> has_no_text(b'<title>Shop</title><div id="root"></div><script src="a.js">', "text/html")
    True
    >>> has_no_text(b"<script>a()</script><p>" + b"Here is some text. " * 5, "text/html")
    False
    """
    if format_of(body, content_type) != "html":
        return False
    start = body[:MAX_BYTES].lower()
    if b"<script" not in start:
        return False
    position = found = 0
    for _ in range(MAX_TAGS):
        tag = start.find(b"<", position)
        text = start[position : tag if tag >= 0 else None]
        found += len(_SPACE.sub(b"", text[: 4 * MIN_TEXT]))
        if found >= MIN_TEXT:
            return False
        position = _after(start, tag) if tag >= 0 else -1
        if position < 0:
            # What was not looked at may have text.
            return len(body) <= MAX_BYTES
    return False


def _after(body: bytes, tag: int) -> int:
    """Return where a tag, a comment, or an element whose content is not read ends; −1 if never."""
    if body.startswith(b"<!--", tag):
        end = body.find(b"-->", tag)
        return end + 3 if end >= 0 else -1
    unread = _UNREAD.match(body, tag)
    if unread is not None:
        tag = body.find(b"</" + unread[1], tag)
    end = body.find(b">", tag) if tag >= 0 else -1
    return end + 1 if end >= 0 else -1
