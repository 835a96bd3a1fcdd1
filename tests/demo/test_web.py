"""The demo web in its own process."""

import time
import urllib.request

import pytest

from recrawl.demo.pages import PageRenderer
from recrawl.demo.scenario import draw_scenario
from recrawl.demo.sites import SITES, Validation
from recrawl.demo.slow_noise import day_of
from recrawl.demo.web import DemoWeb
from recrawl.errors import RecrawlError

# Whatever proxy there is, it does not know this web.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def fetched(url: str) -> bytes:
    with OPENER.open(url, timeout=600) as response:
        return bytes(response.read())


def test_it_serves_the_scenario_once_it_has_begun() -> None:
    scenario = draw_scenario(40, 60.0, seed=3)
    changes = scenario.changes()
    now = time.time()
    with DemoWeb(scenario, now) as web:
        assert len(set(web.urls)) == 40
        renderer = PageRenderer(3, scenario.pages, web.origins)
        quiet = [page for page in scenario.pages if not page.noise and changes[page.number]]
        assert len(quiet) > 5
        for page in quiet:
            assert fetched(web.urls[page.number]) == b"".join(renderer.render(page, 0))
        # As if it had begun long ago: all that will happen has happened.
        web.begin(now - 1000.0)
        last = quiet[0]
        deadline = time.monotonic() + 600
        while fetched(web.urls[last.number]) == b"".join(renderer.render(last, 0)):
            assert time.monotonic() < deadline
        for page in quiet:
            version, asked = len(changes[page.number]), time.time()
            body = fetched(web.urls[page.number])
            days = range(day_of(asked - now + 1000.0), 1 + day_of(time.time() - now + 1000.0))
            assert body in {b"".join(renderer.render(page, version, day)) for day in days}
        assert [url.removesuffix("/sitemap.xml") for url in web.sitemaps] == [
            origin for origin, site in zip(web.origins, SITES, strict=True) if site.sitemap
        ]
        assert b"<urlset" in fetched(web.sitemaps[0])
    with pytest.raises(OSError, match="refused"):
        fetched(web.urls[0])


def test_dates_tell_the_age_of_pages_that_have_not_changed() -> None:
    scenario = draw_scenario(40, 60.0, seed=3)
    made = 1_700_000_000.0
    page = next(p for p in scenario.pages if SITES[p.site].validation is Validation.DATE)
    with DemoWeb(scenario, made) as web, OPENER.open(web.urls[page.number]) as response:
        date = response.headers["Last-Modified"]
    changed = int(made - scenario.age[page.number])
    assert date == time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(changed))


def test_it_says_so_when_its_process_has_ended() -> None:
    with DemoWeb(draw_scenario(5, 1.0, seed=1), 0.0) as web:
        web._process.kill()  # noqa: SLF001
        web._process.wait()  # noqa: SLF001
        with pytest.raises(RecrawlError, match="ended unexpectedly"):
            web.begin(0.0)
