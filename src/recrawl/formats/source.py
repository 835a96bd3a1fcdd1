"""Open tables: files or standard input, plain or compressed."""

import bz2
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO, cast

from recrawl.errors import InputError

#: Standard input or output, in place of a file name.
STANDARD = "-"

GZIP_MAGIC, ZSTD_MAGIC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
BZIP2_MAGIC, XZ_MAGIC = b"BZh", b"\xfd7zXZ\x00"
COMPRESSED = (GZIP_MAGIC, ZSTD_MAGIC, BZIP2_MAGIC, XZ_MAGIC)
#: The number of bytes needed to recognise a format.
HEAD = 16


@dataclass(frozen=True, slots=True)
class Source:
    """An open table.

    Attributes:
        name: What messages call it.
        file: The bytes as they are stored; the first few were read already.
        stream: All the bytes, decompressed.
        size: The number of bytes stored, or None if unknown.
        head: The first bytes of the stream, by which formats are recognised.
        is_compressed: Whether the stored bytes are compressed as a whole.
        error_type: What to raise when the table is invalid.
    """

    name: str
    file: BinaryIO
    stream: BinaryIO
    size: int | None
    head: bytes
    is_compressed: bool
    error_type: type[InputError]
    _counted: "_Counted"

    @property
    def bytes_read(self) -> int:
        """The number of stored bytes that have been read so far."""
        return self._counted.count

    def error(
        self, problem: str, *, row: int | None = None, column: str | None = None
    ) -> InputError:
        """Return an error that says what is wrong, and where."""
        return self.error_type(self.name, problem, row=row, column=column)


class _Counted(io.RawIOBase):
    """A stream that counts the bytes read, and whose first bytes were already read."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        self._rest = rest
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        part = self._head[: len(buffer)] or self._rest.read(len(buffer))
        self._head = self._head[len(part) :]
        buffer[: len(part)] = part
        self.count += len(part)
        return len(part)


def source_name(path: str | os.PathLike[str]) -> str:
    """Return what messages call a table."""
    return "standard input" if os.fspath(path) == STANDARD else os.fspath(path)


@contextmanager
def opened(path: str | os.PathLike[str], error_type: type[InputError]) -> Iterator[Source]:
    """Open a table, plain or compressed, and turn disk errors into clear ones.

    Raises:
        InputError: Of the given type: the file is missing, empty, damaged or cannot be read.
    """
    name = source_name(path)
    try:
        if os.fspath(path) == STANDARD:
            if sys.stdin is None:
                raise error_type(name, "it is closed")
            yield _source(name, sys.stdin.buffer, error_type)
        else:
            with Path(path).open("rb") as file:
                yield _source(name, file, error_type)
    except FileNotFoundError:
        raise error_type(name, "there is no such file") from None
    except IsADirectoryError:
        raise error_type(name, "this is a directory, not a file") from None
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError, EOFError):
        raise error_type(name, "the compressed file is truncated or damaged") from None
    except OSError as error:
        raise error_type(name, f"it cannot be read: {error.strerror or error}") from None


def _source(name: str, file: BinaryIO, error_type: type[InputError]) -> Source:
    magic = file.read(HEAD)
    if not magic:
        raise error_type(name, "the file is empty")
    counted = _Counted(magic, file)
    stream = _decompressed(magic, io.BufferedReader(counted))
    try:
        head = stream.peek(HEAD)[:HEAD]  # type: ignore[attr-defined]
    except OSError as error:
        if isinstance(error, gzip.BadGzipFile):
            raise
        raise error_type(name, "the compressed file is truncated or damaged") from None
    return Source(
        name, file, stream, _size(file), head, magic.startswith(COMPRESSED), error_type, counted
    )


def _decompressed(magic: bytes, stored: io.BufferedReader) -> BinaryIO:
    opened: Any = stored
    if magic.startswith(GZIP_MAGIC):
        opened = gzip.GzipFile(fileobj=stored)
    elif magic.startswith(BZIP2_MAGIC):
        opened = bz2.BZ2File(stored)
    elif magic.startswith(XZ_MAGIC):
        opened = lzma.LZMAFile(stored)  # noqa: SIM115 - closed with the file
    elif magic.startswith(ZSTD_MAGIC):
        from pyarrow import CompressedInputStream

        opened = io.BufferedReader(_Adapted(CompressedInputStream(stored, "zstd")))
    return cast("BinaryIO", opened)


class _Adapted(io.RawIOBase):
    """Adapts an Arrow stream to Python's buffers."""

    def __init__(self, stream: Any) -> None:  # noqa: ANN401 - pyarrow has no types
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        part = self._stream.read(len(buffer))
        buffer[: len(part)] = part
        return len(part)


def _size(file: BinaryIO) -> int | None:
    try:
        status = os.fstat(file.fileno())
    except OSError:
        return None
    return status.st_size if S_ISREG(status.st_mode) else None
