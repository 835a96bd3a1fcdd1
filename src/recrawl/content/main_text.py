"""The main text of a page: without menus, headers, footers and lists of links.

1. If the page has exactly one ``<main>``, or one element with that role, only that counts.
2. Navigation, asides, forms, dialogs, and the page's headers and footers are removed. The headers
   and footers of an article belong to it.
3. A line is removed, with its links, if more than half of its letters are in links. Running text
   links a word here and there; menus and lists of pages are nothing but links.
"""

import re
from collections.abc import Iterable

from selectolax.lexbor import LexborHTMLParser, LexborNode

_ASIDE = (
    "nav,aside,form,dialog,[role=navigation],[role=banner],[role=contentinfo],"
    "[role=complementary],[role=search],[role=dialog]"
)
_EDGES = "header,footer"
_SECTIONING = frozenset({"article", "main", "section"})
#: The share of letters in links above which a line is not running text.
_MAX_LINKED = 0.5

_START, _END = "\x02", "\x03"
_MARKS = re.compile(f"([{_START}{_END}])")


def keep_main(tree: LexborHTMLParser) -> LexborHTMLParser:
    """Remove the elements that are marked as not being the main part."""
    mains = tree.css("main,[role=main]")
    if len(mains) == 1:
        tree = LexborHTMLParser(mains[0].html or "")
    for node in tree.css(_ASIDE):
        node.decompose()
    for node in tree.css(_EDGES):
        if not _is_in(node, _SECTIONING):
            node.decompose()
    return tree


def _is_in(node: LexborNode, tags: frozenset[str]) -> bool:
    parent = node.parent
    while parent is not None and parent.tag not in tags:
        parent = parent.parent
    return parent is not None


def mark_links(links: Iterable[LexborNode]) -> None:
    """Put marks around links; they stay when the links are unwrapped."""
    for link in links:
        link.insert_before(_START)
        link.insert_after(_END)


def drop_link_lines(lines: list[str]) -> tuple[list[str], list[bool]]:
    r"""Empty the lines that are mostly links; also return which links are in other lines.

    >>> drop_link_lines(["Of the day: \x02leek\x03.", "\x02Home\x03 \x02Shop\x03"])
    (['Of the day: leek.', ''], [True, False, False])
    """
    kept, is_kept = list[str](), list[bool]()
    is_linked = False
    for line in lines:
        plain = linked = links = 0
        texts = list[str]()
        for part in _MARKS.split(line):
            if part in (_START, _END):
                is_linked = part == _START
                links += is_linked
                continue
            texts.append(part)
            letters = len(part) - part.count(" ")
            plain += 0 if is_linked else letters
            linked += letters if is_linked else 0
        is_text = plain > 0 and linked <= _MAX_LINKED * (plain + linked)
        kept.append("".join(texts) if is_text else "")
        is_kept += [is_text] * links
    return kept, is_kept
