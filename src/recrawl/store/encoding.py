"""How records are written into columns, and read back."""

import json
import zlib
from collections.abc import Sequence
from typing import Any

from recrawl.records import Fingerprint, Page, State, Validators

#: Level 1 is three times as fast as the default, and real HTML takes a fifth more room.
QUICK = 1
_LENGTH_BYTES = 2


def deflate(content: bytes) -> bytes:
    """Make a content small, quickly."""
    return zlib.compress(content, QUICK)


def write_keys(keys: frozenset[bytes]) -> bytes | None:
    r"""Write a set of keys, each behind its length; None for no keys.

    >>> write_keys(frozenset([b"b", b"aa"]))
    b'\x00\x02aa\x00\x01b'
    """
    if not keys:
        return None
    return b"".join(len(key).to_bytes(_LENGTH_BYTES, "big") + key for key in sorted(keys))


def read_keys(written: bytes | None) -> frozenset[bytes]:
    """Read what `write_keys` wrote."""
    keys = []
    place = 0
    while written and place < len(written):
        start = place + _LENGTH_BYTES
        place = start + int.from_bytes(written[place:start], "big")
        keys.append(written[start:place])
    return frozenset(keys)


def write_verbatim(text: str | None) -> str | bytes | None:
    r"""Write a text of a server's as it came; where it was not UTF-8, its bytes.

    >>> write_verbatim("a"), write_verbatim("\udcff")
    ('a', b'\xff')
    """
    if text is None or text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape")
    return text


def read_verbatim(written: str | bytes | None) -> str | None:
    """Read what `write_verbatim` wrote."""
    return written.decode("utf-8", "surrogateescape") if isinstance(written, bytes) else written


def write_legible(text: str | None) -> str | None:
    r"""Write a text for people, with question marks for what is no text.

    >>> write_legible("a\udcff")
    'a?'
    """
    return None if text is None else text.encode("utf-8", "replace").decode()


def write_headers(headers: Sequence[tuple[str, str]]) -> bytes:
    """Write headers as deflated JSON, which keeps their order and odd characters."""
    return deflate(json.dumps(headers, separators=(",", ":")).encode("ascii"))


def read_headers(written: bytes) -> tuple[tuple[str, str], ...]:
    """Read what `write_headers` wrote."""
    return tuple((name, value) for name, value in json.loads(zlib.decompress(written)))


def read_page(row: Sequence[Any]) -> Page:
    """Make a page of a row of the view ``known_pages``."""
    number, url, host, importance, depth, state, last_visit, *rest = row
    etag, last_modified, kind, fingerprint, ignored, body, *counts = rest
    visits, changes, streak, not_modified, failures = counts
    return Page(
        number=number,
        url=url,
        host=host,
        importance=importance,
        depth=depth,
        state=State(state),
        last_visit=last_visit,
        validators=Validators(read_verbatim(etag), read_verbatim(last_modified)),
        fingerprint=None if kind is None else Fingerprint(kind, fingerprint),
        ignored=read_keys(ignored),
        body=body,
        visits=visits,
        changes=changes,
        streak=streak,
        not_modified=not_modified,
        failures=failures,
    )
