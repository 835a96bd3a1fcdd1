"""The first fill of a site that a user adds, and what a site that adds itself gets."""

from collections import Counter
from typing import Any
from zlib import crc32

import pytest
from crawler.fakes import PER_SECOND, SECOND, FakeWeb, MemoryStore, crawl, later, settings_of
from virtual_time import now

from recrawl.config.settings import Settings
from recrawl.engine.discovery.seeds import named_page
from recrawl.hosts import host_of
from recrawl.store.kept.first_fill import FILL_LIMIT, FILLED
from recrawl.store.rows import NewPage, SitemapFile

NEW, TEXT = "https://new.example", "<p>Some text of a page</p>"
SITEMAP = f"{NEW}/sitemap.xml"
WORDS = ("hail", "sleet", "snow", "rain", "wind", "fog", "sun")


def usual(**changed: Any) -> Settings:  # noqa: ANN401
    """Return settings as a new user has them."""
    others: dict[str, Any] = {"host_delay": 1.0, "host_connections": 1, "budget": 2_000.0}
    return settings_of(**(others | {"min_interval": 1 / 144, "spend": "worth"} | changed))


def pages_of(origin: str, count: int) -> list[str]:
    return [f"{origin}/{number}" for number in range(count)]


def changing(url: str) -> str:
    """Return the text of a page that changes every five minutes, at a time of its own."""
    version = round((now() + crc32(url.encode()) % 300) // 300)
    words = " ".join(WORDS[(version + word) % len(WORDS)] for word in range(5))
    return f"<p>{url} says {words} {version}</p>"


def sitemap_of(urls: list[str]) -> str:
    listed = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</urlset>'


@pytest.mark.parametrize("delay", [0.1, 1.0, 10.0])
def test_a_site_that_a_user_adds_is_filled_at_the_pace_of_its_delay(delay: float) -> None:
    store = MemoryStore(*pages_of(NEW, 200))
    stats = crawl(FakeWeb(lambda _url: TEXT), store, usual(host_delay=delay), seconds=240 * delay)
    assert {visit.page.url for visit in store.log} == set(pages_of(NEW, 200))
    assert stats.filled == 200
    assert stats.budget_used is None or stats.budget_used <= 1.0


def test_it_is_when_it_is_added_while_the_crawl_runs_too() -> None:
    store, web = MemoryStore("https://old.example/"), FakeWeb(lambda _url: TEXT)
    added = later(10.0, lambda: store.add(map(named_page, pages_of(NEW, 100)), 0))
    crawl(web, store, usual(), seconds=10.0 + 120.0, during=added)
    assert {visit.page.url for visit in store.log} >= set(pages_of(NEW, 100))


def test_on_the_budget_a_site_waits_for_it() -> None:
    store = MemoryStore(*pages_of(NEW, 200))
    settings = usual(first_fill="budget")
    stats = crawl(FakeWeb(lambda _url: TEXT), store, settings, seconds=25.0)
    assert (stats.visits, stats.filled) == (1, 0)


def test_what_is_outside_the_budget_has_a_limit_also_over_restarts() -> None:
    store = MemoryStore(*pages_of(NEW, 300))
    settings, web = usual(budget=10.0, host_delay=0.0), FakeWeb(lambda _url: TEXT)
    for run in range(3):
        crawl(web, store, settings, seconds=20.0, begin=(100 + 30 * run) * SECOND)
    assert FILL_LIMIT * 10 <= len(web.fetched) <= FILL_LIMIT * 10 + 3
    assert store.small[FILLED] == f"0:{FILL_LIMIT * 10}"


def test_redirects_of_a_first_fill_are_outside_the_budget_too() -> None:
    store = MemoryStore(*pages_of(NEW, 50))
    stats = crawl(FakeWeb(lambda _url: TEXT), store, usual(), seconds=70.0)
    assert stats.requests - stats.filled <= 2


def test_pages_that_links_add_are_on_the_budget() -> None:
    links = "".join(f'<a href="/{number}">{number}</a>' for number in range(500))
    web = FakeWeb(lambda url: TEXT + links if url == f"{NEW}/" else TEXT)
    settings = usual(follow=True, budget=PER_SECOND / 10, host_delay=0.0)
    stats = crawl(web, MemoryStore(f"{NEW}/"), settings, seconds=100.0)
    assert stats.filled == 1
    assert 8 <= len(web.fetched) <= 13


def test_what_a_sitemap_that_a_user_named_lists_at_first_is_filled_and_not_what_it_adds() -> None:
    store, listed = MemoryStore(), pages_of(NEW, 20)
    store.sitemaps.files[SITEMAP] = SitemapFile(SITEMAP)
    web = FakeWeb(lambda url: sitemap_of(listed) if url == SITEMAP else TEXT)
    settings = usual(sitemap_interval=60 / 86_400, budget=100.0, host_delay=0.0)
    crawl(web, store, settings, seconds=30.0)
    assert {fetch.url for fetch in web.fetched} == set(listed)
    listed += [f"{NEW}/later/{number}" for number in range(500)]
    stats = crawl(web, store, settings, seconds=200.0, begin=100 * SECOND)
    assert len(store.known) == 520
    assert (stats.filled, stats.visits) == (0, 0)


def test_a_newcomer_with_ten_thousand_pages_costs_the_others_a_small_share() -> None:
    hosts = [f"https://h{number}.example" for number in range(5)]
    store = MemoryStore(*(url for host in hosts for url in pages_of(host, 40)))
    web = FakeWeb(changing)
    settings = usual(budget=2 * PER_SECOND, host_delay=0.0, min_interval=0.0)
    crawl(web, store, settings, seconds=1_200.0)
    found = (NewPage(f"{NEW}/{number}", "new.example", source="link") for number in range(10_000))
    store.add(found, 0)
    web.fetched.clear()
    crawl(web, store, settings, seconds=600.0, begin=1_200 * SECOND)
    visits = Counter(host_of(fetch.url) for fetch in web.fetched)
    first = len({fetch.url for fetch in web.fetched if fetch.url.startswith(NEW)})
    assert visits.total() == pytest.approx(1_200, rel=0.05)
    assert settings.new_host_share * 1_200 - 5 <= first <= visits["new.example"] <= 0.2 * 1_200
