"""What is learned about hosts, as bytes and back."""

import numpy as np

from recrawl.crawler.host_memory import COUNTS, pack_rows, unpack_rows
from recrawl.scheduling.remembering import CLOCK, SIGNALS, WEEK


def test_rows_are_read_as_they_were_written_however_well_they_compress() -> None:
    """Some are, compressed, just as long as before."""
    rng = np.random.default_rng(5)
    for kind in (CLOCK, SIGNALS, WEEK):
        noise = [rng.bytes(random) for random in range(kind.itemsize + 1)]
        rows = np.array([np.frombuffer(one.ljust(kind.itemsize, b"\0"), kind)[0] for one in noise])
        names = [str(number) for number in range(rows.size)]
        packed = pack_rows(names, rows)
        numbers, read = unpack_rows(packed, {name: int(name) for name in names}, kind)
        assert numbers.tolist() == list(range(rows.size))
        assert read.tobytes() == rows.tobytes()
        if kind == CLOCK:
            assert kind.itemsize in map(len, packed.values())


def test_what_is_not_known_or_damaged_is_left_out() -> None:
    rows = np.zeros(3, SIGNALS)
    packed = pack_rows("abc", rows) | {"b": b"damaged"}
    numbers, read = unpack_rows(packed, {"b": 0, "c": 1}, SIGNALS)
    assert (numbers.tolist(), read.size) == ([1], 1)


def test_counts_of_sitemaps_that_an_earlier_version_kept_are_read() -> None:
    rows = np.array([(3.0, 1.5)], COUNTS)
    kept = {"a": rows.tobytes(), "b": b"short"}
    numbers, read = unpack_rows(kept, {"a": 7, "b": 8}, COUNTS)
    assert (numbers.tolist(), read.tolist()) == ([7], [(3.0, 1.5)])
