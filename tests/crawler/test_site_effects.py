"""Each setting of a site takes effect: pace, budget, fingerprint, importance and intervals."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from crawler.fakes import PER_SECOND, SECOND, FakeWeb, MemoryStore, crawl, settings_of
from site_server import page_about

from recrawl.config.settings import Settings
from recrawl.config.site_tables import read_sites
from recrawl.engine.discovery.seeds import named_page, with_initial_importance
from recrawl.engine.frontier import load_frontier
from recrawl.hosts import host_of
from recrawl.http.host_pacing import HostPacing
from recrawl.records import Outcome
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore

A, B = "https://a.example", "https://b.example"
TEXT = page_about("A page.")
DAY = 86_400 * SECOND


def with_sites(tables: dict[str, Any], **changed: Any) -> Settings:  # noqa: ANN401
    return replace(settings_of(**changed), sites=read_sites(tables))


def gaps(web: FakeWeb, beginning: str) -> list[float]:
    times = [fetch.at for fetch in web.fetched if fetch.url.startswith(beginning)]
    return [later - first for first, later in pairwise(times)]


def pages(*hosts: str) -> list[str]:
    return [f"{host}/{number}" for host in hosts for number in range(5)]


def test_the_delay_of_a_host_slows_it_and_no_other() -> None:
    web = FakeWeb(lambda _url: TEXT)
    settings = with_sites({"host": {"a.example": {"delay": "2s"}}}, host_delay=0.5)
    crawl(web, MemoryStore(*pages(A, B)), settings, seconds=20.0)
    # The gate, which the fake web has none of, keeps the rest of the pace.
    assert min(gaps(web, A)) >= 2.0 - 0.02
    assert 0.5 - 0.02 <= min(gaps(web, B)) < 1.0


def test_the_delay_of_a_host_may_be_shorter_than_that_of_all() -> None:
    web = FakeWeb(lambda _url: TEXT)
    settings = with_sites({"host": {"a.example": {"delay": "100ms"}}}, host_delay=2.0)
    crawl(web, MemoryStore(*pages(A, B)), settings, seconds=10.0)
    assert len(gaps(web, A)) > 30
    assert min(gaps(web, B)) >= 2.0 - 0.02


def test_the_gate_keeps_the_delay_of_a_host_and_robots_txt_may_ask_for_more() -> None:
    settings = with_sites({"host": {"*.a.example": {"delay": "3s"}}}, host_delay=1.0)
    pacing = HostPacing(settings.delay_of)
    assert [pacing.delay_of(host) for host in ("x.a.example", "a.example")] == [
        pytest.approx(3.0),
        1.0,
    ]
    pacing.set_delay("x.a.example", 2.0)
    assert pacing.delay_of("x.a.example") == pytest.approx(3.0)
    pacing.set_delay("x.a.example", 9.0)
    assert pacing.delay_of("x.a.example") == 9.0
    pacing.end_request("a.example", 5.0)
    assert pacing.opens_at("a.example") == 6.0


def test_the_budget_of_a_host_limits_it_and_no_other() -> None:
    web = FakeWeb(lambda _url: TEXT)
    settings = with_sites({"host": {"a.example": {"budget": "30/min"}}}, budget=5 * PER_SECOND)
    crawl(web, MemoryStore(*pages(A, B)), settings, seconds=60.0)
    assert 25 <= len(gaps(web, A)) <= 31
    assert len(gaps(web, B)) > 150


def test_a_host_may_have_no_budget_where_all_others_have_one() -> None:
    web = FakeWeb(lambda _url: TEXT)
    settings = with_sites({"host": {"a.example": {"budget": "0/day"}}}, host_budget=PER_SECOND)
    crawl(web, MemoryStore(*pages(A, B)), settings, seconds=20.0)
    assert len(gaps(web, A)) > 60
    assert len(gaps(web, B)) <= 21


def test_limits_hold_for_hosts_that_come_in_while_the_crawl_runs() -> None:
    store = MemoryStore(*pages(B))
    settings = with_sites({"host": {"a.example": {"delay": "2s"}}}, host_delay=0.0)
    web = FakeWeb(lambda _url: TEXT)
    web.before = lambda _url: store.add(
        [NewPage(url, host_of(url)) for url in pages(A)] if len(web.fetched) == 20 else [], 0
    )
    crawl(web, store, settings, seconds=20.0)
    assert len(gaps(web, A)) > 3
    assert min(gaps(web, A)) >= 2.0 - 0.02


def test_the_fingerprint_of_a_url_decides_what_counts_as_a_change() -> None:
    def footer_that_changes(_url: str) -> str:
        word = f"word{len(web.fetched) // 15}"
        return f"<main><p>Lasting words.</p></main><footer>A {word} of chance</footer>"

    web = FakeWeb(footer_that_changes)
    store = MemoryStore(f"{A}/main", f"{A}/all")
    settings = with_sites({"url": {f"{A}/main": {"selector": "main"}}}, fingerprint="bytes")
    crawl(web, store, settings, seconds=5.0)
    assert Outcome.CHANGED not in store.outcomes(f"{A}/main")
    assert Outcome.CHANGED in store.outcomes(f"{A}/all")


def test_another_fingerprint_for_a_site_is_no_change_of_its_pages() -> None:
    bodies = iter(range(10_000))

    def changing_comment(_url: str) -> str:
        return f"<main><p>Lasting words.</p></main><!-- {next(bodies)} -->"

    store = MemoryStore(f"{A}/1")
    crawl(FakeWeb(changing_comment), store, settings_of(), seconds=5.0)
    assert store.page(f"{A}/1").fingerprint is not None
    before = len(store.log)
    settings = with_sites({"host": {"a.example": {"selector": "main"}}})
    crawl(FakeWeb(changing_comment), store, settings, seconds=5.0, begin=10 * SECOND)
    found = {visit.outcome for visit in store.log[before:]}
    assert found == {Outcome.UNCHANGED}
    kept = store.page(f"{A}/1").fingerprint
    assert kept is not None
    assert kept.kind.endswith(":main")


def test_the_minimum_interval_of_a_url_keeps_visits_apart() -> None:
    web = FakeWeb(lambda url: page_about(f"{url} at {len(web.fetched)}"))
    settings = with_sites({"url": {f"{A}/1": {"min_interval": "4s"}}})
    crawl(web, MemoryStore(f"{A}/1", f"{A}/2"), settings, seconds=20.0)
    times = web.times(f"{A}/1")
    # A second fetch, to tell changes from noise, belongs to the same visit.
    visits = [first for first, later in pairwise([*times, 99.0]) if later - first > 0.1]
    assert len(visits) >= 3
    assert min(later - first for first, later in pairwise(visits)) >= 4.0 - 0.1
    assert len(web.times(f"{A}/2")) > 20


def test_the_maximum_interval_of_a_url_brings_visits_however_seldom_it_changes() -> None:
    urls = [f"{A}/{number}" for number in range(40)]
    web = FakeWeb(lambda url: TEXT if url == urls[0] else page_about(f"{len(web.fetched)} {url}"))
    store = MemoryStore(*urls)
    store.set_importance(urls[0], 1e-6)
    settings = with_sites({"url": {urls[0]: {"max_interval": "5s"}}}, budget=8 * PER_SECOND)
    crawl(web, store, settings, seconds=60.0)
    times = web.times(urls[0])
    assert max(later - first for first, later in pairwise(times)) <= 6.0


def test_intervals_for_all_pages_hold_without_tables() -> None:
    store = MemoryStore(f"{A}/1")
    store.known[0] = replace(store.known[0], last_visit=DAY)
    store.beliefs = {0: (2.0, 1.0)}
    frontier = load_frontier(store, settings_of(min_interval=3.0, budget=1000.0), 2 * DAY)
    assert frontier.frontier.due([0])[0] == 4.0


def test_importance_of_a_site_is_that_of_new_pages_without_one(tmp_path: Path) -> None:
    settings = with_sites({"url": {f"{A}/news/*": {"importance": 9}}})
    urls = {f"{A}/news/1": None, f"{A}/news/2": 4.0, f"{A}/3": None}
    with SqliteStore.open(tmp_path / "store.db", create=True) as store:
        new = [named_page(url, importance) for url, importance in urls.items()]
        store.add(with_initial_importance(new, settings), 0)
        store.add([named_page(f"{A}/news/1", 2.0)], 0)
        found = {url: page.importance for url, page in store.pages_at(urls).items()}
        assert found == {f"{A}/news/1": 2.0, f"{A}/news/2": 4.0, f"{A}/3": 1.0}
        # Named again without an importance, a known page keeps its own.
        store.add(with_initial_importance([named_page(f"{A}/news/1")], settings), 0)
        assert store.pages_at([f"{A}/news/1"])[f"{A}/news/1"].importance == 2.0


def test_linked_pages_and_pages_of_sitemaps_have_the_importance_of_their_site() -> None:
    sitemap = f"{A}/sitemap.xml"
    web = FakeWeb(
        {
            f"{A}/": f'<p>Words.</p><a href="{A}/news/1">one</a><a href="{A}/2">two</a>',
            sitemap: f"<urlset><url><loc>{A}/news/3</loc></url></urlset>",
        }
    )
    store = MemoryStore(f"{A}/")
    store.sitemaps.add(sitemap)
    settings = with_sites({"url": {f"{A}/news/*": {"importance": 9}}}, follow=True)
    crawl(web, store, settings, seconds=8.0)
    wanted = {f"{A}/news/1": 9.0, f"{A}/2": 0.5, f"{A}/news/3": 9.0}
    assert {url: store.page(url).importance for url in wanted} == wanted
