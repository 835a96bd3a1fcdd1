"""The crawler at work on a real web server, into a real store."""

import itertools
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from site_server import Site, page_about, serving

from recrawl.crawler.build import run_crawl
from recrawl.crawler.settings import Settings
from recrawl.crawler.stats import Stats
from recrawl.records import Outcome, State
from recrawl.store.rows import LoggedVisit, NewPage
from recrawl.store.sqlite import SqliteStore
from recrawl.urls import host_of

A_SECOND = 86_400.0


def settings(folder: Path, **changed: Any) -> Settings:  # noqa: ANN401
    usual: dict[str, Any] = {
        "store": str(folder / "recrawl.db"),
        "budget": 60 * A_SECOND,
        "host_delay": 0.0,
        "host_connections": 4,
        "connections": 8,
        "allow_private": True,
        "total_timeout": 5.0,
    }
    return Settings(**(usual | changed))


def add(told: Settings, *urls: str) -> None:
    with SqliteStore.open(told.store, create=True) as store:
        store.add([NewPage(url, host_of(url)) for url in urls], at=0)


def crawl(told: Settings, seconds: float = 1.5) -> Stats:
    return run_crawl(told, seconds=seconds)


def history(told: Settings, url: str) -> list[LoggedVisit]:
    """Give a page's visits, the oldest first, and see that the store is whole."""
    with SqliteStore.open(told.store) as store:
        assert store.check() == []
        page = store.page(url)
        assert page is not None
        return store.history(page.number, 10_000)[::-1]


def outcomes(told: Settings, url: str) -> list[Outcome]:
    return [visit.outcome for visit in history(told, url)]


def test_pages_are_fetched_and_their_copies_kept(tmp_path: Path) -> None:
    told = settings(tmp_path)
    site = Site({f"/{name}": page_about(f"This is page {name}.") for name in "abc"})
    with serving(site):
        add(told, *(f"{site.url}/{name}" for name in "abc"))
        view = crawl(told)
    assert view.outcomes[Outcome.FIRST] == 3
    assert view.outcomes[Outcome.CHANGED] == view.outcomes[Outcome.FAILED] == 0
    assert view.outcomes[Outcome.UNCHANGED] > 3
    with SqliteStore.open(told.store) as store:
        for name in "abc":
            copy = store.copy(f"{site.url}/{name}")
            assert copy is not None
            assert copy.response.body == site.pages[f"/{name}"].encode()


def test_a_change_is_seen_and_the_page_that_changes_is_visited_more(tmp_path: Path) -> None:
    told = settings(tmp_path, budget=40 * A_SECOND, neighbours=False)
    paths = [f"/{number}" for number in range(10)]
    site = Site({path: page_about("As it was.") for path in paths})
    with serving(site):
        add(told, *(site.url + path for path in paths))
        ended = threading.Event()

        def change() -> None:
            for number in itertools.count():
                if ended.wait(0.25):
                    return
                site.pages["/0"] = page_about(f"News number {number}, which nobody expected.")

        thread = threading.Thread(target=change)
        thread.start()
        try:
            crawl(told, 5.0)
        finally:
            ended.set()
            thread.join()
        visits = Counter(request.path for request in site.requests)
    usual = sum(visits[path] for path in paths[1:]) / 9
    assert visits["/0"] > 1.4 * usual
    assert outcomes(told, site.url + "/0").count(Outcome.CHANGED) >= 5
    assert outcomes(told, site.url + "/1").count(Outcome.CHANGED) == 0


def test_the_budget_is_kept_over_restarts(tmp_path: Path) -> None:
    told = settings(tmp_path, budget=20 * A_SECOND)
    site = Site({f"/{number}": page_about("A page.") for number in range(30)})
    with serving(site):
        add(told, *(f"{site.url}/{number}" for number in range(30)))
        begin = time.monotonic()
        for _ in range(3):
            crawl(told, 1.0)
        seconds = time.monotonic() - begin
    requests = [request for request in site.requests if request.path != "/robots.txt"]
    assert 40 <= len(requests) <= 20 * seconds + 3
    with SqliteStore.open(told.store) as store:
        assert store.spent(0).requests == len(requests)


