"""The crawler as Python programs use it, on a real web server and a real store.

Nothing here depends on how fast the machine is: a run ends when what is waited for has happened.
"""

import itertools
import os
import re
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ports import silent_port
from site_server import Site, page_about, serving

from recrawl.crawler.crawler import Crawler
from recrawl.crawler.stopping import STOP_SECONDS
from recrawl.engine.stats import Stats
from recrawl.errors import AddressError, ArgumentError, SettingsError, StoreError
from recrawl.records import DISALLOWED, Outcome, State

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "crawl-from-python.md"
#: What the clocks of client and server may differ by, in seconds.
JITTER = 0.01
#: Seconds after which a run ends although nothing happened: far more than any takes.
LONG = 300.0


def crawler_of(folder: Path, **settings: Any) -> Crawler:  # noqa: ANN401
    usual: dict[str, Any] = {
        "budget": "60/s",
        "host_delay": "0s",
        "host_connections": 4,
        "allow_private": True,
        "min_interval": "0s",
        "spend": "all",
    }
    return Crawler(folder / "recrawl.db", **(usual | settings))


def run_until(crawler: Crawler, done: Callable[[], bool]) -> Stats:
    def watch(_stats: Stats) -> None:
        if done():
            crawler.stop()

    return crawler.run(LONG, watch=watch)


def test_the_examples_of_the_guide_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second, _fast = re.findall(
        r"```python\n(from recrawl.*?)```", GUIDE.read_text("utf-8"), re.DOTALL
    )
    site = Site({"/": page_about("Home."), "/news": page_about("News.")})
    with serving(site):
        for number, example in enumerate((first, second)):
            # The first has visited its pages, and they are not visited again within minutes.
            local = example.replace("recrawl.db", f"{number}.db")
            local = local.replace('"https://example.org/bot"', '"me", allow_private=True')
            local = local.replace("https://example.org", site.url).replace(
                "seconds=60", "seconds=2"
            )
            local = local.replace("from recrawl import", "from recrawl.crawler.crawler import")
            exec(compile(local, str(GUIDE), "exec"), {})  # noqa: S102 - it is ours
    *_, shown = capsys.readouterr().out.splitlines()
    assert shown == f"200 {len(site.pages['/'])}"
    assert {request.headers["User-Agent"][-5:] for request in site.requests} == {"(+me)"}


def test_a_program_that_goes_on_after_a_signal_is_not_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timers = []

    class Timer(threading.Timer):
        def start(self) -> None:
            timers.append(self)

    monkeypatch.setattr(threading, "Timer", Timer)
    with crawler_of(tmp_path) as crawler:
        crawler.run(LONG, watch=lambda _: os.kill(os.getpid(), signal.SIGTERM))
    assert [(timer.interval, timer.finished.is_set()) for timer in timers] == [(STOP_SECONDS, True)]


def test_pages_are_added_crawled_and_copied(tmp_path: Path) -> None:
    site = Site({f"/{name}": page_about(f"This is {name}.") for name in "abc"})
    with serving(site), crawler_of(tmp_path) as crawler:
        urls = [f"{site.url}/{name}" for name in "abc"]
        assert crawler.add(urls[:1]).new == 1
        added = crawler.add(urls, importance=2.0)
        assert (added.new, added.known) == (2, 1)
        stats = run_until(crawler, lambda: len(site.requests) > 10)
        assert stats.outcomes[Outcome.FIRST] == 3
        assert stats.outcomes[Outcome.UNCHANGED] == stats.visits - 3 > 3
        status = crawler.status()
        assert (status.totals.pages, status.totals.with_copy) == (3, 3)
        assert status.ever.requests == stats.requests == len(site.requests) - 1
        for name in "abc":
            copy = crawler.store.copy(f"{site.url}/{name}")
            assert copy is not None
            assert copy.response.body == site.pages[f"/{name}"].encode()
            assert copy.page.importance == 2.0
        assert crawler.store.check() == []


def test_what_robots_txt_forbids_is_never_fetched_and_it_is_remembered(tmp_path: Path) -> None:
    robots = "User-agent: *\nDisallow: /secret\n"
    site = Site({"/a": page_about("A."), "/secret/b": page_about("No."), "/robots.txt": robots})
    with serving(site), crawler_of(tmp_path) as crawler:
        secret = f"{site.url}/secret/b"
        crawler.add([f"{site.url}/a", secret])

        def refused() -> bool:
            page = crawler.store.page(secret)
            is_refused = page is not None and page.state is State.REFUSED
            return is_refused and bool(site.asked("/a"))

        assert run_until(crawler, refused).robots == 1
        before = len(site.asked("/a"))
        assert run_until(crawler, lambda: len(site.asked("/a")) > before).robots == 0
        page = crawler.store.page(secret)
        assert page is not None
        assert crawler.store.history(page.number, 1) == []
        assert crawler.store.check() == []
    assert page.reason == DISALLOWED
    assert site.asked("/secret/b") == []
    assert len(site.asked("/robots.txt")) == 1


def test_crawl_delays_are_kept_as_the_server_sees_it(tmp_path: Path) -> None:
    pages = {f"/{number}": page_about("A page.") for number in range(5)}
    site = Site({**pages, "/robots.txt": "User-agent: *\nCrawl-delay: 0.4\n"})

    def times(url: str) -> list[float]:
        return [request.at for request in site.requests if url.endswith(request.host)]

    with serving(site, hosts=3), crawler_of(tmp_path) as crawler:
        crawler.add(url + path for url in site.urls for path in pages)
        run_until(crawler, lambda: min(len(times(url)) for url in site.urls) >= 6)
    for url in site.urls:
        gaps = [later - earlier for earlier, later in itertools.pairwise(times(url))]
        assert min(gaps) >= 0.4 - JITTER


