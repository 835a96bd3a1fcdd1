"""Tell a page's own content from its site's furniture: menus, banners and other boilerplate.

1. The text of a page is the innermost element with nearly all of its prose: long lines that are not
   links. Consent dialogs are prose too, but not the page's: if other pages of the site have them,
   they do not count, however long they are.
2. In the text, elements made for furniture (navigation, asides, dialogs, buttons) are furniture,
   and so are boxes of links with telling ids and classes, if the site's template confirms it.
   Outside the text, the following are furniture: elements made for it, forms, and elements that are
   hidden; lines of links with telling ids and classes; everything in the site's template; and boxes
   of links that vary on page after page of the site.
3. The title of the page and its table of contents are its own, wherever they are.
4. Everything else outside the text is the page's own too, but dates and counts of views do not
   count there, nor does the target of a link that has a text.

Markup is a hint, not proof: it never hides most of a page, and a page that has nothing but
furniture is all its own. For a page whose site is unknown, see `lone_page`.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache

from recrawl.content.boilerplate.boxes import site_boxes
from recrawl.content.boilerplate.template import PATH_BYTES, PROSE, Sketches, sketch_of
from recrawl.content.html.outline import Block, Element

_TAGS = frozenset({"nav", "aside", "dialog", "select", "menu"})
#: Those of them that navigate within a text, if they are in it.
_LEADING = frozenset({"nav", "navigation", "tablist"})
_LISTS = frozenset({"ol", "ul"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "dt", "summary"})
#: Furniture of a page, unless they are an article's or a section's.
_EDGES = frozenset({"header", "footer"})
_SECTIONING = frozenset({"article", "main", "section"})
_ROLES = frozenset(
    "navigation banner contentinfo complementary search dialog alertdialog menu menubar "
    "toolbar alert tablist".split()
)
#: Words in ids and classes: of dialogs that ask for consent...
_CONSENT = frozenset(["cookie", "cookies", "cookiebot", "consent", "gdpr", "onetrust"])
#: A hint without any of these substrings has none of the words; a quick check.
_IN_CONSENT = ("cookie", "consent", "gdpr", "onetrust")
#: ...of transient elements...
_PASSING = _CONSENT | frozenset(
    "widget announcement alert carousel placeholder ad ads advert advertisement banner share "
    "sharing social newsletter subscribe subscription promo promotion related recommended "
    "recommendations similar popup modal overlay toast".split()
)
#: ...and of other elements around a text.
_AROUND = _PASSING | frozenset(
    "nav navbar navigation menu menus megamenu submenu footer header topbar sidebar search "
    "login signin signup lang language languages locale masthead dropdown drawer hamburger logo "
    "copyright breadcrumb breadcrumbs skip toolbar".split()
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

#: A line at least this long, with less than this share of it in links, is prose.
_PROSE, _MAX_LINKED = 60, 0.4
#: An element with at least this share of its letters in links is a box of links.
_NEARLY_LINKED = 0.8
#: The text of a page is the innermost element with this share of its prose.
_NEARLY_ALL = 0.95
#: Elements with at most this share of a page's prose together may be the site's: banners, notices.
_MINOR = 0.2
#: Hints that would hide more than this share of a page are ignored.
MAX_HIDDEN = 0.5
#: The share of its letters that a page without prose keeps, whatever its site's template contains.
_MIN_LEFT = 0.2


class Kind(IntEnum):
    """The owner of a block: the page or its site."""

    #: The page's own text.
    OWN = 0
    #: The page's own, outside its text: dates and counts of views do not count.
    BESIDE = 1
    #: The site's, according to its markup.
    FURNITURE = 2
    #: The site's, as it is on other pages too.
    TEMPLATE = 3


def is_prose(block: Block) -> bool:
    """Whether a block is a long line that is not mostly links."""
    return not block.is_link and len(block.text) >= _PROSE and block.linked < _MAX_LINKED


def kinds_of(blocks: Sequence[Block], template: frozenset[bytes] = frozenset()) -> list[Kind]:
    """Classify each block of a page as the page's own or its site's.

    Args:
        blocks: The blocks of the page.
        template: The paths of elements that belong to the site.
    """
    prose = _without_template(prose_of(blocks, template), template)
    text = text_of(prose)
    marks = _Marks(text, _of_links(blocks))
    if sum(size for element, size in prose.items() if marks.hides_inside(element)) > (
        MAX_HIDDEN * sum(prose.values())
    ):
        marks.believed = False
    consent, saying = dict[Element, bool](), {b.element for b in blocks if not b.is_link}
    # Pages have many blocks in few elements.
    of_elements = {
        element: _kinds_in(element, marks, template, consent, has_text=element in saying)
        for element in {block.element for block in blocks}
    }
    kinds = list[Kind]()
    for block in blocks:
        line, line_of_links, link, link_to_part = of_elements[block.element]
        if block.is_link:
            kinds.append(link_to_part if leads_to_part(block) else link)
        else:
            kinds.append(line if block.linked < _MAX_LINKED else line_of_links)
    if template:
        _apply(template, blocks, kinds, prose)
    pairs = zip(kinds, blocks, strict=True)
    if not any(kind <= Kind.BESIDE and not block.is_link for kind, block in pairs):
        return [Kind.OWN] * len(blocks)
    return kinds


def _kinds_in(
    element: Element,
    marks: "_Marks",
    template: frozenset[bytes],
    consent: dict[Element, bool],
    *,
    has_text: bool,
) -> tuple[Kind, Kind, Kind, Kind]:
    """Classify the lines, lines of links, links, and links within the page of an element.

    Args:
        element: The element.
        marks: What the markup of elements says.
        template: The paths of elements that belong to the site.
        consent: Whether elements ask for consent, as far as known.
        has_text: Whether the element has lines, which show what its links are.
    """
    kind = marks.kind(element)
    line = line_of_links = link = link_to_part = kind
    if kind is Kind.FURNITURE and is_title(element, template, consent):
        line = line_of_links = Kind.BESIDE
    elif kind is Kind.FURNITURE:
        line, line_of_links = (
            Kind.BESIDE if marks.leaves(element, template, is_of_links=is_of_links) else kind
            for is_of_links in (False, True)
        )
    if kind is Kind.FURNITURE or (kind is Kind.BESIDE and has_text):
        link = Kind.FURNITURE
        link_to_part = Kind.BESIDE if is_in_list(element) else Kind.FURNITURE
    return line, line_of_links, link, link_to_part


def leads_to_part(link: Block) -> bool:
    """Whether a link leads to a place within its page."""
    return link.text[:1] == "#" and len(link.text) > 1


def is_in_list(element: Element) -> bool:
    """Whether an element is in a list, where links within the page are a table of contents."""
    return any(around.tag in _LISTS for around in element.ancestors())


def is_title(element: Element, template: frozenset[bytes], consent: dict[Element, bool]) -> bool:
    """Whether an element is the title of its page."""
    return (
        element.tag == "h1"
        and element.path[:PATH_BYTES] not in template
        and not _asks_for_consent(element, consent)
    )


def _of_links(blocks: Sequence[Block]) -> frozenset[Element]:
    """Return the elements that contain little but links, including everything inside them."""
    excess, inside = defaultdict[Element, float](float), defaultdict[Element, float](float)
    for block in blocks:
        if not block.is_link:
            excess[block.element] += len(block.text) * (block.linked - _NEARLY_LINKED)
    for element, size in excess.items():
        for around in element.ancestors():
            inside[around] += size
    return frozenset(element for element, size in inside.items() if size >= 0)


def sketches_of(blocks: Sequence[Block]) -> Sketches:
    """Return sketches of a page's elements without much prose, for its site's template."""
    texts = defaultdict[Element, list[str]](list)
    for block in blocks:
        texts[block.element].append(block.text)
    prose = _all_prose_of(blocks)
    most = _MINOR * sum(prose.values())
    for element, size in prose.items():
        if size > most:
            del texts[element]
    return {
        element.path[:PATH_BYTES]: (PROSE, *sketch_of(found))
        if element in prose
        else sketch_of(found)
        for element, found in texts.items()
        if element.parent is not None
    }


def prose_of(
    blocks: Sequence[Block], template: frozenset[bytes] = frozenset()
) -> dict[Element, int]:
    """Return the letters of prose in each element, without consent dialogs.

    Dialogs in the site's template are removed as long as there is any other prose: on a short page,
    they may be most of it. Those recognised only by name are kept if they are most of the rest.
    """
    prose, consent = _all_prose_of(blocks), dict[Element, bool]()
    consenting = {element for element in prose if _asks_for_consent(element, consent)}
    confirmed = {
        element
        for element in consenting
        if element.path[:PATH_BYTES] in template and not element.is_watched
    }
    if len(confirmed) < len(prose):
        prose = _left(prose, confirmed)
        consenting -= confirmed
    if sum(prose[element] for element in consenting) > MAX_HIDDEN * sum(prose.values()):
        return prose
    return _left(prose, consenting)


def _all_prose_of(blocks: Sequence[Block]) -> dict[Element, int]:
    prose = defaultdict[Element, int](int)
    # Most are short, which is checked before calling a function.
    for block in blocks:
        if len(block.text) >= _PROSE and is_prose(block):
            prose[block.element] += len(block.text)
    return prose


def _left(prose: dict[Element, int], without: set[Element]) -> dict[Element, int]:
    if not without:
        return prose
    return {element: size for element, size in prose.items() if element not in without}


def _without_template(prose: dict[Element, int], template: frozenset[bytes]) -> dict[Element, int]:
    """Return the prose without that in the site's template, if that is little."""
    own = {
        element: size
        for element, size in prose.items()
        if element.path[:PATH_BYTES] not in template or element.is_watched
    }
    return own if sum(own.values()) >= (1 - _MINOR) * sum(prose.values()) else prose


