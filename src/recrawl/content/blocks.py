"""Where on a page each of its blocks stands, so that a lesson about a block holds next time."""

from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b

from selectolax.lexbor import LexborHTMLParser, LexborNode

from recrawl.content.html import INLINE
from recrawl.content.masking import masked

_INLINE = frozenset(INLINE)
#: Elements that hold a page's content as a whole; they are never noise as a whole.
_WHOLE = frozenset({"html", "body", "main", "article", ""})


@dataclass(slots=True, eq=False)
class Place:
    """An element of a page, known by the elements it is in.

    Attributes:
        parent: The element around it; None for the page.
        tag: What it is.
        loose: Of the names of the elements on the way to it: the same for all items of a list.
        exact: Of those and of their positions among siblings of that name.
    """

    parent: "Place | None" = None
    tag: str = ""
    loose: bytes = b""
    exact: bytes = b""
    inside: Counter[str] = field(default_factory=Counter)

    def child(self, tag: str, name: str) -> "Place":
        """Give the place of the next element inside that has the name."""
        self.inside[name] += 1
        return Place(
            self,
            tag,
            _hash(self.loose, name.encode(errors="replace")),
            _hash(self.exact, f"{name} {self.inside[name]}".encode(errors="replace")),
        )

    @property
    def key(self) -> bytes:
        """What stands for everything in it."""
        return _hash(b"all in", self.exact)

    @property
    def is_part(self) -> bool:
        """Whether it is a part of the page that may be noise from end to end."""
        return self.tag not in _WHOLE


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A line of text, or a link.

    Attributes:
        text: What it says.
        place: The element it is in.
        nth: Which of the lines, or of the links, in that element it is.
    """

    text: str
    place: Place
    nth: str

    @property
    def text_key(self) -> bytes:
        """What stands for such a text at such a place, whatever its numbers are."""
        return _hash(b"text", self.place.loose, masked(self.text).encode(errors="replace"))

    @property
    def address(self) -> bytes:
        """What stands for whatever is said in this very place."""
        return _hash(b"place", self.place.exact, self.nth.encode())


def kept(blocks: list[Block], ignored: frozenset[bytes]) -> list[str]:
    """Give the texts of the blocks that are not ignored."""
    known = dict[Place | None, bool]()

    def is_within(place: Place) -> bool:
        way = list[Place]()
        at: Place | None = place
        while at is not None and at not in known:
            way.append(at)
            at = at.parent
        inside = known[at] if at is not None else False
        for step in reversed(way):
            inside = inside or step.key in ignored
            known[step] = inside
        return inside

    return [
        block.text
        for block in blocks
        if not (is_within(block.place) or block.address in ignored or block.text_key in ignored)
    ]


def owners(links: list[LexborNode]) -> list[int]:
    """Give, for every link, which element that breaks lines it is in; before inline ones go."""
    known = dict[int, int]()
    found = []
    for link in links:
        way, at = list[int](), link
        while at.parent is not None and at.tag in _INLINE and at.mem_id not in known:
            way.append(at.mem_id)
            at = at.parent
        owner = known.get(at.mem_id, at.mem_id)
        known.update(dict.fromkeys(way, owner))
        found.append(owner)
    return found


def laid_out(tree: LexborHTMLParser) -> tuple[list[tuple[str, Place]], dict[int, Place]]:
    """Give all texts of a page in order with their places, and the places of its elements."""
    places = dict[int, Place]()
    texts = list[tuple[str, Place]]()
    page = Place()
    if tree.body is None:
        return texts, places
    for node in tree.body.traverse(include_text=True):
        around = places.get(node.parent.mem_id, page) if node.parent is not None else page
        if node.is_text_node:
            texts.append((node.text(deep=False) or "", around))
        elif node.is_element_node:
            tag = node.tag or ""
            places[node.mem_id] = around.child(tag, _name(tag, node.attributes))
    return texts, places


def _name(tag: str, attributes: dict[str, str | None]) -> str:
    """Name an element by its tag, id and classes; those with digits may be drawn by lot."""
    names = [f"#{attributes.get('id') or ''}"]
    names += sorted(f".{name}" for name in (attributes.get("class") or "").split())
    return tag + "".join(name for name in names if not any(map(str.isdigit, name)))


def _hash(*parts: bytes) -> bytes:
    return blake2b(b"\x00".join(parts), digest_size=8).digest()
