"""How the demo web responds, by a clock of the test's own."""

import xml.etree.ElementTree as ET
from bisect import bisect_right
from datetime import datetime
from itertools import pairwise

import numpy as np
import pytest
from demo.served import MADE, ORIGINS, PAGES, RENDERER, ask, page_with, rendering_of, server_of

from recrawl.demo.handler import Request, Response
from recrawl.demo.sites import SITES, Noise, Slow, Validation
from recrawl.demo.slow_noise import BANNER_DAYS, DAY, WEEK
from recrawl.http.robots_rules import read_robots

QUIET = [Validation.NONE, Validation.TAG_AND_DATE, Validation.DATE]


def test_pages_stay_as_they_are_until_told_to_begin() -> None:
    server = server_of([1.0, 2.0], began=None)
    page = page_with(Validation.NONE)
    assert ask(server, page, 1000.0).body == rendering_of(page, 0)
    server.begin(MADE + 1000.0)
    assert ask(server, page, 1000.9).body == rendering_of(page, 0)
    assert ask(server, page, 1001.0).body == rendering_of(page, 1)
    assert ask(server, page, 1002.5).body == rendering_of(page, 2)
    assert ask(server, page, 9999.0).body == rendering_of(page, 2, 8999.0)


@pytest.mark.parametrize("validation", [Validation.TAG_AND_DATE, Validation.DATE])
def test_a_version_that_is_known_is_not_sent_again(validation: Validation) -> None:
    server, page = server_of([10.0]), page_with(validation)
    first = ask(server, page, 1.0)
    assert first.status == 200
    again = ask(server, page, 9.0, first)
    assert (again.status, again.body) == (304, b"")
    assert set(again.headers) < set(first.headers)
    after = ask(server, page, 12.0, first)
    assert (after.status, after.body) == (200, rendering_of(page, 1, 12.0))
    assert ask(server, page, 13.0, after).status == 304


def test_a_tag_decides_over_a_date() -> None:
    server, page = server_of([10.0]), page_with(Validation.TAG_AND_DATE)
    later = "Fri, 01 Jan 2100 00:00:00 GMT"
    tags = {'"other"': 200, '"a", W/' + dict(ask(server, page, 1.0).headers)["ETag"]: 304, "*": 304}
    for tag, status in tags.items():
        assert server.respond(Request(page.site, page.path, tag, later), MADE).status == status
    assert server.respond(Request(page.site, page.path, None, later), MADE).status == 304
    assert server.respond(Request(page.site, page.path, None, "yesterday"), MADE).status == 200


@pytest.mark.parametrize("validation", [Validation.NONE, Validation.NEW_TAG])
def test_some_sites_never_say_that_nothing_is_new(validation: Validation) -> None:
    server, page = server_of([]), page_with(validation)
    responses = [ask(server, page, 1.0)]
    for second in (1.0, 2.0, 3.0):
        responses.append(ask(server, page, second, responses[-1]))
    assert [response.status for response in responses] == [200] * 4
    assert len({response.body for response in responses}) == 1
    tags = {dict(response.headers).get("ETag") for response in responses}
    assert tags == {None} if validation is Validation.NONE else len(tags) == 4


@pytest.mark.parametrize("validation", QUIET)
def test_who_asks_with_validators_misses_no_change(validation: Validation) -> None:
    rng = np.random.default_rng(7)
    changes = np.sort(rng.uniform(0.0, 60.0, 90)).tolist()
    server, page = server_of(changes), page_with(validation)
    known, body = None, b""
    statuses = set()
    for second in np.sort(rng.uniform(0.0, 70.0, 400)).tolist():
        response = ask(server, page, second, known)
        statuses.add(response.status)
        if response.status == 200:
            known, body = response, response.body
        assert body == rendering_of(page, bisect_right(changes, second), second)
    assert statuses == ({200} if validation is Validation.NONE else {200, 304})


