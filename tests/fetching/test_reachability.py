"""Whether hosts can be reached with some settings."""

import asyncio

from ports import silent_port
from site_server import ROBOTS, Site, page_about, serving

from recrawl.config.settings import Settings
from recrawl.fetching.reachability import reach
from recrawl.hosts import host_of
from recrawl.http.access import NO_ACCESS

SETTINGS = Settings(allow_private=True, contact="https://example.org/bot", host_delay=3_600.0)


def reached(*urls: str, settings: Settings = SETTINGS) -> dict[str, str | None]:
    return asyncio.run(reach(urls, settings, lambda _url: NO_ACCESS))


def test_each_host_is_asked_for_its_robots_txt_and_nothing_else() -> None:
    robots = "User-agent: *\nDisallow: /secret/"
    with (
        serving(Site({"/a": page_about("A."), ROBOTS: robots}), hosts=2) as site,
        silent_port() as silent,
    ):
        open_, closed = site.urls
        dead = f"http://127.0.0.1:{silent}"
        found = reached(f"{open_}/a", f"{closed}/secret/1", f"{dead}/")
        assert [request.path for request in site.requests] == [ROBOTS, ROBOTS]
    assert "(+https://example.org/bot)" in site.requests[0].headers["User-Agent"]
    assert found[host_of(open_)] is None
    assert found[host_of(closed)] == f"robots.txt does not allow {closed}/secret/1"
    assert (found[host_of(dead)] or "").endswith("cannot be read: no connection: refused")


def test_what_a_crawl_may_not_ask_is_not_asked() -> None:
    with serving(Site({})) as site:
        found = reached(f"{site.url}/", settings=Settings())
        assert site.requests == []
    assert "is private; use --allow-private" in (found[host_of(site.url)] or "")
