"""On executors: blocks, which are tables serialised into the cells of a table.

Spark moves and caches them without handling single rows.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import ipc

from recrawl.kernels.grouping import stable_order
from recrawl.kernels.hashing import Hashes

BLOCK = pa.schema([("bucket", pa.int32()), ("block", pa.binary())])
BLOCK_SCHEMA = "bucket int, block binary"

_SEED = 42
_INT_BYTES = 4


def split(rows: Any, hashes: Hashes, parts: int) -> Iterator[tuple[int, Any]]:  # noqa: ANN401
    """Yield the rows for each partition that gets any, with the bucket that sends them there."""
    starts, order = stable_order((hashes % np.uint64(parts)).astype(np.int64), parts)
    ordered, keys = rows.take(pa.array(order)), bucket_keys(parts)
    for one in np.flatnonzero(np.diff(starts)).tolist():
        yield int(keys[one]), ordered.slice(starts[one], starts[one + 1] - starts[one])


def enlarged(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Yield batches of at least so many rows, as the overhead per batch is large."""
    waiting, count = list[Any](), 0
    for batch in batches:
        waiting.append(batch)
        count += len(batch)
        if count >= rows:
            yield pa.concat_batches(waiting)
            waiting, count = [], 0
    if count:
        yield pa.concat_batches(waiting)


def pack(rows: Any) -> bytes:  # noqa: ANN401 - pyarrow has no types
    """Return a table or a batch as the content of a cell."""
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, rows.schema) as writer:
        writer.write(rows)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def unpacked(batches: Iterable[Any], column: str = "block") -> Iterator[Any]:
    """Yield the tables in the cells of a column."""
    for cell in chain.from_iterable(batch.column(column) for batch in batches):
        yield ipc.open_stream(cell.as_buffer()).read_all()


@cache
def bucket_keys(parts: int) -> NDArray[np.int64]:
    """Return a number for each partition that Spark, when repartitioning by it, sends there.

    If Spark hashed differently, some partitions would be empty and others large; results would be
    the same.

    >>> bucket_keys(3)
    array([ 0,  1, 11])
    """
    tried = np.arange(64 * parts)
    found, first = np.unique(_spark_hash(tried) % parts, return_index=True)
    keys = np.zeros(parts, np.int64)
    keys[found] = first
    return keys


def _spark_hash(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return Murmur3 of integers, as signed 32-bit integers."""
    word = _rotated(numbers.astype(np.uint32) * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    found = _rotated(word ^ np.uint32(_SEED), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    found ^= np.uint32(_INT_BYTES)
    found = (found ^ (found >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    found = (found ^ (found >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return (found ^ (found >> np.uint32(16))).view(np.int32).astype(np.int64)


def _rotated(words: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
    return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))
