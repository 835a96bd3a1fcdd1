"""The URLs of all pages as one text, in which a part of a URL is found at once."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from recrawl.kernels.jit import Bools, Ints
from recrawl.kernels.texts import lines_with
from recrawl.store.sqlite import SqliteStore

#: What each URL ends with; none contains it.
END = "\n"
#: The text is read anew when more than this share of it is of pages that were removed.
MAX_REMOVED = 0.5


@final
@dataclass(frozen=True)
class UrlText:
    """The URLs of pages, one after the other, in order of number.

    Attributes:
        numbers: The numbers of the pages.
        text: Their URLs as UTF-8, each with an end.
        ends: Where they end.
        counts: How often there is each byte.
    """

    numbers: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    text: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    ends: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    counts: Ints = field(default_factory=lambda: np.zeros(256, np.int64))

    def of(self, store: SqliteStore, numbers: Ints) -> "UrlText":
        """Return the URLs of these pages; as none ever changes, only those of new ones are read.

        There may still be some of pages that are no longer there.
        """
        if numbers.size < (1.0 - MAX_REMOVED) * self.numbers.size:
            return UrlText().of(store, numbers)
        last = int(self.numbers[-1]) if self.numbers.size else -1
        known, texts = [self.numbers], [self.text]
        for rows in store.urls_after(last):
            found, urls = zip(*rows, strict=True)
            known.append(np.array(found, np.int64))
            lines = END.join(url.replace(END, " ") for url in urls) + END
            texts.append(np.frombuffer(lines.encode("utf-8", "surrogatepass"), np.uint8))
        if len(known) == 1:
            return self
        text = np.concatenate(texts)
        counts = np.bincount(text, minlength=256)
        return UrlText(np.concatenate(known), text, np.flatnonzero(text == ord(END)), counts)

    def contain(self, wanted: str, numbers: Ints) -> Bools:
        """Return which of some pages, in order of number, have a URL that contains a text."""
        contained = self._contain(wanted.encode("utf-8", "surrogatepass"))
        if np.array_equal(numbers, self.numbers):
            return contained
        where = np.minimum(np.searchsorted(self.numbers, numbers), max(self.numbers.size - 1, 0))
        if not self.numbers.size:
            return np.zeros(numbers.size, np.bool_)
        found: Bools = contained[where] & (self.numbers[where] == numbers)
        return found

    def _contain(self, wanted: bytes) -> Bools:
        """Return which of the URLs contain a text."""
        if ord(END) in wanted:
            return np.zeros(self.numbers.size, np.bool_)
        rarest = min(range(len(wanted)), key=lambda index: self.counts[wanted[index]])
        return lines_with(self.text, self.ends, np.frombuffer(wanted, np.uint8), rarest)
