"""The template of a site: elements that hold the same on several of its pages.

What also stands on the pages around a page belongs to the site. Elements are known by their paths,
so that a text that appears in a menu tomorrow belongs to the menu. For each path the template keeps
a sketch of what the last page had there, and counts how often the next page had much the same:
menus and boxes agree on most pages, what the pages say does not.
"""

import struct
from collections.abc import Iterable, Mapping
from typing import Final, final
from zlib import crc32

#: What a page has in its elements: a sketch per path.
Sketches = Mapping[bytes, tuple[int, ...]]

#: Elements per site. Those that were not seen for longest are forgotten, as after a redesign.
MAX_ELEMENTS: Final = 1_000
#: Bytes of a path that are kept, and hashes of texts in a sketch.
PATH_BYTES: Final = 6
SKETCH: Final = 4
#: Pages that must agree, and their share, before an element is the site's.
MIN_AGREEING, MIN_SHARE = 2, 0.6
#: Above this many pages, old evidence counts half: a site may change its ways.
_MAX_COUNT = 30
#: Every page is learned from until the site has shown this many; later only those that differ.
YOUNG: Final = 20

_ELEMENT = struct.Struct(f"<{PATH_BYTES}sH{SKETCH}HBB")
_HEADER = struct.Struct("<BI")
_VERSION = 1
_EMPTY = 0xFFFF


def sketch_of(texts: Iterable[str]) -> tuple[int, ...]:
    """Return the smallest hashes of some texts: those of similar sets are similar.

    >>> one, other = sketch_of(["Home", "News", "Help"]), sketch_of(["Help", "Home", "News"])
    >>> one == other, len(one)
    (True, 3)
    """
    hashes = {crc32(text.encode(errors="replace")) % _EMPTY for text in texts}
    return tuple(sorted(hashes)[:SKETCH])


def agree(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two sketches are of much the same texts: at least half of the smallest hashes.

    >>> agree((1, 2, 3, 4), (1, 2, 3, 9)), agree((1,), (2,))
    (True, False)
    """
    union = sorted({*one, *other})[:SKETCH]
    return 2 * sum(value in one and value in other for value in union) >= len(union)


@final
class SiteTemplate:
    """What is known of the template of a site; small, and bounded.

    >>> template = SiteTemplate()
    >>> menu, text = bytes(6), bytes(5) + b"t"
    >>> for page in range(4):
    ...     template.learn(page, {menu: sketch_of(["Home"]), text: sketch_of([f"Page {page}"])})
    >>> template.furniture == {menu}, template.has_siblings
    (True, True)
    >>> SiteTemplate.from_bytes(template.to_bytes()).furniture == {menu}
    True
    """

    __slots__ = ("_elements", "_furniture", "pages")

    def __init__(self) -> None:
        #: How many pages it has learned from, counted anew each time they are seen.
        self.pages = 0
        # Page, sketch, and how many pages agreed and differed, by path; the last seen at the end.
        self._elements = dict[bytes, tuple[int, tuple[int, ...], int, int]]()
        self._furniture: frozenset[bytes] | None = None

    @property
    def is_young(self) -> bool:
        """Whether every page should be learned from, also those that need not be read."""
        return self.pages < YOUNG

    @property
    def has_siblings(self) -> bool:
        """Whether it has learned from more than one page."""
        return any(agreed + differed for _, _, agreed, differed in self._elements.values()) or (
            len({page for page, *_ in self._elements.values()}) > 1
        )

    @property
    def furniture(self) -> frozenset[bytes]:
        """The paths of the elements that belong to the site."""
        if self._furniture is None:
            self._furniture = frozenset(
                path
                for path, (_, _, agreed, differed) in self._elements.items()
                if agreed >= MIN_AGREEING and agreed >= MIN_SHARE * (agreed + differed)
            )
        return self._furniture

    def learn(self, page: int, sketches: Sketches) -> None:
        """Learn what a page has in its elements.

        Args:
            page: Its number: a page that agrees with itself says nothing about the site.
            sketches: A sketch per path.
        """
        self.pages += 1
        self._furniture = None
        page &= 0xFFFF
        for path, sketch in sketches.items():
            before = self._elements.pop(path, None)
            agreed = differed = 0
            if before is not None:
                seen_on, known, agreed, differed = before
                if seen_on != page:
                    same = agree(sketch, known)
                    agreed, differed = agreed + same, differed + (not same)
                if agreed + differed > _MAX_COUNT:
                    agreed, differed = agreed // 2, differed // 2
            self._elements[path] = page, sketch, agreed, differed
        for path in list(self._elements)[: len(self._elements) - MAX_ELEMENTS]:
            del self._elements[path]

    def to_bytes(self) -> bytes:
        """Return it as bytes, at most 20 kB, for `from_bytes`."""
        packed = [_HEADER.pack(_VERSION, min(self.pages, 2**32 - 1))]
        for path, (page, sketch, agreed, differed) in self._elements.items():
            padded = (*sketch, *([_EMPTY] * (SKETCH - len(sketch))))
            packed.append(_ELEMENT.pack(path, page, *padded, agreed, differed))
        return b"".join(packed)

    @classmethod
    def from_bytes(cls, packed: bytes) -> "SiteTemplate":
        """Return what `to_bytes` packed; an empty template if that was another version."""
        template = cls()
        is_whole = len(packed) >= _HEADER.size and not (
            (len(packed) - _HEADER.size) % _ELEMENT.size
        )
        if not is_whole or packed[0] != _VERSION:
            return template
        template.pages = _HEADER.unpack_from(packed)[1]
        for path, page, *rest in _ELEMENT.iter_unpack(packed[_HEADER.size :]):
            sketch = tuple(value for value in rest[:SKETCH] if value != _EMPTY)
            template._elements[path] = page, sketch, rest[SKETCH], rest[SKETCH + 1]
        return template
