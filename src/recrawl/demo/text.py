"""Generate plausible English text from a key."""

import hashlib
import re
import struct
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from recrawl.demo.vocabulary import WORDS, Topic

T = TypeVar("T")

#: Numbers drawn per batch, of two bytes each, and how many different ones there are.
BATCH = 64
RANGE = 1 << 16


class KeyedRandom:
    """Random numbers that depend on a key only, on every machine and in every process.

    >>> [KeyedRandom("a").choose("xyz") for _ in range(3)], KeyedRandom("b").integer(1_000)
    (['y', 'y', 'y'], 901)
    """

    def __init__(self, *key: object) -> None:
        self._key = repr(key).encode()
        self._batch = 0
        self._drawn: list[int] = []

    def integer(self, below: int) -> int:
        """Return an integer from 0 to ``below`` − 1."""
        return int(self.uniform() * below)

    def uniform(self) -> float:
        """Return a number from 0 up to, but not including, 1."""
        if not self._drawn:
            self._batch += 1
            digest = hashlib.shake_128(self._key + b"%d" % self._batch).digest(2 * BATCH)
            self._drawn = list(struct.unpack(f"<{BATCH}H", digest))
        return self._drawn.pop() / RANGE

    def choose(self, items: Sequence[T]) -> T:
        """Return one of the items."""
        return items[self.integer(len(items))]


def headline(topic: Topic, rng: KeyedRandom, variant: int) -> str:
    """Return a headline; consecutive variants differ."""
    return _write(topic.headlines[variant % len(topic.headlines)], rng)


def paragraph(topic: Topic, rng: KeyedRandom, variant: int, sentences: int) -> str:
    """Return a paragraph; consecutive variants differ in their first sentence.

    >>> from recrawl.demo.vocabulary import NEWS
    >>> paragraph(NEWS, KeyedRandom(1), 0, 1)
    'On Saturday the fire brigade said that the harbour wall would stay closed until November.'
    """
    first = variant % len(topic.sentences)
    others = [*topic.sentences[:first], *topic.sentences[first + 1 :]]
    written = [_write(topic.sentences[first], rng)]
    written += [_write(others.pop(rng.integer(len(others))), rng) for _ in range(sentences - 1)]
    return " ".join(written)


def slug(text: str) -> str:
    """Return a text in the form used in URLs.

    >>> slug("Strike ends: a club and employers agree")
    'strike-ends-a-club-and-employers-agree'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _write(sentence: str, rng: KeyedRandom) -> str:
    """Fill in a template's placeholders, and capitalise the first letter."""
    pieces = list(_pieces(sentence))
    pieces[1::2] = [rng.choose(WORDS[slot]) for slot in pieces[1::2]]
    text = "".join(pieces)
    return text[:1].upper() + text[1:]


@cache
def _pieces(sentence: str) -> tuple[str, ...]:
    """Split a template into text and names of placeholders, alternating."""
    return tuple(re.split(r"\{(\w+)\}", sentence))
