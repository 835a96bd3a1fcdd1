"""One visit: conditions, the copy, and the second fetch where a page seems to change every time."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import ParamSpec, TypeVar

import pytest
from site_server import page_about

from recrawl.content.absence import Patience
from recrawl.content.boilerplate.template import YOUNG, SiteTemplate
from recrawl.content.html.parse import MAX_BYTES
from recrawl.content.reader import Reader
from recrawl.content.reading import Reading
from recrawl.engine.templates import Templates
from recrawl.errors import RecrawlError, StoreError
from recrawl.fetching.second_fetch import SecondFetches
from recrawl.fetching.visit import Visitor
from recrawl.http.host_pacing import TOO_EXPENSIVE, HostPacing
from recrawl.http.memory_budget import MemoryBudget
from recrawl.parsing.pool import NOT_PARSED, ParsePool, TooExpensiveError
from recrawl.records import (
    Change,
    ChangeKind,
    Outcome,
    Page,
    Response,
    Validators,
    Visit,
    digest_of,
)

P = ParamSpec("P")
T = TypeVar("T")

URL = "https://a.example/"
OLD = page_about("As it was.").encode()
NEW = page_about("News, which nobody expected.").encode()
COPY = Page(
    0,
    URL,
    "a.example",
    last_visit=1,
    visits=1,
    body=digest_of(OLD),
    validators=Validators('"v1"'),
)
PATIENCE = Patience(3, 0)
HTML = (("Content-Type", "text/html"),)


def ok(body: bytes) -> Response:
    return Response(URL, 200, 2, HTML, body, transferred=len(body), seconds=0.5)


class Scripted:
    """Answers with one response after another."""

    def __init__(self, *responses: Response) -> None:
        self._responses = iter(responses)
        self.conditional: list[bool] = []

    async def fetch(self, page: Page, *, conditional: bool) -> Response:
        del page
        self.conditional.append(conditional)
        return next(self._responses)

    async def fetch_file(
        self,
        url: str,
        max_bytes: int,
        validators: Validators | None = None,
        *,
        stay_on_site: bool = False,
    ) -> Response:
        raise NotImplementedError

    async def named_sitemaps(self, url: str) -> tuple[str, ...] | None:
        raise NotImplementedError


def visit(page: Page, web: Scripted, copy: bytes | None = OLD) -> Visit:
    def stored_body(digest: bytes) -> bytes:
        if copy is None:
            raise StoreError("the copy is damaged")
        assert digest == page.body
        return copy

    return asyncio.run(Visitor(web, Reader(), stored_body, 20, PATIENCE, ParsePool()).visit(page))


def test_the_first_change_is_confirmed_by_a_second_fetch() -> None:
    web = Scripted(ok(NEW), ok(NEW))
    found = visit(COPY, web)
    assert (found.outcome, found.content) == (Outcome.CHANGED, NEW)
    assert web.conditional == [True, False]
    response = found.response
    assert (response.requests, response.transferred, response.seconds) == (2, 2 * len(NEW), 1.0)


def test_a_change_that_is_only_noise_is_none() -> None:
    noisy = [page_about("As it was.", f"It is {n} o'clock.").encode() for n in (111, 222, 333)]
    page = replace(COPY, body=digest_of(noisy[0]))
    found = visit(page, Scripted(ok(noisy[1]), ok(noisy[2])), noisy[0])
    assert (found.outcome, found.response.requests) == (Outcome.UNCHANGED, 2)


def test_the_copy_is_what_was_fetched_last_even_if_nothing_counts_as_changed() -> None:
    before, after = (OLD + f"<!-- token {n} -->".encode() for n in (1, 2))
    page = replace(COPY, body=digest_of(before))
    found = visit(page, Scripted(ok(after)), before)
    assert (found.outcome, found.change, found.content) == (Outcome.UNCHANGED, None, after)
    assert found.page.body == digest_of(after)


def test_the_first_change_is_taken_as_it_is_where_second_fetches_teach_nothing() -> None:
    fetches = SecondFetches()
    for _ in range(20):
        fetches.note("a.example", taught=False)

    def requests(page: Page) -> int:
        visitor = Visitor(
            Scripted(ok(NEW), ok(NEW)),
            Reader(),
            lambda _: OLD,
            20,
            PATIENCE,
            ParsePool(),
            second_fetches=fetches,
        )
        return asyncio.run(visitor.visit(page)).response.requests

    assert requests(COPY) == 1
    assert requests(replace(COPY, changes=2, streak=2)) == 2, "it changes every time"


def test_what_a_second_fetch_teaches_is_noted() -> None:
    fetches = SecondFetches()
    noisy = [page_about("As it was.", f"It is {n} o'clock.").encode() for n in (111, 222, 333)]
    page = replace(COPY, body=digest_of(noisy[0]))
    for _ in range(20):
        fetches.note("a.example", taught=False)
    fetches.note("b.example", taught=False)
    visitor = Visitor(
        Scripted(ok(noisy[1]), ok(noisy[2])),
        Reader(),
        lambda _: noisy[0],
        20,
        PATIENCE,
        ParsePool(),
        second_fetches=fetches,
    )
    assert not fetches.is_worthwhile("b.example")
    asyncio.run(visitor.visit(replace(page, host="b.example", changes=2, streak=2)))
    assert fetches.is_worthwhile("b.example")


@pytest.mark.parametrize(
    "second",
    [
        Response(URL, 0, 2, error="no connection"),
        Response(URL, 404, 2),
        Response(URL, 503, 2, error="the server answered 503", retry_after=60.0, transferred=7),
    ],
)
def test_a_second_fetch_that_fails_leaves_the_first_as_it_was(second: Response) -> None:
    found = visit(COPY, Scripted(ok(NEW), second))
    assert (found.outcome, found.content) == (Outcome.CHANGED, NEW)
    assert (found.response.status, found.response.error) == (200, None)
    assert found.response.requests == 2
    # What it took, and when the host wants to be asked again, is not lost.
    assert found.response.transferred == ok(NEW).transferred + second.transferred
    assert found.response.retry_after == second.retry_after


def test_an_unchanged_page_is_fetched_once() -> None:
    web = Scripted(ok(OLD))
    found = visit(COPY, web)
    assert (found.outcome, found.previous, found.content) == (Outcome.UNCHANGED, 1, None)
    assert web.conditional == [True]


def test_after_many_304_a_page_is_fetched_without_conditions() -> None:
    modes = []
    for not_modified in (19, 20):
        web = Scripted(ok(OLD))
        visit(replace(COPY, not_modified=not_modified), web)
        modes += web.conditional
    assert modes == [True, False]


def test_a_damaged_copy_makes_the_next_one_the_first() -> None:
    found = visit(COPY, Scripted(ok(NEW)), copy=None)
    assert (found.outcome, found.content) == (Outcome.FIRST, NEW)


@pytest.mark.parametrize(("missed", "state"), [(0, "MISSING"), (1, "MISSING"), (2, "GONE")])
def test_a_page_is_retired_after_three_404(missed: int, state: str) -> None:
    page = COPY
    for _ in range(missed + 1):
        page = visit(page, Scripted(Response(URL, 404, 2))).page
    assert page.state.name == state


class Hopeless:
    """Finds everything too expensive to parse."""

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        del function, args, kwargs
        raise TooExpensiveError


def test_a_page_that_is_too_expensive_to_parse_is_a_failure_and_its_host_is_blamed() -> None:
    bomb = b"<p>" * 50_000
    visitor = Visitor(Scripted(ok(bomb)), Reader(), lambda _: OLD, 20, PATIENCE, Hopeless())
    found = asyncio.run(visitor.visit(COPY))
    assert (found.outcome, found.content, found.page.body) == (Outcome.FAILED, None, COPY.body)
    assert (found.response.error, found.response.body) == (TOO_EXPENSIVE, None)
    assert HostPacing().backoff("a.example", found.response) > 0.0


class Broken:
    """Fails to parse anything, and not because it is expensive."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        del function, args, kwargs
        raise self.error


