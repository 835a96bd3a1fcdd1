"""Find noise: blocks of a page that differ between two fetches in a row.

Two fetches in a row cannot differ in anything that matters. What differs is identified by keys
that still match at the next visit, and is ignored from then on. Noise that varies too slowly for
that is learned from the differences that visits find: `history`.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b

from recrawl.content.boilerplate.boilerplate import is_prose
from recrawl.content.html.outline import Block, Element
from recrawl.content.noise.masking import masked

#: Elements that contain the content of a page; they are never ignored as a whole.
_CONTENT = frozenset({"html", "body", "main", "article", ""})
#: Elements of a text: directly in the content, each is different from the others.
_OF_TEXT = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "blockquote"})
#: A box with several differing blocks is ignored if at most this share of it is the same...
_MAX_SAME = 0.75
#: ...and so is the box around it, if at most this share of that is the same.
_HARDLY_SAME = 1 / 3
_SEVERAL = 2
#: The share of letters in links from which a line is one of links.
_MOSTLY_LINKED = 0.5
_DIGIT = re.compile("[0-9]")

#: Identifies something about an element.
_Key = Callable[[Element], bytes]


def box_key(element: Element) -> bytes:
    """Return the key of everything inside an element."""
    return _hash(b"in", element.path)


def lines_key(element: Element) -> bytes:
    """Identifies the lines inside an element that may be passing."""
    return _hash(b"lines", element.path)


def may_be_passing(block: Block) -> bool:
    """Whether it may be a teaser: a link, or a short line without a number, such as a price."""
    if block.is_link or block.linked >= _MOSTLY_LINKED:
        return True
    return not is_prose(block) and _DIGIT.search(block.text) is None


def text_key(block: Block) -> bytes:
    """Return the key of a text in such an element, whatever its numbers."""
    return _hash(b"text", block.element.path, masked(block.text).encode(errors="replace"))


def exact_key(block: Block) -> bytes:
    """Return the key of exactly this text in such an element."""
    return _hash(b"is", block.element.path, block.key.encode(errors="replace"))


def position_keys(blocks: Iterable[Block]) -> list[bytes]:
    """Return the key of the position of each block: its element and its number in there."""
    counts = Counter[tuple[Element, bool]]()
    keys = []
    for block in blocks:
        counts[block.element, block.is_link] += 1
        number = counts[block.element, block.is_link]
        keys.append(_hash(b"at", block.element.path, b"%d %d" % (block.is_link, number)))
    return keys


def _hash(*parts: bytes) -> bytes:
    return blake2b(b"\x00".join(parts), digest_size=8).digest()


def are_ignored(blocks: Sequence[Block], ignored: frozenset[bytes]) -> list[bool]:
    """Return for each block whether it is ignored."""
    boxes, lines = dict[Element, bool](), dict[Element, bool]()

    def is_in(element: Element | None, key: _Key, known: dict[Element, bool]) -> bool:
        if element is None:
            return False
        found = known.get(element)
        if found is None:
            found = known[element] = key(element) in ignored or is_in(element.parent, key, known)
        return found

    return [
        is_in(block.element, box_key, boxes)
        or (is_in(block.element, lines_key, lines) and may_be_passing(block))
        or position in ignored
        or text_key(block) in ignored
        or exact_key(block) in ignored
        for block, position in zip(blocks, position_keys(blocks), strict=True)
    ]


def noise(one: Sequence[Block], other: Sequence[Block]) -> frozenset[bytes]:
    """Return the keys of the blocks that differ between two fetches in a row.

    A key matches as little as it can while still matching next time:

    - a text that is the same except for numbers, dates and tokens: such a text in such an element;
    - if several blocks of a list or box differ, everything inside it, unless it is the page, its
      main part or an article, or holds prose that does not differ;
    - otherwise, any text in that position, such as the third item of a list, unless it is running
      text right in the content.

    If the texts are all the same and only their order differs, the positions they are in.
    """
    new, old = _missing(one, other), _missing(other, one)
    shared = {text_key(one[number]) for number in new} & {text_key(other[number]) for number in old}
    unmatched = [*((one, number) for number in new), *((other, number) for number in old)]
    differing = [(side, n) for side, n in unmatched if text_key(side[n]) not in shared]
    boxes = _boxes(one, other, {id(one): set(new), id(other): set(old)}, differing)
    inside = {box_key(box) for box in boxes}
    positions = {id(one): position_keys(one), id(other): position_keys(other)}
    keys = frozenset(
        inside
        | shared
        | {
            positions[id(side)][number]
            for side, number in differing
            if not _is_running_text(side[number])
            and not any(box_key(around) in inside for around in _around(side[number]))
        }
    )
    left = [
        [block.key for block, gone in zip(side, are_ignored(side, keys), strict=True) if not gone]
        for side in (one, other)
    ]
    return keys if left[0] == left[1] else keys | _moved(one, other)


def _missing(blocks: Sequence[Block], others: Sequence[Block]) -> list[int]:
    """Return the numbers of the blocks without an equal among the others, matched one to one."""
    left = Counter((block.element.path, block.key) for block in others)
    missing = []
    for number, block in enumerate(blocks):
        what = (block.element.path, block.key)
        if left[what]:
            left[what] -= 1
        else:
            missing.append(number)
    return missing


def _moved(one: Sequence[Block], other: Sequence[Block]) -> frozenset[bytes]:
    """Return the keys of the positions whose text differs."""
    here, there = (
        dict(zip(position_keys(blocks), (block.key for block in blocks), strict=True))
        for blocks in (one, other)
    )
    return frozenset(key for key in here.keys() | there.keys() if here.get(key) != there.get(key))


def _around(block: Block) -> Iterator[Element]:
    return block.element.ancestors()


def _boxes(
    one: Sequence[Block],
    other: Sequence[Block],
    differing: dict[int, set[int]],
    blocks: list[tuple[Sequence[Block], int]],
) -> list[Element]:
    """Return the boxes in which several blocks differ."""
    count, varied = defaultdict[bytes, int](int), defaultdict[bytes, int](int)
    steady_prose, steady_text = set[bytes](), set[bytes]()
    for side in (one, other):
        for number, block in enumerate(side):
            differs = number in differing[id(side)]
            paths = [element.path for element in _around(block)]
            for path in paths:
                count[path] += 1
                varied[path] += differs
            steady_prose.update(paths if not differs and is_prose(block) else ())
            steady_text.update(paths if not differs and not block.linked else ())

    def same(element: Element) -> float:
        return 1.0 - varied[element.path] / count[element.path]

    found = list[Element]()
    for side, number in blocks:
        candidates = [element for element in _around(side[number]) if _may_be_box(element)]
        candidates = [box for box in candidates if box.path not in steady_prose]
        smallest = next((box for box in candidates if varied[box.path] >= 2 * _SEVERAL), None)
        if smallest is None:
            smallest = next((b for b in candidates if varied[b.path] >= _SEVERAL), None)
            if smallest is None or same(smallest) > _HARDLY_SAME:
                continue
        if same(smallest) > _MAX_SAME:
            continue
        # Content next to the box, in separate elements, is not part of it.
        larger = [
            box
            for box in candidates[candidates.index(smallest) :]
            if box is smallest or box.path not in steady_text
        ]
        found.append(next((b for b in reversed(larger) if same(b) <= _HARDLY_SAME), smallest))
    return found


def _is_running_text(block: Block) -> bool:
    """Whether it is prose directly in the content: if it differs, it was edited just now."""
    return is_prose(block) and not _may_be_box(block.element)


def _may_be_box(element: Element) -> bool:
    """Whether it may be ignored as a whole."""
    if element.tag in _CONTENT or element.parent is None:
        return False
    return not (element.tag in _OF_TEXT and element.parent.tag in _CONTENT)
