"""What is learned about hosts, as bytes and back."""

import numpy as np
import pytest

from recrawl.estimation.signals import KINDS
from recrawl.scheduling.remembering import CLOCK, SIGNALS, WEEK, untold
from recrawl.store.kept.host_memory import (
    COUNTS,
    HOST_PAUSE,
    PAUSE,
    closed_hosts,
    hosts_left_alone,
    pack_rows,
    trust_in_sitemaps,
    unpack_rows,
)


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


@pytest.mark.parametrize(
    ("right", "wrong", "share"),
    [(3.0, 1.0, 1.0), (30.0, 10.0, 0.8), (-1.0, 4.0, 1.0), (4.0, -1.0, 1.0)],
)
def test_trust_in_sitemaps_of_an_earlier_version_is_trust_in_their_signals(
    right: float, wrong: float, share: float
) -> None:
    """No more than the last 32 signals count; what is below nothing was damaged."""
    rows = trust_in_sitemaps(np.array([(right, wrong)], COUNTS))
    new, kind = untold(1), KINDS.index("sitemap")
    seen = max(right, 0.0) + max(wrong, 0.0)
    assert rows["right"][0, kind] - new["right"][0, kind] == pytest.approx(share * max(right, 0.0))
    assert rows["seen"][0, kind] - new["seen"][0, kind] == pytest.approx(share * seen)
    others = [other for other in range(len(KINDS)) if other != kind]
    assert rows["seen"][:, others].tolist() == new["seen"][:, others].tolist()


def test_hosts_are_left_alone_to_the_microsecond() -> None:
    rows = np.array([(100, 30), (101, 30), (5_000_000, 2_500_000)], PAUSE)
    kept = pack_rows("abc", rows)
    assert hosts_left_alone(kept, 100) == {"b": 1e-6, "c": 2.5}
    learned = {HOST_PAUSE: kept}
    assert closed_hosts(lambda what: learned[what], 100) == {"b": 101, "c": 2_500_100}
