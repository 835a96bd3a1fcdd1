"""Learn the template of a site: elements with the same content on several of its pages.

What other pages contain too belongs to the site. Elements are identified by their paths, so that a
text that appears in a menu tomorrow belongs to the menu. For each path the template keeps a sketch
of the last page's content there, and counts how often the next page has much the same: menus and
boxes agree on most pages, the pages' own content does not.
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Final, final
from zlib import crc32

#: Sketches of the content of a page's elements, by path.
Sketches = Mapping[bytes, tuple[int, ...]]

#: Elements per site. The least recently seen are forgotten, as after a redesign.
MAX_ELEMENTS: Final = 1_000
#: Bytes of a path that are kept, and hashes of texts in a sketch.
PATH_BYTES: Final = 6
SKETCH: Final = 4
#: The minimum number and share of pages that must agree before an element is the site's.
MIN_AGREEING, MIN_SHARE = 2, 0.6
#: Boxes that change within so many visits to the site count as changing at the same time.
_NEAR = 3
#: Above this many pages, old evidence is halved, as sites change.
_MAX_COUNT = 30
#: Every page is learned from until there are this many; later, only those that differ.
YOUNG: Final = 20

#: An element: its path, the page it was last seen on, its sketch, and how many pages agreed and
#: differed. The record is everything but the path.
_RECORD = struct.Struct(f"<H{SKETCH}HBB")
_ELEMENT = struct.Struct(f"<{PATH_BYTES}s{_RECORD.size}s")
_COUNTS = struct.Struct(f"<{PATH_BYTES}s{_RECORD.size - 2}xBB")
_PAGES = struct.Struct(f"<{PATH_BYTES}xH{_RECORD.size - 2}x")
_HEADER = struct.Struct("<BII")
_VERSION = 2
_EMPTY = 0xFFFF
_PADDING = (_EMPTY,) * SKETCH

#: Instead of a sketch for a box of links: it is the same as in the copy; only it differs; the text
#: of the page differs too.
STEADY, VARIED, VARIED_WITH_TEXT = (-1,), (-2,), (-3,)
#: The first element of the sketch of an element with prose.
PROSE: Final = -4
_OF_BOXES = frozenset({STEADY, VARIED, VARIED_WITH_TEXT})


def sketch_of(texts: Iterable[str]) -> tuple[int, ...]:
    """Return the smallest hashes of some texts (MinHash): similar sets have similar ones.

    >>> one, other = sketch_of(["Home", "News", "Help"]), sketch_of(["Help", "Home", "News"])
    >>> one == other, len(one)
    (True, 3)
    """
    hashes = {crc32(text.encode(errors="replace")) % _EMPTY for text in texts}
    return tuple(sorted(hashes)[:SKETCH])


def agree(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two sketches are of much the same texts: at least half of the hashes agree.

    >>> agree((1, 2, 3, 4), (1, 2, 3, 9)), agree((1,), (2,))
    (True, False)
    """
    union = sorted({*one, *other})[:SKETCH]
    return 2 * sum(value in one and value in other for value in union) >= len(union)