def test_servers_that_know_versions_are_asked_with_them(tmp_path: Path) -> None:
    site = Site({"/a": page_about("A page.")}, etags=True)
    with serving(site), crawler_of(tmp_path) as crawler:
        crawler.add([f"{site.url}/a"])
        stats = run_until(crawler, lambda: len(site.asked("/a")) > 5)
    first, *later = site.asked("/a")
    assert "If-None-Match" not in first.headers
    assert sum("If-None-Match" in request.headers for request in later) == stats.not_modified > 3


def test_edits_and_sitemaps_reach_a_run(tmp_path: Path) -> None:
    site = Site({f"/{name}": page_about(f"Page {name}.") for name in "abc"})
    with serving(site), crawler_of(tmp_path) as crawler:
        site.pages["/sitemap.xml"] = (
            '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
            f"<url><loc>{site.url}/c</loc><lastmod>2020-01-01</lastmod></url></urlset>"
        )
        crawler.add([f"{site.url}/a"])
        crawler.store.sitemaps.add(f"{site.url}/sitemap.xml")
        edited: list[int] = []

        def done() -> bool:
            if site.asked("/a") and not edited:
                edited.append(len(site.requests))
                crawler.add([f"{site.url}/b"])
                crawler.store.remove([f"{site.url}/a"])
            return bool(site.asked("/b") and site.asked("/c"))

        stats = run_until(crawler, done)
        assert crawler.store.page(f"{site.url}/a") is None
        assert crawler.store.check() == []
    assert stats.files == len(site.asked("/sitemap.xml")) == 1


def test_a_run_in_a_thread_leaves_signals_alone(tmp_path: Path) -> None:
    site = Site({"/a": page_about("A page.")})
    ended: list[Stats] = []

    def work() -> None:
        with crawler_of(tmp_path) as crawler:
            crawler.add([f"{site.url}/a"])
            ended.append(run_until(crawler, lambda: bool(site.asked("/a"))))

    with serving(site):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert ended[0].visits >= 1


def test_two_runs_on_one_store_are_refused(tmp_path: Path) -> None:
    with crawler_of(tmp_path) as crawler, crawler_of(tmp_path) as other:
        with other.store.lock(), pytest.raises(StoreError, match="another recrawl"):
            crawler.run(0.1)
        assert crawler.run(0.1).visits == 0


def test_settings_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECRAWL_BUDGET", "1/day")
    assert crawler_of(tmp_path, host_delay="2s").settings.host_delay == 2.0
    assert Crawler(tmp_path / "recrawl.db").settings.budget == 1_000.0
    with pytest.raises(SettingsError, match="there is no setting 'bugdet'"):
        crawler_of(tmp_path, bugdet="1/day")
    with pytest.raises(SettingsError, match="budget"):
        crawler_of(tmp_path, budget="many")


def test_a_closed_crawler_says_how_to_open_it(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="the crawler is closed; open it"):
        crawler_of(tmp_path).add(["https://a.example/"])
    with crawler_of(tmp_path) as crawler:
        crawler.stop()
    with pytest.raises(ArgumentError, match="the crawler is closed"):
        crawler.status()


def test_a_url_that_cannot_be_crawled_adds_nothing(tmp_path: Path) -> None:
    with crawler_of(tmp_path) as crawler:
        with pytest.raises(AddressError):
            crawler.add(["https://a.example/", "ftp://a.example/"])
        with pytest.raises(ArgumentError, match="is not a number, 0 or above"):
            crawler.add(["https://a.example/"], importance=-1.0)
        assert crawler.status().totals.pages == 0


def test_pages_at_private_addresses_are_due_again_once_those_are_allowed(tmp_path: Path) -> None:
    """A refused page waits for days; a setting that was changed counts at the next start."""
    site = Site({"/a": page_about("A.")})
    with serving(site):
        with crawler_of(tmp_path, allow_private=False) as crawler:
            crawler.add([f"{site.url}/a"])
            run_until(crawler, lambda: crawler.status().totals.refused == 1)
            assert not site.requests
        with crawler_of(tmp_path) as crawler:
            stats = run_until(crawler, lambda: bool(site.asked("/a")))
            assert stats.outcomes[Outcome.FIRST] == 1
            assert crawler.status().totals.refused == 0


def test_many_new_pages_of_a_dead_host_starve_no_other_host(tmp_path: Path) -> None:
    """Connections to it are refused; its pages, without a copy, were worth more than all others."""
    site = Site({f"/{name}": page_about(f"This is {name}.") for name in "abc"})
    with serving(site), silent_port() as dead, crawler_of(tmp_path, budget="200/s") as crawler:
        crawler.add(f"{site.url}/{name}" for name in "abc")
        run_until(crawler, lambda: len(site.requests) > 3)
        site.requests.clear()
        address = f"http://127.0.0.1:{dead}"
        crawler.add(f"{address}/{number}" for number in range(20_000))
        # The host is given up for half a minute, which is when the others once stood still.
        stats = run_until(crawler, lambda: len(site.requests) > 200)
        assert len(site.requests) > 200
        assert stats.outcomes[Outcome.FAILED] < 50
