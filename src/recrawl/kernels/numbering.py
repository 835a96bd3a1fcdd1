"""Number distinct texts or integers from 0, in order of first appearance, batch by batch.

A hash table with open addressing: each slot holds the number of a value and half of its hash. Each
distinct value is kept once, and values are compared in full.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recrawl.kernels.hashing import Hashes, hash_column
from recrawl.kernels.jit import AHEAD, Ints, compiled, prefetch, read_only

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int32]

#: An empty slot. In others, the lower half is a number, and the upper half is that of the hash.
EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
LOWER, UPPER = np.uint64(0x00000000FFFFFFFF), np.uint64(0xFFFFFFFF00000000)
#: Converts bits to an index.
INDEX: Any = np.int64
#: The factor by which full columns grow, and the minimum number of slots per value.
GROWTH, SLOTS_PER_VALUE = 1.5, 2


class Numbering:
    """The distinct values of a column that is read in batches.

    Values are texts, as Arrow arrays of large strings, or integers; all of one kind.

    >>> import pyarrow as pa
    >>> pages = Numbering()
    >>> pages.add(pa.array(["b", "a", "b"], pa.large_string()))
    array([0, 1, 0], dtype=int32)
    >>> pages.add(pa.array(["c", "a"], pa.large_string()))
    array([2, 1], dtype=int32)
    >>> pages.values().to_pylist()
    ['b', 'a', 'c']
    """

    def __init__(self) -> None:
        self._type: Any = None
        self._slots: Hashes = np.full(1 << 10, EMPTY)
        #: The hash of each value; the integers, or where each text starts; the bytes of the texts.
        self._hashes: Hashes = np.empty(0, np.uint64)
        self._starts: Ints = np.zeros(1, np.int64)
        self._bytes: Bytes = np.empty(0, np.uint8)
        self._count = 0

    def __len__(self) -> int:
        """Return the number of distinct values."""
        return self._count

    @property
    def nbytes(self) -> int:
        """The bytes that the values take."""
        return 8 * self._count + (int(self._starts[self._count]) if self._is_text else 0)

    def add(self, column: Any) -> Numbers:  # noqa: ANN401 - pyarrow has no types
        """Return the number of each value; new ones get the next numbers."""
        import pyarrow as pa

        self._type = self._type or column.type
        hashes = hash_column(column)
        self._reserve(len(column))
        out = np.empty(len(column), np.int32)
        if not self._is_text:
            whole = column.cast(pa.int64(), safe=False).to_numpy(zero_copy_only=False)
            self._count = _number_wholes(
                read_only(whole), read_only(hashes), self._slots, self._hashes, self._starts,
                self._count, out,
            )  # fmt: skip
            return out
        _, offsets, data = column.buffers()
        starts = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
        texts = np.frombuffer(data, np.uint8) if data is not None and data.size else _NOTHING
        used = int(self._starts[self._count])
        self._bytes = _grown(self._bytes, used, used + int(starts[-1] - starts[0]))
        self._count = _number_texts(
            read_only(starts), read_only(texts), read_only(hashes), self._slots, self._hashes,
            self._starts, self._bytes, self._count, out,
        )  # fmt: skip
        return out

    def values(self) -> Any:  # noqa: ANN401 - pyarrow has no types
        """Return all values so far by number, as an Arrow array, without a copy."""
        import pyarrow as pa

        if not self._is_text:
            return pa.array(self._starts[: self._count]).cast(self._type or pa.int64(), safe=False)
        starts = pa.py_buffer(self._starts[: self._count + 1])
        texts = pa.py_buffer(self._bytes[: int(self._starts[self._count])])
        return pa.Array.from_buffers(pa.large_string(), self._count, [None, starts, texts])

    @property
    def _is_text(self) -> bool:
        import pyarrow as pa

        return self._type is not None and pa.types.is_large_string(self._type)

    def _reserve(self, more: int) -> None:
        """Extend the columns for this many more values."""
        needed = self._count + more
        self._hashes = _grown(self._hashes, self._count, needed)
        self._starts = _grown(self._starts, self._count + 1, needed + 1)
        if SLOTS_PER_VALUE * needed > self._slots.size:
            self._slots = np.full(1 << (SLOTS_PER_VALUE * needed - 1).bit_length(), EMPTY)
            _fill_slots(read_only(self._hashes[: self._count]), self._slots)


_NOTHING = np.zeros(1, np.uint8)


def _grown(column: NDArray[Any], used: int, needed: int) -> NDArray[Any]:
    """Return a column with enough capacity, keeping the elements in use."""
    if needed <= column.size:
        return column
    larger = np.empty(max(needed, int(GROWTH * column.size)), column.dtype)
    larger[:used] = column[:used]
    return larger


@compiled
def _fill_slots(hashes: Hashes, slots: Hashes) -> None:
    last = np.uint64(slots.size - 1)
    for number in range(hashes.size):
        prefetch(slots, INDEX(hashes[min(number + AHEAD, hashes.size - 1)] & last))
        slot = hashes[number] & last
        while slots[slot] != EMPTY:
            slot = (slot + np.uint64(1)) & last
        slots[slot] = (hashes[number] & UPPER) | np.uint64(number)


@compiled
def _number_wholes(
    column: Ints,
    hashes: Hashes,
    slots: Hashes,
    known_hashes: Hashes,
    known: Ints,
    count: int,
    out: Numbers,
) -> int:
    last = np.uint64(slots.size - 1)
    rows = column.size
    for row in range(rows):
        prefetch(slots, INDEX(hashes[min(row + AHEAD, rows - 1)] & last))
        soon = INDEX(slots[hashes[min(row + AHEAD // 2, rows - 1)] & last] & LOWER)
        prefetch(known, min(soon, count))
        here = hashes[row]
        slot = here & last
        while True:
            found = slots[slot]
            if found == EMPTY:
                slots[slot] = (here & UPPER) | np.uint64(count)
                known_hashes[count] = here
                known[count] = column[row]
                out[row] = count
                count += 1
                break
            number = INDEX(found & LOWER)
            if (found ^ here) & UPPER == np.uint64(0) and known[number] == column[row]:
                out[row] = number
                break
            slot = (slot + np.uint64(1)) & last
    return count


@compiled
def _number_texts(
    starts: Ints,
    texts: Bytes,
    hashes: Hashes,
    slots: Hashes,
    known_hashes: Hashes,
    known_starts: Ints,
    known_texts: Bytes,
    count: int,
    out: Numbers,
) -> int:
    last = np.uint64(slots.size - 1)
    rows = hashes.size
    for row in range(rows):
        # Each load depends on the previous one: slot, start of a text, text.
        prefetch(slots, INDEX(hashes[min(row + AHEAD, rows - 1)] & last))
        soon = INDEX(slots[hashes[min(row + AHEAD // 2, rows - 1)] & last] & LOWER)
        prefetch(known_starts, min(soon, count))
        sooner = INDEX(slots[hashes[min(row + AHEAD // 4, rows - 1)] & last] & LOWER)
        prefetch(known_texts, known_starts[min(sooner, count)])
        here = hashes[row]
        slot = here & last
        low = starts[row]
        length = starts[row + 1] - low
        while True:
            found = slots[slot]
            if found == EMPTY:
                slots[slot] = (here & UPPER) | np.uint64(count)
                known_hashes[count] = here
                begin = known_starts[count]
                for byte in range(length):
                    known_texts[begin + byte] = texts[low + byte]
                count += 1
                known_starts[count] = begin + length
                out[row] = count - 1
                break
            if (found ^ here) & UPPER == np.uint64(0):
                number = INDEX(found & LOWER)
                begin = known_starts[number]
                same = known_starts[number + 1] - begin == length
                byte = 0
                while same and byte < length:
                    same = known_texts[begin + byte] == texts[low + byte]
                    byte += 1
                if same:
                    out[row] = number
                    break
            slot = (slot + np.uint64(1)) & last
    return count