def test_noise_differs_at_every_fetch_and_the_rest_does_not() -> None:
    seen = set()
    for page in PAGES:
        server = server_of([])
        responses = [ask(server, page, 0.25 * number).body for number in range(15)]
        if not page.noise:
            assert len(set(responses)) == 1
            continue
        seen |= set(page.noise)
        assert all(one != other for one, other in pairwise(responses))
        content = RENDERER.render(page, 0)[::2]
        for response in responses:
            position = 0
            for piece in content:
                position = response.index(piece, position) + len(piece)
            assert position == len(response)
    assert seen == set(Noise)


def test_slow_noise_differs_by_the_day_and_never_within_one() -> None:
    seen = set()
    for page in PAGES:
        site, server = SITES[page.site], server_of([])
        bodies = [ask(server, page, DAY * day).body for day in range(4 * WEEK)]
        for day, (before, after) in enumerate(pairwise(bodies), start=1):
            starts = {
                Slow.DATE: True,
                Slow.BOX: day % WEEK == 0,
                Slow.BANNER: day % WEEK in {BANNER_DAYS.start, BANNER_DAYS.stop},
            }
            kinds = {kind for kind in site.slow if starts[kind]}
            seen |= kinds
            if not page.noise:
                assert (before != after) == bool(kinds)
    assert seen == set(Slow)


@pytest.mark.parametrize("validation", [Validation.TAG_AND_DATE, Validation.DATE])
def test_validators_are_those_of_the_slow_noise_too(validation: Validation) -> None:
    server = server_of([])
    page = next(
        page
        for page in PAGES
        if SITES[page.site].validation is validation and SITES[page.site].slow and not page.noise
    )
    known, sent = ask(server, page, 1.0), 0
    for second in range(2, round(4 * WEEK * DAY), 2):
        response = ask(server, page, float(second), known)
        if response.status == 200:
            known, sent = response, sent + 1
        assert known.body == rendering_of(page, 0, float(second))
    # In the second of a change there is no date yet, so that the page is sent once more.
    assert 3 <= sent <= 2 * 4 * 2


def test_a_token_is_in_a_hidden_input_and_in_a_link() -> None:
    page = next(page for page in PAGES if Noise.TOKEN in page.noise)
    text = ask(server_of([]), page, 1.0).body.decode()
    token = text.partition('name="csrf" value="')[2].partition('"')[0]
    assert len(token) == 32
    assert f"session={token}" in text


def _file(site: int, path: str, second: float = 0.0, changes: tuple[float, ...] = ()) -> Response:
    return server_of(changes).respond(Request(site, path), MADE + second)


def test_robots_say_what_sites_want() -> None:
    for number, site in enumerate(SITES):
        response = _file(number, "/robots.txt")
        assert response.status == 200
        rules = read_robots(response.body.decode(), "recrawl")
        assert rules.allows(f"{ORIGINS[number]}/")
        assert rules.delay == (site.crawl_delay or 0.0)
        sitemap = [f"{ORIGINS[number]}/sitemap.xml"] if site.sitemap else []
        assert list(rules.sitemaps) == sitemap
        if site.forbidden:
            assert not rules.allows(f"{ORIGINS[number]}{site.forbidden}x")
            assert _file(number, f"{site.forbidden}unfinished").status == 200
    assert any(site.forbidden for site in SITES)
    assert any(site.crawl_delay for site in SITES)


def test_the_sitemap_tells_when_pages_changed() -> None:
    number = next(number for number, site in enumerate(SITES) if site.sitemap)
    for second, changed in ((1.0, MADE - 3600.0), (6.0, MADE + 5.25)):
        response = _file(number, "/sitemap.xml", second, (5.25, 7.0))
        namespace = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
        entries = ET.fromstring(response.body.decode()).findall(f"{namespace}url")  # noqa: S314
        dates = {
            str(entry.findtext(f"{namespace}loc")): datetime.fromisoformat(
                str(entry.findtext(f"{namespace}lastmod"))
            ).timestamp()
            for entry in entries
        }
        pages = [page for page in PAGES if page.site == number]
        assert dates == {RENDERER.url(page): changed for page in pages}


def test_what_is_not_there_is_not_found() -> None:
    assert _file(0, "/sitemap.xml").status == 404
    assert _file(1, PAGES[1].path).status == 404
    assert _file(0, "/no/such/page").status == 404
