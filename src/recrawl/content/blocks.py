"""The blocks of a page and the elements they are in, and which of them are noise.

Two fetches in a row cannot differ in anything that matters. Whatever differs is identified by keys
that still match at the next visit, and is ignored from then on.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

from selectolax.lexbor import LexborHTMLParser, LexborNode

from recrawl.content.html import INLINE
from recrawl.content.masking import masked

_INLINE = frozenset(INLINE)
#: Elements that hold the content of a page; they are never ignored as a whole.
_CONTENT = frozenset({"html", "body", "main", "article", ""})
#: The share of an element's blocks that may be the same if all of it is noise.
_MAX_SAME = 1 / 3
_SEVERAL = 2


@dataclass(slots=True, eq=False)
class Element:
    """An element of a page, identified by its ancestors.

    Attributes:
        parent: The element around it; None for the page.
        tag: Its tag.
        path: Hash of the names on the path to it; the same for all items of a list.
        position: Hash of the names on the path to it, each with its number among the siblings of
            that name.
        counts: How many children of each name it has so far.
    """

    parent: "Element | None" = None
    tag: str = ""
    path: bytes = b""
    position: bytes = b""
    counts: Counter[str] = field(default_factory=Counter)

    def child(self, tag: str, name: str) -> "Element":
        """Return the next child with a name."""
        self.counts[name] += 1
        return Element(
            self,
            tag,
            _hash(self.path, name.encode(errors="replace")),
            _hash(self.position, f"{name} {self.counts[name]}".encode(errors="replace")),
        )

    def ancestors(self) -> "Iterator[Element]":
        """Iterate over the element itself and the elements around it, inside out."""
        element: Element | None = self
        while element is not None:
            yield element
            element = element.parent

    @property
    def key(self) -> bytes:
        """Identifies everything inside the element."""
        return _hash(b"all in", self.position)

    @property
    def may_be_noise(self) -> bool:
        """Whether it may be ignored as a whole."""
        return self.tag not in _CONTENT


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A line of text, or a link.

    Attributes:
        text: The text, or the address of the link.
        element: The element it is in.
        label: Whether it is a text or a link, and its number in that element.
    """

    text: str
    element: Element
    label: str

    @property
    def text_key(self) -> bytes:
        """Identifies such a text in such an element, whatever its numbers."""
        return _hash(b"text", self.element.path, masked(self.text).encode(errors="replace"))

    @property
    def position_key(self) -> bytes:
        """Identifies whatever text is in this position."""
        # Part of keys in existing stores, hence the old name.
        return _hash(b"place", self.element.position, self.label.encode())


def without_ignored(blocks: list[Block], ignored: frozenset[bytes]) -> list[str]:
    """Return the texts of the blocks that are not ignored."""
    known = dict[Element | None, bool]()

    def is_ignored(element: Element) -> bool:
        path = list[Element]()
        for ancestor in element.ancestors():
            if ancestor in known:
                break
            path.append(ancestor)
        inside = known.get(path[-1].parent if path else element, False)
        for step in reversed(path):
            inside = inside or step.key in ignored
            known[step] = inside
        return inside

    return [
        block.text
        for block in blocks
        if not (
            is_ignored(block.element) or block.position_key in ignored or block.text_key in ignored
        )
    ]


def block_elements(links: list[LexborNode]) -> list[int]:
    """Return the id of the block element that each link is in; before inline ones are unwrapped."""
    known = dict[int, int]()
    found = []
    for link in links:
        path, node = list[int](), link
        while node.parent is not None and node.tag in _INLINE and node.mem_id not in known:
            path.append(node.mem_id)
            node = node.parent
        owner = known.get(node.mem_id, node.mem_id)
        known.update(dict.fromkeys(path, owner))
        found.append(owner)
    return found


