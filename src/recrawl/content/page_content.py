"""The content of a page in blocks: which of them count, and how two contents differ."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from recrawl.content.boilerplate.boilerplate import Kind, is_prose, sketches_of
from recrawl.content.boilerplate.boxes import box_path, is_linked, link_boxes
from recrawl.content.boilerplate.template import STEADY, Sketches
from recrawl.content.html.outline import Block
from recrawl.content.noise.masking import is_incidental, masked
from recrawl.content.noise.noise import are_ignored, noise, position_keys, text_key
from recrawl.records import Change, ChangeKind, Fingerprint, digest_of

#: The maximum number of blocks of two contents; finding the noise in more would take seconds.
_MAX_BLOCKS = 40_000
#: Noise that would hide more than this share of a page's prose is not ignored.
_MAX_HIDDEN = 0.5
#: A word; in scripts without spaces between words, such as Chinese and Japanese, a letter.
_WORD = re.compile(r"[^\W\u2e80-\ud7ff\uf900-\ufaff]+|\S")
#: Bytes of a fingerprint that are about the page's own blocks; the rest is about the others.
_OWN_BYTES = 16
#: Local names, as looking up members of an enumeration is slow.
_IN_TEXT, _OUTSIDE = Kind.OWN, Kind.BESIDE


@dataclass(frozen=True)
class Content:
    """The content of a body, in blocks: lines of text, then links.

    Attributes:
        kind: The kind of its fingerprint.
        read_blocks: Returns all blocks; called only when they are needed, as they often are not.
        read_kinds: Classifies the blocks.
        markup: Digest of the markup that the blocks are read from; empty if that was not HTML.
        is_exact: Whether nothing is furniture, so that any difference counts.
    """

    kind: str
    read_blocks: Callable[[], Sequence[Block]] = field(repr=False)
    read_kinds: Callable[[Sequence[Block]], Sequence[Kind]] = field(repr=False)
    markup: bytes = b""
    is_exact: bool = False
    _own: dict[frozenset[bytes], list[tuple[Block, Kind]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _fingerprints: dict[frozenset[bytes], Fingerprint] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _apart: dict[tuple["Content", frozenset[bytes]], tuple[list[Block], list[Block]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def blocks(self) -> Sequence[Block]:
        """All blocks."""
        return self.read_blocks()

    @cached_property
    def whose(self) -> Sequence[Kind]:
        """The kind of each block."""
        return self.read_kinds(self.blocks)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts of all blocks."""
        return tuple([block.key for block in self.blocks])

    @cached_property
    def sketches(self) -> Sketches:
        """What the page has in its elements, for the template of its site."""
        sketches = sketches_of(self.blocks)
        if not any(map(is_linked, self.blocks)):
            return sketches
        whose = zip(self.blocks, self.whose, strict=True)
        boxes = link_boxes([block for block, kind in whose if kind is not Kind.FURNITURE])
        return {**sketches, **dict.fromkeys(map(box_path, boxes), STEADY)}

    def own(self, ignored: frozenset[bytes] = frozenset()) -> list[tuple[Block, Kind]]:
        """Return the page's own blocks, without ignored ones."""
        # It is needed for the fingerprint, and several times in each comparison.
        own = self._own.get(ignored)
        if own is None:
            own = self._own[ignored] = self._without(ignored) if ignored else self._all_own()
        return own

    def _all_own(self) -> list[tuple[Block, Kind]]:
        whose = zip(self.blocks, self.whose, strict=True)
        return [pair for pair in whose if pair[1] <= _OUTSIDE]

    def _without(self, ignored: frozenset[bytes]) -> list[tuple[Block, Kind]]:
        own = self.own()
        are_gone = are_ignored([block for block, _ in own], ignored)
        left = [pair for pair, is_gone in zip(own, are_gone, strict=True) if not is_gone]
        prose, kept = (
            sum(len(block.text) for block, _ in pairs if is_prose(block)) for pairs in (own, left)
        )
        return left if kept >= (1 - _MAX_HIDDEN) * prose else own

    def fingerprint(self, ignored: frozenset[bytes] = frozenset()) -> Fingerprint:
        """Return the fingerprint, without ignored blocks."""
        known = self._fingerprints.get(ignored)
        if known is None:
            known = self._fingerprints[ignored] = self._fingerprint(self.own(ignored))
        return known

    def _fingerprint(self, own: list[tuple[Block, Kind]]) -> Fingerprint:
        others = list[str]()
        if len(self.own()) < len(self.blocks):
            whose = zip(self.texts, self.whose, strict=True)
            others = [text for text, kind in whose if kind > _OUTSIDE]
        counted = [block.key if kind is _IN_TEXT else _shape(block.key) for block, kind in own]
        counted += self._looks(own)
        parts = (
            digest_of("\n".join(one).encode(errors="surrogatepass")) for one in (counted, others)
        )
        return Fingerprint(self.kind, next(parts) + next(parts)[:8], self.markup)

    def has_markup(self, markup: bytes) -> bool:
        """Whether the markup has this digest, so that there is nothing to compare."""
        return self.markup != b"" and self.markup == markup

    def difference(self, copy: "Content", ignored: frozenset[bytes] = frozenset()) -> Change | None:
        """Return how this content differs from that of a copy; None if it does not.

        A block is new only if it is nowhere in the copy: one that moved to another part of the page
            is
        neither new nor gone.
        """
        if self.has_markup(copy.markup):
            return None
        here, there = self.own(ignored), copy.own(ignored)
        new, old = self.apart(copy, ignored)
        if not new and not old:
            return self._rearranged(copy, here, there)
        if all(block.is_link for block in (*new, *old)):
            return Change(ChangeKind.LINKS)
        total = max(_letters(here), _letters(there))
        return Change(ChangeKind.TEXT, min(_letters_apart(new, old) / total, 1.0))

    def apart(
        self, copy: "Content", ignored: frozenset[bytes] = frozenset()
    ) -> tuple[list[Block], list[Block]]:
        """Return the page's own blocks that the copy lacks, and the copy's that the page lacks."""
        # It is needed for the difference, and then to learn from the difference.
        apart = self._apart.get((copy, ignored))
        if apart is None:
            apart = _absent(self.own(ignored), copy), _absent(copy.own(ignored), self)
            self._apart[copy, ignored] = apart
        return apart

    def _rearranged(
        self, copy: "Content", here: list[tuple[Block, Kind]], there: list[tuple[Block, Kind]]
    ) -> Change | None:
        """Return a difference between contents of the same texts."""
        orders = [[block.key for block, kind in own if kind is _IN_TEXT] for own in (here, there)]
        if orders[0] == orders[1]:
            if self._looks(here) != self._looks(there):
                return Change(ChangeKind.LAYOUT)
        elif self.is_exact or sorted(orders[0]) == sorted(orders[1]):
            return Change(ChangeKind.TEXT)
        return Change(ChangeKind.FURNITURE) if set(self.texts) != set(copy.texts) else None

    def _looks(self, own: list[tuple[Block, Kind]]) -> list[str]:
        """Return how the lines of the text are formatted, where that counts."""
        return [] if self.is_exact else [block.look for block, kind in own if kind is _IN_TEXT]

    def noise(self, other: "Content") -> frozenset[bytes]:
        """Return the keys of the blocks that differ from another content, fetched in a row."""
        if self.texts == other.texts or len(self.texts) + len(other.texts) > _MAX_BLOCKS:
            return frozenset()
        return noise(*([block for block, _ in content.own()] for content in (self, other)))

    def same_keys(self, other: "Content") -> frozenset[bytes]:
        """Return the keys of texts and positions that are the same in another content."""
        here, there = ([block for block, _ in content.own()] for content in (self, other))
        positions = (
            {*zip(position_keys(blocks), (block.key for block in blocks), strict=True)}
            for blocks in (here, there)
        )
        texts = ({(text_key(block), block.key) for block in blocks} for blocks in (here, there))
        same = (next(positions) & next(positions)) | (next(texts) & next(texts))
        return frozenset(key for key, _ in same)