def test_a_page_on_which_parsing_fails_is_a_failure_and_the_crawl_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pool = Broken(ZeroDivisionError("no words"))
    visitor = Visitor(Scripted(ok(LONG)), Reader(), lambda _: OLD, 20, PATIENCE, pool)
    found = asyncio.run(visitor.visit(COPY))
    assert (found.outcome, found.content, found.page.body) == (Outcome.FAILED, None, COPY.body)
    assert found.response.error == f"{NOT_PARSED} (ZeroDivisionError)"
    (logged,) = caplog.records
    assert URL in logged.getMessage()
    assert logged.exc_info is not None
    # It says nothing about the host.
    assert HostPacing().backoff("a.example", found.response) == 0.0


def test_a_first_copy_is_kept_even_if_nothing_can_be_learned_from_it() -> None:
    for error in (TooExpensiveError(), ZeroDivisionError()):
        visitor = Visitor(Scripted(ok(LONG)), Reader(), lambda _: OLD, 20, PATIENCE, Broken(error))
        found = asyncio.run(visitor.visit(replace(COPY, body=None)))
        assert (found.outcome, found.content, found.sketches) == (Outcome.FIRST, LONG, None)


def test_a_crawl_that_cannot_start_processes_ends() -> None:
    pool = Broken(RecrawlError("cannot start a process"))
    visitor = Visitor(Scripted(ok(LONG)), Reader(), lambda _: OLD, 20, PATIENCE, pool)
    with pytest.raises(RecrawlError, match="cannot start"):
        asyncio.run(visitor.visit(COPY))


