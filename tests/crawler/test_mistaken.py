"""Responses that are another page than the one asked for: the copy is kept, and `show` says why."""

import asyncio
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from cli.crawling_site import run
from crawler.fakes import ParsedHere
from crawler.test_crawler import crawler_of, run_until
from fetching.test_visit import Scripted
from site_server import Site, page_about, serving

from recrawl.content.absence import MAX_OUTAGE, Patience
from recrawl.content.reader import Reader
from recrawl.fetching.visit import Visitor
from recrawl.records import Outcome, Page, Response, State, Visit, digest_of

HOST = "a.example"
FORM = '<form method="post"><input name="user"><input name="pass" type="password"></form>'
SIGN_IN = page_about("Please sign in to read on.") + FORM
HTML = (("Content-Type", "text/html"),)
HOUR = 3_600_000_000


class Known:
    """Pages with copies of different texts, visited by one visitor."""

    def __init__(self, copied_from: str | None = None) -> None:
        self._now = count(HOUR, HOUR)
        self._bodies: dict[bytes, bytes] = {}
        self._copied_from = copied_from

    def page(self, number: int, text: str | None = None) -> Page:
        body = page_about(text or f"The story of number {number}, told at length.").encode()
        self._bodies[digest_of(body)] = body
        url = f"https://{HOST}/stories/{number}"
        return Page(number, url, HOST, last_visit=1, visits=2, body=digest_of(body))

    def visitor(self) -> Visitor:
        return Visitor(
            Scripted(), Reader(), self._bodies.__getitem__, 20, Patience(), ParsedHere(),
            copy_url=lambda _number: self._copied_from,
        )  # fmt: skip

    def answer(self, page: Page, body: str, url: str | None = None) -> Response:
        return Response(url or page.url, 200, next(self._now), HTML, body.encode())


def read(visitor: Visitor, page: Page, response: Response) -> Visit:
    return asyncio.run(visitor.read(page, response, again=False))


def found(body: str, url: str, *, copied_from: str | None = None, first: bool = False) -> Visit:
    """Have a page be redirected."""
    known = Known(copied_from)
    page = known.page(0)
    if first:
        page = Page(0, page.url, HOST)
    return read(known.visitor(), page, known.answer(page, body, url))


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize(
    ("url", "body"),
    [
        (f"https://{HOST}/login", SIGN_IN),
        (f"https://{HOST}/users/sign_in?return_to=%2Fstories%2F0", page_about("Your email?")),
        (f"https://{HOST}/wp-login.php?redirect_to=x", SIGN_IN),
        ("https://login.provider.example/common?client_id=7", page_about("Pick an account.")),
    ],
)
def test_a_redirect_to_a_sign_in_page_is_a_failed_visit(url: str, body: str, first: bool) -> None:
    visit = found(body, url, first=first)
    assert (visit.outcome, visit.content, visit.page.state) == (Outcome.FAILED, None, State.ALIVE)
    shown = url.partition("?")[0]
    assert visit.response.error == f"redirected to a sign-in page, {shown}"
    assert (visit.page.body is None) == first


def test_a_redirect_to_a_form_for_a_password_is_suspect_if_the_copy_had_none() -> None:
    there = f"https://{HOST}/welcome"
    visit = found(SIGN_IN, there)
    assert visit.outcome is Outcome.FAILED
    assert visit.response.error == f"redirected to a form for a password, {there}"
    # If the copy came from there, the page has a new form, as in a header.
    assert found(SIGN_IN, there, copied_from=there).outcome is Outcome.CHANGED


@pytest.mark.parametrize(
    ("url", "body"),
    [
        # Another address of the same page, which has a form in its header.
        (f"https://www.{HOST}/Stories/0/", SIGN_IN),
        # A page that has moved, and one about signing in.
        (f"https://{HOST}/archive/0", page_about("The story has moved, and has a new end.")),
        (f"https://{HOST}/help/sign-in", page_about("How to sign in: click on the button.")),
    ],
)
def test_other_redirects_are_followed(url: str, body: str) -> None:
    assert found(body, url).outcome is Outcome.CHANGED


