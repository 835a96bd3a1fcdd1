"""The pages for browsers, without a browser: what they show, to whom, and what they never do."""

import html
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("fastapi", reason="the service needs recrawl[serve]")
pytest.importorskip("jinja2", reason="the service needs recrawl[serve]")

from service.dashboard_site import (
    ABOUT,
    BROKEN,
    EVIL,
    NEW,
    NEWS,
    PAGES,
    REFUSED,
    Browser,
    acting,
    browsing,
    texts,
)
from virtual_time import run

from recrawl.inspect.pages import ORDERS
from recrawl.service.auth.tokens import Access
from recrawl.service.dashboard.pages import TITLES
from recrawl.service.dashboard.rendering import HERE
from recrawl.service.dashboard.routes import FILES

URL_IN_LIST = re.compile(r'<th scope="row"><a class="url" [^>]*>([^<]*)</a>')


def numbers(page: str, chart: str) -> Any:  # noqa: ANN401 - as JSON has it
    """Return the numbers behind a chart."""
    found = re.search(f'data-chart="{chart}" data-columns="([^"]*)"', page)
    assert found is not None, page
    return json.loads(html.unescape(found[1]))


def listed(page: str) -> list[str]:
    return [html.unescape(url) for url in URL_IN_LIST.findall(page)]