def test_what_need_not_be_parsed_is_not_sent_to_another_process() -> None:
    same = b"<p>" * 50_000
    page = replace(COPY, body=digest_of(same))
    for response, before in ((ok(same), page), (ok(same), replace(page, body=None))):
        visitor = Visitor(Scripted(response), Reader(), lambda _: same, 20, PATIENCE, Hopeless())
        assert asyncio.run(visitor.visit(before)).outcome is not Outcome.FAILED


class Sketching:
    """Reads pages, and finds a menu on each; notes which templates it was given."""

    def __init__(self) -> None:
        self.given: list[SiteTemplate | None] = []

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        template = kwargs.get("template")
        assert template is None or isinstance(template, SiteTemplate)
        self.given.append(template)
        found = function(*args, **kwargs)
        assert isinstance(found, Reading)
        change = Change(ChangeKind.LINKS, 0.5)
        with_change = replace(found.found, change=change)
        return replace(found, found=with_change, sketches=MENU)


MENU = {b"menu..": (1, 2)}
LONG = b"<p>Word.</p>" * 2_000


def test_what_a_page_has_in_its_elements_comes_with_the_visit() -> None:
    pool, changed = Sketching(), replace(COPY, not_modified=1)
    visitor = Visitor(Scripted(ok(LONG)), Reader(), lambda _: OLD, 20, PATIENCE, pool)
    found = asyncio.run(visitor.visit(changed))
    assert (found.outcome, found.sketches) == (Outcome.CHANGED, MENU)
    assert found.change == Change(ChangeKind.LINKS, 0.5)


@pytest.mark.parametrize(("pages", "is_read"), [(YOUNG - 1, True), (YOUNG, False)])
def test_first_bodies_are_read_while_little_is_known_of_their_site(
    pages: int, *, is_read: bool
) -> None:
    template = SiteTemplate()
    for number in range(pages):
        template.learn(number, MENU)
    known = Templates({COPY.host: template.to_bytes()}.get)
    pool, new = Sketching(), replace(COPY, body=None, last_visit=None)
    for follow, expected in ((0, is_read), (1, True)):
        web = Scripted(ok(LONG))
        parts = Reader(), lambda _: OLD, 20, PATIENCE, pool
        visitor = Visitor(web, *parts, follow_depth=follow, templates=known)
        found = asyncio.run(visitor.visit(new))
        assert (found.outcome, found.content) == (Outcome.FIRST, LONG)
        assert (found.sketches is not None) == expected
    assert [one.furniture for one in pool.given if one] == [{b"menu.."}] * (1 + is_read)


