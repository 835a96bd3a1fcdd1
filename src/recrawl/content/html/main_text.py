"""Extract the main text of a page, without menus, headers, footers and lists of links.

1. If the page has exactly one ``<main>``, or one element with that role, only that counts.
2. Navigation, asides, forms, dialogs, and the page's headers and footers are removed. The headers
   and footers of an article belong to it.
3. A line is removed, with its links, if more than half of its letters are in links. Running text
   links a word here and there; menus and lists of pages are nothing but links.
"""

from selectolax.lexbor import LexborHTMLParser, LexborNode

_ASIDE = (
    "nav,aside,form,dialog,[role=navigation],[role=banner],[role=contentinfo],"
    "[role=complementary],[role=search],[role=dialog]"
)
_EDGES = "header,footer"
_SECTIONING = frozenset({"article", "main", "section"})
#: The share of letters in links above which a line is not running text.
MAX_LINKED = 0.5


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
