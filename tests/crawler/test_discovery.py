"""Pages and evidence that come from links and sitemaps, in virtual time."""

import logging

import pytest
from crawler.fakes import PER_SECOND, SECOND, FakeWeb, MemoryStore, crawl, failure, settings_of
from site_server import page_about

from recrawl.records import Outcome, Response

A = "https://a.example"
MAP = f"{A}/sitemap.xml"
DAY = 86_400 * SECOND


def sitemap(*entries: tuple[str, str]) -> str:
    rows = "".join(f"<url><loc>{url}</loc>{date}</url>" for url, date in entries)
    return (
        '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        f"{rows}</urlset>"
    )


def modified(day: int) -> str:
    return f"<lastmod>1970-01-{day:02d}</lastmod>"


def linked_site() -> FakeWeb:
    return FakeWeb(
        {
            f"{A}/": page_about("Home.", links=("/one", "https://elsewhere.example/")),
            f"{A}/one": page_about("One.", links=("/two", "/")),
            f"{A}/two": page_about("Two.", links=("/three",)),
            f"{A}/three": page_about("Three."),
        }
    )


def importance(store: MemoryStore) -> dict[str, float]:
    return {page.url.removeprefix(A): page.importance for page in store.known.values()}


# Links


def test_links_are_followed_as_far_as_the_settings_say() -> None:
    store = MemoryStore(f"{A}/")
    crawl(linked_site(), store, settings_of(follow=True, max_depth=2, link_importance=0.5))
    assert importance(store) == {"/": 1.0, "/one": 0.5, "/two": 0.25}
    assert store.outcomes(f"{A}/two")[0] is Outcome.FIRST


def test_links_are_not_followed_unless_asked_for() -> None:
    store = MemoryStore(f"{A}/")
    crawl(linked_site(), store, settings_of())
    assert list(importance(store)) == ["/"]


def test_links_lead_to_other_hosts_only_if_they_are_named() -> None:
    store = MemoryStore(f"{A}/")
    hosts = ("elsewhere.example",)
    crawl(linked_site(), store, settings_of(follow=True, follow_hosts=hosts))
    assert list(importance(store)) == ["/", "https://elsewhere.example/"]


def test_no_more_pages_are_added_than_the_limit() -> None:
    store = MemoryStore(f"{A}/")
    web = FakeWeb(
        lambda url: page_about(
            "A page.", links=tuple(f"/{len(url)}-{number}" for number in range(50))
        )
    )
    crawl(web, store, settings_of(follow=True, max_pages=7), seconds=10.0)
    assert len(store.known) == 7


def test_a_page_that_is_known_keeps_its_importance_when_it_is_linked_to() -> None:
    store = MemoryStore(f"{A}/", f"{A}/one")
    store.set_importance(f"{A}/one", 3.0)
    crawl(linked_site(), store, settings_of(follow=True, max_depth=1))
    assert importance(store)["/one"] == 3.0


# Sitemaps


def test_a_sitemap_brings_pages_and_is_read_again_after_its_interval() -> None:
    store = MemoryStore()
    store.add_sitemap(MAP)
    web = FakeWeb({f"{A}/new": page_about("New."), MAP: sitemap((f"{A}/new", ""))})
    settings = settings_of(sitemap_interval=40 / 86_400, budget=PER_SECOND)
    stats = crawl(web, store, settings, seconds=100.0)
    assert store.outcomes(f"{A}/new")[0] is Outcome.FIRST
    assert store.maps[MAP].pages == 1
    assert stats.files == web.files == store.total().sitemaps == 3


def test_a_sitemap_that_is_not_modified_is_noted_as_read() -> None:
    store = MemoryStore()
    store.add_sitemap(MAP)
    web = FakeWeb({MAP: sitemap((f"{A}/new", ""))}, etags=True)
    crawl(web, store, settings_of(sitemap_interval=1 / 24), seconds=60.0)
    validators = store.maps[MAP].validators
    assert validators.etag is not None
    crawl(web, store, settings_of(sitemap_interval=1 / 24), seconds=60.0, begin=DAY)
    assert store.maps[MAP].validators == validators
    assert (store.maps[MAP].pages, store.maps[MAP].read_at) == (1, DAY)


def test_a_sitemap_of_sitemaps_brings_these() -> None:
    store = MemoryStore()
    store.add_sitemap(MAP)
    index = (
        '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        f"<sitemap><loc>{A}/more.xml</loc></sitemap></sitemapindex>"
    )
    web = FakeWeb({MAP: index, f"{A}/more.xml": sitemap((f"{A}/new", ""))})
    crawl(web, store, settings_of(), seconds=20.0)
    assert list(importance(store)) == ["/new"]


def test_a_sitemap_that_cannot_be_read_is_logged_and_retried_sooner(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = MemoryStore()
    store.add_sitemap(MAP)
    web = FakeWeb({MAP: failure("no connection: refused")})
    settings = settings_of(sitemap_interval=100 / 86_400, budget=PER_SECOND)
    crawl(web, store, settings, seconds=18.0)
    assert web.files == 2
    warnings = [line.getMessage() for line in caplog.records if line.levelno == logging.WARNING]
    assert warnings == [f"cannot read the sitemap {MAP}: no connection: refused"] * 2


def test_a_sitemap_that_calls_a_page_newer_brings_its_visit_forward() -> None:
    """Two pages alike, and one of them in the sitemap with a date after its visit."""
    urls = [f"{A}/{number}" for number in range(100)]
    store = MemoryStore(*urls)
    web = FakeWeb(lambda url: page_about(f"This is {url}."))
    settings = settings_of(budget=PER_SECOND, neighbours=False)
    crawl(web, store, settings, seconds=120.0)
    newest = max(store.known.values(), key=lambda page: page.last_visit or 0)
    store.add_sitemap(MAP)
    web.answers = lambda url: (
        sitemap((newest.url, modified(2))) if url == MAP else page_about(f"This is {url}.")
    )
    web.fetched.clear()
    crawl(web, store, settings, seconds=50.0, begin=2 * DAY)
    visited = [fetch.url for fetch in web.fetched]
    assert newest.url in visited[:10]


def test_a_retired_page_comes_back_only_with_a_newer_date() -> None:
    def alive_after(date: str) -> bool:
        store = MemoryStore(f"{A}/")
        web = FakeWeb({f"{A}/": page_about("A page.")})
        settings = settings_of(gone_after=1)
        crawl(web, store, settings, seconds=5.0, begin=4 * DAY)
        web.answers = {}
        crawl(web, store, settings, seconds=10.0, begin=4 * DAY + 10 * SECOND)
        store.add_sitemap(MAP)
        web.answers = {f"{A}/": page_about("A page."), MAP: sitemap((f"{A}/", date))}
        crawl(web, store, settings, seconds=20.0, begin=9 * DAY)
        return store.outcomes(f"{A}/")[-1] is not Outcome.GONE

    assert [alive_after(date) for date in ("", modified(4), modified(8))] == [False, False, True]


def test_only_a_copy_teaches_whether_a_sitemap_was_right() -> None:
    store = MemoryStore(f"{A}/")
    store.add_sitemap(MAP)
    web = FakeWeb({f"{A}/": Response("", 500, 0, error="no"), MAP: sitemap((f"{A}/", modified(2)))})
    crawl(web, store, settings_of(), begin=3 * DAY, seconds=20.0)
    assert set(store.outcomes(f"{A}/")) == {Outcome.FAILED}
