"""A page alone on its site: only its navigation, its footer and passing numbers are told apart."""

from itertools import pairwise

import pytest

from recrawl.content.boilerplate.template import SiteTemplate, sketch_of
from recrawl.content.compare import compare
from recrawl.content.noise.masking import is_incidental
from recrawl.content.reader import Reader
from recrawl.records import ChangeKind, Outcome, Page, Response

TEXT = "".join(
    f"<p>{line}</p>"
    for line in (
        "Leeks are cut into rings, washed well, and boiled in salted water for twenty minutes.",
        "Potatoes are peeled and added later, as they need less time than most people think.",
    )
)


def kind_of(old: str, new: str, reader: Reader | None = None) -> ChangeKind | None:
    """Return how two bodies differ that nothing else is known of."""
    one, other = ((reader or Reader()).read(body.encode(), "text/html") for body in (old, new))
    change = other.difference(one)
    return None if change is None else change.kind


def around(part: str) -> str:
    return f"<body>{part}<div class=text><h1>Soup</h1>{TEXT}</div></body>"


@pytest.mark.parametrize(
    ("part", "is_own"),
    [
        ("<nav><a href=/a>{}</a></nav>", False),
        ("<footer><p>{}</p></footer>", False),
        ("<div role=contentinfo>{}</div>", False),
        ("<div role=navigation><ul><li>{}</ul></div>", False),
        ("<header>{}</header>", True),
        ("<aside>{}</aside>", True),
        ("<div class=menu>{}</div>", True),
        ("<article><p>Stew</p><footer>{}</footer></article>", True),
        ("<nav><h1>{}</h1></nav>", True),
        ("<div hidden>{}</div>", False),
        ("<div style='display: none'><ul><li>{}</ul></div>", False),
        ("<div hidden=until-found>{}</div>", True),
    ],
)
def test_only_navigation_the_footer_and_what_is_hidden_are_furniture(
    part: str, is_own: bool
) -> None:
    old, new = (around(part.format(word)) for word in ("Jobs", "Press"))
    assert kind_of(old, new) is (ChangeKind.TEXT if is_own else ChangeKind.FURNITURE)


@pytest.mark.parametrize("tag", ["nav", "footer"])
def test_a_page_that_says_all_in_its_furniture_is_still_seen_to_change(tag: str) -> None:
    old, new = (f"<body><{tag}><p>{word}</p>{TEXT}</{tag}></body>" for word in ("Soup", "Stew"))
    assert kind_of(old, new) is ChangeKind.TEXT
    # Most of it is there, and some is not.
    old, new = (
        f"<body><p>{'Serve it hot, with bread. ' * 3}</p><{tag}>{TEXT * 2}<p>{word}</p></{tag}>"
        for word in ("Soup", "Stew")
    )
    assert kind_of(old, new) is ChangeKind.TEXT


@pytest.mark.parametrize("hidden", ["hidden", "style='display:none'"])
def test_nothing_hides_the_text_of_a_page(hidden: str) -> None:
    pages = [
        "<body><div {0}><p>{1}</p></div></body>",
        "<body><div {0}>" + TEXT + "<p>{1}</p></div></body>",
        "<body>" + TEXT + "<div {0}><p>{1}</p></div></body>",
        # What is hidden with the text is as good as shown.
        "<body {0}><div>" + TEXT + "</div><div>{1}</div></body>",
    ]
    for one in pages:
        assert kind_of(one.format(hidden, "Soup"), one.format(hidden, "Stew")) is ChangeKind.TEXT


def test_a_page_without_text_of_its_own_is_read_as_it_is() -> None:
    assert kind_of("<nav>Home</nav>", "<nav>House</nav>") is ChangeKind.TEXT


def test_passing_numbers_count_in_the_text_only() -> None:
    old, new = (f"<p>{number} offers online</p>" for number in ("50,911", "50,905"))
    assert kind_of(around(old), around(new)) is ChangeKind.FURNITURE
    assert kind_of(around(old), around(old.replace("offers", "wishes"))) is ChangeKind.TEXT
    old, new = (f"<body><div>{TEXT}{line}</div></body>" for line in (old, new))
    assert kind_of(old, new) is ChangeKind.TEXT


def test_prices_count_wherever_they_stand() -> None:
    for old, new in (("1,299 €", "1,399 €"), ("Price: 12", "Price: 13"), ("$ 1,000", "$ 2,000")):
        assert kind_of(around(f"<b>{old}</b>"), around(f"<b>{new}</b>")) is ChangeKind.TEXT


