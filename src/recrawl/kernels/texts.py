"""Reorder texts without a second copy of all of them, and search them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recrawl.kernels.jit import Bools, Ints, compiled, read_only

Bytes = NDArray[np.uint8]


def scatter_texts(texts: Any, position: Ints, ends: Ints, characters: Bytes) -> None:  # noqa: ANN401
    """Write an Arrow array of large strings to positions among other texts.

    Args:
        texts: The texts.
        position: Where each goes.
        ends: Where each of all the texts starts, and where the last one ends.
        characters: The bytes of all texts, written to.
    """
    _, offsets, data = texts.buffers()
    here = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    source = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    _scatter(read_only(here), read_only(source), read_only(position), read_only(ends), characters)


@compiled
def _scatter(here: Ints, source: Bytes, position: Ints, ends: Ints, characters: Bytes) -> None:
    for item in range(position.size):
        target = ends[position[item]]
        for byte in range(here[item], here[item + 1]):
            characters[target + byte - here[item]] = source[byte]


def lines_with(text: Bytes, ends: Ints, wanted: Bytes, rarest: int) -> Bools:
    r"""Return which lines contain a text.

    Args:
        text: All lines, concatenated.
        ends: Where each of them ends.
        wanted: What to look for, at least one byte; it contains no end of a line.
        rarest: Which byte of it to look for first.

    >>> lines = np.frombuffer(b"one\ntwo\n", np.uint8)
    >>> lines_with(lines, np.array([3, 7]), np.frombuffer(b"tw", np.uint8), 1)
    array([False,  True])
    """
    found = np.zeros(ends.size, np.bool_)
    if text.size >= wanted.size:
        _mark_lines(read_only(text), read_only(ends), read_only(wanted), rarest, found)
    return found


@compiled
def _mark_lines(text: Bytes, ends: Ints, wanted: Bytes, rarest: int, found: Bools) -> None:
    byte, after = wanted[rarest], wanted.size - rarest
    start = 0
    for line in range(ends.size):
        # The byte can be here only if the bytes around it fit into the line.
        for at in range(start + rarest, ends[line] - after + 1):
            if text[at] == byte:
                first = at - rarest
                index = 0
                while index < wanted.size and text[first + index] == wanted[index]:
                    index += 1
                if index == wanted.size:
                    found[line] = True
                    break
        start = ends[line] + 1
