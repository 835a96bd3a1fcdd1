"""Limit the memory that the visits of a log take."""

import ctypes
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from recrawl.errors import ArgumentError
from recrawl.formats.rows import Rows
from recrawl.kernels.numbering import Numbering
from recrawl.quantities import number
from recrawl.units import parse_size

#: The share of the free memory that visits take by default.
SHARE = 0.5
#: Bytes that a visit takes while it is sorted and folded, and a page in addition to its name.
BYTES_PER_VISIT, BYTES_PER_PAGE = 45, 100
#: How many rows are read before the size of the whole log is extrapolated from them.
ENOUGH_ROWS = 1 << 20
#: Files that say how much memory there is.
_MEMORY_INFO = Path("/proc/meminfo")
_GROUP_LIMIT, _GROUP_USE = (
    Path("/sys/fs/cgroup") / name for name in ("memory.max", "memory.current")
)


def release_unused() -> None:
    """Return freed memory to the system: Arrow and the C library keep it for later."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    # Only glibc has it; others return memory by themselves.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


class Memory(NamedTuple):
    """How many bytes visits may take."""

    limit: float

    @classmethod
    def of(cls, given: float | str | None) -> "Memory":
        """Return what was given, such as ``"2GB"``, or a share of the free memory.

        >>> Memory.of("2GB").limit
        2000000000.0
        """
        if given is None:
            return cls(SHARE * free_memory())
        limit = number("memory", given) if not isinstance(given, str) else _parsed(given)
        if not limit > 0:
            raise ArgumentError(f"memory: {limit:g} is not above 0; write for example 2GB")
        return cls(limit)

    def is_exceeded(self, names: Numbering, rows: Rows) -> bool:
        """Return whether a log takes too much memory, judging by its first rows.

        Args:
            names: The names of the pages read so far.
            rows: The rows read so far.
        """
        expected = rows.count * (share_left(rows) if rows.count >= ENOUGH_ROWS else 1.0)
        # Further rows may be of the same pages.
        of_pages = BYTES_PER_PAGE * len(names) + 2 * names.nbytes
        return BYTES_PER_VISIT * expected + of_pages > self.limit


def _parsed(text: str) -> float:
    try:
        return parse_size(text)
    except ArgumentError as error:
        raise ArgumentError(f"memory: {error}") from None


def share_left(rows: Rows) -> float:
    """Return how many times larger the log is than the part read so far; 1 if unknown."""
    return max(rows.size / rows.done, 1.0) if rows.size and rows.done else 1.0


def free_memory() -> int:
    """Return how many bytes of memory are free, for this machine or for its container."""
    free = _free_here()
    with suppress(OSError, ValueError):
        limit, used = (int(path.read_text()) for path in (_GROUP_LIMIT, _GROUP_USE))
        free = min(free, limit - used)
    return max(free, 1)


def _free_here() -> int:
    with suppress(OSError, ValueError, StopIteration):
        lines: Any = _MEMORY_INFO.read_text().splitlines()
        return 1024 * int(next(line.split()[1] for line in lines if line.startswith("MemAvail")))
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
