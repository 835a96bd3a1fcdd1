"""Polite, as servers see it: never two requests too close, never a page that is forbidden."""

import itertools
import threading
from pathlib import Path

import pytest
from acceptance import program
from site_server import Request, Site, page_about, serving

from recrawl.store.sqlite import SqliteStore

#: What the server's clock and the network may take off a pause.
JITTER = 0.01
TOLD = {"allow_private": "true", "budget": "200/s", "contact": "https://example.org/bot"}


def crawl(store: Path, seconds: float, **settings: str) -> None:
    arguments = ("run", "--store", str(store), "--for", f"{seconds:g}s")
    status, _, complained = program.run(*arguments, settings=TOLD | settings)
    assert status == 0, complained
    program.check(store)


def see_pauses(requests: list[Request], least: float, at_least: int) -> None:
    """See that no two requests to a host are too close, robots.txt included."""
    hosts = {request.host for request in requests}
    for host in hosts:
        times = sorted(request.at for request in requests if request.host == host)
        gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
        assert len(times) >= at_least
        assert min(gaps) >= least - JITTER


def site_with(robots: str) -> Site:
    pages = {f"/{n}": page_about(f"This is page {n}.") for n in range(6)}
    return Site({**pages, "/secret/1": page_about("Not for you."), "/robots.txt": robots})


@pytest.mark.parametrize(
    ("robots", "host_delay", "pause"),
    [("Crawl-delay: 2\n", "0s", 2.0), ("Crawl-delay: 0.1\n", "0.5s", 0.5)],
    ids=["what the host asks for", "our own"],
)
def test_no_two_requests_are_too_close(
    tmp_path: Path, robots: str, host_delay: str, pause: float
) -> None:
    site = site_with(f"User-agent: *\n{robots}Disallow: /secret/\n")
    with serving(site, hosts=3):
        store = tmp_path / "recrawl.db"
        program.add(store, (url + path for url in site.urls for path in site.pages))
        crawl(store, 3.6 * pause, host_delay=host_delay, host_connections="4")
    assert {request.host for request in site.requests} == {url[7:] for url in site.urls}
    see_pauses(site.requests, pause, at_least=4)
    assert site.asked("/secret/1") == []


def test_a_pause_lasts_over_a_restart(tmp_path: Path) -> None:
    site = site_with("User-agent: *\nCrawl-delay: 2\n")
    with serving(site):
        store = tmp_path / "recrawl.db"
        program.add(store, (f"{site.url}/{n}" for n in range(6)))
        for _ in range(2):
            crawl(store, 0.2, host_delay="0s")
    assert len(site.asked("/robots.txt")) == 1
    see_pauses(site.requests, 2.0, at_least=3)


def test_two_stores_crawl_one_site_each_with_its_own_pauses(tmp_path: Path) -> None:
    site = site_with("User-agent: *\nCrawl-delay: 1\nDisallow: /secret/\n")
    agents = ["one/1.0 (+https://example.org/one)", "two/1.0 (+https://example.org/two)"]
    with serving(site):
        stores = [tmp_path / f"{number}.db" for number in range(2)]
        threads = []
        for store, agent in zip(stores, agents, strict=True):
            program.add(store, (site.url + path for path in site.pages))
            threads.append(
                threading.Thread(
                    target=crawl,
                    args=(store, 4.0),
                    kwargs={
                        "host_delay": "0s",
                        "user_agent": agent,
                    },
                )
            )
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert site.asked("/secret/1") == []
    for store, agent in zip(stores, agents, strict=True):
        ours = [one for one in site.requests if one.headers["User-Agent"] == agent]
        see_pauses(ours, 1.0, at_least=4)
        with SqliteStore.open(store) as opened:
            spent = opened.spent(0)
        assert spent.robots == 1
        assert spent.requests == len(ours) - 1
    assert len(site.requests) == sum(one.headers["User-Agent"] in agents for one in site.requests)