def test_a_first_body_that_is_too_expensive_to_learn_from_is_a_copy_all_the_same() -> None:
    bomb = b"<p>" * 50_000
    visitor = Visitor(Scripted(ok(bomb)), Reader(), lambda _: OLD, 20, PATIENCE, Hopeless())
    found = asyncio.run(visitor.visit(replace(COPY, body=None, last_visit=None)))
    assert (found.outcome, found.content, found.sketches) == (Outcome.FIRST, bomb, None)


def test_links_of_a_new_copy_are_read_with_it_as_far_as_they_are_followed() -> None:
    body = b'<a href="/one">One</a>'
    for depth, expected in ((0, ()), (1, ("https://a.example/one",))):
        visitor = Visitor(
            Scripted(ok(body)),
            Reader(),
            lambda _: OLD,
            20,
            PATIENCE,
            Hopeless(),
            follow_depth=depth,
        )
        found = asyncio.run(visitor.visit(replace(COPY, body=None, last_visit=None)))
        assert (found.outcome, found.links) == (Outcome.FIRST, expected)


class Within:
    """Parses in this process, and notes how many bytes of bodies it is given."""

    def __init__(self) -> None:
        self.given: list[int] = []

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        bodies = [one.body if isinstance(one, Response) else one for one in args]
        self.given.append(sum(len(body) for body in bodies if isinstance(body, bytes)))
        return function(*args, **kwargs)


#: More than is read of a page; in few words, which are quickly compared.
TOO_LONG = (b"<p>" + b"Onandon" * 1_500) * 400


def test_only_what_is_read_of_a_page_is_sent_to_another_process() -> None:
    memory, pool = MemoryBudget(), Within()
    before = TOO_LONG + b"<p>Before."
    page = replace(COPY, body=digest_of(before), changes=1, streak=1)
    copies = {page.body: before}
    visitor = Visitor(
        Scripted(ok(TOO_LONG)), Reader(), copies.__getitem__, 20, PATIENCE, pool, memory=memory
    )
    found = asyncio.run(visitor.visit(page))
    # What differs is beyond what is read of a page, and in the copy all the same.
    assert (found.outcome, found.content) == (Outcome.UNCHANGED, TOO_LONG)
    assert found.page.body == digest_of(TOO_LONG)
    assert pool.given == [2 * MAX_BYTES]
    assert memory.held == 0


def test_the_whole_page_is_kept_of_which_the_beginning_was_read() -> None:
    pool = Within()
    first, second = (b"<p>News." + TOO_LONG + end for end in (b"<p>One.", b"<p>Two."))
    page = replace(COPY, not_modified=0, changes=0)
    visitor = Visitor(Scripted(ok(first), ok(second)), Reader(), lambda _: OLD, 20, PATIENCE, pool)
    found = asyncio.run(visitor.visit(page))
    assert found.outcome is Outcome.CHANGED
    assert found.page.body == digest_of(first)
    assert found.content == first
    assert pool.given == [MAX_BYTES + len(OLD), 2 * MAX_BYTES + len(OLD)]


def test_bodies_are_accounted_for_while_they_are_parsed_and_while_the_page_is_fetched_again() -> (
    None
):
    memory, held = MemoryBudget(), list[int]()

    class Noting(Within):
        async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
            held.append(memory.held)
            return await super().run(function, *args, **kwargs)

    class Web(Scripted):
        async def fetch(self, page: Page, *, conditional: bool) -> Response:
            held.append(memory.held)
            return await super().fetch(page, conditional=conditional)

    news = b"<p>News." + TOO_LONG
    visitor = Visitor(
        Web(ok(news), ok(news)), Reader(), lambda _: OLD, 20, PATIENCE, Noting(), memory=memory
    )
    asyncio.run(visitor.visit(COPY))
    one = len(news) + MAX_BYTES
    assert held == [0, one + len(OLD), len(news), 2 * one + len(OLD)]
    assert memory.held == 0
