"""The main text of a page: what is left without menus, headers, footers and lists of links.

1. Where the page has one ``<main>``, or one element with that role, only that counts.
2. Elements that say they are something else go: navigation, asides, forms, dialogues, and headers
   and footers of the page. Those of an article belong to it.
3. Of what is left, a line goes if more than half of its letters are in links, and its links with
   it. Running text links a word here and there; menus and lists of pages are links all over.
"""

import re
from collections.abc import Iterable

from selectolax.lexbor import LexborHTMLParser, LexborNode

_ASIDE = (
    "nav,aside,form,dialog,[role=navigation],[role=banner],[role=contentinfo],"
    "[role=complementary],[role=search],[role=dialog]"
)
_EDGES = "header,footer"
_ITS_OWN = frozenset({"article", "main", "section"})
#: Of a line's letters, the share that is in links where it is not running text.
_MAX_LINKED = 0.5

_START, _END = "\x02", "\x03"
_MARKS = re.compile(f"([{_START}{_END}])")


def keep_main(tree: LexborHTMLParser) -> LexborHTMLParser:
    """Cut away what says that it is not the main part."""
    mains = tree.css("main,[role=main]")
    if len(mains) == 1:
        tree = LexborHTMLParser(mains[0].html or "")
    for node in tree.css(_ASIDE):
        node.decompose()
    for node in tree.css(_EDGES):
        if not _is_in(node, _ITS_OWN):
            node.decompose()
    return tree


def _is_in(node: LexborNode, tags: frozenset[str]) -> bool:
    around = node.parent
    while around is not None and around.tag not in tags:
        around = around.parent
    return around is not None


def mark_links(links: Iterable[LexborNode]) -> None:
    """Put marks around links, which stay when the links are unwrapped."""
    for link in links:
        link.insert_before(_START)
        link.insert_after(_END)


def sift(lines: list[str]) -> tuple[list[str], list[bool]]:
    r"""Empty the lines that are mostly links; tell which links are in the others.

    >>> sift(["Of the day: \x02leek\x03.", "\x02Home\x03 \x02Shop\x03"])
    (['Of the day: leek.', ''], [True, False, False])
    """
    sifted, of = list[str](), list[bool]()
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
        sifted.append("".join(texts) if is_text else "")
        of += [is_text] * links
    return sifted, of
