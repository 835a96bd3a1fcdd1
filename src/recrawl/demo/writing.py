"""Plausible English, the same for the same key: what is drawn depends on nothing else."""

import hashlib
import re
import struct
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from recrawl.demo.words import WORDS, Topic

T = TypeVar("T")

#: How many lots are drawn at a time, of two bytes each, and how many different ones there are.
DRAWN = 64
LOTS = 1 << 16


class Lots:
    """Lots drawn from a key, which are the same on every machine and in every process.

    >>> [Lots("a").choose("xyz") for _ in range(3)], Lots("b").number(1_000)
    (['y', 'y', 'y'], 901)
    """

    def __init__(self, *key: object) -> None:
        self._key = repr(key).encode()
        self._batch = 0
        self._drawn: list[int] = []

    def number(self, below: int) -> int:
        """Give a whole number from 0 to ``below`` − 1."""
        return int(self.share() * below)

    def share(self) -> float:
        """Give a number from 0 up to, but not including, 1."""
        if not self._drawn:
            self._batch += 1
            digest = hashlib.shake_128(self._key + b"%d" % self._batch).digest(2 * DRAWN)
            self._drawn = list(struct.unpack(f"<{DRAWN}H", digest))
        return self._drawn.pop() / LOTS

    def choose(self, items: Sequence[T]) -> T:
        """Give one of the items."""
        return items[self.number(len(items))]


def headline(topic: Topic, lots: Lots, turn: int) -> str:
    """Write a headline; one turn's and the next one's differ."""
    return _write(topic.headlines[turn % len(topic.headlines)], lots)


def paragraph(topic: Topic, lots: Lots, turn: int, sentences: int) -> str:
    """Write a paragraph; one turn's and the next one's differ in their first sentence.

    >>> from recrawl.demo.words import NEWS
    >>> paragraph(NEWS, Lots(1), 0, 1)
    'On Saturday the fire brigade said that the harbour wall would stay closed until November.'
    """
    first = turn % len(topic.sentences)
    others = [*topic.sentences[:first], *topic.sentences[first + 1 :]]
    written = [_write(topic.sentences[first], lots)]
    written += [_write(others.pop(lots.number(len(others))), lots) for _ in range(sentences - 1)]
    return " ".join(written)


def slug(text: str) -> str:
    """Give a text as addresses spell it.

    >>> slug("Strike ends: a club and employers agree")
    'strike-ends-a-club-and-employers-agree'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _write(sentence: str, lots: Lots) -> str:
    """Fill a sentence's gaps, and begin it with a capital letter."""
    pieces = list(_pieces(sentence))
    pieces[1::2] = [lots.choose(WORDS[gap]) for gap in pieces[1::2]]
    text = "".join(pieces)
    return text[:1].upper() + text[1:]


@cache
def _pieces(sentence: str) -> tuple[str, ...]:
    """Cut a sentence at its gaps: text and names of gaps in turn."""
    return tuple(re.split(r"\{(\w+)\}", sentence))
