"""Polite, as servers see it: never two requests too close, never a page that is forbidden."""

import itertools
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from acceptance import program
from site_server import Request, Site, page_about, serving

from recrawl.store.sqlite import SqliteStore

#: What the server's clock and the network may take off a delay.
JITTER = 0.01
SETTINGS = {"allow_private": "true", "budget": "200/s", "contact": "https://example.org/bot"}


def crawl_until(done: Callable[[], bool], store: Path, **settings: str) -> None:
    """Crawl until something has happened, however long that takes on a busy machine."""
    arguments = ("run", "--store", str(store))
    status, _, errors = program.run_until(done, *arguments, settings=SETTINGS | settings)
    assert status == 0, errors
    program.check(store)


def times_of(requests: Iterable[Request]) -> dict[str, list[float]]:
    """Return when each host was asked, robots.txt included."""
    times: dict[str, list[float]] = {}
    for request in requests:
        times.setdefault(request.host, []).append(request.at)
    return times


def check_delays(requests: list[Request], delay: float) -> None:
    """Check that no two requests to a host are too close."""
    for times in times_of(requests).values():
        gaps = [later - earlier for earlier, later in itertools.pairwise(sorted(times))]
        assert min(gaps) >= delay - JITTER


def has_requests(site: Site, count: int) -> bool:
    return len(site.requests) >= count


def site_with(robots: str) -> Site:
    pages = {f"/{n}": page_about(f"This is page {n}.") for n in range(6)}
    return Site({**pages, "/secret/1": page_about("Not for you."), "/robots.txt": robots})


@pytest.mark.parametrize(
    ("robots", "host_delay", "delay"),
    [("Crawl-delay: 2\n", "0s", 2.0), ("Crawl-delay: 0.1\n", "0.5s", 0.5)],
    ids=["what the host asks for", "our own"],
)
def test_no_two_requests_are_too_close(
    tmp_path: Path, robots: str, host_delay: str, delay: float
) -> None:
    site = site_with(f"User-agent: *\n{robots}Disallow: /secret/\n")
    with serving(site, hosts=3):
        store = tmp_path / "recrawl.db"
        program.add(store, (url + path for url in site.urls for path in site.pages))

        def done() -> bool:
            times = times_of(site.requests).values()
            return len(times) == 3 and min(map(len, times)) >= 4

        crawl_until(done, store, host_delay=host_delay, host_connections="4")
    assert set(times_of(site.requests)) == {url[7:] for url in site.urls}
    check_delays(site.requests, delay)
    assert site.asked("/secret/1") == []


def test_a_delay_lasts_over_a_restart(tmp_path: Path) -> None:
    site = site_with("User-agent: *\nCrawl-delay: 2\n")
    with serving(site):
        store = tmp_path / "recrawl.db"
        program.add(store, (f"{site.url}/{n}" for n in range(6)))
        for _ in range(2):
            enough = len(site.requests) + 2
            crawl_until(partial(has_requests, site, enough), store, host_delay="0s")
    assert len(site.asked("/robots.txt")) == 1
    check_delays(site.requests, 2.0)


def test_two_stores_crawl_one_site_each_with_its_own_delays(tmp_path: Path) -> None:
    site = site_with("User-agent: *\nCrawl-delay: 1\nDisallow: /secret/\n")
    agents = ["one/1.0 (+https://example.org/one)", "two/1.0 (+https://example.org/two)"]
    stores = [tmp_path / f"{number}.db" for number in range(2)]

    def requests_of(agent: str) -> list[Request]:
        return [one for one in list(site.requests) if one.headers["User-Agent"] == agent]

    def crawl(store: Path, agent: str) -> None:
        crawl_until(lambda: len(requests_of(agent)) >= 4, store, host_delay="0s", user_agent=agent)

    with serving(site), ThreadPoolExecutor(2) as threads:
        for store in stores:
            program.add(store, (site.url + path for path in site.pages))
        list(threads.map(crawl, stores, agents))
    assert site.asked("/secret/1") == []
    for store, agent in zip(stores, agents, strict=True):
        ours = requests_of(agent)
        check_delays(ours, 1.0)
        with SqliteStore.open(store) as opened:
            spent = opened.spent(0)
        assert spent.robots == 1
        assert spent.requests == len(ours) - 1
    assert len(site.requests) == sum(len(requests_of(agent)) for agent in agents)
