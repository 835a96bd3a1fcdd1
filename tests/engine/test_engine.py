"""The crawl loop in virtual time, with a fake web and a fake store."""

import asyncio
import itertools
import logging
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from crawler.fakes import (
    PER_SECOND,
    SECOND,
    FakeWeb,
    MemoryStore,
    Running,
    crawl,
    failure,
    later,
    settings_of,
)
from site_server import page_about
from virtual_time import now

from recrawl.config.settings import Settings
from recrawl.crawler.build import load
from recrawl.engine import gauges, record
from recrawl.engine.frontier import CrawlFrontier
from recrawl.engine.polling import MAX_IDLE_NAP
from recrawl.engine.stats import Stats
from recrawl.errors import StoreError
from recrawl.fetching.worker import GRACE
from recrawl.hosts import host_of
from recrawl.http.host_pacing import FIRST_BACKOFF
from recrawl.inspect.explain import PRICE
from recrawl.records import Outcome, Response, State
from recrawl.store.rows import NewPage

A, B = "https://a.example", "https://b.example"
TEXT = page_about("A page.")


def urls(host: str, count: int) -> list[str]:
    return [f"{host}/{number}" for number in range(count)]


def new_page(url: str) -> NewPage:
    return NewPage(url, host_of(url))


def fetched(web: FakeWeb, host: str = "") -> int:
    return sum(fetch.url.startswith(host) for fetch in web.fetched)


# What a crawl does


def test_pages_are_fetched_and_their_copies_kept() -> None:
    store = MemoryStore(*urls(A, 3))
    web = FakeWeb({url: page_about(f"This is {url}.") for url in urls(A, 3)})
    stats = crawl(web, store, settings_of())
    assert stats.outcomes[Outcome.FIRST] == 3
    assert stats.outcomes[Outcome.UNCHANGED] == stats.visits - 3 > 20
    assert stats.requests == stats.visits == len(web.fetched) == len(store.log)
    assert (stats.pages, stats.in_flight, stats.began, stats.now) == (3, 0, 0, 10 * SECOND)
    assert 0.9 < (stats.expected_freshness or 0.0) <= 1.0
    for url in urls(A, 3):
        copy = store.page(url).body
        assert copy is not None
        assert store.body(copy) == page_about(f"This is {url}.").encode()


def test_a_change_is_seen_and_the_page_that_changes_is_visited_more() -> None:
    store = MemoryStore(*urls(A, 10))
    web = FakeWeb({})
    web.answers = lambda url: (
        page_about(f"News number {web.clock() // (4 * SECOND)}, which nobody expected.")
        if url.endswith("/0")
        else TEXT
    )
    crawl(web, store, settings_of(budget=2 * PER_SECOND, neighbours=False), seconds=100.0)
    visits = Counter(fetch.url for fetch in web.fetched)
    usual = sum(visits[url] for url in urls(A, 10)[1:]) / 9
    assert visits[f"{A}/0"] > 1.4 * usual
    assert store.outcomes(f"{A}/0").count(Outcome.CHANGED) >= 5
    assert store.outcomes(f"{A}/1").count(Outcome.CHANGED) == 0


def on_budget(budget: float, **others: Any) -> Settings:  # noqa: ANN401
    """Return settings with which first visits, too, are on the budget."""
    return settings_of(budget=budget, first_fill="budget", **others)


@pytest.mark.parametrize("budget", [0.5, 20.0])
def test_the_budget_is_spent_and_kept(budget: float) -> None:
    store = MemoryStore(*urls(A, 30))
    web = FakeWeb(dict.fromkeys(urls(A, 30), TEXT))
    stats = crawl(web, store, on_budget(budget * PER_SECOND), seconds=20.0)
    assert 20 * budget - 2 <= len(web.fetched) <= 20 * budget + 1
    assert stats.budget_used == pytest.approx(1.0, abs=0.12)


