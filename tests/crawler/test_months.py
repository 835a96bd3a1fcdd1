"""A crawl that runs for months: outages, refusals, failing pages, and pages that come back."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise

import pytest
from crawler.fakes import (
    PER_SECOND,
    SECOND,
    FakeWeb,
    MemoryStore,
    Running,
    VirtualExecutor,
    crawl,
    failure,
    later,
    settings_of,
)
from site_server import page_about
from virtual_time import run as run_virtual

from recrawl.config.settings import Settings
from recrawl.content.absence import MAX_REST, MIN_REST
from recrawl.content.compare import compare
from recrawl.content.comparison import Comparison
from recrawl.content.reader import Reader
from recrawl.engine.frontier import load_frontier
from recrawl.engine.recheck import WAKING_SHARE, Waking
from recrawl.engine.retries import MAX_PAUSE, pause_after
from recrawl.fetching.outages import MAX_GROUPS, RECENT, Outages
from recrawl.hosts import host_of
from recrawl.records import DISALLOWED, Outcome, Page, Response, State, Visit
from recrawl.store.thread import StoreThread

A = "https://a.example"
TEXT = page_about("A page.")
MINUTE = 60.0
DAY = 86_400 * SECOND


def folder(name: str, pages: int) -> list[str]:
    return [f"{A}/{name}/{number}" for number in range(pages)]


def settings(**changed: object) -> Settings:
    return settings_of(**{"budget": PER_SECOND, "host_delay": 0.1, **changed})


def states(store: MemoryStore, urls: Iterable[str]) -> set[State]:
    return {store.page(url).state for url in urls}


# Outages


def away(web: FakeWeb, urls: Iterable[str]) -> Callable[[], object]:
    def vanish() -> None:
        for url in urls:
            del web.answers[url]  # type: ignore[union-attr]

    return vanish


def test_a_folder_that_is_away_for_four_minutes_loses_no_page() -> None:
    blog, shop = folder("blog", 8), folder("shop", 8)
    store = MemoryStore(*blog, *shop)
    web = FakeWeb(dict.fromkeys((*blog, *shop), TEXT))
    back = dict.fromkeys(blog, TEXT)

    def during(running: Running) -> None:
        later(30.0, away(web, blog))(running)
        later(30.0 + 4 * MINUTE, lambda: web.answers.update(back))(running)  # type: ignore[union-attr]

    crawl(web, store, settings(budget=2 * PER_SECOND), seconds=9 * MINUTE, during=during)
    assert states(store, (*blog, *shop)) == {State.ALIVE}
    for url in blog:
        assert store.outcomes(url)[-1] in {Outcome.UNCHANGED, Outcome.CHANGED}
    # Each page was asked for a few times meanwhile, not at every turn.
    troubled = [visit for visit in store.log if visit.outcome in {Outcome.FAILED, Outcome.GONE}]
    assert 8 <= len(troubled) <= 8 * 6


def test_pages_that_vanish_all_at_once_are_failing_and_one_alone_is_missing() -> None:
    blog, shop = folder("blog", 8), folder("shop", 12)
    store = MemoryStore(*blog, *shop)
    web = FakeWeb(dict.fromkeys((*blog, *shop), TEXT))
    stats = crawl(
        web,
        store,
        settings(gone_after_time=2 * MINUTE / 86_400),
        seconds=10 * MINUTE,
        during=later(60.0, away(web, (*blog, shop[0]))),
    )
    assert State.GONE not in states(store, blog)
    assert State.ALIVE in states(store, blog)
    assert store.page(shop[0]).state is State.GONE
    assert states(store, shop[1:]) == {State.ALIVE}
    assert stats.outages[f"{A}/blog/"] == 8
    errors = {visit.response.error for visit in store.log if visit.outcome is Outcome.FAILED}
    assert errors == {f"not found, like most pages of {A}/blog/"}
    assert stats.trouble.gone == 1
    assert stats.trouble.failing + stats.trouble.missing == 8


def not_found(page: Page, at: int, outage: str | None = None) -> Comparison:
    return compare(page, Response(page.url, 404, at), Reader(), outage=outage)


def test_an_outage_that_never_ends_is_believed_after_two_weeks() -> None:
    page = Page(0, f"{A}/blog/0", "a.example", last_visit=0)
    for day in range(14):
        found = not_found(page, day * DAY, f"{A}/blog/")
        page = found.page
        assert (found.outcome, page.state) == (Outcome.FAILED, State.ALIVE)
    states = []
    for day in range(14, 17):
        page = not_found(page, day * DAY, f"{A}/blog/").page
        states.append(page.state)
    assert states == [State.MISSING, State.MISSING, State.GONE]


def test_a_page_that_stays_away_after_an_outage_gets_its_own_day() -> None:
    page = Page(0, f"{A}/blog/0", "a.example", last_visit=0)
    page = not_found(page, 0, f"{A}/blog/").page
    page = not_found(page, 3 * DAY, f"{A}/blog/").page
    for hour in (0, 1, 2, 3):
        page = not_found(page, 3 * DAY + hour * 3_600 * SECOND).page
        assert page.state is State.MISSING
    assert not_found(page, 4 * DAY).page.state is State.GONE


def test_a_page_is_gone_only_after_a_day_and_with_few_visits() -> None:
    page, at, visits = Page(0, f"{A}/blog/0", "a.example", last_visit=0), 0, 0
    while page.state is not State.GONE:
        found = not_found(page, at)
        page, visits = found.page, visits + 1
        at += pause_after(Visit(page, found.outcome, Response(page.url, 404, at)), DAY)
    assert at == DAY
    assert 5 <= visits <= 15


def test_a_gone_page_is_looked_at_again_after_weeks_and_comes_back() -> None:
    gone, *others = folder("blog", 5)
    store = MemoryStore(gone, *others)
    web = FakeWeb(dict.fromkeys((gone, *others), TEXT))
    often = settings(gone_after_time=0.0)
    crawl(web, store, often, seconds=20.0)
    del web.answers[gone]  # type: ignore[union-attr]
    crawl(web, store, often, seconds=3 * MINUTE, begin=DAY)
    page = store.page(gone)
    assert page.state is State.GONE
    assert page.retry_at is not None
    assert page.missing_since is not None
    asked = len(web.times(gone))
    looks: list[int] = []
    for _ in range(3):
        due = store.page(gone).retry_at
        assert due is not None
        crawl(web, store, often, seconds=2 * MINUTE, begin=due - DAY)
        assert len(web.times(gone)) == asked + len(looks)
        crawl(web, store, often, seconds=2 * MINUTE, begin=due)
        looks.append(due)
        assert len(web.times(gone)) == asked + len(looks)
    rests = [after - before for before, after in pairwise(looks)]
    assert rests == sorted(rests)
    assert MIN_REST <= rests[0] < rests[-1] <= MAX_REST
    web.answers[gone] = TEXT  # type: ignore[index]
    due = store.page(gone).retry_at
    assert due is not None
    crawl(web, store, often, seconds=2 * MINUTE, begin=due)
    assert store.page(gone).state is State.ALIVE
    assert len(store.outcomes(gone)) > asked + len(looks) + 1


def test_looking_at_gone_pages_takes_a_small_share_of_the_budget() -> None:
    gone, alive = folder("old", 500), folder("new", 10)
    store = MemoryStore(*gone, *alive)
    for url in gone:
        page = store.page(url)
        store.known[page.number] = replace(
            page, state=State.GONE, failures=3, missing_since=0, retry_at=0, last_visit=0
        )
    web = FakeWeb(dict.fromkeys(alive, TEXT))
    stats = crawl(web, store, settings(), seconds=1_000.0, begin=20 * DAY)
    looks = sum(fetch.url in set(gone) for fetch in web.fetched)
    assert 0.8 * WAKING_SHARE * 1_000 <= looks <= WAKING_SHARE * 1_000
    assert stats.outcomes[Outcome.UNCHANGED] > 800


def test_no_more_than_a_hundred_are_looked_at_together_however_long_it_was_dark() -> None:
    store = MemoryStore(*folder("old", 300))
    for page in list(store.known.values()):
        store.known[page.number] = replace(page, state=State.GONE, retry_at=0, last_visit=0)

    async def main() -> list[int]:
        frontier = load_frontier(store, settings(), 0)
        waking = Waking(frontier, StoreThread(store, VirtualExecutor({})), 10_000.0)
        await waking.wake(30 * DAY)
        first = len(frontier)
        # Two hours pay for 41 more.
        await waking.wake(30 * DAY + DAY // 12)
        return [first, len(frontier) - first]

    assert run_virtual(main()) == [100, 41]


def test_a_larger_budget_has_more_gone_pages_looked_at() -> None:
    gone = folder("old", 100)
    store = MemoryStore(*gone)
    for page in list(store.known.values()):
        store.known[page.number] = replace(
            page, state=State.GONE, failures=3, missing_since=0, retry_at=0, last_visit=0
        )
    web = FakeWeb({})

    def change(running: Running) -> None:
        budget = 4 * settings().budget
        asyncio.get_running_loop().call_later(500.0, running.engine.set_budget, budget)

    crawl(web, store, settings(), seconds=1_000.0, begin=20 * DAY, during=change)
    before = sum(fetch.at < 500.0 for fetch in web.fetched)
    assert 0.7 * WAKING_SHARE * 500 <= before <= WAKING_SHARE * 500
    assert len(web.fetched) - before > 3 * before


def _lose(outages: Outages, *folders: str, number: int = 4) -> None:
    """Find none of the pages of some folders, and all of those of another."""
    for at, folder in enumerate((*folders, "there")):
        for n in range(number):
            page = Page(100 * at + n, f"{A}/{folder}/{n}", "a.example", last_visit=0)
            outages.note(page, 1, missing=folder != "there")


def test_a_folder_that_is_away_is_named_and_not_its_host() -> None:
    outages = Outages()
    _lose(outages, "x")
    assert outages.current(2) == {f"{A}/x/": 4}
    assert outages.current(1 + RECENT) == {}


def test_a_host_that_is_away_as_a_whole_stands_for_its_folders() -> None:
    outages = Outages()
    _lose(outages, "x", "y")
    for n in range(4):
        page = Page(200 + n, f"{A}/there/{n}", "a.example", last_visit=0)
        outages.note(page, 2, missing=True)
    assert outages.current(3) == {"a.example": 12}


def test_a_host_is_named_beside_its_folders_if_more_of_its_pages_are_missing() -> None:
    outages = Outages()
    _lose(outages, "x")
    page = Page(900, f"{A}/lone", "a.example", last_visit=0)
    outages.note(page, 2, missing=True)
    assert outages.current(3) == {"a.example": 5, f"{A}/x/": 4}


def test_many_hosts_that_are_away_are_looked_at_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = list[str]()

    def counted(url: str) -> str:
        looked_at.append(url)
        return host_of(url)

    monkeypatch.setattr("recrawl.fetching.outages.host_of", counted)
    outages = Outages()
    for number in range(300):
        host = f"h{number // 3}.example"
        page = Page(number, f"https://{host}/x/{number}", host, last_visit=0)
        outages.note(page, 0, missing=True)
    assert outages.current(1) == {f"h{number}.example": 3 for number in range(100)}
    assert len(looked_at) == 100


def test_outages_are_forgotten_in_order() -> None:
    outages = Outages()
    for number in range(2 * MAX_GROUPS):
        page = Page(number, f"https://h{number}.example/", f"h{number}.example", last_visit=0)
        outages.note(page, 0, missing=True)
    assert len(outages) == MAX_GROUPS
    pages = [Page(n, f"{A}/x/{n}", "a.example", last_visit=0) for n in range(3)]
    for page in pages:
        outages.note(page, 0, missing=True)
    assert outages.around(pages[0], RECENT - 1) == f"{A}/x/"
    assert outages.around(pages[0], RECENT) is None


# Refusals


@pytest.mark.parametrize(
    ("answer", "reason", "requests"),
    [
        (failure(DISALLOWED, permanent=True, requests=0), DISALLOWED, 0),
        (
            failure("10.0.0.1 is not public", permanent=True, requests=0),
            "10.0.0.1 is not public",
            0,
        ),
        *(
            (
                Response("", status, 0, error=f"the server answered {status}"),
                f"the server answered {status}",
                1,
            )
            for status in (401, 403, 451)
        ),
    ],
)
def test_a_refusal_is_no_visit_and_not_retried_within_days(
    answer: Response, reason: str, requests: int
) -> None:
    refused, alive = folder("private", 30), folder("open", 5)
    store = MemoryStore(*refused, *alive)
    web = FakeWeb(lambda url: TEXT if url in alive else answer)
    stats = crawl(web, store, settings(budget=2 * PER_SECOND), seconds=2 * MINUTE)
    asked = [fetch.url for fetch in web.fetched if fetch.url in refused]
    assert sorted(asked) == sorted(refused)
    assert not [visit for visit in store.log if visit.page.url in refused]
    assert states(store, refused) == {State.REFUSED}
    assert {store.page(url).reason for url in refused} == {reason}
    assert (stats.refused, stats.trouble.refused) == (30, 30)
    assert stats.outcomes[Outcome.FAILED] == 0
    assert stats.requests == sum(visit.response.requests for visit in store.log) + 30 * requests


def test_a_refused_page_is_looked_at_again_after_days() -> None:
    url = f"{A}/private"
    store = MemoryStore(url)
    answers = {url: Response("", 403, 0, error="the server answered 403")}
    web = FakeWeb(answers)  # type: ignore[arg-type]
    crawl(web, store, settings(), seconds=2 * MINUTE)
    crawl(web, store, settings(), seconds=2 * MINUTE, begin=2 * DAY)
    assert len(web.fetched) == 1
    web.answers = {url: TEXT}
    crawl(web, store, settings(), seconds=2 * MINUTE, begin=4 * DAY)
    assert store.page(url).state is State.ALIVE
    assert store.page(url).reason is None
    assert store.outcomes(url)[0] is Outcome.FIRST


# A failing page among others


@pytest.mark.parametrize("with_copies", [False, True])
def test_a_failing_page_does_not_starve_its_host(with_copies: bool) -> None:
    urls = folder("blog", 10)
    store = MemoryStore(*urls)
    busy = Response("", 503, 0, error="the server answered 503", retry_after=30.0)
    web = FakeWeb(dict.fromkeys(urls, TEXT))
    if with_copies:
        crawl(web, store, settings(), seconds=MINUTE)
        web.fetched.clear()
    web.answers = {**dict.fromkeys(urls, TEXT), urls[0]: busy}
    quickly = settings(budget=5 * PER_SECOND)
    crawl(web, store, quickly, seconds=3.5 * MINUTE, begin=10 * DAY)
    asked = [fetch.url for fetch in web.fetched]
    assert set(asked) == set(urls)
    assert 1 <= asked.count(urls[0]) <= 4
    assert len(asked) > 100


def test_every_failure_of_a_page_doubles_its_pause_up_to_a_day() -> None:
    page = Page(0, f"{A}/", "a.example")
    busy = Response(f"{A}/", 503, 0, error="the server answered 503", retry_after=30.0)

    def pause(failures: int, response: Response) -> float:
        visit = Visit(replace(page, failures=failures), Outcome.FAILED, response)
        return pause_after(visit, DAY) / SECOND

    assert [pause(failures, busy) for failures in (1, 2, 3)] == [60.0, 120.0, 240.0]
    plain = replace(busy, retry_after=None)
    assert [pause(failures, plain) for failures in (1, 2, 3)] == [10.0, 20.0, 40.0]
    assert pause(500, plain) == MAX_PAUSE / SECOND
    assert pause(3, replace(busy, postponed=True)) == 0.0


def test_a_page_that_is_suddenly_empty_is_tried_again_after_as_long_as_it_has_been() -> None:
    empty = Response(f"{A}/", 200, 0, error="the response is empty")

    def pause(seconds: float) -> float:
        at = round(seconds * SECOND)
        page = Page(0, f"{A}/", "a.example", failures=3, missing_since=0)
        return pause_after(Visit(page, Outcome.FAILED, replace(empty, at=at)), DAY) / SECOND

    hour, day = 3_600.0, 86_400.0
    assert [pause(away) for away in (0.0, 2 * hour, 5 * day)] == [hour, 2 * hour, day]


# What a run tells others


def test_the_budget_of_a_run_is_left_for_other_processes() -> None:
    store = MemoryStore(f"{A}/")
    crawl(FakeWeb({f"{A}/": TEXT}), store, settings(budget=1_234.0), seconds=1.0)
    assert float(store.small["budget"]) == 1_234.0


def test_without_a_copy_there_is_no_freshness() -> None:
    nothing = crawl(FakeWeb({}), MemoryStore(f"{A}/"), settings(), seconds=5.0)
    assert nothing.expected_freshness is None
    assert crawl(FakeWeb({}), MemoryStore(), settings(), seconds=5.0).expected_freshness is None
