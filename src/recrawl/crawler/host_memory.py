"""What is learned about hosts and folders, from one run to the next: kept in the store as bytes."""

import zlib
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from recrawl.estimation.signals import KINDS, MEMORY
from recrawl.kernels.jit import Ints
from recrawl.scheduling.remembering import untold
from recrawl.scheduling.state import Rows

#: What is kept: the activity of hosts and folders, how far the signals of a host are trusted, the
#: rhythm of the week, and until when hosts are left alone.
HOST_CLOCK, FOLDER_CLOCK = "host clock", "folder clock"
SIGNAL_TRUST, RHYTHM = "signal trust", "rhythm"
HOST_PAUSE = "host pause"
#: Until when a host is left alone, in microseconds, and for how long that was at most.
PAUSE = np.dtype([("until", "<i8"), ("length", "<i8")])
#: What earlier versions kept of sitemaps: how often they were right, and wrong.
SITEMAP_TRUST = "sitemap trust"
COUNTS = np.dtype([("right", "<f8"), ("wrong", "<f8")])
#: What all pages together are called.
THE_FLEET = ""


def pack_rows(names: Iterable[str], rows: Rows) -> dict[str, bytes]:
    """Write what was learned about hosts or folders, by name."""
    pairs = zip(names, rows, strict=True)
    return {name: zlib.compress(row.tobytes(), 1) for name, row in pairs}


def unpack_rows(
    kept: Mapping[str, bytes], names: Mapping[str, int], kind: np.dtype[np.void]
) -> tuple[Ints, Rows]:
    """Read what `pack_rows` wrote: the numbers of those that are known, and what was learned.

    >>> rows = np.array([3.0], np.dtype([("odds", "<f8")]))
    >>> kept = {**pack_rows(["a"], rows), "b": b"damaged"}
    >>> numbers, read = unpack_rows(kept, {"a": 7, "b": 8}, rows.dtype)
    >>> numbers.tolist(), read["odds"].tolist()
    ([7], [3.0])
    """
    numbers, rows = [], []
    for name, value in kept.items():
        row = _inflated(value, kind) if name in names else b""
        if len(row) == kind.itemsize:
            numbers.append(names[name])
            rows.append(row)
    return np.array(numbers, np.int64), np.frombuffer(b"".join(rows), kind)


def hosts_left_alone(kept: Mapping[str, bytes], now: int) -> dict[str, float]:
    """Return for how many more seconds hosts are to be left alone, of those that still are.

    No longer than they were to be, whatever has become of the system's clock.

    >>> rows = np.array([(50, 30), (90, 30), (900, 30)], PAUSE)
    >>> hosts_left_alone(pack_rows(["a", "b", "c"], rows), now=80)
    {'b': 1e-05, 'c': 3e-05}
    """
    names = list(kept)
    numbers, rows = unpack_rows(kept, {name: row for row, name in enumerate(names)}, PAUSE)
    left = np.minimum(rows["until"] - now, rows["length"])
    pairs = zip(numbers.tolist(), left.tolist(), strict=True)
    return {names[number]: micros / 1e6 for number, micros in pairs if micros > 0}


def closed_hosts(kept: Callable[[str], Mapping[str, bytes]], now: int) -> dict[str, int]:
    """Return until when hosts are left alone, in microseconds, of those that still are.

    Args:
        kept: Reads what an earlier or the present run kept, as `SqliteStore.kept`.
        now: The present, in microseconds.
    """
    left = hosts_left_alone(kept(HOST_PAUSE), now)
    return {host: now + round(seconds * 1e6) for host, seconds in left.items()}


def _inflated(value: bytes, kind: np.dtype[np.void]) -> bytes:
    # Counts of sitemaps were not compressed. The length does not tell: anything compressed may
    # happen to be as long as it was before.
    if kind == COUNTS:
        return value
    try:
        return zlib.decompress(value)
    except zlib.error:
        return b""


def trust_in_sitemaps(counts: Rows) -> Rows:
    """Return what an earlier version's counts of right and wrong sitemaps say about signals."""
    rows, kind = untold(counts.size), KINDS.index("sitemap")
    right, wrong = np.maximum(counts["right"], 0.0), np.maximum(counts["wrong"], 0.0)
    # What is older has faded.
    share = np.minimum(MEMORY / np.maximum(right + wrong, MEMORY), 1.0)
    rows["right"][:, kind] += share * right
    rows["seen"][:, kind] += share * (right + wrong)
    return rows
