"""No page can use what is learned of noise and templates to hide its changes for ever."""

from random import Random

import pytest
from crawler.small_site import SmallSite, first_copies

from recrawl.records import Outcome

SIBLINGS = range(1, 9)
#: Hostile pages have this number.
HOSTILE = 0
#: The edits of a hostile page, after as many visits as it may take to learn its tricks.
EDITS = range(1, 13)


def prose(*key: object, lines: int = 3) -> list[str]:
    """Return lines of running text that depend on a key only."""
    rng = Random(repr(key))  # noqa: S311
    words = "harbour wall council vote ferry storm bridge repair market crew night coast".split()
    return [" ".join(rng.choices(words, k=16)) + "." for _ in range(lines)]


def paragraphs(lines: list[str]) -> str:
    return "".join(f"<p>{line}</p>" for line in lines)


def framed(text: str) -> str:
    return f"<body><div class=menu>Home</div>{text}<div class=end>Imprint</div></body>"


def ordinary(number: int) -> str:
    return framed(f"<div class=t><h1>Page {number}</h1>{paragraphs(prose(number))}</div>")


class Hostile:
    """A site with ordinary pages, and a page that is edited when told."""

    def __init__(self) -> None:
        self.edits = 0
        self.fetches = 0
        self.site = SmallSite(self.write)

    def write(self, number: int) -> str:
        self.fetches += 1
        return self.hostile() if number == HOSTILE else self.sibling(number)

    def hostile(self) -> str:
        raise NotImplementedError

    def sibling(self, number: int) -> str:
        return ordinary(number)

    def found(self, *, lessons: int = 12) -> list[bool]:
        """Return for each edit whether it is found, after as many visits without an edit."""
        first_copies(self.site, [*SIBLINGS, HOSTILE])
        for _ in range(lessons):
            self.between()
            self.site.changed([*SIBLINGS, HOSTILE])
        found = []
        for edit in EDITS:
            self.edits = edit
            found.append(self.site.visit(HOSTILE).outcome is Outcome.CHANGED)
            self.site.changed(SIBLINGS)
        return found

    def between(self) -> None:
        """What the page does between visits to teach a lesson."""


MARKS = [
    "<nav>{}</nav>",
    "<aside>{}</aside>",
    "<footer>{}</footer>",
    "<header><form>{}</form></header>",
    "<div role=navigation>{}</div>",
    "<div hidden>{}</div>",
    "<div style='display: none'>{}</div>",
    "<div class='cookie-banner ad'>{}</div>",
    "<div id=sidebar><nav><div class=related>{}</div></nav></div>",
]


@pytest.mark.parametrize("marks", MARKS)
@pytest.mark.parametrize("is_prose", [True, False])
def test_a_page_cannot_hide_in_marks_of_furniture(marks: str, *, is_prose: bool) -> None:
    class Marked(Hostile):
        def hostile(self) -> str:
            text = prose("hostile", self.edits) if is_prose else [f"Edit {self.edits}", "Short."]
            return f"<body>{marks.format(paragraphs(text))}</body>"

    assert all(Marked().found())


@pytest.mark.parametrize("marks", ["<nav>{}</nav>", "<div hidden>{}</div>"])
def test_a_page_cannot_hide_in_marks_beside_a_decoy(marks: str) -> None:
    class Decoy(Hostile):
        def hostile(self) -> str:
            text = prose("hostile", self.edits, lines=4)
            return f"<body><p>{prose('decoy')[0]}</p>{marks.format(paragraphs(text))}</body>"

    assert all(Decoy().found())


@pytest.mark.parametrize("parts", [1, 4, 8])
@pytest.mark.parametrize("is_prose", [True, False])
def test_a_page_cannot_hide_by_copying_itself_onto_its_siblings(
    parts: int, *, is_prose: bool
) -> None:
    class Copied(Hostile):
        def text(self, edit: int) -> str:
            lines = prose("hostile", edit, lines=8) if is_prose else [f"{edit}: {n}" for n in "abc"]
            return "".join(
                f"<div class={'abcdefgh'[part]}>{paragraphs(lines[part::parts])}</div>"
                for part in range(parts)
            )

        def hostile(self) -> str:
            return framed(self.text(self.edits))

        def sibling(self, number: int) -> str:
            del number
            return framed(self.text(self.edits - 1 if self.edits else 0))

    assert all(Copied().found())