def test_what_is_watched_counts_in_a_footer_too() -> None:
    for words in (("Up", "Down"), ("50,911 offers online", "50,905 offers online")):
        old, new = (around(f"<footer><p class=status>{word}</p></footer>") for word in words)
        assert kind_of(old, new) is ChangeKind.FURNITURE
        assert kind_of(old, new, Reader(watch=[".status"])) is ChangeKind.TEXT


def test_the_order_of_what_a_page_says_counts() -> None:
    parts = [f"<div>{part}</div>" for part in ("One", "Two")]
    assert kind_of(around("".join(parts)), around("".join(parts[::-1]))) is ChangeKind.TEXT


def test_a_title_in_the_body_is_not_read() -> None:
    assert kind_of(around(""), around("<title>Soup - Example</title>")) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Copyright 2025-2026 Example", True),
        ("Version 1.259.0.329", True),
        ("Version 2.3.1", False),
        ("Mis à jour le 3 juillet", True),
        ("12 000 annonces", True),
        ("12 annonces", False),
        ("CHF 12 000", False),
        ("All rights reserved ©", False),
        ("© 2026 " + "and so on " * 20, False),
    ],
)
def test_which_lines_change_by_themselves(text: str, expected: bool) -> None:
    assert is_incidental(text) is expected


def outcomes(
    *bodies: str, template: SiteTemplate | None = None, reader: Reader | None = None
) -> list[bool]:
    """Return for each body after the first whether a visit takes it for a change."""
    reader, found = reader or Reader(), list[bool]()
    page = Page(1, "https://example.org/", "example.org")
    page = compare(page, Response(page.url, 200, 1, body=bodies[0].encode()), reader).page
    for at, (before, body) in enumerate(pairwise(bodies), 2):
        response = Response(page.url, 200, at, body=body.encode())
        visited = compare(page, response, reader, before.encode(), template=template)
        found.append(visited.outcome is Outcome.CHANGED)
        page = visited.page
    return found


SALES = "Winter sale", "Last days", "Spring is here", "Free delivery"
BANNER = "<div class=promo-banner><p>{}</p></div>"


@pytest.mark.parametrize(
    ("part", "is_learned"),
    [
        (BANNER, True),
        ("<header><p>{}</p></header>", True),
        # Without a mark it is the page's own.
        ("<div class=offer><p>{}</p></div>", False),
        # A price is news, wherever it stands.
        ("<div class=promo-banner><p>{} for 12 €</p></div>", False),
        (BANNER.format("{} in a line that is long enough to be prose, which nobody hides."), False),
    ],
)
def test_a_marked_box_that_twice_alone_differed_is_ignored(part: str, is_learned: bool) -> None:
    found = outcomes(*(around(part.format(sale)) for sale in SALES))
    assert found == [True, True, not is_learned]


def test_what_else_a_page_says_is_news_beside_a_box_that_is_ignored() -> None:
    *sales, last = (around(BANNER.format(sale)) for sale in SALES)
    stew = last.replace("Soup", "Stew")
    assert outcomes(*sales, stew) == [True, True, True]
    # Nor can the text move into the box.
    moved = last.replace("</p></div>", f"</p>{TEXT.replace('boiled', 'fried')}</div>", 1)
    assert outcomes(*sales, moved) == [True, True, True]


def test_a_box_around_the_text_or_in_it_is_no_banner() -> None:
    for form in (
        "<body><div class=banner><p>{}</p>" + TEXT + "</div></body>",
        "<body><div>" + TEXT + "<div class=banner><p>{}</p></div>" + TEXT + "</div></body>",
    ):
        assert outcomes(*map(form.format, SALES)) == [True, True, True]


def test_where_other_pages_are_known_the_template_decides() -> None:
    template = SiteTemplate()
    for page in range(2, 4):
        template.learn(page, {bytes([page] * 6): sketch_of(["Home"])})
    bodies = [around(f"<div class=top-menu><p>{sale}</p></div>") for sale in SALES]
    assert outcomes(*bodies, template=template) == [True, True, True]
    assert outcomes(*bodies) == [True, True, False]


def test_a_marked_box_that_is_watched_is_never_ignored() -> None:
    bodies = (around(BANNER.format(sale)) for sale in SALES)
    assert outcomes(*bodies, reader=Reader(watch=["div.promo-banner"])) == [True, True, True]
