r"""Escape untrusted text, so that it cannot harm terminals, spreadsheets or readers.

A URL, a header or a file name may contain control characters, which drive a terminal, and
characters that reverse the direction of writing, which disguise a line as another. Everything
printed goes through one of these functions: `printable` for lines, `json_printable` for JSON,
`cell` for CSV.
"""

#: Characters that are printed as they are although Python does not call them printable.
_LAYOUT = frozenset("\n\t")
#: What formulas begin with; spreadsheets skip tabs and returns before them.
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
#: The first character that takes two units of UTF-16, as JSON's escapes do.
_ASTRAL = 0x10000


def printable(text: str, *, lines: bool = False) -> str:
    r"""Escape control characters, and those that are invisible or reverse the direction.

    Escaping twice changes nothing.

    Args:
        text: Any text.
        lines: Whether to keep newlines and tabs.

    >>> print(printable("https://example.org/ü\x1b[2J\u202e"))
    https://example.org/ü\x1b[2J\u202e
    """
    if text.isprintable():
        return text
    kept = _LAYOUT if lines else frozenset()
    return "".join(
        char if char.isprintable() or char in kept else ascii(char)[1:-1] for char in text
    )


def cell(text: str) -> str:
    """Mark as text what a spreadsheet would otherwise run as a formula.

    >>> cell("=1+1"), cell("timed out")
    ("'=1+1", 'timed out')
    """
    return f"'{text}" if text.startswith(FORMULAS) else text


def json_printable(written: str) -> str:
    r"""Escape the same characters in JSON text, without changing its meaning.

    >>> print(json_printable('{"title": "\u202e\U000e0041"}'))
    {"title": "\u202e\udb40\udc41"}
    """
    if written.isprintable():
        return written
    return "".join(
        char if char.isprintable() or char in _LAYOUT else _json_escape(char) for char in written
    )


def _json_escape(char: str) -> str:
    code = ord(char)
    if code < _ASTRAL:
        return f"\\u{code:04x}"
    high, low = divmod(code - _ASTRAL, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