def outcomes(bodies: list[str], known: Known | None = None, url: str | None = None) -> list[Visit]:
    known = known or Known()
    visitor = known.visitor()
    pages = [known.page(number) for number in range(len(bodies))]
    return [
        read(visitor, page, known.answer(page, body, url))
        for page, body in zip(pages, bodies, strict=True)
    ]


def test_pages_that_suddenly_all_say_the_same_are_suspect() -> None:
    visits = outcomes([page_about("We could not find what you are looking for.")] * 5)
    assert [visit.outcome.name for visit in visits] == ["CHANGED", "CHANGED"] + ["FAILED"] * 3
    assert visits[2].response.error == f"suddenly the same as other pages of {HOST}"
    assert visits[2].content is None
    assert visits[2].page.body != visits[0].page.body


def test_pages_that_change_each_in_its_own_way_are_not() -> None:
    visits = outcomes([page_about(f"News about number {number}.") for number in range(5)])
    assert {visit.outcome for visit in visits} == {Outcome.CHANGED}


def test_one_page_at_several_addresses_changes_at_all_of_them() -> None:
    known = Known()
    visitor = known.visitor()
    for number in range(5):
        page = known.page(number, "One story, at five addresses.")
        body = page_about("One story, at five addresses, with a new end.")
        assert read(visitor, page, known.answer(page, body)).outcome is Outcome.CHANGED


def test_pages_that_are_suddenly_redirected_to_one_place_are_suspect() -> None:
    there = f"https://{HOST}/start"
    bodies = [page_about(f"Welcome, visitor number {number * 17}!") for number in range(4)]
    visits = outcomes(bodies, url=there)
    assert [visit.outcome.name for visit in visits] == ["CHANGED", "CHANGED", "FAILED", "FAILED"]
    error = f"redirected to {there}, like other pages of {HOST}"
    assert visits[3].response.error == error
    # Pages whose copies came from there are other names of it.
    names = outcomes(bodies, Known(copied_from=there), there)
    assert {visit.outcome for visit in names} == {Outcome.CHANGED}


def test_what_looks_wrong_for_weeks_is_taken_as_it_is() -> None:
    known = Known()
    page = replace(known.page(0), failures=3, missing_since=1)
    there = f"https://{HOST}/welcome"
    early = known.answer(page, SIGN_IN, there)
    assert read(known.visitor(), page, early).outcome is Outcome.FAILED
    late = replace(early, at=MAX_OUTAGE + 1)
    assert read(known.visitor(), page, late).outcome is Outcome.CHANGED
    # But never a sign-in page.
    login = replace(late, url=f"https://{HOST}/login")
    assert read(known.visitor(), page, login).outcome is Outcome.FAILED


def test_a_site_that_asks_to_sign_in_keeps_its_copies_and_show_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = ["/a/1", "/a/2"]
    site = Site({path: page_about(f"The story of {path}.") for path in paths})
    texts = dict(site.pages)
    with serving(site), crawler_of(tmp_path) as crawler:
        urls = [f"{site.url}{path}" for path in paths]
        crawler.add(urls)
        run_until(crawler, lambda: crawler.status().totals.with_copy == len(urls))
        end = crawler.store.feed.end()
        for path in paths:
            del site.pages[path]
            site.status[path] = 302
            site.headers[path] = {"Location": f"/login?next={path}"}
            site.pages[f"/login?next={path}"] = SIGN_IN
        run_until(crawler, lambda: crawler.store.trouble().failing == len(urls))
        assert crawler.store.feed.read(end, 9) == []
        for path, url in zip(paths, urls, strict=True):
            copy = crawler.store.copy(url)
            assert copy is not None
            assert copy.response.body == texts[path].encode()
    shown = run("show", urls[0]).output
    assert f"redirected to a sign-in page, {site.url}/login" in shown.replace("\n", " ")