@final
class SiteTemplate:
    """The template of a site; small, and bounded.

    >>> template = SiteTemplate()
    >>> menu, text = bytes(6), bytes(5) + b"t"
    >>> for page in range(4):
    ...     template.learn(page, {menu: sketch_of(["Home"]), text: sketch_of([f"Page {page}"])})
    >>> template.furniture == {menu}, template.has_siblings
    (True, True)
    >>> SiteTemplate.from_bytes(template.to_bytes()).furniture == {menu}
    True
    """

    __slots__ = ("_furniture", "_packed", "_siblings", "pages", "visits")

    def __init__(self) -> None:
        #: How many pages it has learned from, counted each time they are seen.
        self.pages = 0
        #: How many visits to the site there were, including those that taught nothing.
        self.visits = 0
        # Elements, the most recently seen last. As Python objects they would take ten times as much
        # memory, and most of the time they are only kept to be written or sent.
        self._packed = b""
        self._furniture: frozenset[bytes] | None = None
        self._siblings: bool | None = None

    def __reduce__(self) -> tuple[Callable[[bytes], "SiteTemplate"], tuple[bytes]]:
        """Pickle it as bytes."""
        return SiteTemplate.from_bytes, (self.to_bytes(),)

    @property
    def is_young(self) -> bool:
        """Whether every page should be learned from, even those that need not be parsed."""
        return self.pages < YOUNG

    @property
    def has_siblings(self) -> bool:
        """Whether it has learned from more than one page."""
        if self._siblings is None:
            seen_on = {page for (page,) in _PAGES.iter_unpack(self._packed)}
            self._siblings = len(seen_on) > 1 or any(
                agreed + differed for _, agreed, differed in _COUNTS.iter_unpack(self._packed)
            )
        return self._siblings

    @property
    def furniture(self) -> frozenset[bytes]:
        """The paths of the elements that belong to the site."""
        if self._furniture is None:
            self._furniture = frozenset(
                path
                for path, agreed, differed in _COUNTS.iter_unpack(self._packed)
                if agreed >= MIN_AGREEING and agreed >= MIN_SHARE * (agreed + differed)
            )
        return self._furniture

    def learn(self, page: int, sketches: Sketches, calm: int = 0) -> None:
        """Learn from the elements of a page.

        Args:
            page: Its number: a page that agrees with itself says nothing about the site.
            sketches: A sketch per path.
            calm: How many visits to the site have found nothing new since the last call.
        """
        self.pages += 1
        self.visits = (self.visits + 1 + calm) % 2**32
        self._furniture = self._siblings = None
        elements: dict[bytes, bytes] = dict(_ELEMENT.iter_unpack(self._packed))
        for path, sketch in sketches.items():
            # Elements that are seen move to the end.
            before = elements.pop(path, None)
            seen = (
                _seen_box(before, page & 0xFFFF, sketch, self.visits)
                if sketch in _OF_BOXES
                else _seen(before, page & 0xFFFF, sketch)
            )
            if seen is not None:
                elements[path] = seen
        kept = [part for element in elements.items() for part in element]
        self._packed = b"".join(kept)[-MAX_ELEMENTS * _ELEMENT.size :]

    def to_bytes(self) -> bytes:
        """Serialise it, to at most 20 kB, for `from_bytes`."""
        return _HEADER.pack(_VERSION, min(self.pages, 2**32 - 1), self.visits) + self._packed

    @classmethod
    def from_bytes(cls, packed: bytes) -> "SiteTemplate":
        """Deserialise what `to_bytes` returned; an empty template if that was another version."""
        template = cls()
        is_whole = len(packed) >= _HEADER.size and not (
            (len(packed) - _HEADER.size) % _ELEMENT.size
        )
        if not is_whole or packed[0] != _VERSION:
            return template
        _, template.pages, template.visits = _HEADER.unpack_from(packed)
        template._packed = packed[_HEADER.size :]
        return template


def _seen(before: bytes | None, page: int, sketch: tuple[int, ...]) -> bytes:
    """Return the record of an element that was seen on a page.

    A page that agrees with itself says nothing. Prose that changes on a single page is unlikely to
    be the site's: otherwise changes could hide in what pages once had in common.
    """
    agreed = differed = 0
    is_prose = sketch[:1] == (PROSE,)
    sketch = sketch[1:] if is_prose else sketch
    padded = (*sketch, *_PADDING[len(sketch) :])
    if before is not None:
        seen_on, *known, agreed, differed = _RECORD.unpack(before)
        # Most are equal, which is quick to check.
        same = tuple(known) == padded or agree(sketch, tuple(_without_padding(known)))
        if seen_on != page:
            agreed, differed = agreed + same, differed + (not same)
        elif is_prose and not same:
            agreed //= 2
        if agreed + differed > _MAX_COUNT:
            agreed, differed = agreed // 2, differed // 2
    return _RECORD.pack(page, *padded, agreed, differed)


def _seen_box(before: bytes | None, page: int, sketch: tuple[int, ...], visit: int) -> bytes | None:
    """Return the record of a box of links; None if there is nothing to remember.

    Boxes of two pages that change at nearly the same time agree, if the text of the second page has
    not changed. Time is measured in visits to the site.
    """
    if sketch == STEADY:
        return before
    agreed = differed = 0
    if before is not None:
        seen_on, last, *_, agreed, differed = _RECORD.unpack(before)
        if sketch == VARIED and seen_on != page:
            is_near = (visit - last) % _EMPTY <= _NEAR
            agreed, differed = agreed + is_near, differed + (not is_near)
        if agreed + differed > _MAX_COUNT:
            agreed, differed = agreed // 2, differed // 2
    return _RECORD.pack(page, visit % _EMPTY, *_PADDING[1:], agreed, differed)


def _without_padding(sketch: list[int]) -> list[int]:
    return sketch if sketch[-1] != _EMPTY else [value for value in sketch if value != _EMPTY]
