"""Where a table is read from: a file or standard input, plain or compressed."""

import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO, cast

from recrawl.errors import InputError

#: Standard input or output, in place of a file name.
STANDARD = "-"

GZIP_MAGIC = b"\x1f\x8b"
PARQUET_MAGIC = b"PAR1"


@dataclass(frozen=True, slots=True)
class Source:
    """An open table.

    Attributes:
        name: What messages call it.
        file: The bytes as they are stored; the first few were read already.
        stream: All the bytes, decompressed.
        size: The number of bytes stored, or None if unknown.
        is_parquet: Whether it is a Parquet file, by its first bytes.
        error_type: What to raise when the table is invalid.
    """

    name: str
    file: BinaryIO
    stream: BinaryIO
    size: int | None
    is_parquet: bool
    error_type: type[InputError]
    _counted: "_Counted"

    @property
    def bytes_read(self) -> int:
        """The number of stored bytes that went through the stream so far."""
        return self._counted.count

    def error(
        self, problem: str, *, row: int | None = None, column: str | None = None
    ) -> InputError:
        """Return an error that says what is wrong, and where."""
        return self.error_type(self.name, problem, row=row, column=column)


class _Counted(io.RawIOBase):
    """A stream that counts what is read, and whose first bytes were read already."""

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
    """Open a table, decompressing gzip, and turn errors of the disk into sentences.

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
    except (gzip.BadGzipFile, zlib.error, EOFError):
        raise error_type(name, "the compressed file is truncated or damaged") from None
    except OSError as error:
        raise error_type(name, f"it cannot be read: {error.strerror or error}") from None


def _source(name: str, file: BinaryIO, error_type: type[InputError]) -> Source:
    magic = file.read(len(PARQUET_MAGIC))
    if not magic:
        raise error_type(name, "the file is empty")
    counted = _Counted(magic, file)
    stream = cast("BinaryIO", io.BufferedReader(counted))
    if magic.startswith(GZIP_MAGIC):
        stream = cast("BinaryIO", gzip.GzipFile(fileobj=stream))
    is_parquet = magic == PARQUET_MAGIC
    return Source(name, file, stream, _size(file), is_parquet, error_type, counted)


def _size(file: BinaryIO) -> int | None:
    try:
        status = os.fstat(file.fileno())
    except OSError:
        return None
    return status.st_size if S_ISREG(status.st_mode) else None