def _asks_for_consent(element: Element | None, known: dict[Element, bool]) -> bool:
    if element is None:
        return False
    found = known.get(element)
    if found is None:
        found = known[element] = _is_named_consent(element.hint) or (
            _asks_for_consent(element.parent, known)
        )
    return found


@lru_cache(maxsize=4096)
def _is_named_consent(hint: str) -> bool:
    lower = hint.lower()
    return any(part in lower for part in _IN_CONSENT) and not _words(hint).isdisjoint(_CONSENT)


def text_of(prose: dict[Element, int]) -> Element | None:
    """Return the innermost element with nearly all prose, but not a paragraph; None without any."""
    inside = defaultdict[Element, int](int)
    for element, size in prose.items():
        for ancestor in element.ancestors():
            inside[ancestor] += size
    wanted = _NEARLY_ALL * sum(prose.values())
    # Headlines, prices and tables are next to paragraphs, in the same text.
    return max(
        (element for element, size in inside.items() if size >= wanted and element.tag != "p"),
        key=lambda element: element.depth,
        default=None,
    )


class _Marks:
    """What the markup of elements says, given the text of the page."""

    def __init__(self, text: Element | None, of_links: frozenset[Element]) -> None:
        self._text = text
        self._of_links = of_links
        self._inside = dict[Element, tuple[bool, bool]]()
        # Markup of an element around the text applies to the text too, so it says nothing.
        self._outside = {} if text is None else dict.fromkeys(text.ancestors(), False)
        self.believed = True

    def kind(self, element: Element) -> Kind:
        """Classify the blocks of an element."""
        if element.is_watched:
            return Kind.OWN
        if self._text is None or self._in_text(element)[0]:
            return Kind.FURNITURE if self.hides_inside(element) else Kind.OWN
        return Kind.FURNITURE if self._hides_outside(element) else Kind.BESIDE

    def leaves(self, element: Element, template: frozenset[bytes], *, is_of_links: bool) -> bool:
        """Whether a line, or one of links, counts although its element is marked: the mark is weak.

        Weak marks need to be confirmed by the site's template. In the text of the page, marks of
        navigation within it are weak: a list of languages there may be the page's own. Outside,
        ids and classes are weak, unless the line is one of links. Names of transient elements are
        strong, and so is being hidden.
        """
        if element.path[:PATH_BYTES] in template:
            return False
        is_inside = self._text is None or self._in_text(element)[0]
        if not is_inside and is_of_links:
            return False
        return not self._is_surely_marked(element, is_inside=is_inside)

    def hides_inside(self, element: Element) -> bool:
        """Whether an element in the text, or one around it in there, is made for furniture."""
        return self.believed and self._in_text(element)[1]

    def _in_text(self, element: Element) -> tuple[bool, bool]:
        """Return whether an element is in the text, and in an element made for furniture there."""
        found = self._inside.get(element)
        if found is None:
            if element is self._text or element.parent is None:
                found = element is self._text or self._text is None, False
            else:
                is_in, is_marked = self._in_text(element.parent)
                found = is_in, is_marked or (is_in and self._is_marked_inside(element))
            self._inside[element] = found
        return found

    def _is_marked_inside(self, element: Element) -> bool:
        return is_made_for_it(element) or (element in self._of_links and is_named_around(element))

    def _is_surely_marked(self, element: Element, *, is_inside: bool) -> bool:
        """Whether an element, or one around it up to the text, is marked beyond doubt."""
        for around in element.ancestors():
            if is_inside and around is self._text:
                return False
            if not is_inside and around.is_hidden and self._hides_outside(around):
                return True
            if around.tag == "form" or not _words(around.hint).isdisjoint(_PASSING):
                return True
            if is_made_for_it(around) and not (is_inside and _leads(around)):
                return True
        return False

    def _hides_outside(self, element: Element) -> bool:
        found = self._outside.get(element)
        if found is None:
            found = self._outside[element] = element.parent is not None and (
                self._hides_outside(element.parent)
                or is_made_for_it(element)
                or element.tag == "form"
                or element.is_hidden
                or is_named_around(element)
            )
        return found


