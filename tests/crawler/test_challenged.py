"""Challenges in a crawl: failed visits with a reason, never content, and a host that is spared."""

from itertools import pairwise
from pathlib import Path

import pytest
from crawler.fakes import PER_SECOND, FakeWeb, crawl, settings_of
from scripted_web import Web, answer, fetcher
from site_server import page_about
from test_challenges import CHALLENGES
from virtual_time import run as run_virtual

from recrawl.content.absence import is_refused
from recrawl.hosts import host_of
from recrawl.http.host_pacing import FIRST_BACKOFF, HostPacing
from recrawl.records import Outcome, Response
from recrawl.store.changes import Cursor
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore

A = "https://a.example"
URLS = [f"{A}/{name}" for name in ("one", "two", "three")]
DAY = 86_400_000_000
REASON = "a challenge instead of the page: Cloudflare"
HTML = ("Content-Type", "text/html")


def page_at(url: str) -> str:
    return page_about(f"All there is to say about {url}.")


def filled(store: SqliteStore, web: FakeWeb) -> None:
    """Make copies of all pages."""
    store.add([NewPage(url, host_of(url)) for url in URLS], 0)
    crawl(web, store, settings_of(budget=PER_SECOND), seconds=60)
    assert store.totals().with_copy == len(URLS)


def test_a_challenge_with_status_200_is_a_failed_visit_and_no_content(tmp_path: Path) -> None:
    web = FakeWeb(page_at)
    with SqliteStore.open(tmp_path / "store.db", create=True) as store:
        filled(store, web)
        before = store.feed.end()
        web.answers = lambda _url: CHALLENGES["Cloudflare"]
        crawl(web, store, settings_of(budget=PER_SECOND), seconds=3_600, begin=5 * DAY)
        for url in URLS:
            copy, page = store.copy(url), store.page(url)
            assert copy is not None
            assert page is not None
            assert copy.response.body == page_at(url).encode()
            assert page.failures > 0
            last = store.history(page.number, 1)[0]
            assert (last.outcome, last.status, last.error) == (Outcome.FAILED, 200, REASON)
        assert store.feed.read(before, 9) == []
        # It goes away, and nothing has changed.
        web.answers = page_at
        crawl(web, store, settings_of(budget=PER_SECOND), seconds=600, begin=9 * DAY)
        assert store.feed.read(before, 9) == []
        assert store.trouble().failing == 0


def test_a_first_visit_that_is_challenged_makes_no_copy(tmp_path: Path) -> None:
    web = FakeWeb(lambda _url: CHALLENGES["Anubis"])
    with SqliteStore.open(tmp_path / "store.db", create=True) as store:
        store.add([NewPage(URLS[0], host_of(A))], 0)
        crawl(web, store, settings_of(budget=PER_SECOND, follow=True), seconds=60)
        assert store.totals().with_copy == 0
        assert store.feed.end() == Cursor(0)


def test_a_host_that_challenges_is_left_alone_for_longer_each_time(tmp_path: Path) -> None:
    web = FakeWeb(page_at)
    with SqliteStore.open(tmp_path / "store.db", create=True) as store:
        filled(store, web)
        web.answers = lambda _url: CHALLENGES["Cloudflare"]
        web.fetched.clear()
        one_by_one = settings_of(budget=PER_SECOND, host_connections=1)
        crawl(web, store, one_by_one, seconds=3_600, begin=5 * DAY)
        times = [fetch.at for fetch in web.fetched]
        gaps = [later - at for at, later in pairwise(times)]
        assert gaps == sorted(gaps)
        assert gaps[0] >= FIRST_BACKOFF
        assert len(times) < 10


@pytest.mark.parametrize("status", [200, 202, 403, 405, 503])
def test_a_header_names_the_challenge_whatever_the_status(status: int) -> None:
    headers = [HTML, ("cf-mitigated", "challenge")]
    web = Web({"/a": answer("Just a moment", f"{status} Status", headers)})

    async def story() -> Response:
        async with web, fetcher() as made:
            return await made.fetch(web.page("/a"))

    found = run_virtual(story())
    assert (found.status, found.error, found.body) == (status, REASON, None)
    assert not is_refused(found)
    assert HostPacing().backoff("a.example", found) == FIRST_BACKOFF


def test_a_robots_txt_that_is_a_challenge_allows_nothing() -> None:
    challenge = answer(CHALLENGES["Cloudflare"])
    web = Web({"/robots.txt": challenge, "/a": answer("<p>A page.")})

    async def story() -> Response:
        async with web, fetcher() as made:
            return await made.fetch(web.page("/a"))

    found = run_virtual(story())
    assert "cannot be read: a challenge instead of the page: Cloudflare" in (found.error or "")
    assert web.targets() == []
