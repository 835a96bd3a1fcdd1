"""Bytes to text, by the rules browsers follow."""

from w3lib.encoding import (
    html_body_declared_encoding,
    http_content_type_encoding,
    read_bom,
    to_unicode,
)

#: What Python calls text encodings and no page is written in; some take quadratic time.
_NOT_FOR_PAGES = frozenset(
    {"idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}
)
_UTF8 = frozenset({"ascii", "utf-8", "utf8"})


def in_utf8(body: bytes, content_type: str | None = None) -> bytes:
    """Give a body as valid UTF-8: by its byte order mark, the header, its own word, or a guess.

    The guess is UTF-8 where the bytes are valid UTF-8, else Windows-1252. Bytes that have no
    meaning in the encoding become U+FFFD; nothing raises. Most pages are UTF-8 already and come
    back as they are, so that a long page costs little.

    >>> in_utf8("Zürich".encode("latin-1"), "text/html; charset=iso-8859-1").decode()
    'Zürich'
    >>> in_utf8("<meta charset='utf-8'>Zürich".encode()).decode()
    "<meta charset='utf-8'>Zürich"
    >>> in_utf8("Zürich".encode("cp1252"), "text/html; charset=no-such-thing").decode()
    'Zürich'
    """
    mark, start = read_bom(body)
    if mark is not None and start is not None:
        return _converted(body[len(start) :], mark)
    named = _known(http_content_type_encoding(content_type)) or _known(
        html_body_declared_encoding(body)
    )
    if named is not None:
        return _converted(body, named)
    return body if _is_utf8(body) else _converted(body, "cp1252")


def _converted(body: bytes, encoding: str) -> bytes:
    if encoding in _UTF8 and _is_utf8(body):
        return body
    return to_unicode(body, encoding).encode(errors="replace")


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _known(encoding: str | None) -> str | None:
    """Give the encoding if bytes can be read as text by it."""
    if encoding is None or encoding.replace("_", "-").lower() in _NOT_FOR_PAGES:
        return None
    try:
        b"a".decode(encoding)
    except UnicodeError:
        # Half a character, by this encoding.
        return encoding
    except LookupError:
        return None
    return encoding