def is_made_for_it(element: Element) -> bool:
    """Whether the tag or the role of an element says that it is furniture."""
    if element.tag in _EDGES:
        return not any(around.tag in _SECTIONING for around in element.ancestors())
    if element.tag == "button":
        # Headings that expand and collapse a section are buttons too.
        return not any(around.tag in _HEADINGS for around in element.ancestors())
    # Custom elements, such as <site-footer>, are named for their purpose.
    is_component = "-" in element.tag and not _words(element.tag).isdisjoint(_AROUND)
    return is_component or element.tag in _TAGS or not _ROLES.isdisjoint(element.hint.split())


def _leads(element: Element) -> bool:
    """Whether an element that is made for furniture navigates within a text."""
    return element.tag in _LEADING or not _LEADING.isdisjoint(element.hint.split())


def is_named_around(element: Element) -> bool:
    """Whether the ids and classes of an element say that it belongs around a text."""
    return not _words(element.hint).isdisjoint(_AROUND)


@lru_cache(maxsize=4096)
def _words(hint: str) -> frozenset[str]:
    """Return the words of ids and classes, including those in camel case."""
    return frozenset(word.lower() for word in _WORD.findall(hint))


def _apply(
    template: frozenset[bytes],
    blocks: Sequence[Block],
    kinds: list[Kind],
    prose: dict[Element, int],
) -> None:
    """Mark what is in the template, unless hardly anything would be left; never prose."""
    boxes = site_boxes(blocks, template, prose)
    elements = {
        element
        for element in {block.element for block in blocks}
        if (element.path[:PATH_BYTES] in template or element in boxes)
        and element not in prose
        and not element.is_watched
    }
    found = [
        number
        for number, (block, kind) in enumerate(zip(blocks, kinds, strict=True))
        if block.element in elements and kind <= Kind.BESIDE
    ]
    if not prose:
        letters = sum(
            len(block.text) for block, kind in zip(blocks, kinds, strict=True) if kind <= 1
        )
        hidden = sum(len(blocks[number].text) for number in found)
        if letters - hidden < _MIN_LEFT * letters:
            return
    for number in found:
        kinds[number] = Kind.TEMPLATE