def locate(tree: LexborHTMLParser) -> tuple[list[tuple[str, Element]], dict[int, Element]]:
    """Return the texts of a page in order, each with its element, and all elements by node id."""
    elements = dict[int, Element]()
    texts = list[tuple[str, Element]]()
    page = Element()
    if tree.body is None:
        return texts, elements
    for node in tree.body.traverse(include_text=True):
        parent = elements.get(node.parent.mem_id, page) if node.parent is not None else page
        if node.is_text_node:
            texts.append((node.text(deep=False) or "", parent))
        elif node.is_element_node:
            tag = node.tag or ""
            elements[node.mem_id] = parent.child(tag, _name(tag, node.attributes))
    return texts, elements


def _name(tag: str, attributes: dict[str, str | None]) -> str:
    """Name an element by its tag, id and classes; those with digits may be random."""
    names = [f"#{attributes.get('id') or ''}"]
    names += sorted(f".{name}" for name in (attributes.get("class") or "").split())
    return tag + "".join(name for name in names if not any(map(str.isdigit, name)))


def _hash(*parts: bytes) -> bytes:
    return blake2b(b"\x00".join(parts), digest_size=8).digest()


def noise(one: list[Block], other: list[Block]) -> frozenset[bytes]:
    """Return the keys of the blocks that differ between two fetches in a row.

    A key matches as little as it can while still matching next time:

    - a text that is the same except for numbers, dates and tokens: such a text in such an element;
    - otherwise, any text in that position, such as the third item of the second list;
    - but if the blocks of an element come and go, or all of them differ, everything inside the
      element, unless it is the page, its main part or an article.

    If the texts are all the same and only their order differs, the positions they are in.
    """
    new, old = _missing(one, other), _missing(other, one)
    shared = {block.text_key for block in new} & {block.text_key for block in old}
    differing = [block for block in (*new, *old) if block.text_key not in shared]
    elements = _noisy_elements(
        differing, _by_element(new), _by_element(old), _by_element(one), _by_element(other)
    )
    positions = {element.position for element in elements}
    keys = frozenset(
        {element.key for element in elements}
        | shared
        | {block.position_key for block in differing if not _is_inside(block, positions)}
    )
    if without_ignored(one, keys) == without_ignored(other, keys):
        return keys
    return keys | _moved(one, other)


def _missing(blocks: list[Block], others: list[Block]) -> list[Block]:
    """Return the blocks that have no equal among the others, one for one."""
    left = Counter((block.element.path, block.text) for block in others)
    missing = []
    for block in blocks:
        what = (block.element.path, block.text)
        if left[what]:
            left[what] -= 1
        else:
            missing.append(block)
    return missing


def _moved(one: list[Block], other: list[Block]) -> frozenset[bytes]:
    """Return the keys of the positions whose text differs."""
    here, there = ({block.position_key: block.text for block in blocks} for blocks in (one, other))
    return frozenset(key for key in here.keys() | there.keys() if here.get(key) != there.get(key))


def _by_element(blocks: Iterable[Block]) -> dict[bytes, set[bytes]]:
    """Return the position keys of the blocks anywhere inside each element."""
    inside = defaultdict[bytes, set[bytes]](set)
    for block in blocks:
        key = block.position_key
        for element in block.element.ancestors():
            inside[element.position].add(key)
    return inside


def _noisy_elements(
    differing: list[Block],
    new: dict[bytes, set[bytes]],
    old: dict[bytes, set[bytes]],
    one: dict[bytes, set[bytes]],
    other: dict[bytes, set[bytes]],
) -> list[Element]:
    """Return the smallest elements with several blocks that come and go, or that all differ."""
    found = list[Element]()
    nothing = set[bytes]()
    for block in differing:
        for element in block.element.ancestors():
            at = element.position
            here, there = new.get(at, nothing), old.get(at, nothing)
            if len(here | there) < _SEVERAL:
                continue
            total = len(one.get(at, nothing)) + len(other.get(at, nothing))
            same = total - len(here) - len(there)
            comes_and_goes = here != there and same <= _MAX_SAME * total
            if element.may_be_noise and (comes_and_goes or same == 0):
                found.append(element)
            break
    return found


def _is_inside(block: Block, positions: set[bytes]) -> bool:
    return any(element.position in positions for element in block.element.ancestors())
