"""Hashes are those of a plain version, whatever array they are computed from."""

import numpy as np
import pyarrow as pa

from recrawl.kernels.hashing import hash_column

ALL = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mixed(word: int) -> int:
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & ALL
    word = (word ^ word >> 27) * 0x94D049BB133111EB & ALL
    return word ^ word >> 31


def plain(text: bytes) -> int:
    found = len(text) * GOLDEN & ALL
    for low in range(0, len(text), 8):
        found = mixed(found ^ int.from_bytes(text[low : low + 8], "big")) + GOLDEN & ALL
    return mixed(found)


def test_texts_of_any_length_are_hashed_as_by_the_plain_version() -> None:
    texts = ["", "a", "ab", "1234567", "12345678", "123456789", "ü" * 20]
    column = pa.array(["left out", *texts], pa.large_string())
    expected = [plain(text.encode()) for text in texts]
    assert hash_column(column.slice(1)).tolist() == expected
    assert hash_column(pa.array(texts, pa.large_string())).tolist() == expected


def test_whole_numbers_are_hashed_by_value() -> None:
    numbers = [0, 1, 7, 2**40]
    expected = [mixed(number + GOLDEN & ALL) for number in numbers]
    for kind in (pa.int64(), pa.uint64()):
        assert hash_column(pa.array(numbers, kind)).tolist() == expected


def test_pages_are_dealt_evenly() -> None:
    names = pa.array([f"https://example.org/{n}" for n in range(64_000)], pa.large_string())
    for column in (names, pa.array(np.arange(64_000))):
        counts = np.bincount((hash_column(column) >> np.uint64(58)).astype(np.int64))
        # A thousand per file, and five standard deviations.
        assert counts.size == 64
        assert abs(counts - 1000).max() < 160