def test_servers_that_know_versions_are_asked_with_them(tmp_path: Path) -> None:
    told = settings(tmp_path)
    site = Site({"/a": page_about("A page.")}, etags=True)
    with serving(site):
        add(told, site.url + "/a")
        view = crawl(told)
    first, *later = site.asked("/a")
    assert "If-None-Match" not in first.headers
    conditional = [request for request in later if "If-None-Match" in request.headers]
    assert len(conditional) == view.not_modified > 5
    # After twenty "not modified" in a row the page is asked for without conditions.
    assert len(later) - len(conditional) == len(later) // 21
    assert set(outcomes(told, site.url + "/a")[1:]) == {Outcome.UNCHANGED}


def test_what_robots_forbids_is_never_fetched(tmp_path: Path) -> None:
    told = settings(tmp_path)
    robots = "User-agent: *\nDisallow: /secret\n"
    site = Site(
        {"/a": page_about("A page."), "/secret/b": page_about("No."), "/robots.txt": robots}
    )
    with serving(site):
        add(told, site.url + "/a", site.url + "/secret/b")
        view = crawl(told)
        again = crawl(told, 0.5)
    assert site.asked("/secret/b") == []
    assert len(site.asked("/robots.txt")) == view.robots == 1
    assert again.robots == 0
    visit = history(told, site.url + "/secret/b")[0]
    assert (visit.outcome, visit.requests) == (Outcome.FAILED, 0)
    assert "robots.txt" in (visit.error or "")


def test_crawl_delays_are_kept_as_the_server_sees_it(tmp_path: Path) -> None:
    told = settings(tmp_path)
    robots = "User-agent: *\nCrawl-delay: 0.4\n"
    pages = {f"/{number}": page_about("A page.") for number in range(5)}
    site = Site({**pages, "/robots.txt": robots})
    with serving(site, hosts=3):
        add(told, *(url + path for url in site.urls for path in pages))
        crawl(told, 4.0)
    for url in site.urls:
        times = [request.at for request in site.requests if url.endswith(request.host)]
        gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
        assert len(times) >= 6
        assert min(gaps) >= 0.4


def test_a_page_that_is_gone_is_retired_when_that_is_sure_and_comes_back_as_a_change(
    tmp_path: Path,
) -> None:
    told = settings(tmp_path, gone_after=2)
    site = Site({"/a": page_about("A page."), "/b": page_about("Another.")})
    with serving(site):
        url = site.url + "/a"
        add(told, url, site.url + "/b")
        crawl(told, 0.5)
        site.pages.pop("/a")
        crawl(told, 2.0)
        assert outcomes(told, url)[-2:] == [Outcome.GONE, Outcome.GONE]
        asked = len(site.asked("/a"))
        crawl(told, 0.5)
        assert len(site.asked("/a")) == asked
        with SqliteStore.open(told.store) as store:
            page = store.page(url)
            assert page is not None
            assert page.state is State.GONE
        site.pages["/a"] = page_about("A page.")
        add(told, url)
        crawl(told, 0.5)
    assert Outcome.CHANGED in outcomes(told, url)
    assert outcomes(told, url)[-1] is not Outcome.GONE


def test_failures_teach_nothing_and_the_crawl_goes_on(tmp_path: Path) -> None:
    told = settings(tmp_path)
    site = Site({"/a": page_about("A page."), "/b": page_about("Broken.")}, status={"/b": 500})
    with serving(site):
        add(told, site.url + "/a", site.url + "/b", "http://127.0.0.1:9/refused")
        view = crawl(told)
    assert set(outcomes(told, site.url + "/b")) == {Outcome.FAILED}
    assert view.outcomes[Outcome.UNCHANGED] >= 1
    with SqliteStore.open(told.store) as store:
        page = store.page(site.url + "/b")
        assert page is not None
        assert (page.visits, page.fingerprint) == (0, None)


