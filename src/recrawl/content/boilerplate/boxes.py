"""Boxes of links that a site updates on many pages at the same time, differently on each.

The pages have no links in common, so the site's template does not contain them. But if the box
changes on page after page while their texts stay the same, the site generates it: nobody edited all
these pages.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import blake2b

from recrawl.content.boilerplate.template import PATH_BYTES, VARIED, VARIED_WITH_TEXT, Sketches
from recrawl.content.html.outline import Block, Element

#: The share of letters in links from which a line counts as a line of links.
_LINKED = 0.5


def box_path(element: Element) -> bytes:
    """Return the key of a box in a site's template, which is not the path of its element."""
    return blake2b(b"box" + element.path, digest_size=PATH_BYTES).digest()


def link_boxes(blocks: Sequence[Block]) -> dict[Element, int]:
    """Return the elements that contain only links, with their letters."""
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
    """Return the boxes that differ, and whether anything else does, for the site's template.

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
    """Return the boxes that the site generates; never one larger than the text of the page."""
    if not template:
        return frozenset()
    most = sum(prose.values())
    boxes = link_boxes(blocks).items()
    return frozenset(box for box, size in boxes if size <= most and box_path(box) in template)