def is_same(one: Fingerprint, other: Fingerprint) -> bool:
    """Whether two fingerprints are of contents whose own blocks are the same."""
    return one.kind == other.kind and one.digest[:_OWN_BYTES] == other.digest[:_OWN_BYTES]


def _absent(own: list[tuple[Block, Kind]], other: Content) -> list[Block]:
    """Return the own blocks of one content that are nowhere in another, whatever their kind there.

    In the text of a page, repetitions count: a cell of a table that changes from "yes" to "no" is
    new, although other cells say "no" too.
    """
    left = Counter(other.texts)
    absent = list[tuple[Block, Kind]]()
    for block, kind in own:
        if not left.get(block.key):
            absent.append((block, kind))
        elif kind is _IN_TEXT:
            left[block.key] -= 1
    dated = [block for block, kind in absent if kind is _OUTSIDE and block.key != _shape(block.key)]
    shapes = frozenset(map(_shape, other.texts)) if dated else frozenset[str]()
    same = {id(block) for block in dated if _shape(block.key) in shapes}
    return [block for block, _ in absent if id(block) not in same]


def _shape(text: str) -> str:
    """Return what counts of a line outside the text of a page: not dates and counts."""
    return masked(text) if is_incidental(text) else text


def _letters_apart(new: list[Block], old: list[Block]) -> int:
    """Return the letters of the words that only one of two texts has; the larger of both numbers.

    Words that moved within the text do not count: otherwise moving a sentence to the front would be
    as large a change as a new page.
    """
    here, there = map(_words, (new, old))
    return max(
        sum(len(word) * count for word, count in words.items())
        for words in (here - there, there - here)
    )


def _words(blocks: list[Block]) -> Counter[str]:
    return Counter(_WORD.findall("\n".join([block.text for block in blocks if not block.is_link])))


def _letters(own: list[tuple[Block, Kind]]) -> int:
    text = "".join([block.text for block, _ in own if not block.is_link])
    return len(text) - text.count(" ") or 1
