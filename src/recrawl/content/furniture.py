"""What a site puts around its pages, told from what a page says.

1. The text of a page is the innermost element with nearly all of its prose: long lines that are not
   links. Dialogs that ask for consent are prose too, but not the page's: where other pages of the
   site have them, however long they are.
2. In the text, elements made for furniture (navigation, asides, dialogs, buttons) are furniture,
   and so are boxes of links with telling ids and classes, where the site's template confirms it.
   Outside the text, elements made for furniture are, and forms; lines of links with telling ids
   and classes; and whatever the site's template has. So are boxes of links that vary on one page
   of the site after the other.
3. The title of the page and its table of contents are its own wherever they stand.
4. Whatever else is outside the text is the page's own too, but dates and counts of views do not
   count there, nor where a link leads that has a text.

Marks are hints, not proof: they never hide most of what a page says, and a page that has nothing
but furniture is all its own. Of a page alone on its site, see `lone_page`.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache

from recrawl.content.boxes import site_boxes
from recrawl.content.outline import Block, Element
from recrawl.content.template import PATH_BYTES, PROSE, Sketches, sketch_of

_TAGS = frozenset({"nav", "aside", "dialog", "select", "menu"})
#: Of these, those that lead through a text, where they are in it.
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
#: A hint without any of these has none of them: most are told by that, which is quick.
_IN_CONSENT = ("cookie", "consent", "gdpr", "onetrust")
#: ...of what comes and goes by itself...
_PASSING = _CONSENT | frozenset(
    "widget announcement alert carousel placeholder ad ads advert advertisement banner share "
    "sharing social newsletter subscribe subscription promo promotion related recommended "
    "recommendations similar popup modal overlay toast".split()
)
#: ...and of what else stands around texts.
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
#: Elements with so little of a page's prose, all together, may be the site's: a banner, a notice.
_MINOR = 0.2
#: Hints that would hide more than this share are not believed.
MAX_HIDDEN = 0.5
#: The share of its letters that a page without prose keeps, whatever its site's template says.
_MIN_LEFT = 0.2


class Kind(IntEnum):
    """Whose a block is."""

    #: The page's own text.
    OWN = 0
    #: The page's own, outside its text: dates and counts of views do not count.
    BESIDE = 1
    #: The site's, by its marks.
    FURNITURE = 2
    #: The site's, as it stands on other pages too.
    TEMPLATE = 3


def is_prose(block: Block) -> bool:
    """Whether a block is a long line that is not mostly links."""
    return not block.is_link and len(block.text) >= _PROSE and block.linked < _MAX_LINKED


def kinds_of(blocks: Sequence[Block], template: frozenset[bytes] = frozenset()) -> list[Kind]:
    """Return whose each block of a page is.

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
    """Return whose in an element a line is, a line of links, a link, and one to a part of the page.

    Args:
        element: The element.
        marks: What the marks of elements say.
        template: The paths of elements that belong to the site.
        consent: Whether elements ask for consent, as far as that is known.
        has_text: Whether the element has lines, which tell what its links are.
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
    """Whether a link leads to a part of its page."""
    return link.text[:1] == "#" and len(link.text) > 1


def is_in_list(element: Element) -> bool:
    """Whether an element is in a list: links to parts of the page are a table of contents there."""
    return any(around.tag in _LISTS for around in element.ancestors())


def is_title(element: Element, template: frozenset[bytes], consent: dict[Element, bool]) -> bool:
    """Whether an element is the title of its page."""
    return (
        element.tag == "h1"
        and element.path[:PATH_BYTES] not in template
        and not _asks_for_consent(element, consent)
    )


def _of_links(blocks: Sequence[Block]) -> frozenset[Element]:
    """Return the elements that hold little but links, with all that is inside them."""
    excess, inside = defaultdict[Element, float](float), defaultdict[Element, float](float)
    for block in blocks:
        if not block.is_link:
            excess[block.element] += len(block.text) * (block.linked - _NEARLY_LINKED)
    for element, size in excess.items():
        for around in element.ancestors():
            inside[around] += size
    return frozenset(element for element, size in inside.items() if size >= 0)


def sketches_of(blocks: Sequence[Block]) -> Sketches:
    """Return what a page has in its elements without much prose, for its site's template."""
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
    """Return the letters of prose in each element, without dialogs that ask for consent.

    What the site's template has of them goes, as long as there is any other prose: of a short page,
    they may be most. What nothing but a name tells is left if it is most of the rest.
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
    # Most are short, which is found out before a function is called.
    for block in blocks:
        if len(block.text) >= _PROSE and is_prose(block):
            prose[block.element] += len(block.text)
    return prose


def _left(prose: dict[Element, int], without: set[Element]) -> dict[Element, int]:
    if not without:
        return prose
    return {element: size for element, size in prose.items() if element not in without}


def _without_template(prose: dict[Element, int], template: frozenset[bytes]) -> dict[Element, int]:
    """Return the prose without what the site's template has of it, if that is little."""
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
    """Return the innermost element with nearly all prose, not a paragraph; None without any."""
    inside = defaultdict[Element, int](int)
    for element, size in prose.items():
        for ancestor in element.ancestors():
            inside[ancestor] += size
    wanted = _NEARLY_ALL * sum(prose.values())
    # Headlines, prices and tables stand beside paragraphs, in the same text.
    return max(
        (element for element, size in inside.items() if size >= wanted and element.tag != "p"),
        key=lambda element: element.depth,
        default=None,
    )


