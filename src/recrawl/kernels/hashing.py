"""Hash texts and integers, identically on every machine and in every run."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recrawl.kernels.jit import Ints, compiled, step

Hashes = NDArray[np.uint64]

#: Constants of SplitMix64 (Steele, Lea and Flood 2014), which mixes 64 bits well.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR, SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
WORD = 8


def hash_column(column: Any) -> Hashes:  # noqa: ANN401 - pyarrow has no types
    """Return a hash of each element of an Arrow array of large strings or integers.

    >>> import pyarrow as pa
    >>> a, b, again = hash_column(pa.array(["a", "b", "a"], pa.large_string()))
    >>> bool(a == again), bool(a == b)
    (True, False)
    """
    import pyarrow as pa

    out = np.empty(len(column), np.uint64)
    if pa.types.is_integer(column.type):
        numbers = column.cast(pa.int64(), safe=False).to_numpy(zero_copy_only=False)
        _hash_numbers(numbers.view(np.uint64), out)
        return out
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    characters = np.frombuffer(data, np.uint8) if data is not None and data.size else _NOTHING
    _hash_texts(ends, characters, out)
    return out


_NOTHING = np.frombuffer(b"\0", np.uint8)


@step
def _mixed(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> np.uint64(30))) * FIRST_FACTOR
    word = (word ^ (word >> np.uint64(27))) * SECOND_FACTOR
    return word ^ (word >> np.uint64(31))


@step
def uniform(number: int) -> float:
    """Return a pseudorandom number from 0 to 1, a function of the given number."""
    return float(_mixed(np.uint64(number) * GOLDEN) >> np.uint64(11)) * 2.0**-53


@compiled
def _hash_numbers(numbers: Hashes, out: Hashes) -> None:
    for row in range(numbers.size):
        out[row] = _mixed(numbers[row] + GOLDEN)


@compiled
def _hash_texts(ends: Ints, characters: NDArray[np.uint8], out: Hashes) -> None:
    for row in range(out.size):
        low, high = ends[row], ends[row + 1]
        found = np.uint64(high - low) * GOLDEN
        while low < high:
            word = np.uint64(0)
            for position in range(low, min(low + WORD, high)):
                word = (word << np.uint64(8)) | np.uint64(characters[position])
            found = _mixed(found ^ word) + GOLDEN
            low += WORD
        out[row] = _mixed(found)
