"""Serialise what is learned about hosts and folders, which the store keeps for the next run."""

import zlib
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from recrawl.estimation.signals import KINDS, MEMORY
from recrawl.kernels.jit import Ints
from recrawl.scheduling.remembering import untold
from recrawl.scheduling.state import Rows

#: What is stored: the activity of hosts and folders, the trust in the signals of a host, the weekly
#: rhythm, and until when hosts are left alone.
HOST_CLOCK, FOLDER_CLOCK = "host clock", "folder clock"
SIGNAL_TRUST, RHYTHM = "signal trust", "rhythm"
HOST_PAUSE = "host pause"
#: Until when a host is left alone, and the length of that pause, in microseconds.
PAUSE = np.dtype([("until", "<i8"), ("length", "<i8")])
#: What earlier versions stored about sitemaps: how often they were right, and wrong.
SITEMAP_TRUST = "sitemap trust"
COUNTS = np.dtype([("right", "<f8"), ("wrong", "<f8")])
#: The name for all pages together.
THE_FLEET = ""


def pack_rows(names: Iterable[str], rows: Rows) -> dict[str, bytes]:
    """Serialise what was learned about hosts or folders, by name."""
    pairs = zip(names, rows, strict=True)
    return {name: zlib.compress(row.tobytes(), 1) for name, row in pairs}


def unpack_rows(
    kept: Mapping[str, bytes], names: Mapping[str, int], kind: np.dtype[np.void]
) -> tuple[Ints, Rows]:
    """Deserialise what `pack_rows` wrote: the numbers of the known ones, and their rows.

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
    """Return for how many more seconds hosts are left alone, without those that no longer are.

    A pause is never longer than it was, whatever has happened to the system's clock.

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
    # Counts of sitemaps were not compressed. The length cannot tell: compressed data may happen to
    # be just as long.
    if kind == COUNTS:
        return value
    try:
        # Whoever wrote the store could have a few bytes become gigabytes.
        return zlib.decompressobj().decompress(value, kind.itemsize + 1)
    except zlib.error:
        return b""


def trust_in_sitemaps(counts: Rows) -> Rows:
    """Convert an earlier version's counts of right and wrong sitemaps to trust in signals."""
    rows, kind = untold(counts.size), KINDS.index("sitemap")
    right, wrong = np.maximum(counts["right"], 0.0), np.maximum(counts["wrong"], 0.0)
    # Older counts have faded.
    share = np.minimum(MEMORY / np.maximum(right + wrong, MEMORY), 1.0)
    rows["right"][:, kind] += share * right
    rows["seen"][:, kind] += share * (right + wrong)
    return rows