class _Marks:
    """What the marks of elements say, given the text of the page."""

    def __init__(self, text: Element | None, of_links: frozenset[Element]) -> None:
        self._text = text
        self._of_links = of_links
        self._inside = dict[Element, tuple[bool, bool]]()
        # What is said of an element around the text is said of the text too: it says nothing.
        self._outside = {} if text is None else dict.fromkeys(text.ancestors(), False)
        self.believed = True

    def kind(self, element: Element) -> Kind:
        """Return whose the blocks of an element are."""
        if element.is_watched:
            return Kind.OWN
        if self._text is None or self._in_text(element)[0]:
            return Kind.FURNITURE if self.hides_inside(element) else Kind.OWN
        return Kind.FURNITURE if self._hides_outside(element) else Kind.BESIDE

    def leaves(self, element: Element, template: frozenset[bytes], *, is_of_links: bool) -> bool:
        """Whether a line, or one of links, counts although its element is marked: marks are weak.

        In the text of the page, marks of what leads through it are: a list of languages there may
        be the page's own. Outside, ids and classes are, unless the line is one of links. They need
        to be confirmed by the site's template. Names of what comes and goes by itself are strong.
        """
        if element.path[:PATH_BYTES] in template:
            return False
        is_inside = self._text is None or self._in_text(element)[0]
        if not is_inside and is_of_links:
            return False
        return not self._is_surely_marked(element, is_inside=is_inside)

    def hides_inside(self, element: Element) -> bool:
        """Whether an element in the text, or around it in there, is made for furniture."""
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
        """Whether an element, or one around it up to the text, has marks that need no proof."""
        for around in element.ancestors():
            if is_inside and around is self._text:
                return False
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
                or is_named_around(element)
            )
        return found


def is_made_for_it(element: Element) -> bool:
    """Whether the tag or the role of an element says that it is furniture."""
    if element.tag in _EDGES:
        return not any(around.tag in _SECTIONING for around in element.ancestors())
    if element.tag == "button":
        # Headings that open and close what is below them are buttons too.
        return not any(around.tag in _HEADINGS for around in element.ancestors())
    # A site that makes up elements, such as <site-footer>, names them for what they do.
    is_component = "-" in element.tag and not _words(element.tag).isdisjoint(_AROUND)
    return is_component or element.tag in _TAGS or not _ROLES.isdisjoint(element.hint.split())


def _leads(element: Element) -> bool:
    """Whether an element that is made for furniture leads through a text."""
    return element.tag in _LEADING or not _LEADING.isdisjoint(element.hint.split())


def is_named_around(element: Element) -> bool:
    """Whether the ids and classes of an element say that it stands around texts."""
    return not _words(element.hint).isdisjoint(_AROUND)


@lru_cache(maxsize=4096)
def _words(hint: str) -> frozenset[str]:
    """Return the words of ids and classes, also of those written together."""
    return frozenset(word.lower() for word in _WORD.findall(hint))


def _apply(
    template: frozenset[bytes],
    blocks: Sequence[Block],
    kinds: list[Kind],
    prose: dict[Element, int],
) -> None:
    """Mark what the template has, unless hardly anything would be left; never prose."""
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
