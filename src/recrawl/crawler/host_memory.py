"""What is learned about hosts and folders, from one run to the next: kept in the store as bytes."""

import struct
import zlib
from collections.abc import Iterable, Mapping

import numpy as np

from recrawl.kernels.jit import Ints
from recrawl.scheduling.remembering import CLOCK
from recrawl.scheduling.state import Rows

#: What is kept: how far the sitemaps of a host are trusted, and the activity of hosts and folders.
SITEMAP_TRUST, HOST_CLOCK, FOLDER_CLOCK = "sitemap trust", "host clock", "folder clock"

_COUNTS = struct.Struct("<2d")


def pack_counts(right: float, wrong: float) -> bytes:
    """Write how often a host's sitemaps were right and wrong.

    >>> unpack_counts(pack_counts(3.0, 1.5)), unpack_counts(b"damaged")
    ((3.0, 1.5), None)
    """
    return _COUNTS.pack(right, wrong)


def unpack_counts(value: bytes) -> tuple[float, float] | None:
    """Read what `pack_counts` wrote; None if it is something else."""
    if len(value) != _COUNTS.size:
        return None
    right, wrong = _COUNTS.unpack(value)
    return (right, wrong) if min(right, wrong) >= 0.0 else None


def pack_clocks(names: Iterable[str], clocks: Rows) -> dict[str, bytes]:
    """Write the activity of hosts or folders, by name."""
    rows = zip(names, clocks, strict=True)
    return {name: zlib.compress(row.tobytes(), 1) for name, row in rows}


def unpack_clocks(kept: Mapping[str, bytes], names: Mapping[str, int]) -> tuple[Ints, Rows]:
    """Read what `pack_clocks` wrote: the numbers of those that are known, and their activity."""
    numbers, rows = [], []
    for name, value in kept.items():
        row = _inflated(value) if name in names else b""
        if len(row) == CLOCK.itemsize:
            numbers.append(names[name])
            rows.append(row)
    return np.array(numbers, np.int64), np.frombuffer(b"".join(rows), CLOCK)


def _inflated(value: bytes) -> bytes:
    try:
        return zlib.decompress(value)
    except zlib.error:
        return b""