def test_what_no_visit_may_raise_ends_the_crawl_at_once() -> None:
    times = list[float]()

    def fail(_url: str) -> None:
        times.append(now())
        raise StoreError("the disk is gone")

    web = FakeWeb(dict.fromkeys(urls(A, 30), TEXT), before=fail)
    with pytest.raises(StoreError, match="the disk is gone"):
        crawl(web, MemoryStore(*urls(A, 30)), settings_of(budget=PER_SECOND), seconds=1_000.0)
    # Others may have begun when it failed.
    assert len(times) < 10


def test_a_budget_that_is_changed_is_spent_and_kept_from_then_on() -> None:
    web = FakeWeb(dict.fromkeys(urls(A, 30), TEXT))

    def change(running: Running) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(20.0, running.engine.set_budget, 4 * PER_SECOND)

    settings = on_budget(PER_SECOND)
    stats = crawl(web, MemoryStore(*urls(A, 30)), settings, seconds=40.0, during=change)
    before = sum(fetch.at < 20.0 for fetch in web.fetched)
    assert 18 <= before <= 21
    assert 76 <= len(web.fetched) - before <= 82
    assert stats.budget == 4 * PER_SECOND
    assert stats.budget_used == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("by", [3_600.0, 365 * 86_400.0])
def test_the_budget_is_spent_and_kept_when_the_clock_is_put_back(by: float) -> None:
    web = FakeWeb(lambda _url: TEXT)
    settings = on_budget(PER_SECOND)
    crawl(
        web,
        MemoryStore(*urls(A, 20)),
        settings,
        seconds=200.0,
        begin=round(400 * PER_SECOND) * SECOND,
        shown=lambda seconds: seconds if seconds < 100.0 else seconds - by,
    )
    assert 80 <= sum(fetch.at < 100.0 for fetch in web.fetched) <= 101
    assert 80 <= sum(fetch.at >= 100.0 for fetch in web.fetched) <= 101


