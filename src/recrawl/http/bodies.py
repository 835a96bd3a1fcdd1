"""Bodies of responses, read no further than is wanted, however much they unfold to."""

import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from recrawl.http.memory_budget import MemoryBudget, Reservation

if TYPE_CHECKING:
    from aiohttp import StreamReader

#: Compressed files that may follow one another in a body. Real ones are one; a thousand tiny
#: ones are there to keep the reader busy.
MAX_MEMBERS = 50

#: Bytes that are decompressed at once: a few that came can stand for millions.
PIECE = 65_536

_GZIP_START = b"\x1f\x8b"
_ZLIB_METHOD = 8
#: For zlib: gzip with its header, zlib with its header, and neither.
_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
_ENCODINGS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": _ZLIB}


class BrokenBodyError(Exception):
    """A body cannot be read; the message says why in a few words."""


async def read_body(
    stream: "StreamReader", encoding: str | None, max_bytes: int, room: MemoryBudget
) -> tuple[bytes, bool, int]:
    """Read and decompress a body, up to a limit; one that is not small waits for room.

    Args:
        stream: Where it comes from, as it was sent.
        encoding: The Content-Encoding.
        max_bytes: How much of the content is wanted.
        room: Where long bodies have to fit in while they are read.

    Returns:
        The content, whether there is more of it, and how many bytes were received.

    Raises:
        BrokenBodyError: The content is not what the headers say.
    """
    unfolding = _unfolding(encoding)
    parts: list[bytes] = []
    received = length = 0
    with Reservation(room) as place:
        while chunk := await stream.readany():
            received += len(chunk)
            for part in (chunk,) if unfolding is None else unfolding.unfold(chunk):
                parts.append(part)
                length += len(part)
                if length > max_bytes:
                    parts[-1] = part[: max_bytes - length]
                    return b"".join(parts), True, received
                if length > place.size:
                    await place.grow()
            # Compressed nothings can be longer than what they unfold to.
            if received > max_bytes and not stream.at_eof():
                return b"".join(parts), True, received
    if unfolding is not None:
        unfolding.finish()
    return parts[0] if len(parts) == 1 else b"".join(parts), False, received


def _unfolding(encoding: str | None) -> "_Unfolding | None":
    """Make what decompresses a body, if it is compressed."""
    name = (encoding or "").strip().lower()
    if name in {"", "identity"}:
        return None
    if name not in _ENCODINGS:
        raise BrokenBodyError("the body is compressed in a way that was not asked for")
    return _Unfolding(_ENCODINGS[name])


class _Unfolding:
    """Decompresses piece by piece, and no piece before it is asked for."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._members = 0
        self._begun = False
        self._object = zlib.decompressobj(bits)

    def unfold(self, data: bytes) -> Iterator[bytes]:
        """Decompress what came next."""
        if not self._begun:
            self._begun = True
            if self._bits == _ZLIB and data[0] & 0x0F != _ZLIB_METHOD:
                # Many servers send what they call deflate without its header.
                self._object = zlib.decompressobj(_RAW)
        part = b""
        # After a full piece there may be more that zlib has read already.
        while data or len(part) == PIECE:
            if self._object.eof and not self._next(data):
                return
            try:
                part = self._object.decompress(data, PIECE)
            except zlib.error:
                raise BrokenBodyError("the compressed body is broken") from None
            yield part
            data = self._object.unconsumed_tail or self._object.unused_data

    def _next(self, data: bytes) -> bool:
        """Begin another file after one that has ended; what is no such file is left unread."""
        if self._bits != _GZIP or not data.startswith(_GZIP_START):
            return False
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise BrokenBodyError("the compressed body is in too many pieces")
        self._object = zlib.decompressobj(self._bits)
        return True

    def finish(self) -> None:
        """Refuse a body that ended before its content did."""
        if self._begun and not self._object.eof:
            raise BrokenBodyError("the compressed body is incomplete")
