"""Partition visits by page into temporary files, so that a log of any length is processed in parts.

The files have no name: the system removes them, however the process ends.
"""

import errno
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO, NamedTuple, final

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from recrawl.errors import OutputError
from recrawl.formats.crawl_log import Visits, sorted_visits
from recrawl.kernels.grouping import stable_order
from recrawl.kernels.hashing import Hashes
from recrawl.kernels.jit import Ints
from recrawl.kernels.numbering import Numbering
from recrawl.records import CrawlLog

#: Rows are partitioned by the highest bits of the hash of their page: how many, for parts of about
#: so many rows. The results of parts take as many files again, and 1,024 may be open.
MIN_BITS, MAX_BITS = 6, 8
PART_ROWS = 1 << 22
#: Rows partitioned at a time: each file gets some ten thousand of them in one write.
CHUNK_ROWS = 1 << 20

_COMPRESSED = ipc.IpcWriteOptions(compression="lz4")
_PLAIN = ipc.IpcWriteOptions()


class Part(NamedTuple):
    """All visits to some of the pages.

    Attributes:
        log: The visits, sorted by page and time.
        first_row: The first row of each page in the whole log.
    """

    log: CrawlLog
    first_row: Ints


@final
class Spill:
    """The visits of a log in temporary files, all visits to a page in the same one.

    Args:
        visits: The log. The batches it has kept are written first.
        files: Closes the files, whatever happens.
        expected: About how many rows there will be.
        hashes_of: Returns the hashes of pages, an Arrow array; pages with the same hash go to the
            same file.

    Attributes:
        rows: The number of rows written.
        first: The time of the first visit, in microseconds.
        last: The time of the last one.
    """

    def __init__(
        self, visits: Visits, files: ExitStack, expected: int, hashes_of: Callable[[Any], Hashes]
    ) -> None:
        self._visits, self._hashes_of = visits, hashes_of
        self._bits = min(max((expected // PART_ROWS).bit_length(), MIN_BITS), MAX_BITS)
        self._files = [_Table(files) for _ in range(1 << self._bits)]
        #: For each batch of each file, the number of rows written before its chunk.
        self._bases: list[list[int]] = [[] for _ in self._files]
        self._waiting: list[dict[str, Any]] = []
        self._waiting_rows = 0
        self.rows = 0
        self.first, self.last = np.iinfo(np.int64).max, np.iinfo(np.int64).min
        kept, visits.kept = visits.kept, {}
        names, visits.names = visits.names.values(), Numbering()
        for number in range(len(kept["page"]) if kept else 0):
            batch: dict[str, Any] = {name: _taken(parts, number) for name, parts in kept.items()}
            self.add({**batch, "page": names.take(pa.array(batch["page"]))})

    def add(self, batch: dict[str, Any]) -> None:
        """Write a batch of visits, as `Visits.batches` yields them.

        Raises:
            OutputError: The disk is full.
        """
        self._waiting.append(batch)
        self._waiting_rows += len(batch["page"])
        if self._waiting_rows >= CHUNK_ROWS:
            self.flush()

    def parts(self) -> Iterator[Part]:
        """Yield the visits in parts of whole pages, removing each part's file.

        Call `flush` before.
        """
        for file, bases in zip(self._files, self._bases, strict=True):
            if bases:
                yield self._part(file, bases)
            file.close()

    def flush(self) -> None:
        """Write what is still buffered.

        Raises:
            OutputError: The disk is full.
        """
        chunk, self._waiting, self._waiting_rows = self._waiting, [], 0
        if not chunk:
            return
        page = pa.concat_arrays([batch.pop("page") for batch in chunk])
        columns = {name: np.concatenate([batch[name] for batch in chunk]) for name in chunk[0]}
        time = columns["time"]
        self.first = min(self.first, int(time.min()))
        self.last = max(self.last, int(time.max()))
        starts, order = stable_order(self._numbers(page), len(self._files))
        arrays = [pa.array(order.astype(np.uint32)), page.take(pa.array(order))]
        arrays += [pa.array(column[order]) for column in columns.values()]
        rows = pa.record_batch(arrays, ["offset", "page", *columns])
        for number, file in enumerate(self._files):
            low, high = int(starts[number]), int(starts[number + 1])
            if low < high:
                file.write(rows.slice(low, high - low), _COMPRESSED)
                self._bases[number].append(self.rows)
        self.rows += len(page)

    def _numbers(self, page: Any) -> Ints:  # noqa: ANN401 - pyarrow has no types
        """Return the number of the file of each row."""
        return (self._hashes_of(page) >> np.uint64(64 - self._bits)).astype(np.int64)

    def _part(self, file: "_Table", bases: list[int]) -> Part:
        table = file.read()
        lengths = [len(chunk) for chunk in table["offset"].chunks]
        row = np.repeat(np.array(bases), lengths) + table["offset"].to_numpy()
        pages = Numbering()
        page = np.concatenate([pages.add(chunk) for chunk in table["page"].chunks])
        first_row = np.empty(len(pages), np.int64)
        first_row[page[::-1]] = row[::-1]
        table = table.drop_columns(["page", "offset"])
        columns = {"page": page, **{name: table[name].to_numpy() for name in table.column_names}}
        del table, page
        log = sorted_visits(self._visits, pages.values(), columns, lambda at: row[at])
        return Part(log, first_row)


@final
class _Table:
    """Record batches in a temporary file."""

    def __init__(self, files: ExitStack) -> None:
        files.callback(self.close)
        self._file: BinaryIO | None = None
        self._writer: Any = None

    def write(self, batch: Any, options: Any) -> None:  # noqa: ANN401 - pyarrow has no types
        with full_disk():
            if self._writer is None:
                # Unbuffered: Arrow writes large pieces.
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
                self._writer = ipc.new_stream(self._file, batch.schema, options=options)
            self._writer.write_batch(batch)

    def read(self) -> Any:  # noqa: ANN401
        assert self._file is not None
        with full_disk():
            self._writer.close()
        self._file.seek(0)
        return ipc.open_stream(self._file).read_all()

    def close(self) -> None:
        """Remove the file."""
        if self._file is not None:
            self._file.close()


@final
class Stash:
    """Columns in temporary files, by number of the part they belong to.

    Args:
        files: Closes the files, whatever happens.
    """

    def __init__(self, files: ExitStack) -> None:
        self._files = files
        self._tables: dict[int, _Table] = {}

    def put(self, number: int, columns: dict[str, Any]) -> None:
        """Write columns of one length, arrays of NumPy or Arrow.

        Raises:
            OutputError: The disk is full.
        """
        self._tables[number] = _Table(self._files)
        arrays = [pa.array(column) for column in columns.values()]
        self._tables[number].write(pa.record_batch(arrays, list(columns)), _PLAIN)

    def take(self, number: int) -> dict[str, Any]:
        """Return columns that were written, as arrays of Arrow."""
        table = self._tables[number].read()
        return {name: table[name].chunk(0) for name in table.column_names}

    def drop(self, number: int) -> None:
        """Remove columns."""
        self._tables.pop(number).close()


@contextmanager
def full_disk() -> Iterator[None]:
    """Raise a clear error if the disk for temporary files is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise OutputError(_too_small(None)) from None


def check_disk(needed: int) -> None:
    """Check that temporary files will fit, before hours are spent.

    Raises:
        OutputError: They will not.
    """
    if shutil.disk_usage(tempfile.gettempdir()).free < needed:
        raise OutputError(_too_small(needed))


def _too_small(needed: int | None) -> str:
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free / 1e9
    need = "it is full" if needed is None else f"about {needed / 1e9:,.1f} GB are needed"
    return (
        f"{folder}: {need}, and {free:,.1f} GB are free there for temporary files; "
        "set TMPDIR to a folder on a larger disk, or give more --memory"
    )


def _taken(parts: list[Any], number: int) -> Any:  # noqa: ANN401
    """Return an item of a list, and remove the reference to it."""
    item, parts[number] = parts[number], None
    return item
