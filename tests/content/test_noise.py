"""Learning noise from fetching twice in a row, on made-up pages that never repeat."""

from collections.abc import Callable
from random import Random

import pytest

from recrawl.content.compare import compare
from recrawl.content.html.outline import Element
from recrawl.content.noise import noise as noise_module
from recrawl.content.reader import Reader
from recrawl.content.second_fetch import compare_twice, wants_second_fetch
from recrawl.records import Outcome, Page, Response

URL = "http://example.org/soups"
PARAGRAPHS = ("Leek soup is made of leeks.", "Pea soup is not.", "Both are served hot.")
QUOTES = [
    f"{word} is the {other} of all things"
    for word in ("Salt", "Time", "Heat", "Fire", "Rest")
    for other in ("mother", "child", "end", "sum", "price", "root")
]
ITEMS = [
    f"{colour} {thing}"
    for colour in ("Red", "Blue", "Green", "Black", "White")
    for thing in ("pot", "pan", "lid", "cup", "jug", "bowl", "fork", "knife", "spoon", "ladle")
]

Noise = Callable[[Random, int], str]


def clock(rng: Random, n: int) -> str:
    return f"<p class=clock>It is {rng.randrange(24)}:{n % 60:02} o'clock, {n} seconds in</p>"


def token_in_text(rng: Random, _: int) -> str:
    return f"<div>Request <code>{rng.getrandbits(64):x}</code></div>"


def token_in_link(rng: Random, _: int) -> str:
    token = f"{rng.getrandbits(40):x}"
    return f"<input type=hidden value={token}><p><a href='/out/{token}/basket'>Basket</a></p>"


def advert(rng: Random, _: int) -> str:
    sort, quote, number = rng.randrange(3), rng.choice(QUOTES), rng.randrange(99)
    return (
        "<div id=ad>"
        + (
            f"<p>{quote}</p><p>Buy <a href='/buy/{number}'>now</a></p>",
            f"<h3>{quote}</h3><ul><li>{quote}<li>{rng.choice(ITEMS)}</ul>",
            f"<p><b>{quote}</b></p><p>Only {number}</p><p>{rng.choice(ITEMS)}</p>",
        )[sort]
        + "</div>"
    )


def counter(_: Random, n: int) -> str:
    return f"<p>You are visitor number {10_000 + n}.</p>"


def updated(rng: Random, _: int) -> str:
    day, time = rng.choice(("Mon", "Tue", "Wed", "Sun")), f"{rng.randrange(24)}:10"
    return f"<footer>Last updated: {day}, {rng.randrange(1, 29)} Nov 2026 {time}</footer>"


def rotating_list(rng: Random, _: int) -> str:
    items = "".join(f"<li><a href='/{i}'>{i}</a></li>" for i in rng.sample(ITEMS, 5))
    return f"<div class=also><h4>See also</h4><ul>{items}</ul></div>"


def shuffled_list(rng: Random, _: int) -> str:
    items = "".join(f"<li>{i}</li>" for i in rng.sample(ITEMS[:8], 8))
    return f"<div class=tags><ul>{items}</ul></div>"


def random_paragraph(rng: Random, _: int) -> str:
    return f"<p>{rng.choice(QUOTES)}</p>"


def everything(rng: Random, n: int) -> str:
    parts = (clock, token_in_text, token_in_link, advert, counter, updated, rotating_list)
    return "".join(part(rng, n) for part in parts)


ALL = [clock, token_in_text, token_in_link, advert, counter, updated, rotating_list,
       shuffled_list, random_paragraph, everything]  # fmt: skip


def page_with(noise: str, paragraphs: tuple[str, ...] = PARAGRAPHS, title: str = "Soups") -> bytes:
    text = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    menu = "<nav><ul><li><a href=/>Home</a><li><a href=/soups>Soups</a></ul></nav>"
    return f"<body>{menu}<h1>{title}</h1><main>{text}{noise}</main></body>".encode()


def answer(body: bytes, at: int) -> Response:
    return Response(URL, 200, at, (("Content-Type", "text/html"),), body)


class Crawl:
    """A page that is visited, and fetched twice if necessary."""

    def __init__(self, make: Callable[[], bytes]) -> None:
        self.make, self.at, self.lessons = make, 0, 0
        self.page, self.copy = Page(0, URL, "example.org"), b""
        self.reader = Reader()

    def visit(self) -> Outcome:
        self.at += 1
        before, first = self.page, answer(self.make(), self.at)
        found = compare(before, first, self.reader, self.copy or None)
        if found.outcome is Outcome.CHANGED and wants_second_fetch(before, found.page):
            second = answer(self.make(), self.at)
            found = compare_twice(before, first, second, self.reader, self.copy)
            self.lessons += found.page.ignored != before.ignored
        self.page, self.copy = found.page, found.content or self.copy
        return found.outcome


