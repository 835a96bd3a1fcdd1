"""Pages and evidence that come from links and sitemaps, in virtual time."""

import logging
import math
import struct
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
    settings_of,
)
from site_server import page_about
from virtual_time import now

from recrawl.engine.discovery.sitemap_limits import MAX_DEPTH, MAX_OTHER_HOSTS
from recrawl.engine.engine import SITEMAPS_EVERY
from recrawl.estimation.signals import precision
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
    store.sitemaps.add(MAP)
    web = FakeWeb({f"{A}/new": page_about("New."), MAP: sitemap((f"{A}/new", ""))})
    settings = settings_of(sitemap_interval=40 / 86_400, budget=PER_SECOND)
    stats = crawl(web, store, settings, seconds=100.0)
    assert store.outcomes(f"{A}/new")[0] is Outcome.FIRST
    assert store.sitemaps.files[MAP].pages == 1
    assert stats.files == web.files == store.total().sitemaps == 3


def test_a_sitemap_that_is_not_modified_is_noted_as_read() -> None:
    store = MemoryStore()
    store.sitemaps.add(MAP)
    web = FakeWeb({MAP: sitemap((f"{A}/new", ""))}, etags=True)
    crawl(web, store, settings_of(sitemap_interval=1 / 24), seconds=60.0)
    validators = store.sitemaps.files[MAP].validators
    assert validators.etag is not None
    crawl(web, store, settings_of(sitemap_interval=1 / 24), seconds=60.0, begin=DAY)
    assert store.sitemaps.files[MAP].validators == validators
    assert (store.sitemaps.files[MAP].pages, store.sitemaps.files[MAP].read_at) == (1, DAY)