def test_every_page_is_there_and_nothing_in_it_can_act(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            for path in PAGES:
                answered = await browser.get(path)
                assert answered.status == 200, answered.body
                page = answered.body.decode()
                policy = answered.headers["content-security-policy"]
                assert "default-src 'none'" in policy
                assert "unsafe" not in policy
                assert answered.headers["cache-control"] == "no-store"
                assert acting(page) == [], path
                assert "<script>alert" not in page
                assert "\x1b" not in page
                assert "\u202e" not in page
                assert '<html lang="en">' in page
                assert page.count("<h1") == 1

    run(main())


def test_what_comes_from_outside_is_shown_as_text(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            shown = html.escape('"><script>alert(1)</script>', quote=False).replace('"', "&#34;")
            places = {
                "/pages": "its URL, the error and the reason",
                f"/page?url={NEWS}": "the text and the validators",
                f"/page?url={BROKEN}": "the error",
                f"/page?url={REFUSED}": "the reason",
                "/hosts": "robots.txt and the sitemap",
            }
            for path, what in places.items():
                page = await browser.show(path)
                assert shown in page, what
                assert r"\x1b[2J\u202e" in page, what
                assert "<script>alert" not in page, what

    run(main())


def test_without_a_session_there_is_only_the_way_to_the_login(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path, None) as browser:
            for path in (*PAGES, "/live", f"/diff?url={NEWS}&before=&after=", "/no-such-page"):
                answered = await browser.get(path)
                assert answered.status == 303, path
                assert answered.headers["location"].startswith("/login?next=%2F")
                assert not answered.body
                assert (await browser.get(path, accept="*/*")).status == 401
            for path in ("/budget", f"/page/recheck?url={NEWS}", "/logout"):
                assert (await browser.send(path, budget="1/s")).status == 401

    run(main())


def test_logging_in_leads_to_where_one_wanted_to_go_and_nowhere_else(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path, None) as browser:
            token = browser.on.tokens["read"]
            assert 'type="password"' in await browser.show("/login?next=/pages")
            for target, expected in [
                ("/pages?text=a", "/pages?text=a"),
                ("//evil.example/", "/"),
                ("/\\evil.example", "/"),
                ("https://evil.example/", "/"),
            ]:
                answered = await browser.send("/login", token=token, next=target)
                assert (answered.status, answered.headers["location"]) == (303, expected)
                cookie = answered.headers["set-cookie"]
                assert "HttpOnly" in cookie
                assert "SameSite=strict" in cookie
            wrong = await browser.send("/login", token=f"{token}x", next="/")
            assert wrong.status == 401
            assert "is not valid" in wrong.body.decode()

    run(main())


def test_the_list_says_why_a_page_is_refused_beside_its_url(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            page = await browser.show("/pages?state=refused")
            url, _, rest = page.partition('<td data-label="Changes">')
            assert 'class="badge kind-failed">refused' in url
            assert "checked now and then" in rest
            assert "alert(1)" not in rest

    run(main())


def test_before_the_first_visit_the_overview_says_so(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            assert "Last visit: none yet" in texts(await browser.show("/")).replace(" :", ":")

    run(main())


def test_forms_of_others_are_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            path = f"/page/importance?url={NEWS}"
            good = browser.form_token
            foreign = {"origin": "https://evil.example"}
            for headers, form in [
                (None, {"importance": "7"}),
                (None, {"importance": "7", "form_token": "0" * 64}),
                (foreign, {"importance": "7", "form_token": good}),
                (foreign | {"origin": "null"}, {"importance": "7", "form_token": good}),
            ]:
                answered = await browser.send(path, headers, **form)
                assert answered.status == 403
            for path_of_form in (f"/page/recheck?url={NEWS}", "/budget"):
                answered = await browser.send(path_of_form, budget="1/s")
                assert answered.status == 403
            other = Browser(browser.on, "another-session")
            assert other.form_token != good
            assert (await browser.on.service.known(NEWS)).importance == 1.0
            assert browser.on.service.stats.budget == 100.0

    run(main())


def test_importance_recheck_and_budget_are_changed_by_forms(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            token = browser.form_token
            assert token in await browser.show(f"/page?url={NEWS}")
            path = f"/page/importance?url={NEWS}"
            answered = await browser.send(path, importance="7", form_token=token)
            assert answered.status == 303
            assert (await browser.on.service.known(NEWS)).importance == 7.0
            page = await browser.show(answered.headers["location"])
            assert "The importance has been changed." in page
            answered = await browser.send(f"/page/recheck?url={NEWS}", form_token=token)
            assert "as soon as its host" in await browser.show(answered.headers["location"])
            wrong = await browser.send(path, importance="-1", form_token=token)
            assert wrong.status == 422
            assert "importance" in texts(wrong.body.decode())
            answered = await browser.send("/budget", budget="2/s", form_token=token)
            assert answered.status == 303
            assert browser.on.service.stats.budget == 172_800.0

    run(main())


def test_whoever_may_only_read_changes_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path, Access.READ) as browser:
            page = await browser.show(f"/page?url={NEWS}")
            assert "Recheck now" not in page
            assert 'href="/settings"' not in page
            assert "until the process ends" not in await browser.show("/budget")
            token = browser.form_token
            for path in (f"/page/recheck?url={NEWS}", "/budget"):
                answered = await browser.send(path, budget="1/s", form_token=token)
                assert answered.status == 403
            assert (await browser.get("/settings")).status == 403

    run(main())


#: Queries, and what is listed for them.
LISTS: tuple[tuple[str, list[str]], ...] = (
    ("text=news", [NEWS]),
    ("state=refused", [REFUSED]),
    ("host=a.example", [NEWS, ABOUT]),
    ("min_rate=1/day", [NEWS]),
    ("max_rate=0.1/day", [ABOUT]),
    ("error=NO+ANSWER", [BROKEN]),
    ("host=a.example&order=rate", [NEWS, ABOUT]),
    ("host=a.example&order=rate&reverse=true", [ABOUT, NEWS]),
    ("text=nothing-like-this", []),
)


def test_pages_are_filtered_and_sorted(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            for query, expected in LISTS:
                page = await browser.show(f"/pages?{query}")
                assert listed(page) == expected, query
                assert ("No page matches." in page) == (not expected)

    run(main())


def test_a_long_list_has_pages(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            more = [(f"https://d.example/{number:03}", None) for number in range(120)]
            await browser.on.service.add(more)
            first = await browser.show("/pages?host=d.example&order=url")
            assert len(listed(first)) == 50
            assert "1–50 of 120" in first
            target = re.search(r'rel="next" href="([^"]*)"', first)
            assert target is not None
            second = await browser.show(html.unescape(target[1]))
            assert listed(second)[0] == "https://d.example/050"
            assert 'rel="prev"' in second

    run(main())


#: Paths, and what is answered.
WRONG = (
    ("/pages?order=colour", 422, "order: choose one of added"),
    ("/pages?state=tired", 422, "state: choose one of alive"),
    ("/pages?min_rate=often", 422, "often"),
    ("/pages?offset=-1", 422, "offset"),
    ("/page?url=https://a.example/unknown", 404, "this page is not in the store"),
    ("/page?url=ftp://a.example/", 404, "ftp"),
    ("/budget?budget=lots", 422, "lots"),
    ("/budget?budget=0/day", 422, "budget"),
    (f"/page?url={quote('https://a.example/' + EVIL)}", 404, "this page is not in the store"),
)


def test_what_is_wrong_is_said_on_a_page(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            for path, status, sentence in WRONG:
                answered = await browser.get(path)
                page = answered.body.decode()
                assert answered.status == status, path
                assert answered.headers["content-type"].startswith("text/html")
                assert sentence in texts(page), path
                assert acting(page) == []

    run(main())


def test_a_page_shows_its_visits_what_is_believed_and_what_changed(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            page = await browser.show(f"/page?url={NEWS}")
            drawn = numbers(page, "timeline")
            assert [outcome for _, outcome in drawn["visits"]] == ["first", *["changed"] * 3]
            assert drawn["x"] == sorted(set(drawn["x"]))
            assert len(drawn["x"]) == len(drawn["stale"])
            # A copy is fresh when it is made, and the longer ago the staler.
            assert drawn["stale"][0] == 0.0
            assert all(0.0 <= share < 100.0 for share in drawn["stale"])
            believed = numbers(page, "belief")
            assert believed["low"] < believed["rate"] < believed["high"]
            assert believed["rate"] == pytest.approx(2.0, rel=0.1)
            assert max(believed["density"]) == 1.0
            # The most likely logarithm of a Gamma rate is that of its mean.
            peak = believed["x"][believed["density"].index(1.0)]
            assert peak == pytest.approx(2.0, rel=0.05)
            assert "<mark>3 </mark>" in page
            assert "<mark>2 </mark>" in page
            assert "current" in page
            never = await browser.show(f"/page?url={NEW}")
            assert "Not visited yet." in never
            assert "No copy yet." in never

    run(main())


def test_changes_come_with_their_differences(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            page = await browser.show("/changes")
            links = [html.unescape(one) for one in re.findall(r'data-diff="([^"]*)"', page)]
            assert len(links) == 3
            fragment = await browser.show(links[0].replace("/page?", "/diff?"))
            assert "<html" not in fragment
            assert "<mark>3 </mark>" in fragment
            whole = await browser.show(links[0])
            assert "<mark>3 </mark>" in whole
            old = re.sub("before=[0-9a-f]+", "before=" + "0" * 32, links[0])
            assert "no longer kept" in await browser.show(old)
            kinds = re.findall(r"badge kind-(\w+)", page)
            assert kinds == ["new", "changed", "changed", "changed", "new"]
            before = await browser.show("/changes?before=2")
            assert len(re.findall(r'<li class="change">', before)) == 2
            assert "data-changes" not in before

    run(main())


def test_the_budget_is_drawn_with_the_present_and_what_was_asked(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            page = await browser.show("/budget?budget=400/day")
            drawn = numbers(page, "budget")
            assert [point[:2] for point in drawn["points"]] == [["now", 100.0], ["asked", 400.0]]
            assert drawn["freshness"] == sorted(drawn["freshness"])
            now, asked = (point[2] for point in drawn["points"])
            planned = await browser.on.service.plan([100.0, 400.0])
            assert [now, asked] == pytest.approx([100 * share for share in planned], abs=1e-3)
            assert f"{asked - now:+.1f}" in page
            assert "Twice the budget" in page

    run(main())


def test_hosts_say_how_they_are(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path, host_delay="7s") as browser:
            page = texts(await browser.show("/hosts"))
            assert "3 hosts" in page
            assert "7 s" in page
            assert "probably fresh" in page
            assert "not XML" in page
            assert "User-agent: *" in page
            only = await browser.show("/hosts?text=B.EXAMPLE")
            assert "a.example" not in only
            assert "1 host<" in only

    run(main())


def test_settings_hide_secrets(tmp_path: Path) -> None:
    async def main() -> None:
        proxy, command = "http://me:hush@proxy.example:3128", "send --key hush"
        async with browsing(tmp_path, proxy=proxy, on_change=command) as browser:
            page = await browser.show("/settings")
            assert "hush" not in page
            assert "proxy.example:3128" in page
            assert "send ••••" in page
            assert "host_delay" in page
            token = browser.on.store.service.tokens()[0]
            assert token.name in page
            assert token.digest.hex() not in page

    run(main())


def test_only_files_of_ours_are_served(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path, None) as browser:
            for name, kind in FILES.items():
                answered = await browser.get(f"/static/{name}")
                assert (answered.status, answered.headers["content-type"]) == (200, kind)
                assert answered.body == (HERE / "static" / name).read_bytes()
            for path in ("/static/", "/static/../app.py", "/static/%2e%2e/app.py", "/static/x"):
                assert (await browser.get(path)).status == 404
            assert {file.name for file in (HERE / "static").iterdir()} == set(FILES)

    run(main())


def test_every_page_names_files_by_their_content(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            page = await browser.show("/")
            found = re.findall(r'(?:src|href)="(/static/[^"]*)"', page)
            assert len(found) >= 6
            assert all(re.fullmatch(r"/static/[\w.-]+\?[0-9a-f]{12}", one) for one in found)
            assert "//" not in "".join(
                re.findall(r'<(?:script|link)[^>]*(?:src|href)="([^"]*)"', page)
            )

    run(main())


def test_filtering_keeps_the_order(tmp_path: Path) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            page = await browser.show("/pages?order=rate&reverse=true&text=example")
            assert '<option value="rate" selected>' in page
            assert '<input type="hidden" name="reverse" value="true">' in page
            assert set(TITLES) == set(ORDERS)

    run(main())