def test_a_page_cannot_hide_in_a_notice_for_ever() -> None:
    """A little prose that stands on all pages is the site's, as long as it does."""

    class Notice(Hostile):
        def notice(self, edit: int) -> str:
            return f"<div class=notice><p>{prose('notice', edit)[0]}</p></div>"

        def hostile(self) -> str:
            text = paragraphs(prose("steady", lines=8))
            return framed(self.notice(self.edits) + f"<div class=t>{text}</div>")

        def sibling(self, number: int) -> str:
            text = paragraphs(prose("steady", number, lines=8))
            return framed(self.notice(0) + f"<div class=t>{text}</div>")

    assert any(Notice().found())


def test_a_page_cannot_hide_in_a_dialog_for_consent_for_ever() -> None:
    """A dialog that all pages have is the site's, however long it is, as long as they do."""

    class Dialog(Hostile):
        def dialog(self, edit: int) -> str:
            lines = prose("dialog", edit, lines=8)
            parts = "".join(
                f"<p class={name}>{line}" for name, line in zip("abcdefgh", lines, strict=True)
            )
            return f"<div class=cookie-consent>{parts}</div>"

        def hostile(self) -> str:
            decoy = paragraphs(prose("decoy"))
            return framed(f"<div class=t>{decoy}</div>{self.dialog(self.edits)}")

        def sibling(self, number: int) -> str:
            text = paragraphs(prose("steady", number, lines=40))
            return framed(f"<div class=t>{text}</div>{self.dialog(0)}")

    assert any(Dialog().found())


@pytest.mark.parametrize("line", ["The shop is {}", "Price: {} euros", "{}"])
def test_a_page_cannot_hide_what_it_says_next_by_saying_two_things_in_turn(line: str) -> None:
    class Alternating(Hostile):
        turn = 0

        def between(self) -> None:
            self.turn += 1

        def hostile(self) -> str:
            said = f"{100 + self.turn % 2}" if not self.edits else f"{500 + 7 * self.edits}"
            text = paragraphs(prose("steady")) + f"<p class=lead>{prose('lead')[0]}</p>"
            return framed(f"<div class=t><h1>{line.format(said)}</h1>{text}</div>")

    assert all(Alternating().found())


@pytest.mark.parametrize("is_prose", [True, False])
@pytest.mark.parametrize("size", [3, 12])
def test_a_page_cannot_hide_its_text_in_a_box_that_varies_at_every_fetch(
    size: int, *, is_prose: bool
) -> None:
    class Varying(Hostile):
        def hostile(self) -> str:
            rng = Random(self.fetches)  # noqa: S311
            drawn = "".join(f"<li>{' '.join(prose(rng.random(), n)[0].split()[:4])}</li>"
                            for n in range(size))  # fmt: skip
            text = prose("hostile", self.edits) if is_prose else [f"The shop: rule {self.edits}!"]
            return framed(f"<div class=box><ul>{drawn}</ul>{paragraphs(text)}</div>")

    assert all(Varying().found())


def test_a_page_cannot_hide_its_links_in_a_box_larger_than_its_text() -> None:
    """Boxes of links that vary on one page after the other are the site's; pages of links not."""

    class Links(Hostile):
        turn = 0

        def between(self) -> None:
            self.turn += 1

        def links(self, number: int) -> str:
            key = (number, self.turn, self.edits if number == HOSTILE else 0)
            lines = [" ".join(line.split()[:6]) for line in prose(key, lines=12)]
            items = "".join(f"<li><a href='/{line[:9]}'>{line}</a></li>" for line in lines)
            return framed(f"<p>{prose('intro', number)[0]}</p><ul class=list>{items}</ul>")

        def hostile(self) -> str:
            return self.links(HOSTILE)

        def sibling(self, number: int) -> str:
            return self.links(number)

    assert all(Links().found())
