"""Texts put into another order without a second copy of all of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recrawl.kernels.jit import Ints, compiled, read_only

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
