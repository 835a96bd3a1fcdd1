"""Boxes of links that a site fills anew on many pages at the same time, each page with others.

The pages have nothing in common there, so that the site's template says nothing. But where the box
changes on one page after the other while their texts stay as they are, that is the site's doing:
nobody edited all these pages.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import blake2b

from recrawl.content.outline import Block, Element
from recrawl.content.template import PATH_BYTES, VARIED, VARIED_WITH_TEXT, Sketches

#: The share of letters in links from which a line is one of links.
_LINKED = 0.5


def box_path(element: Element) -> bytes:
    """Return what a site's template knows the box by: not by the path of its element."""
    return blake2b(b"box" + element.path, digest_size=PATH_BYTES).digest()


def link_boxes(blocks: Sequence[Block]) -> dict[Element, int]:
    """Return the elements that have nothing but links, with their letters."""
    others = {block.element for block in blocks if not block.is_link and not is_linked(block)}
    letters = defaultdict[Element, int](int)
    for block in blocks:
        if block.element not in others:
            letters[block.element] += 0 if block.is_link else len(block.text)
    return letters


def is_linked(block: Block) -> bool:
    """Whether a block is a link, or a line of links."""
    return block.is_link or block.linked >= _LINKED


def varied_boxes(new: Sequence[Block], old: Sequence[Block]) -> Sketches:
    """Return the boxes that differ, and whether something else does too, for the site's template.

    Args:
        new: The page's own blocks that its copy lacks.
        old: Those of the copy that the page lacks.
    """
    blocks = [*new, *old]
    how = VARIED if all(map(is_linked, blocks)) else VARIED_WITH_TEXT
    return {box_path(box): how for box in link_boxes(blocks)}


def site_boxes(
    blocks: Sequence[Block], template: frozenset[bytes], prose: Mapping[Element, int]
) -> frozenset[Element]:
    """Return the boxes that the site fills; never one that is larger than the text of the page."""
    if not template:
        return frozenset()
    most = sum(prose.values())
    boxes = link_boxes(blocks).items()
    return frozenset(box for box, size in boxes if size <= most and box_path(box) in template)
