"""Tell a page's own content from furniture when nothing else is known about its site.

No other page confirms what names, headers and boxes are, so only HTML's markup for navigation and
for the footer of a page is trusted, and outside the text, what says that it is hidden. There, lines
that change by themselves, such as dates and counts, are recognised too. Everything else is the
page's own.
"""

from collections.abc import Sequence

from recrawl.content.boilerplate.boilerplate import (
    MAX_HIDDEN,
    Kind,
    is_in_list,
    is_made_for_it,
    is_named_around,
    is_title,
    leads_to_part,
    prose_of,
    text_of,
)
from recrawl.content.html.outline import Block, Element
from recrawl.content.noise.masking import is_incidental

_TAGS = frozenset({"nav", "footer"})
_ROLES = frozenset({"navigation", "contentinfo"})
#: Local names, as looking up members of an enumeration is slow.
_OWN, _BESIDE, _FURNITURE = Kind.OWN, Kind.BESIDE, Kind.FURNITURE


def lone_kinds(blocks: Sequence[Block]) -> list[Kind]:
    """Classify each block of a page."""
    prose = prose_of(blocks)
    text = text_of(prose)
    # Markup of an element around the text applies to the text too, so it says nothing.
    marked = {} if text is None else dict.fromkeys(text.ancestors(), False)
    hidden = sum(size for element, size in prose.items() if _is_marked(element, marked))
    if hidden > MAX_HIDDEN * sum(prose.values()):
        return [_OWN] * len(blocks)
    inside, consent = {text: True}, dict[Element, bool]()
    unseen = {} if text is None else dict.fromkeys(text.ancestors(), False)
    # Each element is classified once, as pages have many blocks in few elements.
    of_elements = dict[Element, Kind]()
    kinds = list[Kind]()
    for block in blocks:
        kind = of_elements.get(block.element)
        if kind is None:
            kind = of_elements[block.element] = _kind_in(block.element, marked, inside, unseen)
        if kind is not _OWN:
            kind = _kind(block, kind, consent)
        kinds.append(kind)
    pairs = zip(kinds, blocks, strict=True)
    if not any(kind <= _BESIDE and not block.is_link for kind, block in pairs):
        return [_OWN] * len(blocks)
    return kinds


def marked_around(blocks: Sequence[Block], page: Sequence[Block]) -> frozenset[Element]:
    """Return the innermost elements with marks of furniture around blocks outside a page's text.

    Such marks are not believed of a page alone on its site; its history may confirm them.

    Args:
        blocks: The blocks.
        page: All blocks of the page.

    Returns:
        The elements; none unless every block is in one.
    """
    text = text_of(prose_of(page))
    if text is None:
        return frozenset()
    # What is said of an element around the text is said of the text too: it says nothing.
    around_text = frozenset(around.path for around in text.ancestors())
    marked = [_marked(block.element, text.path, around_text) for block in blocks]
    found = frozenset(element for element in marked if element is not None)
    return found if None not in marked else frozenset()


def _marked(element: Element, text: bytes, around_text: frozenset[bytes]) -> Element | None:
    found = None
    for around in element.ancestors():
        if around.path == text or around.is_watched:
            return None
        if found is None and around.path not in around_text and _has_mark(around):
            found = around
    return found


def _has_mark(element: Element) -> bool:
    return is_made_for_it(element) or is_named_around(element)


def _kind_in(
    element: Element,
    marked: dict[Element, bool],
    inside: dict[Element | None, bool],
    unseen: dict[Element, bool],
) -> Kind:
    """Classify the blocks of an element, except those that are classified individually."""
    if element.is_watched:
        return _OWN
    if _is_marked(element, marked):
        return _FURNITURE
    if _is_in(element, inside):
        return _OWN
    return _FURNITURE if _is_unseen(element, unseen) else _BESIDE


def _kind(block: Block, around: Kind, consent: dict[Element, bool]) -> Kind:
    """Classify a block that is in furniture, or outside the text of the page."""
    if around is _BESIDE:
        return _BESIDE if not block.is_link and is_incidental(block.text) else _OWN
    if block.is_link:
        is_about_page = leads_to_part(block) and is_in_list(block.element)
    else:
        is_about_page = is_title(block.element, frozenset(), consent)
    return _OWN if is_about_page else _FURNITURE


def _is_marked(element: Element, known: dict[Element, bool]) -> bool:
    """Whether an element, or one around it, is navigation or the footer of the page."""
    found = known.get(element)
    if found is None:
        is_either = element.tag in _TAGS or not _ROLES.isdisjoint(element.hint.split())
        found = known[element] = (is_either and is_made_for_it(element)) or (
            element.parent is not None and _is_marked(element.parent, known)
        )
    return found


def _is_unseen(element: Element, known: dict[Element, bool]) -> bool:
    """Whether an element, or one around it, is hidden."""
    found = known.get(element)
    if found is None:
        found = known[element] = element.is_hidden or (
            element.parent is not None and _is_unseen(element.parent, known)
        )
    return found


def _is_in(element: Element | None, known: dict[Element | None, bool]) -> bool:
    """Whether an element is a known one, or inside one; without any, it is in the text."""
    found = known.get(element)
    if found is None:
        found = known[element] = element is not None and _is_in(element.parent, known)
    return found
