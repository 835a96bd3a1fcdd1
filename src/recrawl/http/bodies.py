"""Reading and decompressing response bodies, up to a limit."""

import asyncio
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from recrawl.http.host_pacing import TOO_LONG, TOO_SLOW
from recrawl.http.memory_budget import (
    SMALL,
    EvictedError,
    MemoryBudget,
    Reservation,
    TooManyWaitError,
)

#: Concatenated gzip members per body. Real bodies have one; a thousand tiny ones are an attack.
MAX_MEMBERS = 50

#: Bytes decompressed at a time: a few received bytes can expand to millions.
PIECE = 65_536

_GZIP_MAGIC = b"\x1f\x8b"
_DEFLATE_METHOD = 8
#: zlib's window bits: with a gzip header, with a zlib header, and with neither.
_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
_ENCODING, _LENGTH = "content-encoding", "content-length"
_PLAIN = frozenset({"", "identity"})
_ENCODINGS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": _ZLIB}


class Stream(Protocol):
    """A body as it is received; `recrawl.http.connection.Connection` is the real one."""

    async def read(self) -> bytes:
        """Return the next piece; nothing at the end."""

    @property
    def at_end(self) -> bool:
        """Whether everything has been read."""

    def fail(self, error: BaseException) -> None:
        """Make reading fail."""

    def unhurried(self) -> AbstractContextManager[None]:
        """Stop the clock while the reader waits for something else."""


class BrokenBodyError(Exception):
    """A body cannot be read or decoded; the message says why."""


def encoding_in(headers: Sequence[tuple[str, str]]) -> str | None:
    """Return the Content-Encoding in headers, or None."""
    return _value(headers, _ENCODING)


def is_plain(headers: Sequence[tuple[str, str]]) -> bool:
    """Whether a body with these headers is not encoded."""
    encoding = encoding_in(headers)
    return encoding is None or encoding.strip().lower() in _PLAIN


def longest(headers: Sequence[tuple[str, str]], max_bytes: int) -> int:
    """Return how long a body with these headers can become, if no more than a limit is read."""
    length = _value(headers, _LENGTH) if is_plain(headers) else None
    return min(int(length), max_bytes) if length and length.isdecimal() else max_bytes


def _value(headers: Sequence[tuple[str, str]], wanted: str) -> str | None:
    size = len(wanted)
    for name, value in headers:
        if len(name) == size and name.lower() == wanted:
            return value
    return None


async def read_body(
    stream: Stream,
    headers: Sequence[tuple[str, str]],
    max_bytes: int,
    memory: MemoryBudget,
    *,
    pack: bool = False,
) -> tuple[bytes, bool, int]:
    """Read and decompress a body, up to a limit.

    Args:
        stream: The body as it is received.
        headers: The headers, which say how it is encoded, and perhaps how long it is.
        max_bytes: How much to read, after decompression.
        memory: A long body waits for memory here, once; its time does not run meanwhile.
        pack: Whether to return a long body compressed with gzip, unless it is so already:
            repetitive files such as sitemaps, of up to 50 MB, then take a tenth of the memory.

    Returns:
        The content, whether it was truncated, and the number of bytes received.

    Raises:
        BrokenBodyError: The body does not match its Content-Encoding, or arrives so slowly that
            it is evicted.
    """
    with Reservation(memory, stream.fail) as reservation:
        try:
            return await _read(stream, headers, max_bytes, reservation, _Parts(pack=pack))
        except EvictedError:
            raise BrokenBodyError(TOO_SLOW) from None
        except TooManyWaitError:
            raise BrokenBodyError(TOO_LONG) from None


async def _read(
    stream: Stream,
    headers: Sequence[tuple[str, str]],
    max_bytes: int,
    reservation: Reservation,
    parts: "_Parts",
) -> tuple[bytes, bool, int]:
    decoder = _decoder(encoding_in(headers))
    received = length = paused = 0
    while chunk := await stream.read():
        received += len(chunk)
        reservation.note(len(chunk))
        for part in (chunk,) if decoder is None else decoder.decode(chunk):
            length += len(part)
            if length > max_bytes:
                parts.add(part[: max_bytes - length])
                return parts.joined(), True, received
            parts.add(part)
            if parts.size > SMALL and not reservation.size:
                # As much as it can become; packed, twice as much as it will become at this rate.
                most = longest(headers, max_bytes)
                with stream.unhurried():
                    await reservation.take(min(2 * most * parts.size // length, most))
            if parts.size > max(reservation.size, SMALL):
                return parts.joined(), True, received
            if length > paused + SMALL:
                # A few received bytes may take long to decompress; yield to other tasks.
                paused = length
                await asyncio.sleep(0)
        # Empty compressed blocks can be longer than their content.
        if received > max_bytes and not stream.at_end:
            return parts.joined(), True, received
    if decoder is not None:
        decoder.finish()
    return parts.joined(), False, received


class _Parts:
    """The parts of a body, compressed once they are long, if requested.

    Attributes:
        size: Bytes that they take together.
    """

    def __init__(self, *, pack: bool) -> None:
        self.size = 0
        self._parts: list[bytes] = []
        self._pack = pack
        self._packer: zlib._Compress | None = None

    def add(self, part: bytes) -> None:
        """Add a part."""
        if self._pack and self.size + len(part) > SMALL:
            self._start_packing(part)
        if self._packer is not None:
            part = self._packer.compress(part)
        if part:
            self._parts.append(part)
            self.size += len(part)

    def joined(self) -> bytes:
        """Return the body."""
        if self._packer is not None:
            self._parts.append(self._packer.flush())
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    def _start_packing(self, part: bytes) -> None:
        self._pack = False
        begun = b"".join(self._parts)
        if not (begun or part).startswith(_GZIP_MAGIC):
            self._packer = zlib.compressobj(zlib.Z_BEST_SPEED, wbits=_GZIP)
            self._parts = [self._packer.compress(begun)]
            self.size = len(self._parts[0])


def _decoder(encoding: str | None) -> "_Decoder | None":
    """Return a decoder for a compressed body, None for a plain one."""
    name = (encoding or "").strip().lower()
    if name in _PLAIN:
        return None
    if name not in _ENCODINGS:
        raise BrokenBodyError("the body is compressed with a method that was not requested")
    return _Decoder(_ENCODINGS[name])


class _Decoder:
    """Decompresses a body lazily, piece by piece."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._members = 0
        self._started = False
        self._object = zlib.decompressobj(bits)

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Decompress the next chunk."""
        if not self._started:
            self._started = True
            if self._bits == _ZLIB and data[0] & 0x0F != _DEFLATE_METHOD:
                # Many servers send "deflate" without the zlib header.
                self._object = zlib.decompressobj(_RAW)
        part = b""
        # After a full piece, zlib may hold back more of what it has read already.
        while data or len(part) == PIECE:
            if self._object.eof and not self._next_member(data):
                return
            try:
                part = self._object.decompress(data, PIECE)
            except zlib.error:
                raise BrokenBodyError("the compressed body is broken") from None
            yield part
            data = self._object.unconsumed_tail or self._object.unused_data

    def _next_member(self, data: bytes) -> bool:
        """Start the next gzip member; anything else after the first is ignored."""
        if self._bits != _GZIP or not data.startswith(_GZIP_MAGIC):
            return False
        self._members += 1
        if self._members > MAX_MEMBERS:
            raise BrokenBodyError("the compressed body has too many gzip members")
        self._object = zlib.decompressobj(self._bits)
        return True

    def finish(self) -> None:
        """Raise if the body ended before its content did."""
        if self._started and not self._object.eof:
            raise BrokenBodyError("the compressed body is incomplete")