def test_a_crawl_with_nothing_due_checks_less_often_and_sees_new_pages_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However large the budget is: the shortest nap is for crawls that have something to do."""
    takes: list[int] = []
    take = CrawlFrontier.take

    def counted(self: CrawlFrontier, now: int, limit: int) -> list[int]:
        takes.append(now)
        return take(self, now, limit)

    monkeypatch.setattr(CrawlFrontier, "take", counted)
    store, page = MemoryStore(f"{A}/0"), f"{A}/new"
    web = FakeWeb({f"{A}/0": TEXT, page: TEXT})
    settings = settings_of(budget=1e4 * PER_SECOND, min_interval=1.0)
    during = later(5.0, lambda: store.add([new_page(page)], at=0))
    crawl(web, store, settings, seconds=10.0, during=during)
    assert [fetch.url for fetch in web.fetched] == [f"{A}/0", page]
    # The store is asked for new pages every second.
    assert web.times(page)[0] == pytest.approx(5.5, abs=0.6)
    longest = 1e6 * MAX_IDLE_NAP
    assert 10 / MAX_IDLE_NAP <= len(takes) <= 1.2 * 10 / MAX_IDLE_NAP
    assert max(second - first for first, second in itertools.pairwise(takes)) <= 1.5 * longest


def test_a_killed_crawl_gets_no_free_visit_at_each_start() -> None:
    """The first page is fetched at once, unless one was fetched just before the start."""
    store = MemoryStore(*urls(A, 30))
    web = FakeWeb(dict.fromkeys(urls(A, 30), TEXT))
    settings = on_budget(0.1 * PER_SECOND)
    for run in range(5):
        crawl(web, store, settings, seconds=1.0, begin=100 * SECOND + 2 * run * SECOND)
    assert len(web.fetched) == 1
    assert web.times(web.fetched[0].url) == [0.0]
    crawl(web, store, settings, seconds=1.0, begin=200 * SECOND)
    assert len(web.fetched) == 2


def test_not_modified_pages_are_fetched_in_full_from_time_to_time() -> None:
    store = MemoryStore(f"{A}/")
    web = FakeWeb({f"{A}/": TEXT}, etags=True)
    stats = crawl(web, store, settings_of())
    first, *rest = web.fetched
    conditional = sum(fetch.conditional for fetch in rest)
    assert stats.not_modified == conditional > 50
    # After twenty "not modified" in a row the page is fetched without conditions.
    assert len(rest) - conditional == len(rest) // 21
    assert set(store.outcomes(f"{A}/")[1:]) == {Outcome.UNCHANGED}
    assert first.at == 0.0


def test_a_page_that_is_gone_is_retired_and_comes_back_as_a_change() -> None:
    store = MemoryStore(*urls(A, 2))
    gone, other = urls(A, 2)
    web = FakeWeb({gone: TEXT, other: TEXT})
    settings = settings_of(gone_after=2, gone_after_time=0.0)
    crawl(web, store, settings)
    del web.answers[gone]  # type: ignore[union-attr]
    crawl(web, store, settings, seconds=20.0, begin=20 * SECOND)
    assert store.outcomes(gone)[-2:] == [Outcome.GONE, Outcome.GONE]
    assert store.page(gone).state is State.GONE
    asked = len(web.times(gone))
    crawl(web, store, settings, begin=200 * SECOND)
    assert len(web.times(gone)) == asked
    web.answers[gone] = TEXT  # type: ignore[index]
    store.add([new_page(gone)], 0)
    crawl(web, store, settings, begin=300 * SECOND)
    assert store.outcomes(gone)[asked] is Outcome.CHANGED


def test_a_page_that_is_gone_by_now_is_not_fetched() -> None:
    """Somebody else may have retired or removed it since the frontier was loaded."""
    store = MemoryStore(*urls(A, 3))
    web = FakeWeb(dict.fromkeys(urls(A, 3), TEXT))

    def retire(_running: Running) -> None:
        del store.known[0]
        store.known[1] = replace(store.known[1], state=State.GONE)

    stats = crawl(web, store, settings_of(), during=retire)
    assert {fetch.url for fetch in web.fetched} == {f"{A}/2"}
    assert stats.pages == 1


def test_failures_teach_nothing_and_the_crawl_goes_on() -> None:
    store = MemoryStore(f"{A}/", f"{B}/")
    web = FakeWeb({f"{A}/": TEXT, f"{B}/": Response("", 500, 0, error="the server answered 500")})
    stats = crawl(web, store, settings_of(), seconds=60.0)
    assert set(store.outcomes(f"{B}/")) == {Outcome.FAILED}
    assert (store.page(f"{B}/").visits, store.page(f"{B}/").fingerprint) == (0, None)
    assert stats.outcomes[Outcome.UNCHANGED] > 100


def test_a_clock_on_a_page_is_learned_to_be_noise() -> None:
    store = MemoryStore(f"{A}/")
    numbers = itertools.count(10**6)
    web = FakeWeb(lambda _: page_about("A page.", f"It is now {next(numbers)} o'clock."))
    # A second fetch says little if it comes as late as the next visit would.
    crawl(web, store, settings_of(budget=0.1 * PER_SECOND), seconds=600.0)
    found = store.outcomes(f"{A}/")
    assert found[0] is Outcome.FIRST
    assert len(found) > 15
    assert set(found[10:]) == {Outcome.UNCHANGED}


# Edits by others


def test_pages_added_and_removed_while_it_runs_are_noticed() -> None:
    store = MemoryStore(f"{A}/0")
    web = FakeWeb(dict.fromkeys(urls(A, 2), TEXT))

    def edit() -> None:
        store.add([new_page(f"{A}/1")], 0)
        store.remove(f"{A}/0")

    crawl(web, store, on_budget(10 * PER_SECOND), during=later(2.6, edit))
    assert max(web.times(f"{A}/0")) < 3.2
    assert 2.6 < min(web.times(f"{A}/1")) < 3.7


def test_an_importance_that_somebody_changes_counts_at_once() -> None:
    store = MemoryStore(*urls(A, 2))
    web = FakeWeb(dict.fromkeys(urls(A, 2), TEXT))
    edit = later(10.0, lambda: store.set_importance(f"{A}/0", 0.0))
    crawl(web, store, settings_of(budget=PER_SECOND), seconds=60.0, during=edit)
    assert max(web.times(f"{A}/0")) < 15.0
    assert max(web.times(f"{A}/1")) > 50.0


def test_a_page_removed_while_it_is_fetched_is_not_reported() -> None:
    store = MemoryStore(*urls(A, 2))
    web = FakeWeb(dict.fromkeys(urls(A, 2), TEXT), seconds=5.0)
    removed = later(1.5, lambda: store.remove(f"{A}/0"))
    stats = crawl(web, store, settings_of(), during=removed, seconds=6.0)
    assert {visit.page.url for visit in store.log} == {f"{A}/1"}
    assert stats.visits == len(store.log)
    assert stats.pages == 1


# Backoff, delays and queues


def test_pages_of_a_host_in_trouble_are_given_back_and_cost_nothing() -> None:
    """They were taken, and so paid for; the budget is spent on other hosts instead."""
    store = MemoryStore(*urls(A, 20), *urls(B, 20))
    web = FakeWeb(lambda url: failure(retry_after=1e6) if url.startswith(A) else TEXT)
    settings = on_budget(PER_SECOND, connections=1, host_connections=1)
    idle = 20.0
    crawl(web, store, settings, seconds=100.0, during=lambda running: save_up(running, idle))
    assert fetched(web, A) == 1
    assert 100 + idle - 3 <= len(web.fetched) <= 100 + idle + 1


def save_up(running: Running, visits: float) -> None:
    """Let a crawl take many pages at once."""
    running.frontier.frontier.spend(-round(visits))


def test_a_host_that_does_not_answer_is_left_alone_ever_longer() -> None:
    store = MemoryStore(*urls(A, 50), f"{B}/")
    web = FakeWeb(lambda url: failure() if url.startswith(A) else TEXT)
    shown: list[dict[str, int]] = []
    settings = settings_of(budget=2 * PER_SECOND, connections=1, host_connections=1)
    stats = crawl(
        web, store, settings, seconds=200.0, watch=lambda stats: shown.append(stats.closed)
    )
    times = [fetch.at for fetch in web.fetched if fetch.url.startswith(A)]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert max(gaps[:2]) < 2.0
    assert gaps[2] >= FIRST_BACKOFF
    assert gaps[3] >= 2 * FIRST_BACKOFF
    assert fetched(web, B) > 50
    closed = {host: until for view in shown for host, until in view.items()}
    assert list(closed) == ["a.example"]
    assert all(until > stats.now for until in stats.closed.values())


def test_a_backoff_is_shown_until_it_is_over() -> None:
    store = MemoryStore(f"{A}/", f"{B}/")
    web = FakeWeb(lambda url: failure(retry_after=5.0) if url == f"{A}/" else TEXT)
    shown: list[tuple[int, bool]] = []
    crawl(
        web,
        store,
        settings_of(budget=0.05 * PER_SECOND),
        seconds=19.0,
        during=lambda running: save_up(running, 1),
        watch=lambda stats: shown.append((stats.now, "a.example" in stats.closed)),
    )
    assert {at < 5 * SECOND + 20_000 for at, closed in shown if closed} == {True}
    assert not shown[-1][1]


def test_the_frontier_learns_the_delay_that_robots_txt_asks_for() -> None:
    store = MemoryStore(*urls(A, 200), *urls(B, 5))
    web = FakeWeb(dict.fromkeys((*urls(A, 200), *urls(B, 5)), TEXT))
    settings = settings_of(connections=1, host_connections=1)

    def ask_for_delay(running: Running) -> None:
        def before(url: str) -> None:
            running.pacing.set_delay("a.example", 10.0 if url.startswith(A) else 0.0)

        web.before = before

    crawl(web, store, settings, seconds=100.0, during=ask_for_delay)
    # One page per ten seconds, after those that waited already.
    assert 10 <= fetched(web, A) <= 20
    assert fetched(web, B) > 500


def test_the_frontier_learns_that_robots_txt_asks_for_no_delay_any_more() -> None:
    store = MemoryStore(*urls(A, 200))
    web = FakeWeb(dict.fromkeys(urls(A, 200), TEXT))
    settings = settings_of(connections=1, host_connections=1)

    def ask_for_delay(running: Running) -> None:
        def before(_url: str) -> None:
            is_early = asyncio.get_running_loop().time() < 100.0
            running.pacing.set_delay("a.example", 10.0 if is_early else 0.0)

        web.before = before

    crawl(web, store, settings, seconds=200.0, during=ask_for_delay)
    assert sum(fetch.at < 100.0 for fetch in web.fetched) <= 20
    assert sum(fetch.at >= 110.0 for fetch in web.fetched) >= 500


def test_a_host_whose_queue_is_full_is_passed_over() -> None:
    """Its pages are worth most and it hangs; what it has too much of must not starve others."""
    store = MemoryStore(*urls(A, 400), *urls(B, 4))
    for page in list(store.known.values()):
        store.set_importance(page.url, 100.0 if page.url.startswith(A) else 1.0)
    web = FakeWeb(lambda _: TEXT, seconds=lambda url: 1e6 if url.startswith(A) else 0.01)
    settings = settings_of(connections=2, host_connections=1)
    crawl(web, store, settings, seconds=20.0)
    assert fetched(web, A) == 1
    assert fetched(web, B) > 20


def test_hosts_that_hang_leave_half_of_the_connections_to_others() -> None:
    hosts = [f"https://hanging{number}.example" for number in range(12)]
    store = MemoryStore(*(f"{host}/{page}" for host in hosts for page in range(3)), *urls(B, 20))
    web = FakeWeb(
        lambda url: TEXT if url.startswith(B) else failure("nothing came for 15 s"),
        seconds=lambda url: 0.01 if url.startswith(B) else 15.0,
    )
    hanging: list[int] = []
    web.before = lambda _url: hanging.append(web.in_flight.total() - web.in_flight["b.example"])
    crawl(web, store, settings_of(connections=8, host_connections=1), seconds=120.0)
    # At first nobody is a suspect; from the first timeouts on, half of the connections are free.
    settled = [count for count, fetch in zip(hanging, web.fetched, strict=True) if fetch.at > 46.0]
    assert max(hanging) > 4
    assert max(settled) <= 4
    assert fetched(web, B) > 500


def test_no_host_has_more_pages_in_flight_than_it_may() -> None:
    store = MemoryStore(*urls(A, 40), *urls(B, 40))
    web = FakeWeb(lambda _: TEXT, seconds=1.0)
    crawl(web, store, settings_of(connections=5, host_connections=3))
    assert web.max_in_flight == Counter({"a.example": 3, "b.example": 3})


# Limits on what waits to be written


def test_no_page_is_taken_while_too_many_visits_wait_to_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(record, "MAX_BACKLOG", 10)
    store = MemoryStore(*urls(A, 300))
    web = FakeWeb(lambda _: TEXT)
    settings = settings_of(budget=100 * PER_SECOND, connections=1)
    crawl(web, store, settings, seconds=20.0, store_seconds={"record": 10.0})
    # The first batch is on its way, and the others wait: ten, and those that were queued.
    assert 10 < sum(fetch.at < 10.0 for fetch in web.fetched) <= 30


def test_no_page_is_fetched_while_too_many_bytes_wait_to_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(record, "MAX_UNWRITTEN", 10 * len(TEXT))
    store = MemoryStore(*urls(A, 300))
    web = FakeWeb(lambda _: TEXT)
    settings = settings_of(budget=100 * PER_SECOND, connections=4)
    crawl(web, store, settings, seconds=45.0, store_seconds={"record": 10.0})
    assert 10 <= sum(fetch.at < 10.0 for fetch in web.fetched) <= 14
    assert len(web.fetched) > 14


def test_visits_are_written_in_batches() -> None:
    store = MemoryStore(*urls(A, 200))
    web = FakeWeb(lambda _: TEXT, seconds=0.0001)
    settings = settings_of(budget=1000 * PER_SECOND, connections=100, host_connections=100)
    crawl(web, store, settings, seconds=2.0)
    batches = len(store.spent)
    assert len(store.log) > 1_500
    assert batches <= 2.2 / record.BATCH_SECONDS


# How it ends


def test_requests_that_do_not_come_back_in_time_are_spent_all_the_same() -> None:
    store = MemoryStore(*urls(A, 3))
    web = FakeWeb(lambda _: TEXT, seconds=1e6)
    stats = crawl(web, store, settings_of(), seconds=1.0)
    assert stats.now <= round((1.0 + GRACE + 0.1) * SECOND)
    assert (store.log, store.total().lost) == ([], 3)
    assert web.in_flight.total() == 0


def test_what_comes_back_within_the_grace_is_written() -> None:
    store = MemoryStore(*urls(A, 3))
    web = FakeWeb(lambda _: TEXT, seconds=3.0)
    stats = crawl(web, store, settings_of(), seconds=1.0)
    assert (stats.visits, len(store.log), store.total().lost) == (3, 3, 0)


def test_stopping_starts_nothing_new() -> None:
    store = MemoryStore(*urls(A, 50))
    web = FakeWeb(lambda _: TEXT)

    def stop_at_2(running: Running) -> None:
        asyncio.get_running_loop().call_later(2.0, running.engine.stop)

    crawl(web, store, settings_of(), seconds=100.0, during=stop_at_2)
    assert 1.5 < max(fetch.at for fetch in web.fetched) <= 2.0


def test_a_store_that_fails_ends_the_crawl(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore(*urls(A, 3))
    web = FakeWeb(lambda _: TEXT)

    def fail(*_: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(store, "record", fail)
    with pytest.raises(StoreError, match="the disk is full"):
        crawl(web, store, settings_of())


def test_a_visit_that_fails_in_a_way_nobody_expected_ends_the_crawl_at_once() -> None:
    store = MemoryStore(*urls(A, 3))

    def surprise(_url: str) -> str:
        raise StoreError("unexpected")

    shown: list[int] = []
    with pytest.raises(StoreError, match="unexpected"):
        crawl(FakeWeb(surprise), store, settings_of(), watch=lambda stats: shown.append(stats.now))
    assert shown[-1] < SECOND


def test_a_defect_that_one_page_meets_is_a_failed_visit_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = MemoryStore(f"{A}/", f"{B}/")

    def answer(url: str) -> str:
        if url.startswith(B):
            raise ZeroDivisionError
        return TEXT

    stats = crawl(FakeWeb(answer), store, settings_of(), seconds=60.0)
    assert stats.outcomes[Outcome.UNCHANGED] > 100
    assert 1 < stats.outcomes[Outcome.FAILED] < 20
    assert store.page(f"{B}/").failures == stats.outcomes[Outcome.FAILED]
    assert "page 1, https://b.example/, met a defect" in caplog.text
    assert "ZeroDivisionError" in caplog.text


# What it reports


def test_visits_that_were_postponed_are_tried_again_and_not_logged() -> None:
    store = MemoryStore(f"{A}/")
    numbers = itertools.count()
    web = FakeWeb(
        lambda _: (
            failure("left alone", retry_after=2.0, postponed=True, requests=0)
            if next(numbers) < 3
            else TEXT
        )
    )
    stats = crawl(web, store, settings_of(), seconds=60.0)
    assert store.outcomes(f"{A}/")[0] is Outcome.FIRST
    assert stats.outcomes[Outcome.FAILED] == 0


def test_requests_for_robots_txt_and_sitemaps_are_counted_apart() -> None:
    store = MemoryStore(*urls(A, 3))
    web = FakeWeb(lambda _: TEXT)
    web.before = lambda _url: setattr(web, "robots", min(web.robots + 1, 2))
    web.files = 4
    stats = crawl(web, store, settings_of())
    assert (stats.robots, stats.files) == (2, 4)
    assert (store.total().robots, store.total().sitemaps) == (2, 4)
    assert sum(spent.robots > 0 for spent in store.spent) >= 1


def test_the_price_of_a_visit_is_left_for_other_processes() -> None:
    store = MemoryStore(*urls(A, 30))
    stats = crawl(FakeWeb(lambda _: TEXT), store, settings_of(), seconds=60.0)
    assert float(store.small[PRICE]) == pytest.approx(stats.price, rel=0.5)


def test_stats_are_shown_twice_per_second() -> None:
    store = MemoryStore(*urls(A, 3))
    shown: list[int] = []
    crawl(
        FakeWeb(lambda _: TEXT), store, settings_of(), watch=lambda stats: shown.append(stats.now)
    )
    assert shown[:4] == [0, SECOND // 2, SECOND, 3 * SECOND // 2]
    assert len(shown) == 20


def test_slow_hosts_are_listed_first() -> None:
    store = MemoryStore(f"{A}/", f"{B}/")
    web = FakeWeb(lambda url: Response("", 500, 0, seconds=2.0 if url.startswith(B) else 0.5))
    stats = crawl(web, store, settings_of(), seconds=1.0)
    assert [(host, times.mean) for host, times in stats.slowest()] == [
        ("b.example", 2.0),
        ("a.example", 0.5),
    ]


def test_start_stop_and_backoff_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore(f"{A}/")
    with caplog.at_level(logging.INFO, "recrawl.crawler"):
        crawl(FakeWeb(lambda _: failure(retry_after=60.0)), store, settings_of())
    assert [line.getMessage() for line in caplog.records] == [
        "started: 1 pages, 864000 requests per day",
        "backing off from a.example for 60 s: no connection",
        "stopped: 1 visits, 1 requests",
    ]
    assert {line.name for line in caplog.records} == {"recrawl.crawler"}
    assert logging.getLogger("recrawl.crawler").handlers == []


def test_new_hosts_are_prepared_without_connections() -> None:
    """Their robots.txt takes a second each; eight connections would take minutes."""
    urls = [f"https://h{number}.example/" for number in range(400)]
    web = FakeWeb(lambda _: page_about("A page."), robots_seconds=1.0)
    store = MemoryStore(*urls)
    crawl(web, store, settings_of(budget=1_000 * PER_SECOND), seconds=10.0)
    assert len({visit.page.url for visit in store.log}) == len(urls)
    assert web.max_in_flight.total() > 0


def test_unchanged_pages_are_visited_once_in_ten_minutes_however_large_the_budget() -> None:
    store = MemoryStore(*urls(A, 2))
    web = FakeWeb(dict.fromkeys(urls(A, 2), TEXT))
    usual = Settings()
    settings = settings_of(
        budget=1_000 * PER_SECOND,
        min_interval=usual.min_interval,
        slack=usual.slack,
        spend=usual.spend,
    )
    stats = crawl(web, store, settings, seconds=3_660.0, speed=60.0)
    for url in urls(A, 2):
        times = web.times(url)
        assert 2 <= len(times) <= 7
        # A second of the loop is a minute.
        assert all(later - before >= 10.0 for before, later in itertools.pairwise(times))
    assert stats.budget_used is not None
    assert stats.budget_used < 1e-3


def test_the_delay_of_a_host_is_what_its_pacing_says() -> None:
    delays: list[float] = []
    crawl(
        FakeWeb({}),
        MemoryStore(),
        settings_of(host_delay=2.5),
        seconds=1.0,
        during=lambda running: delays.append(running.engine.pacing.delay_of("a.example")),
    )
    assert delays == [2.5]


# What goes on between visits, and between runs


@pytest.mark.parametrize(("is_watched", "least", "most"), [(False, 1, 1), (True, 3, 50)])
def test_freshness_is_added_up_only_if_somebody_looks(
    monkeypatch: pytest.MonkeyPatch, is_watched: bool, least: int, most: int
) -> None:
    # Real time stands still here, so that it never takes too much of it.
    monkeypatch.setattr(gauges, "MAX_FRESHNESS_SHARE", math.inf)
    calls: list[float] = []

    def count(running: Running) -> None:
        freshness = running.frontier.freshness
        add_up = freshness.expected

        def counted(now: float) -> float | None:
            calls.append(now)
            return add_up(now)

        freshness.expected = counted  # type: ignore[method-assign]

    def look(_stats: Stats) -> None:
        """Look."""

    stats = crawl(
        FakeWeb(dict.fromkeys(urls(A, 3), TEXT)),
        MemoryStore(*urls(A, 3)),
        settings_of(),
        during=count,
        watch=look if is_watched else None,
    )
    assert stats.expected_freshness is not None
    assert least <= len(calls) <= most


def test_how_active_neighbours_have_been_outlives_a_restart() -> None:
    store = MemoryStore(*urls(A, 6))
    web = FakeWeb({})
    web.answers = lambda url: page_about(f"{url} has news {web.clock() // (5 * SECOND)} for all.")
    settings = settings_of()
    before: list[Running] = []
    crawl(web, store, settings, seconds=60.0, during=before.append)

    def activity(frontier: CrawlFrontier) -> list[bytes]:
        return [rows.tobytes() for rows in frontier.frontier.clocks(host=[0], section=[0])]

    was = activity(before[0].frontier)
    assert activity(load(store, settings, web.clock())) == was
    store.learned.clear()
    assert all(
        one != other
        for one, other in zip(activity(load(store, settings, web.clock())), was, strict=True)
    )


def test_a_host_that_asked_to_wait_is_left_alone_by_the_next_run_too() -> None:
    store = MemoryStore(*urls(A, 3), f"{B}/")
    busy = Response("", 429, 0, error="the server answered 429", retry_after=3_600.0)
    web = FakeWeb(lambda url: busy if url.startswith(A) else TEXT)
    settings = settings_of(connections=1, host_connections=1)
    crawl(web, store, settings)
    assert fetched(web, A) == 1
    crawl(web, store, settings, seconds=60.0, begin=1_800 * SECOND)
    assert fetched(web, A) == 1
    crawl(web, store, settings, seconds=60.0, begin=3_610 * SECOND)
    assert fetched(web, A) == 2


@pytest.mark.parametrize(("status", "again"), [(503, False), (0, True)])
def test_a_page_that_failed_is_retried_when_its_pause_is_over_also_by_the_next_run(
    status: int,
    again: bool,
) -> None:
    """Unless nobody answered: perhaps the fault was on this side, and has been mended."""
    store = MemoryStore(f"{A}/fails")
    bad = Response("", status, 0, error="it failed")
    web = FakeWeb(lambda url: bad if url.endswith("fails") else TEXT)
    settings = settings_of(connections=1, host_connections=1)
    crawl(web, store, settings, seconds=5.0)
    assert [fetch.url for fetch in web.fetched] == [f"{A}/fails"]
    store.add([new_page(f"{A}/new")], 0)
    web.fetched.clear()
    crawl(web, store, settings, seconds=3.0, begin=5 * SECOND)
    # A page that nobody has tried comes first in any case.
    assert web.fetched[0].url == f"{A}/new"
    assert (f"{A}/fails" in {fetch.url for fetch in web.fetched}) == again
    crawl(web, store, settings, seconds=3.0, begin=20 * SECOND)
    assert f"{A}/fails" in {fetch.url for fetch in web.fetched}