def test_a_sitemap_of_sitemaps_brings_these() -> None:
    store = MemoryStore()
    store.sitemaps.add(MAP)
    index = (
        '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        f"<sitemap><loc>{A}/more.xml</loc></sitemap></sitemapindex>"
    )
    web = FakeWeb({MAP: index, f"{A}/more.xml": sitemap((f"{A}/new", ""))})
    crawl(web, store, settings_of(), seconds=20.0)
    assert list(importance(store)) == ["/new"]
    # What people name may lead anywhere; what a sitemap names stays on its site.
    assert web.kept_on_site == {MAP: False, f"{A}/more.xml": True}


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (failure("no connection: refused"), "no connection: refused"),
        (None, "the server answered 404"),
        (Response("", 500, 0, error="the server answered 500"), "the server answered 500"),
        ("<!DOCTYPE html><title>Oops</title>", "it is an HTML page, not a sitemap or feed"),
        ("<urlset><url>", "it is not well-formed XML"),
        (failure("10.0.0.1 is not public", permanent=True), "10.0.0.1 is not public"),
    ],
)
def test_a_sitemap_that_cannot_be_read_is_loud_and_tried_again_soon(
    answer: Response | str | None, error: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = MemoryStore()
    store.sitemaps.add(MAP)
    web = FakeWeb({} if answer is None else {MAP: answer})
    stats = crawl(web, store, settings_of(), seconds=130.0)
    assert stats.failing_sitemaps == {MAP: error}
    # At once, and after two minutes.
    assert (web.files, store.sitemaps.files[MAP].failures) == (2, 2)
    assert (store.sitemaps.files[MAP].error, store.sitemaps.files[MAP].read_at) == (error, None)
    warnings = [line.getMessage() for line in caplog.records if line.levelno == logging.WARNING]
    assert warnings == [f"cannot read the sitemap {MAP}: {error}"] * 2


def test_a_sitemap_that_failed_is_tried_again_when_a_run_starts() -> None:
    store = MemoryStore()
    store.sitemaps.add(MAP)
    web = FakeWeb({MAP: failure("no connection: refused")})
    crawl(web, store, settings_of(), seconds=5.0)
    web.answers = {MAP: sitemap((f"{A}/new", "")), f"{A}/new": page_about("New.")}
    stats = crawl(web, store, settings_of(), seconds=10.0, begin=10 * SECOND)
    assert list(importance(store)) == ["/new"]
    assert (stats.failing_sitemaps, store.sitemaps.files[MAP].error) == ({}, None)
    # One that was read is not read again before its interval is over.
    crawl(web, store, settings_of(), seconds=10.0, begin=30 * SECOND)
    assert web.files == 2


def test_a_sitemap_that_calls_a_page_newer_brings_its_visit_forward() -> None:
    """Two pages alike, and one of them in the sitemap with a date after its visit."""
    urls = [f"{A}/{number}" for number in range(100)]
    store = MemoryStore(*urls)
    web = FakeWeb(lambda url: page_about(f"This is {url}."))
    settings = settings_of(budget=PER_SECOND, neighbours=False)
    crawl(web, store, settings, seconds=120.0)
    newest = max(store.known.values(), key=lambda page: page.last_visit or 0)
    store.sitemaps.add(MAP)
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
        settings = settings_of(gone_after=1, gone_after_time=0.0)
        crawl(web, store, settings, seconds=5.0, begin=4 * DAY)
        web.answers = {}
        crawl(web, store, settings, seconds=10.0, begin=4 * DAY + 10 * SECOND)
        store.sitemaps.add(MAP)
        web.answers = {f"{A}/": page_about("A page."), MAP: sitemap((f"{A}/", date))}
        crawl(web, store, settings, seconds=20.0, begin=9 * DAY)
        return store.outcomes(f"{A}/")[-1] is not Outcome.GONE

    assert [alive_after(date) for date in ("", modified(4), modified(8))] == [False, False, True]


def test_only_a_copy_teaches_whether_a_sitemap_was_right() -> None:
    store = MemoryStore(f"{A}/")
    store.sitemaps.add(MAP)
    web = FakeWeb({f"{A}/": Response("", 500, 0, error="no"), MAP: sitemap((f"{A}/", modified(2)))})
    crawl(web, store, settings_of(), begin=3 * DAY, seconds=20.0)
    assert set(store.outcomes(f"{A}/")) == {Outcome.FAILED}


@pytest.mark.parametrize(("retry_after", "pause"), [(None, 5.0), (2.0, 5.0), (30.0, 30.0)])
def test_a_sitemap_whose_host_cannot_be_asked_yet_is_asked_for_when_it_can(
    retry_after: float | None, pause: float
) -> None:
    store, asked = MemoryStore(), list[float]()
    store.sitemaps.add(MAP)

    def answer(_url: str) -> Response | str:
        asked.append(now())
        closed = failure(postponed=True, retry_after=retry_after)
        return closed if len(asked) == 1 else sitemap((f"{A}/new", ""))

    stats = crawl(FakeWeb(answer), store, settings_of(), seconds=60.0)
    assert pause <= asked[1] - asked[0] <= pause + SITEMAPS_EVERY + 0.1
    assert stats.failing_sitemaps == {}
    assert (store.sitemaps.files[MAP].failures, store.sitemaps.files[MAP].error) == (0, None)
    assert "/new" in importance(store)


# What sitemaps may do


def index(*urls: str) -> str:
    rows = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f"<sitemapindex>{rows}</sitemapindex>"


def test_an_index_does_not_have_other_hosts_asked_for_sitemaps() -> None:
    store = MemoryStore()
    store.sitemaps.add(MAP)
    children = [f"https://victim{n}.example/{n}.xml" for n in range(33)]
    web = FakeWeb({MAP: index(*children, f"{A}/own.xml"), f"{A}/own.xml": sitemap()})
    stats = crawl(web, store, settings_of(), seconds=60.0)
    assert set(web.file_urls) == {MAP, f"{A}/own.xml"}
    # The robots.txt of a few is asked for, whether it names the sitemap.
    assert web.robots == MAX_OTHER_HOSTS
    assert "33 of its URLs are on other hosts" in stats.failing_sitemaps[MAP]


def test_hosts_that_name_an_index_in_robots_txt_may_be_in_it() -> None:
    child, page = "https://b.example/b.xml", "https://b.example/page"
    store = MemoryStore()
    store.sitemaps.add(MAP)
    web = FakeWeb({MAP: index(child), child: sitemap((page, "")), page: page_about("B.")})
    web.named = {"b.example": (f" {A.upper()}/sitemap.xml",)}
    stats = crawl(web, store, settings_of(), seconds=20.0)
    assert list(importance(store)) == [page]
    assert stats.failing_sitemaps == {}


def test_a_sitemap_lists_only_pages_of_its_own_host_and_of_hosts_that_name_it() -> None:
    store = MemoryStore()
    store.sitemaps.add(MAP)
    urls = [f"{A}/own", "https://www.a.example/www", "https://b.example/b", "https://c.example/c"]
    web = FakeWeb({MAP: sitemap(*((url, "") for url in urls))})
    web.named = {"b.example": (MAP,)}
    stats = crawl(web, store, settings_of(), seconds=20.0)
    assert {page.url for page in store.known.values()} == set(urls[:3])
    assert store.sitemaps.files[MAP].skipped == 1
    assert MAP in stats.failing_sitemaps


def test_a_feed_is_read_under_the_same_rules() -> None:
    store = MemoryStore()
    feed = f"{A}/feed"
    store.sitemaps.add(feed)
    items = "".join(
        f"<item><link>{url}</link></item>" for url in (f"{A}/news", "https://victim.example/")
    )
    crawl(FakeWeb({feed: f"<rss><channel>{items}</channel></rss>"}), store, settings_of())
    assert list(importance(store)) == ["/news"]
    assert (store.sitemaps.files[feed].kind, store.sitemaps.files[feed].skipped) == ("feed", 1)


def test_a_robots_txt_that_cannot_be_read_yet_has_the_sitemap_read_again_soon() -> None:
    store = MemoryStore()
    store.sitemaps.add(MAP)
    web = FakeWeb({MAP: sitemap(("https://b.example/b", ""))}, etags=True)
    web.named = {"b.example": None}
    crawl(web, store, settings_of(), seconds=60.0)
    assert store.sitemaps.files[MAP].error == (
        "robots.txt of b.example, whose URLs it lists, cannot be read yet"
    )
    web.named = {"b.example": (MAP,)}
    crawl(web, store, settings_of(), seconds=20.0, begin=60 * SECOND)
    assert list(importance(store)) == ["https://b.example/b"]


def test_a_robots_txt_that_can_never_be_read_has_the_sitemap_read_less_and_less_often() -> None:
    store = MemoryStore()
    store.sitemaps.add(MAP)
    web = FakeWeb({MAP: sitemap(("https://b.example/1", ""))}, named={"b.example": None})
    crawl(web, store, settings_of(budget=PER_SECOND), seconds=4 * 3_600.0)
    # After 2 minutes, 4, 8, 16, 32 and 64.
    assert web.files == 7
    assert store.sitemaps.files[MAP].failures == 7


@pytest.mark.parametrize("is_index", [True, False])
def test_an_index_that_names_nothing_any_more_drops_what_it_named(is_index: bool) -> None:
    store = MemoryStore()
    store.sitemaps.add(MAP)
    web = FakeWeb({MAP: index(f"{A}/old.xml"), f"{A}/old.xml": sitemap()})
    settings = settings_of(sitemap_interval=40 / 86_400)
    crawl(web, store, settings, seconds=20.0)
    assert f"{A}/old.xml" in store.sitemaps.files
    web.answers = {MAP: index() if is_index else sitemap((f"{A}/new", ""))}
    stats = crawl(web, store, settings, seconds=100.0, begin=60 * SECOND)
    assert list(store.sitemaps.files) == [MAP]
    assert stats.failing_sitemaps == {}


def test_chains_of_indexes_end() -> None:
    store = MemoryStore()
    store.sitemaps.add(f"{A}/0")
    web = FakeWeb(lambda url: index(f"{A}/{int(url.rpartition('/')[2]) + 1}"))
    stats = crawl(web, store, settings_of(), seconds=40.0)
    assert web.file_urls == [f"{A}/{depth}" for depth in range(MAX_DEPTH + 1)]
    assert "chain" in stats.failing_sitemaps[f"{A}/{MAX_DEPTH}"]


def test_sitemaps_have_a_budget_of_their_own_which_outlives_a_restart(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = MemoryStore()
    store.sitemaps.add(MAP)
    web = FakeWeb(
        lambda url: index(*(f"{A}/{n}.xml" for n in range(50))) if url == MAP else sitemap()
    )
    settings = settings_of(sitemap_budget=8.0)
    crawl(web, store, settings, seconds=60.0)
    assert web.files == 8
    web.files = 0
    crawl(web, store, settings, seconds=60.0, begin=3_600 * SECOND)
    assert web.files == 0
    assert "sitemap_budget is used up" in caplog.text
    crawl(web, store, settings, seconds=60.0, begin=DAY + 3_600 * SECOND)
    assert web.files == 8


def test_no_more_pages_come_from_sitemaps_than_the_limit() -> None:
    store = MemoryStore()
    store.sitemaps.add(MAP)
    web = FakeWeb({MAP: sitemap(*((f"{A}/{n}", "") for n in range(30)))})
    stats = crawl(web, store, settings_of(max_sitemap_pages=7))
    assert len(store.known) == 7
    assert "max_sitemap_pages" in stats.failing_sitemaps[MAP]


@pytest.mark.parametrize("wanted", [True, False])
def test_sitemaps_in_robots_txt_are_read_if_wanted(wanted: bool) -> None:
    store = MemoryStore(f"{A}/")
    web = FakeWeb({f"{A}/": page_about("Home."), MAP: sitemap((f"{A}/new", ""))})
    web.named = {"a.example": (MAP, "no URL")}
    crawl(web, store, settings_of(robots_sitemaps=wanted), seconds=20.0)
    assert ("/new" in importance(store)) is wanted


# What users do not want


def test_sitemaps_are_read_of_a_robots_txt_that_could_not_be_read_at_first() -> None:
    store = MemoryStore(f"{A}/", f"{A}/other")
    web = FakeWeb({f"{A}/": page_about("Home."), f"{A}/other": page_about("Other.")})
    web.named = {"a.example": None}

    def open_later(_url: str) -> None:
        if len(web.fetched) > 20:
            web.named = {"a.example": (MAP,)}

    web.before = open_later
    crawl(web, store, settings_of(robots_sitemaps=True, budget=PER_SECOND), seconds=100.0)
    assert MAP in web.file_urls


def test_a_removed_page_does_not_come_back_through_sitemaps_and_links() -> None:
    store = MemoryStore(f"{A}/", f"{A}/one", f"{A}/two")
    store.remove(f"{A}/one")
    store.remove(f"{A}/two")
    store.sitemaps.add(MAP)
    web = linked_site()
    assert isinstance(web.answers, dict)
    web.answers[MAP] = sitemap((f"{A}/two", modified(1)))
    crawl(web, store, settings_of(follow=True), seconds=20.0)
    assert list(importance(store)) == ["/"]


def test_patterns_decide_what_sitemaps_and_links_bring_in() -> None:
    store = MemoryStore(f"{A}/")
    store.sitemaps.add(MAP)
    web = linked_site()
    assert isinstance(web.answers, dict)
    listed = (f"{A}/docs/a", f"{A}/docs/b.pdf", f"{A}/other")
    web.answers[MAP] = sitemap(*((url, "") for url in listed))
    settings = settings_of(follow=True, include=(f"{A}/docs/*", f"{A}/one"), exclude=("*.pdf",))
    crawl(web, store, settings, seconds=20.0)
    assert set(importance(store)) == {"/", "/one", "/docs/a"}


def test_changed_patterns_have_an_unchanged_sitemap_read_anew() -> None:
    store = MemoryStore()
    store.sitemaps.add(MAP)
    web = FakeWeb({MAP: sitemap((f"{A}/a.pdf", ""), (f"{A}/b", ""))}, etags=True)
    crawl(web, store, settings_of(exclude=("*.pdf",)))
    crawl(web, store, settings_of(), begin=60 * SECOND)
    assert list(importance(store)) == ["/b", "/a.pdf"]


def test_a_host_whose_sitemaps_lie_is_known_after_a_restart() -> None:
    """Its pages never change, though its sitemap says that they did."""
    urls = [f"{A}/{number}" for number in range(6)]
    store = MemoryStore(*urls)
    web = FakeWeb(lambda _url: page_about("It never changes."))
    settings = settings_of(budget=2 * PER_SECOND)
    kept: list[float] = []

    def look(running: Running) -> None:
        trust = running.frontier.frontier.signal_trust([0])
        kept.append(float(precision(trust["right"][0, 0], trust["seen"][0, 0])))

    crawl(web, store, settings, begin=DAY, during=look)
    store.sitemaps.add(MAP)
    web.answers = lambda url: (
        sitemap(*((one, modified(3)) for one in urls))
        if url == MAP
        else page_about("It never changes.")
    )
    crawl(web, store, settings, begin=4 * DAY, seconds=20.0, during=look)
    crawl(web, store, settings, begin=5 * DAY, seconds=1.0, during=look)
    assert kept[:2] == [0.5, 0.5]
    assert kept[2] <= 2 / 7
    assert set(store.learned) == {"signal trust", "rhythm", "host clock", "folder clock"}


def test_what_earlier_versions_counted_of_sitemaps_is_used() -> None:
    store = MemoryStore(f"{A}/", "https://b.example/", "https://c.example/")
    counts = {"a.example": (30.0, 0.0), "b.example": (0.0, 3_000.0), "c.example": (math.nan, 1.0)}
    packed = {host: struct.pack("<2d", *pair) for host, pair in counts.items()}
    store.keep("sitemap trust", packed | {"d.example": b"damaged"})
    shares = []

    def look(running: Running) -> None:
        trust = running.frontier.frontier.signal_trust([0, 1, 2])
        shares.extend((trust["right"][:, 0] / trust["seen"][:, 0]).tolist())

    crawl(FakeWeb(lambda _url: page_about("It is.")), store, settings_of(), during=look)
    assert shares == pytest.approx([31 / 32, 1 / 34, 0.5], rel=1e-6)


def test_four_sitemaps_are_read_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore(f"{A}/")
    web, counts, reading = FakeWeb({f"{A}/": page_about("Home.")}), list[int](), set[str]()
    fetch_file = web.fetch_file

    async def counted(url: str, *args: Any, **kwargs: Any) -> Response:  # noqa: ANN401
        reading.add(url)
        counts.append(len(reading))
        try:
            return await fetch_file(url, *args, **kwargs)
        finally:
            reading.discard(url)

    monkeypatch.setattr(web, "fetch_file", counted)
    for number in range(12):
        store.sitemaps.add(f"https://{number}.example/sitemap.xml")
    crawl(web, store, settings_of(), seconds=2.0)
    assert (len(counts), max(counts)) == (12, 4)