def test_pages_added_and_removed_while_it_runs_are_noticed(tmp_path: Path) -> None:
    told = settings(tmp_path)
    site = Site({f"/{name}": page_about(f"Page {name}.") for name in "ab"})
    with serving(site):
        add(told, site.url + "/a")

        def edit() -> None:
            time.sleep(0.7)
            with SqliteStore.open(told.store) as store:
                store.add([NewPage(site.url + "/b", host_of(site.url))], at=1)
                store.remove([site.url + "/a"])

        thread = threading.Thread(target=edit)
        thread.start()
        crawl(told, 4.0)
        thread.join()
    last_a = max(request.at for request in site.asked("/a"))
    first_b = min(request.at for request in site.asked("/b"))
    assert last_a < first_b + 1.5
    assert max(request.at for request in site.asked("/b")) > last_a + 0.5
    with SqliteStore.open(told.store) as store:
        assert store.page(site.url + "/a") is None
        assert store.check() == []


def test_a_clock_on_a_page_is_learned_to_be_noise(tmp_path: Path) -> None:
    told = settings(tmp_path)
    site = Site({"/a": ""})

    class Clock(dict[str, str]):
        """Pages that tell the time."""

        def get(self, path: str, default: Any = None) -> Any:  # noqa: ANN401
            if path != "/a":
                return default
            now = time.time_ns()
            return page_about("A page that stands still.", f"It is now {now % 10**9} o'clock.")

    site.pages = Clock()
    with serving(site):
        add(told, site.url + "/a")
        crawl(told, 3.0)
    found = outcomes(told, site.url + "/a")
    assert found[0] is Outcome.FIRST
    assert len(found) > 15
    assert set(found[10:]) == {Outcome.UNCHANGED}


def test_links_are_followed_as_far_as_was_said(tmp_path: Path) -> None:
    told = settings(tmp_path, follow=True, max_depth=2, link_share=0.5)
    site = Site(
        {
            "/": page_about("Home.", links=("/one", "https://elsewhere.example/")),
            "/one": page_about("One.", links=("/two", "/")),
            "/two": page_about("Two.", links=("/three",)),
            "/three": page_about("Three."),
        }
    )
    with serving(site):
        add(told, site.url + "/")
        crawl(told, 4.0)
    with SqliteStore.open(told.store) as store:
        found = {path: store.page(site.url + path) for path in ("/", "/one", "/two", "/three")}
        assert store.page("https://elsewhere.example/") is None
    importance = {path: page and page.importance for path, page in found.items()}
    assert importance == {"/": 1.0, "/one": 0.5, "/two": 0.25, "/three": None}


def test_sitemaps_bring_pages_and_are_counted_apart(tmp_path: Path) -> None:
    told = settings(tmp_path)
    site = Site({"/a": page_about("A page.")})
    with serving(site):
        site.pages["/sitemap.xml"] = (
            '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
            f"<url><loc>{site.url}/a</loc><lastmod>2020-01-01</lastmod></url></urlset>"
        )
        with SqliteStore.open(told.store, create=True) as store:
            store.add_sitemap(site.url + "/sitemap.xml")
        view = crawl(told, 3.0)
    assert view.files == len(site.asked("/sitemap.xml")) == 1
    assert view.requests == len(site.asked("/a")) > 1


def test_two_runs_on_one_store_are_refused(tmp_path: Path) -> None:
    from recrawl.errors import StoreError

    told = settings(tmp_path)
    add(told, "http://127.0.0.1:9/")
    with (
        SqliteStore.open(told.store) as store,
        store.lock(),
        pytest.raises(StoreError, match="another recrawl run"),
    ):
        crawl(told, 0.2)