@pytest.mark.parametrize("noise", ALL)
@pytest.mark.parametrize("seed", range(6))
def test_after_a_lesson_or_two_noise_is_no_change_and_changes_are(noise: Noise, seed: int) -> None:
    rng, n = Random(seed), iter(range(10_000))  # noqa: S311 - a game
    shown = {"paragraphs": PARAGRAPHS, "title": "Soups"}
    crawl = Crawl(lambda: page_with(noise(rng, next(n)), **shown))  # type: ignore[arg-type]
    found = [crawl.visit() for _ in range(12)]
    assert found[0] is Outcome.FIRST
    # One lesson is enough for most, and the change that led to it is taken back.
    assert found.count(Outcome.CHANGED) <= 4
    assert 1 <= crawl.lessons <= 3
    assert {crawl.visit() for _ in range(50)} == {Outcome.UNCHANGED}

    shown["title"] = "Soups and stews"
    assert crawl.visit() is Outcome.CHANGED
    assert crawl.visit() is Outcome.UNCHANGED
    shown["paragraphs"] = (*PARAGRAPHS, "Beetroot soup is new.")
    assert crawl.visit() is Outcome.CHANGED
    shown["paragraphs"] = ("Leek soup is sold out.", *PARAGRAPHS[1:], "Beetroot soup is new.")
    assert crawl.visit() is Outcome.CHANGED


def test_the_change_that_was_noise_is_taken_back() -> None:
    numbers = iter(range(100))
    crawl = Crawl(lambda: page_with(counter(Random(1), next(numbers))))  # noqa: S311 - a game
    assert [crawl.visit() for _ in range(6)] == [Outcome.FIRST, *[Outcome.UNCHANGED] * 5]
    assert (crawl.page.visits, crawl.page.changes, crawl.page.streak) == (6, 0, 0)
    assert crawl.lessons == 1


def test_a_page_that_really_changes_all_the_time_goes_on_changing() -> None:
    numbers = iter(range(100))
    crawl = Crawl(lambda: page_with("", (f"Soup number {next(numbers) // 3}",)))
    assert {crawl.visit() for _ in range(6)} == {Outcome.FIRST, Outcome.CHANGED, Outcome.UNCHANGED}
    assert crawl.lessons <= 1


def test_two_equal_contents_teach_nothing() -> None:
    content = Reader().read(page_with("<p>x</p>"))
    assert content.noise(Reader().read(page_with("<p>x</p>"))) == frozenset()


@pytest.mark.parametrize("noise", ALL)
def test_a_lesson_makes_the_two_contents_equal(noise: Noise) -> None:
    rng = Random(7)  # noqa: S311 - a game
    for _ in range(20):
        one, other = (Reader().read(page_with(noise(rng, n))) for n in (1, 2))
        ignored = one.noise(other)
        assert one.fingerprint(ignored) == other.fingerprint(ignored)
        assert one.noise(other) == other.noise(one)


def test_the_main_part_is_never_ignored_as_a_whole() -> None:
    one = Reader().read(b"<main><p>A a</p><p>B b</p><h2>C c</h2></main>")
    other = Reader().read(b"<main><p>D d</p><h2>E e</h2><h2>F f</h2></main>")
    ignored = one.noise(other)
    longer = Reader().read(b"<main><p>D d</p><h2>E e</h2><h2>F f</h2><p>x<p>Y y</p></main>")
    assert longer.fingerprint(ignored) != other.fingerprint(ignored)


def test_a_page_whose_elements_are_never_closed_is_compared_in_little_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hashed = 0
    usual = noise_module.box_key

    def box_key(element: Element) -> bytes:
        nonlocal hashed
        hashed += 1
        return usual(element)

    monkeypatch.setattr(noise_module, "box_key", box_key)
    open_elements = "".join(f"<div><ul><li>{item}<svg><a href=q>s</a>" for item in ITEMS)
    one, other = (Reader().read(text.encode()) for text in (open_elements, "<p>Nothing</p>"))
    ignored = one.noise(other)
    assert one.fingerprint(ignored) == other.fingerprint(ignored)
    # Each of some 100 blocks is in up to 200 elements.
    assert hashed < 40_000


def test_ids_and_classes_drawn_by_lot_do_not_hide_an_element() -> None:
    def page(lot: str, quote: str) -> bytes:
        return f"<div id=a{lot}9 class='ad css-{lot}1'><p>{quote}</p></div><p>Text</p>".encode()

    reader = Reader()
    ignored = reader.read(page("x", QUOTES[0])).noise(reader.read(page("y", QUOTES[1])))
    prints = {
        reader.read(page(lot, quote)).fingerprint(ignored)
        for lot, quote in zip("abcd", QUOTES[2:6], strict=True)
    }
    assert len(prints) == 1


def test_a_page_of_nothing_but_noise_is_not_ignored_for_ever() -> None:
    rng = Random(1)  # noqa: S311 - a game
    crawl = Crawl(
        lambda: page_with(
            "".join(f"<p>{rng.choice(QUOTES)} {rng.choice(ITEMS)}" for _ in range(2_000))
        )
    )
    for _ in range(8):
        crawl.visit()
    assert crawl.page.ignored == frozenset()
    assert crawl.page.streak == 7
