"""Encode records as columns, and decode them."""

import json
from collections.abc import Sequence
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any

from isal import isal_zlib

from recrawl.records import MARKUP_BYTES, Fingerprint, Page, State, Validators

#: What `inflate` raises.
InflateError: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # a slip of its stub

#: isal's level 1 takes a third of the time of zlib's fastest, and compresses real HTML a bit
#: better.
_LEVEL = 1
#: Bodies of up to this many bytes are not worth the buffers of that level, which the system has to
#: clear each time; level 0 does without them, but a body of 5 kB takes a fifth more space.
_SHORT_BODY, _LEVEL_OF_SHORT = 20_000, 0
#: Bytes that headers and robots.txt files never reach, whatever is escaped in them.
MAX_TEXT = 8_000_000
#: Bytes of headers that are not worth compressing.
SHORT = 1_024
_LENGTH_BYTES = 2
#: Bytes of the digest of a fingerprint, which the digest of the markup may follow.
_DIGEST_BYTES = 24


def deflate(content: bytes) -> bytes:
    """Compress a body quickly, in zlib's format."""
    return isal_zlib.compress(content, _LEVEL_OF_SHORT if len(content) <= _SHORT_BODY else _LEVEL)


def inflate(deflated: bytes, max_bytes: int = MAX_TEXT) -> bytes:
    """Decompress what `deflate` compressed, or zlib did.

    Args:
        deflated: The compressed bytes.
        max_bytes: The bytes that it may have: whoever can write to the file could make a few
            compressed bytes fill the memory.

    Raises:
        InflateError: It is damaged, or longer.
    """
    stream = isal_zlib.decompressobj()
    content = stream.decompress(deflated, max_bytes + 1)
    if len(content) > max_bytes or not stream.eof:
        raise InflateError("too long, or cut off")
    return content


def write_keys(keys: frozenset[bytes]) -> bytes | None:
    r"""Encode a set of keys, each preceded by its length; None for no keys.

    >>> write_keys(frozenset([b"b", b"aa"]))
    b'\x00\x02aa\x00\x01b'
    """
    if not keys:
        return None
    return b"".join(len(key).to_bytes(_LENGTH_BYTES, "big") + key for key in sorted(keys))


def read_keys(written: bytes | None) -> frozenset[bytes]:
    """Decode what `write_keys` encoded."""
    keys = []
    end = 0
    while written and end < len(written):
        start = end + _LENGTH_BYTES
        end = start + int.from_bytes(written[end:start], "big")
        keys.append(written[start:end])
    return frozenset(keys)


def write_verbatim(text: str | None) -> str | bytes | None:
    r"""Encode text from a server unaltered: as bytes if it was not UTF-8.

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
    """Decode what `write_verbatim` encoded."""
    return written.decode("utf-8", "surrogateescape") if isinstance(written, bytes) else written


def write_legible(text: str | None) -> str | None:
    r"""Encode text for people, with question marks for invalid characters.

    >>> write_legible("a\udcff")
    'a?'
    """
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "replace").decode()


def write_headers(headers: Sequence[tuple[str, str]]) -> bytes:
    """Encode headers as JSON, which keeps their order and odd characters; compressed if long."""
    # Like `json.dumps`, in half the time, as it is done for every copy.
    pairs = [f"[{_quoted(name)},{_quoted(value)}]" for name, value in headers]
    written = f"[{','.join(pairs)}]".encode("ascii")
    return deflate(written) if len(written) > SHORT else written


def read_headers(written: bytes) -> tuple[tuple[str, str], ...]:
    """Decode what `write_headers` encoded."""
    text = written if written.startswith(b"[") else inflate(written)
    return tuple((name, value) for name, value in json.loads(text))


def write_fingerprint(known: Fingerprint) -> bytes:
    """Encode the digests of a fingerprint."""
    return known.digest + known.markup


def read_fingerprint(kind: str, written: bytes) -> Fingerprint:
    """Decode what `write_fingerprint` encoded; the digest of the markup may be missing."""
    if len(written) == _DIGEST_BYTES + MARKUP_BYTES:
        return Fingerprint(kind, written[:_DIGEST_BYTES], written[_DIGEST_BYTES:])
    return Fingerprint(kind, written)


def read_page(row: Sequence[Any]) -> Page:
    """Decode a row of the view ``known_pages``."""
    number, url, host, importance, depth, state, last_visit, *rest = row
    etag, last_modified, kind, fingerprint, ignored, suspects, body, *counts = rest
    visits, changes, streak, not_modified, failures, missing_since, retry_at, reason = counts
    return Page(
        number=number,
        url=url,
        host=host,
        importance=importance,
        depth=depth,
        state=State(state),
        last_visit=last_visit,
        validators=Validators(read_verbatim(etag), read_verbatim(last_modified)),
        fingerprint=None if kind is None else read_fingerprint(kind, fingerprint),
        ignored=read_keys(ignored),
        suspects=suspects or b"",
        body=body,
        visits=visits,
        changes=changes,
        streak=streak,
        not_modified=not_modified,
        failures=failures,
        missing_since=missing_since,
        retry_at=retry_at,
        reason=reason,
    )
