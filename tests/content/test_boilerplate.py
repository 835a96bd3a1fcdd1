"""What a page says is told from what its site puts around it, and nobody can hide in there."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.content.boilerplate import boilerplate as furniture
from recrawl.content.boilerplate.template import MAX_ELEMENTS, SiteTemplate, sketch_of
from recrawl.content.compare import compare
from recrawl.content.comparison import Comparison
from recrawl.content.page_content import is_same
from recrawl.content.reader import Reader, explain_blocks
from recrawl.content.second_fetch import compare_twice, wants_second_fetch
from recrawl.records import ChangeKind, Outcome, Page, Response

PROSE = (
    "Leeks are cut into rings, washed well, and boiled in salted water for twenty minutes.",
    "Potatoes are peeled and added later, as they need less time than most people think.",
    "Serve it hot, with bread, and keep some for the next day: it is better then than now.",
)
MENU = ("Home", "Recipes", "Shop", "About us", "Contact")


def page(
    title: str = "Leek soup",
    prose: tuple[str, ...] = PROSE,
    *,
    menu: tuple[str, ...] = MENU,
    box: tuple[str, ...] = (),
    style: str = "",
) -> bytes:
    """Return a page; the menu and the box have no marks at all."""
    links = "".join(f"<div class=x><a href='/{item}'>{item}</a></div>" for item in menu)
    boxed = "".join(f"<div class=y>{item}</div>" for item in box)
    text = "".join(f"<p>{line}</p>" for line in prose)
    return (
        f"<body{style}><div class=l>{links}</div><div class=t><h1>{title}</h1>{text}</div>"
        f"<div class=z>{boxed}</div></body>"
    ).encode()


def site(pages: int = 4, **more: object) -> SiteTemplate:
    """Return the template that is learned from pages that share their menu and say other things."""
    template = SiteTemplate()
    for number in range(pages):
        prose = tuple(f"{line} This is recipe {number}." for line in PROSE)
        body = page(f"Soup {number}", prose, **more)  # type: ignore[arg-type]
        template.learn(number, Reader().read(body, template=template).sketches)
    return template


def kind_of(old: bytes, new: bytes, template: SiteTemplate | None = None) -> ChangeKind | None:
    one, other = (Reader().read(body, "text/html", template) for body in (old, new))
    change = other.difference(one)
    return None if change is None else change.kind


def answer(body: bytes) -> Response:
    return Response("https://e.org/", 200, 1, (("Content-Type", "text/html"),), body)


NEW_MENU = (*MENU[:3], "Jobs", "Press")


def with_consent(words: str, related: str = "Stew") -> bytes:
    """Return a page with a box of related pages, and a dialog that asks for consent."""
    prose = f"{words} We and our partners use cookies to do what you would rather not know."
    return page().replace(
        b"</body>",
        f"<div class=related>{related}</div>"
        f"<div class=cookie-consent><h2>Cookies</h2><p>{prose}</p></div></body>".encode(),
    )


def with_long_consent(text: str, consent: str) -> bytes:
    """Return a page with a dialog that asks for consent at length."""
    dialog = "".join(f"<p class=c{letter}>{consent} {letter * 60}</p>" for letter in "abcdefgh")
    return (
        f"<body><div class=t><h1>Soup</h1><p>{text}</p></div>"
        f"<div class=cookie-consent>{dialog}</div></body>"
    ).encode()


def site_with_long_consent() -> SiteTemplate:
    template = SiteTemplate()
    for number in range(4):
        text = " ".join(f"{line} This is recipe {number}." for line in PROSE * 3)
        body = with_long_consent(text, "We use cookies.")
        template.learn(number, Reader().read(body, template=template).sketches)
    return template


def test_a_dialog_for_consent_that_the_site_has_is_not_the_page_s_however_long_it_is() -> None:
    old, new = (with_long_consent(PROSE[0], words) for words in ("We use cookies.", "Accept."))
    template = site_with_long_consent()
    assert kind_of(old, new, template) is ChangeKind.FURNITURE
    # Nothing but its name tells of a dialog that no other page has: it may be the page's text.
    assert kind_of(old, new, site()) is ChangeKind.TEXT
    assert kind_of(old, with_long_consent(PROSE[1], "We use cookies."), template) is ChangeKind.TEXT


def test_a_page_of_nothing_but_consent_is_still_seen_to_change() -> None:
    dialog = "<body><div class=cookie-consent><p class=ca>{}</p></div></body>"
    old, new = (dialog.format(line).encode() for line in PROSE[:2])
    assert kind_of(old, new, site_with_long_consent()) is ChangeKind.TEXT


def test_what_a_dialog_for_consent_says_is_not_taken_for_the_text_of_the_page() -> None:
    assert kind_of(with_consent("Hello."), with_consent("Dear you."), site()) is (
        ChangeKind.FURNITURE
    )
    # Otherwise the text would be all of the page, and boxes beside the text a part of it.
    assert kind_of(with_consent("Hello."), with_consent("Hello.", "Soup"), site()) is (
        ChangeKind.FURNITURE
    )


def test_a_new_item_in_the_menu_of_a_site_is_no_change_of_its_pages() -> None:
    assert kind_of(page(), page(menu=NEW_MENU), site()) is ChangeKind.FURNITURE
    assert kind_of(page(), page("Leek stew"), site()) is ChangeKind.TEXT
    assert kind_of(page(), page(prose=(*PROSE[:2], "New.")), site()) is ChangeKind.TEXT


def test_a_page_alone_on_its_host_is_read_as_it_is() -> None:
    assert kind_of(page(), page(menu=NEW_MENU)) is ChangeKind.TEXT
    assert kind_of(page(), page(menu=NEW_MENU), site(1)) is ChangeKind.TEXT


@pytest.mark.parametrize(
    "furniture",
    [
        "<nav>{}</nav>",
        "<footer>{}</footer>",
        "<aside>{}</aside>",
        "<div role=dialog>{}</div>",
        "<div class='site-header'><a href=/>{}</a></div>",
        "<div class='promo-box'>{}</div>",
        "<div id=cookieConsent><p>{}</div>",
        "<button>{}</button>",
        "<site-navigation>{}</site-navigation>",
        "<x-global-footer>{}</x-global-footer>",
    ],
)
def test_marked_furniture_is_no_change_once_the_site_has_shown_two_pages(furniture: str) -> None:
    old, new = (page() + furniture.format(text).encode() for text in ("Spring", "Summer"))
    assert kind_of(old, new, site(2)) is ChangeKind.FURNITURE
    # Two marks need nobody to confirm them: see test_lone_page.
    is_sure = furniture.startswith(("<nav>", "<footer>"))
    assert kind_of(old, new) is (ChangeKind.FURNITURE if is_sure else ChangeKind.TEXT)


@pytest.mark.parametrize(
    "hidden",
    [
        "<div hidden>{}</div>",
        "<div style='display:none'>{}</div>",
        "<p style='color: red; VISIBILITY : Hidden !important'>{}</p>",
        "<div hidden><div><p>{}</p></div></div>",
    ],
)
def test_what_is_hidden_beside_the_text_does_not_count(hidden: str) -> None:
    old, new = (page() + hidden.format(words).encode() for words in ("Sale", "Winter sale"))
    assert kind_of(old, new, site()) is ChangeKind.FURNITURE


@pytest.mark.parametrize(
    "shown",
    [
        "<div hidden=until-found>{}</div>",
        "<div style='display:block'>{}</div>",
        "<div style='--display:none'>{}</div>",
        "<div title='hidden' class=hidden data-style='display:none'>{}</div>",
        "<div class='a'>{}</div><div class='a' hidden></div>",
    ],
)
def test_what_is_not_surely_hidden_counts(shown: str) -> None:
    old, new = (page() + shown.format(words).encode() for words in ("Sale", "Winter sale"))
    assert kind_of(old, new, site()) is ChangeKind.TEXT


@pytest.mark.parametrize("hidden", ["hidden", "style='display:none'"])
def test_nothing_hides_the_text_of_a_page(hidden: str) -> None:
    # Scripts open parts of a text, and show pages that are hidden until they are complete.
    inside = [page(prose=(*PROSE, f"<div {hidden}>{words}</div>")) for words in ("Hot.", "Cold.")]
    assert kind_of(inside[0], inside[1], site()) is ChangeKind.TEXT
    around = [page(prose=(*PROSE, words), style=f" {hidden}") for words in ("Hot.", "Cold.")]
    assert kind_of(around[0], around[1], site()) is ChangeKind.TEXT
    beside = [page(box=(words,), style=f" {hidden}") for words in ("Sale", "Winter sale")]
    assert kind_of(beside[0], beside[1], site()) is ChangeKind.TEXT
    named = [one.replace(b"class=y", b"class=site-header") for one in beside]
    assert kind_of(named[0], named[1], site()) is ChangeKind.TEXT


def test_what_is_watched_counts_even_if_it_is_hidden() -> None:
    old, new = (page() + f"<div id=stock hidden>{count}</div>".encode() for count in "12")
    assert kind_of(old, new, site()) is ChangeKind.FURNITURE
    one, other = (Reader(watch=["#stock"]).read(body, template=site()) for body in (old, new))
    change = other.difference(one)
    assert change is not None
    assert change.kind is ChangeKind.TEXT


def test_a_line_of_text_in_what_is_named_like_a_menu_needs_the_template_to_be_furniture() -> None:
    def named(text: str) -> bytes:
        return page() + f"<div class='site-header'>{text}</div>".encode()

    assert kind_of(named("Spring"), named("Summer"), site()) is ChangeKind.TEXT
    template = SiteTemplate()
    for number in range(4):
        prose = tuple(f"{line} This is recipe {number}." for line in PROSE)
        body = named("Spring").replace(page(), page(f"Soup {number}", prose))
        template.learn(number, Reader().read(body, template=template).sketches)
    assert kind_of(named("Spring"), named("Summer"), template) is ChangeKind.FURNITURE


def test_a_list_of_languages_in_the_text_is_its_own_and_related_pages_are_not() -> None:
    def listed(around: str, *items: str) -> bytes:
        found = "".join(f"<li><a href=/{item}>{item}</a></li>" for item in items)
        return in_text(f"<{around}><ul>{found}</ul></div>")

    for around, kind in (
        ("div class=languages", ChangeKind.TEXT),
        ("div role=navigation", ChangeKind.TEXT),
        ("div class=related", ChangeKind.FURNITURE),
        ("div role=complementary", ChangeKind.FURNITURE),
    ):
        old, new = listed(around, "Frisian"), listed(around, "Frisian", "Sindhi")
        assert kind_of(old, new, site()) is kind


@pytest.mark.parametrize(
    "changed",
    ["<h2>Then serve it.</h2>", "<ul><li>Then serve it.</ul>", "<p>Then <b>serve</b> it.</p>"],
)
def test_how_the_text_is_set_counts_and_is_no_change_of_the_text(changed: str) -> None:
    plain = "<p>Then serve it.</p>"
    one, other = in_text(plain), in_text(changed)
    assert kind_of(one, other, site()) is ChangeKind.LAYOUT
    reader = Reader()
    assert not is_same(*(reader.read(body).fingerprint() for body in (one, other)))
    exact = Reader("selector", "body")
    assert is_same(*(exact.read(body).fingerprint() for body in (one, other)))
    first = compare(Page(0, "https://e.org/", "e.org"), answer(one), reader)
    for min_change, outcome in ((0.0, Outcome.CHANGED), (0.01, Outcome.UNCHANGED)):
        found = compare(first.page, answer(other), Reader(min_change=min_change), one)
        assert found.outcome is outcome


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<b>Serve</b> it", "<strong>Serve</strong> it"),
        ("<b>Serve it</b>", "<b>Serve </b><b>it</b>"),
        ("Serve it", "Serve<b> </b>it<i></i>"),
        ("<em>Serve</em> it", "<span class=x><i>Serve </i></span>it"),
    ],
)
def test_what_looks_the_same_is_the_same(one: str, other: str) -> None:
    assert kind_of(in_text(f"<p>{one}</p>"), in_text(f"<p>{other}</p>"), site()) is None


@pytest.mark.parametrize("tag", ["b", "strong", "i", "em"])
def test_which_word_is_stressed_counts(tag: str) -> None:
    one, other = f"<{tag}>Serve</{tag}> it", f"Serve <{tag}>it</{tag}>"
    found = kind_of(in_text(f"<p>{one}</p>"), in_text(f"<p>{other}</p>"), site())
    assert found is ChangeKind.LAYOUT


def test_how_furniture_is_set_does_not_count() -> None:
    old, new = (page() + f"<nav>{menu}</nav>".encode() for menu in ("Spring", "<b>Spring</b>"))
    assert kind_of(old, new, site()) is None


def test_headings_that_open_what_is_below_them_are_no_furniture() -> None:
    old, new = (page(title=f"<button>{text}</button>") for text in ("1. Leeks", "1. Peas"))
    assert kind_of(old, new, site()) is ChangeKind.TEXT


@pytest.mark.parametrize(
    "hidden",
    ["<nav>{}</nav>", "<div class=cookie-banner>{}</div>", "<site-menu>{}</site-menu>"],
)
def test_a_page_that_marks_all_it_says_as_furniture_is_still_seen_to_change(hidden: str) -> None:
    old, new = (
        hidden.format("".join(f"<p>{line}</p>" for line in lines)).encode()
        for lines in (PROSE, (*PROSE[:2], PROSE[2].replace("hot", "cold")))
    )
    assert kind_of(old, new, site()) is ChangeKind.TEXT
    links = "<nav><a href=/{0}>{0}</a></nav>"
    old, new = links.format("one").encode(), links.format("two").encode()
    assert kind_of(old, new, site()) is ChangeKind.TEXT


@pytest.mark.parametrize("prose", [PROSE, ("Short.", "Lines.", "Only.")])
def test_a_page_that_copies_itself_onto_its_siblings_is_still_seen_to_change(
    prose: tuple[str, ...],
) -> None:
    template = SiteTemplate()
    for number in range(30):
        template.learn(number, Reader().read(page(prose=prose), template=template).sketches)
    changed = page(prose=(*prose[:2], "Something else."))
    assert kind_of(page(prose=prose), changed, template) is ChangeKind.TEXT


def test_a_banner_that_comes_to_all_pages_is_the_sites_after_a_few() -> None:
    template = site()
    with_banner = page(box=("Sale", "Only this week"))
    assert kind_of(page(), with_banner, template) is ChangeKind.TEXT
    for number in range(10, 14):
        body = page(f"Soup {number}", box=("Sale", "Only this week"))
        template.learn(number, Reader().read(body, template=template).sketches)
    assert kind_of(page(), with_banner, template) is ChangeKind.FURNITURE
    # The box is the site's now, whatever is in it tomorrow.
    assert kind_of(with_banner, page(box=("Fair", "Next week")), template) is ChangeKind.FURNITURE


def test_a_redesign_is_at_most_one_change_and_the_new_template_is_learned() -> None:
    template, styled = site(), " class=new"

    def redesigned(number: int, menu: tuple[str, ...] = MENU) -> bytes:
        body = page(f"Soup {number}", menu=menu).replace(b"div", b"section")
        return body.replace(b"class=", b"class=r-").replace(b"<body", b"<body" + styled.encode())

    assert kind_of(page("Soup 1"), redesigned(1), template) is not ChangeKind.TEXT
    for number in range(5):
        template.learn(number, Reader().read(redesigned(number), template=template).sketches)
    assert kind_of(redesigned(1), redesigned(1, NEW_MENU), template) is ChangeKind.FURNITURE


def test_a_redesign_is_the_sites_event_after_a_few_pages() -> None:
    template = site()

    def redesigned(number: int) -> bytes:
        body = page(f"Soup {number}", menu=("Start", "Cook", "Buy", "Team", "Write to us"))
        return body.replace(b"div", b"section").replace(b"class=", b"class=r-")

    found = []
    for number in range(10):
        found.append(kind_of(page(f"Soup {number}"), redesigned(number), template))
        assert kind_of(redesigned(number), redesigned(number), template) is None
        template.learn(number, Reader().read(redesigned(number), template=template).sketches)
    assert ChangeKind.TEXT not in found[3:]


@pytest.mark.parametrize(
    ("place", "old", "new"),
    [
        ("<header><h1>{}</h1></header>", "Leek soup", "Pea soup"),
        ("<aside><ul><li><a href='#{0}'>Part</a></ul></aside>", "leeks", "peas"),
    ],
)
def test_titles_and_tables_of_contents_are_the_pages_wherever_they_stand(
    place: str, old: str, new: str
) -> None:
    before, after = (place.format(text).encode() + page("Soups") for text in (old, new))
    assert kind_of(before, after, site()) in {ChangeKind.TEXT, ChangeKind.LINKS}


def test_a_heading_that_all_pages_share_is_the_sites() -> None:
    template = SiteTemplate()

    def headed(number: int, name: str = "Soups & Co") -> bytes:
        return f"<header><h1>{name}</h1></header>".encode() + page(f"Soup {number}")

    for number in range(4):
        template.learn(number, Reader().read(headed(number), template=template).sketches)
    assert kind_of(headed(1), headed(1, "Soups Ltd"), template) is ChangeKind.FURNITURE


def in_text(box: str) -> bytes:
    """Return a page with a box amid its paragraphs and lists."""
    return page(prose=(PROSE[0], f"</p>{box}<ul><li>{PROSE[1]}</ul><p>", PROSE[2]))


def test_a_form_in_the_text_is_part_of_it() -> None:
    old, new = (in_text(f"<form>{text}</form>") for text in ("Yes", "No"))
    assert kind_of(old, new, site()) is ChangeKind.TEXT


def test_boxes_of_links_in_the_text_are_furniture_if_their_names_say_so() -> None:
    def boxed(name: str, item: str, text: str = "") -> bytes:
        return in_text(f"<div class={name}>{text}<a href=/{item}>{item}</a></div>")

    def kind(name: str, text: str = "") -> ChangeKind | None:
        return kind_of(boxed(name, "Leeks", text), boxed(name, "Peas", text), site())

    assert kind("related") is ChangeKind.FURNITURE
    assert kind("ingredients") is ChangeKind.TEXT
    assert kind("related", "Goes well with bread, butter and ") is ChangeKind.TEXT


def test_tags_that_a_site_makes_up_tell_what_they_are_for() -> None:
    old, new = (page() + f"<my-promo>{text}</my-promo>".encode() for text in ("Old", "New"))
    assert kind_of(old, new, site()) is ChangeKind.FURNITURE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/a#k3J9x0Qp72LmZ41s", "/a#Zx81kQ02mmP19sKd"),
        ("/f/k3J9x0Qp72LmZ41s/a.pdf", "/f/Zx81kQ02mmP19sKd/a.pdf"),
        ("/a?x=1&y=2", "/a?y=2&x=1"),
        ("/a?x=1&at=1770208491", "/a?x=1&at=1770294891"),
        (
            "/a?to=https%3A%2F%2Fb.org%2F%3Fu%3D1%26v%3D2",
            "/a?to=https%3A%2F%2Fb.org%2F%3Fv%3D2%26u%3D1",
        ),
        ("/a' title='Your reference is 7CEAFB0", "/a' title='Your reference is EE71F87"),
        ("/a?b=[x]|{y}", "/a?b=%5Bx%5d%7C%7by%7D"),
        ("/%7Eleeks/%61-b", "/~leeks/a-b"),
        ("/po%c3%a9lée", "/poélée"),
    ],
)
def test_random_parts_of_link_targets_do_not_count(old: str, new: str) -> None:
    before, after = (f"<p><a href='{href}'>Leeks</a>".encode() for href in (old, new))
    assert kind_of(before, after) is None
    assert kind_of(before, b"<p><a href='/b'>Leeks</a>") is ChangeKind.LINKS


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/a?to=https%3A%2F%2Fb.org%2F%3Fu%3D1", "/a?to=https%3A%2F%2Fb.org%2F%3Fu%3D2"),
        ("/a?to=%2Fleeks", "/a?to=%2Fpeas"),
        ("/a?id=1070208491", "/a?id=1070294891"),
        ("/a' title='Leeks", "/a' title='Peas"),
        ("/a%2Fb", "/a/b"),
        ("/a%3Fb", "/a?b"),
        ("/a%23b", "/a#b"),
        ("/a?b=1%26c", "/a?b=1&c"),
        ("/a?b%3D1", "/a?b=1"),
        ("/a?b=1%2B1", "/a?b=1+1"),
        ("/a%2541", "/a%41"),
        ("/a%", "/a%25"),
    ],
)
def test_other_parts_of_link_targets_count(old: str, new: str) -> None:
    before, after = (f"<p><a href='{href}'>Leeks</a>".encode() for href in (old, new))
    assert kind_of(before, after) is ChangeKind.LINKS


def test_outside_the_text_it_counts_what_links_say_not_where_they_lead() -> None:
    def beside(href: str, text: str) -> bytes:
        return page() + f"<div><p><a href='{href}'>{text}</a></p></div>".encode()

    old = beside("/help?from=1", "Help")
    assert kind_of(old, beside("/support", "Help"), site()) is ChangeKind.FURNITURE
    assert kind_of(old, beside("/help?from=1", "Support"), site()) is ChangeKind.TEXT
    # A picture that leads somewhere has no other way to say so.
    pictures = [beside(href, "<img src=a.png>") for href in ("/1", "/2")]
    assert kind_of(pictures[0], pictures[1], site()) is ChangeKind.LINKS
    inside = [
        page(prose=(*PROSE, f"See <a href='{href}'>this</a> for the leeks.")) for href in "ab"
    ]
    assert kind_of(inside[0], inside[1], site()) is ChangeKind.LINKS


def test_how_large_a_change_is() -> None:
    one = Reader().read(page())
    for lines, least, most in ((1, 0.2, 0.5), (3, 0.8, 1.0)):
        prose = tuple(f"All new: {n}" * 9 for n in range(lines)) + PROSE[lines:]
        change = Reader().read(page(prose=prose)).difference(one)
        assert change is not None
        assert change.kind is ChangeKind.TEXT
        assert least <= change.share <= most
    links = Reader().read(page().replace(b"/Shop", b"/store")).difference(one)
    assert links is not None
    assert (links.kind, links.share) == (ChangeKind.LINKS, 0.0)


@pytest.mark.parametrize(
    ("old", "new", "share"),
    [
        # A corrected typo, in the only paragraph of a page.
        (
            "Leeks are cutt in rings, washed, and then fried.",
            "Leeks are cut in rings, washed, and then fried.",
            4 / 40,
        ),
        # Words that only moved.
        ("First cut the leeks. Then wash them.", "Then cut the leeks. First wash them.", 0.0),
        # A text without spaces between its words.
        ("韭菜切成圈洗净炒熟即可食用", "韭菜切成段洗净炒熟即可食用", 1 / 13),
    ],
)
def test_a_change_is_as_large_as_the_words_that_differ(old: str, new: str, share: float) -> None:
    one, other = (Reader().read(f"<p>{text}</p>".encode()) for text in (old, new))
    change = other.difference(one)
    assert change is not None
    assert change.kind is ChangeKind.TEXT
    assert change.share == pytest.approx(share)


def test_it_counts_how_often_and_in_which_order_a_page_says_something() -> None:
    def table(*cells: str) -> bytes:
        return page(prose=(*PROSE, *cells))

    assert kind_of(table("yes", "no", "yes"), table("no", "no", "yes"), site()) is ChangeKind.TEXT
    assert kind_of(table("yes", "no"), table("no", "yes"), site()) is ChangeKind.TEXT


def test_small_changes_can_be_left_out() -> None:
    before = Page(1, "http://a.example/", "a.example")
    first = visit(before, page(), None)
    typo = page(prose=(*PROSE[:2], PROSE[2] + "!"))
    assert visit(first.page, typo, page()).outcome is Outcome.CHANGED
    patient = Reader(min_change=0.5)
    found = visit(first.page, typo, page(), patient)
    assert found.outcome is Outcome.UNCHANGED
    assert found.change is not None
    assert 0.0 < found.change.share < 0.5


def visit(
    before: Page,
    body: bytes,
    copy: bytes | None,
    reader: Reader | None = None,
    template: SiteTemplate | None = None,
) -> Comparison:
    response = Response(before.url, 200, 1, (("Content-Type", "text/html"),), body)
    return compare(before, response, reader or Reader(), copy, template=template)


def test_furniture_renews_the_copy_but_is_no_change() -> None:
    first = visit(Page(1, "http://a.example/", "a.example"), page(), None)
    found = visit(first.page, page(menu=NEW_MENU), page(), template=site())
    assert (found.outcome, found.page.changes) == (Outcome.UNCHANGED, 0)
    assert found.content == page(menu=NEW_MENU)
    assert found.change is not None
    assert found.change.kind is ChangeKind.FURNITURE
    # A template that has changed since is no change of the page either.
    again = visit(found.page, page(menu=MENU), page(menu=NEW_MENU), template=site(9))
    assert again.outcome is Outcome.UNCHANGED


def test_selectors_watch_and_ignore_what_the_user_says() -> None:
    watching, ignoring = Reader(watch=["div.l"]), Reader(ignore=["h1"])
    template = site()
    for reader, new, kind in (
        (watching, page(menu=NEW_MENU), ChangeKind.TEXT),
        (ignoring, page("Stew"), None),
        (Reader("selector", "div.l"), page(menu=NEW_MENU), ChangeKind.TEXT),
    ):
        one, other = (reader.read(body, "text/html", template) for body in (page(), new))
        change = other.difference(one)
        assert (None if change is None else change.kind) is kind
    assert len({Reader().kind, watching.kind, ignoring.kind}) == 3


def test_the_blocks_of_a_page_are_explained() -> None:
    body = page() + b"<nav>Menu</nav>"
    explained = explain_blocks(body, "text/html", Reader(), site())
    found = {text: (kind, path) for kind, path, text in explained}
    assert found["Leek soup"] == ("own", "body/div.t/h1")
    assert found["Menu"] == ("furniture", "body/nav")
    assert found["Home"] == ("template", "body/div.l/div.x")


#: Ways in which pages differ every day although nobody edited them.
DAILY = {
    "date": lambda day: f"<p>Today is the {day % 28 + 1} June 2026</p>",
    "ago": lambda day: f"<span>Seen {day} days ago by all</span><br>",
    "views": lambda day: f"<p>{1_000 + day * 7} views</p>",
    "revision": lambda day: f"<p><a href='/?oldid={5_000 + day}'>Permanent link</a></p>",
}


class Crawled:
    """A page that is visited once a day, in its main part a line that is new every day."""

    def __init__(self) -> None:
        self.page, self.copy = Page(0, "http://a.example/", "a.example"), b""

    def visit(self, body: bytes) -> Outcome:
        found = visit(self.page, body, self.copy or None)
        if found.outcome is Outcome.CHANGED and wants_second_fetch(self.page, found.page):
            response = Response(self.page.url, 200, 1, (("Content-Type", "text/html"),), body)
            found = compare_twice(self.page, response, response, Reader(), self.copy)
        self.page, self.copy = found.page, found.content or self.copy
        return found.outcome


@pytest.mark.parametrize("name", DAILY)
def test_slow_noise_is_learned_from_the_history_of_a_page(name: str) -> None:
    crawled = Crawled()
    found = [
        crawled.visit(page(prose=(*PROSE, "")) + DAILY[name](day).encode()) for day in range(30)
    ]
    assert found.count(Outcome.CHANGED) <= 3
    assert set(found[5:]) == {Outcome.UNCHANGED}
    assert crawled.visit(page("Stew") + DAILY[name](31).encode()) is Outcome.CHANGED
    assert len(crawled.page.suspects) <= 200


def test_a_box_that_comes_and_goes_is_learned_from_the_history_of_a_page() -> None:
    crawled = Crawled()
    boxes = [(), ("Sale", "This week"), (), ("Sale", "This week")] * 6
    found = [crawled.visit(page(box=box)) for box in boxes]
    assert found.count(Outcome.CHANGED) <= 5
    assert set(found[6:]) == {Outcome.UNCHANGED}
    assert crawled.visit(page("Stew")) is Outcome.CHANGED


def test_prices_and_prose_are_never_taken_for_slow_noise() -> None:
    crawled = Crawled()
    prices = [crawled.visit(page(prose=(*PROSE, f"Price: {9 + day}.99 €"))) for day in range(20)]
    assert set(prices[1:]) == {Outcome.CHANGED}
    crawled, texts = Crawled(), (PROSE, PROSE[:2])
    swapped = [crawled.visit(page(prose=texts[day % 2])) for day in range(20)]
    assert set(swapped[1:]) == {Outcome.CHANGED}


def test_a_dialog_that_comes_and_goes_is_learned_although_it_is_prose() -> None:
    long, dialog = (
        PROSE * 10,
        "We value your privacy, and would like to know all about you. May we?",
    )
    crawled = Crawled()
    found = [crawled.visit(page(prose=long, box=(dialog,) * (day % 2))) for day in range(20)]
    assert found.count(Outcome.CHANGED) <= 5
    assert set(found[6:]) == {Outcome.UNCHANGED}
    # Only this text is ignored, and only there.
    assert crawled.visit(page(prose=long, box=(f"{dialog} Please.",))) is Outcome.CHANGED
    assert crawled.visit(page(prose=(*long, dialog))) is Outcome.CHANGED


@pytest.mark.parametrize("drawn_from", [10, 20, 50])
def test_a_lesson_about_a_box_holds_for_whatever_is_drawn_next(drawn_from: int) -> None:
    rng = Random(drawn_from)  # noqa: S311 - a game

    def draw() -> bytes:
        items = (f"<li><a href='/p/{n}'>Item {chr(65 + n % 26)} {n}</a>" for n in
                 rng.sample(range(drawn_from), 5))  # fmt: skip
        return page() + f"<div class=also><h4>See also</h4><ul>{''.join(items)}</ul></div>".encode()

    ignored = frozenset[bytes]()
    for _ in range(3):
        one, other = Reader().read(draw()), Reader().read(draw())
        if one.difference(other, ignored):
            ignored |= one.noise(other)
    copy = Reader().read(draw())
    found = [Reader().read(draw()).difference(copy, ignored) for _ in range(300)]
    assert sum(change is not None and change.kind is ChangeKind.TEXT for change in found) <= 6


def test_noise_that_would_hide_most_of_a_page_is_not_believed() -> None:
    """A page that sends other prose at every second look cannot hide what it says next week."""
    one, other = (
        Reader().read(page(prose=tuple(f"{line} {word}" for line in PROSE)))
        for word in ("ever so much", "never at all, and not a bit of it")
    )
    ignored = one.noise(other)
    later = Reader().read(page(prose=tuple(f"{line} and then some more" for line in PROSE)))
    change = later.difference(one, ignored)
    assert change is not None
    assert change.kind is ChangeKind.TEXT


@given(
    st.lists(
        st.dictionaries(
            st.binary(min_size=6, max_size=6),
            st.lists(st.text(max_size=5), max_size=6).map(sketch_of),
            max_size=8,
        ),
        max_size=12,
    )
)
def test_a_template_survives_the_store(pages: list[dict[bytes, tuple[int, ...]]]) -> None:
    template = SiteTemplate()
    for number, sketches in enumerate(pages):
        template.learn(number, sketches)
    again = SiteTemplate.from_bytes(template.to_bytes())
    assert again.to_bytes() == template.to_bytes()
    assert (again.furniture, again.pages) == (template.furniture, template.pages)


def test_a_template_is_small_whatever_a_site_sends() -> None:
    template = SiteTemplate()
    for number in range(30):
        paths = {f"{number:02}{n:04}".encode(): sketch_of(["x"]) for n in range(500)}
        template.learn(number, paths)
    packed = template.to_bytes()
    assert len(packed) <= 20_000
    assert SiteTemplate.from_bytes(packed[:-1]).pages == 0
    assert len(packed) // 18 >= MAX_ELEMENTS


def test_keys_of_another_kind_do_not_apply() -> None:
    first = visit(Page(1, "http://a.example/", "a.example"), page(), None)
    old = replace(first.page, ignored=frozenset({b"12345678"}), suspects=b"\0")
    found = visit(old, page("Stew"), page(), Reader("main"))
    assert found.outcome is Outcome.CHANGED


@given(st.lists(st.sampled_from(["cookie", "Consent", "gdpr", "banner", "recon", "-", " "])))
def test_a_name_is_told_to_be_of_consent_by_its_words(parts: list[str]) -> None:
    hint = "".join(parts)
    by_words = not furniture._words(hint).isdisjoint(furniture._CONSENT)  # noqa: SLF001
    assert furniture._is_named_consent(hint) is by_words  # noqa: SLF001


def test_every_word_of_consent_is_looked_for() -> None:
    assert all(furniture._is_named_consent(word) for word in furniture._CONSENT)  # noqa: SLF001
