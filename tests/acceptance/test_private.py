"""Private addresses are never requested, whatever leads there; hosts learn nothing of others."""

import asyncio
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from acceptance import program
from scripted_web import Names, Request, Script, Web, answer, fetcher, redirect
from site_server import Site, page_about, serving

from recrawl.records import Outcome, Page, Response, State, Validators
from recrawl.store.rows import LoggedVisit
from recrawl.store.sqlite import SqliteStore

SETTINGS = {"budget": "100/s", "host_delay": "0s", "contact": "https://example.org/bot"}
PRIVATE = ["127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1", "[::1]", "[fe80::1]"]


def crawl(store: Path, urls: list[str], **settings: str) -> None:
    """Crawl until each page has been visited or refused."""
    deadline = time.monotonic() + 600.0
    with program.start("run", "--store", str(store), settings=SETTINGS | settings) as process:
        while not all(visits(store, url) or page(store, url).reason for url in urls):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, complained = process.communicate(timeout=program.HANGS)
    assert process.returncode == 0, complained
    program.check(store)


def page(store: Path, url: str) -> Page:
    with SqliteStore.open(store) as opened:
        found = opened.page(url)
        assert found is not None
        return found


def visits(store: Path, url: str) -> list[LoggedVisit]:
    with SqliteStore.open(store) as opened:
        return opened.history(page(store, url).number, 1_000)


def test_what_is_not_public_is_refused_with_a_sentence_and_costs_nothing(tmp_path: Path) -> None:
    store = tmp_path / "recrawl.db"
    with serving(Site({"/a": page_about("A page.")})) as site:
        port = site.url.rpartition(":")[2]
        urls = [f"http://{address}:{port}/a" for address in (*PRIVATE, "localhost")]
        program.add(store, urls)
        crawl(store, urls)
        assert site.requests == []
        for url in urls:
            assert visits(store, url) == []
            assert page(store, url).state is State.REFUSED
            assert "is private; use --allow-private" in (page(store, url).reason or "")
        with SqliteStore.open(store) as opened:
            assert (opened.spent(0).requests, opened.spent(0).robots) == (0, 0)
        # A page that is added again is tried again, and now it may be visited.
        program.add(store, urls)
        crawl(store, urls, allow_private="true", connect_timeout="3s")
        assert len(site.asked("/a")) >= 1
    assert any(visit.outcome is not Outcome.FAILED for visit in visits(store, urls[0]))


def fetched(
    scripts: Callable[[int], dict[str, Script]], page: Page, names: Names, *, times: int = 1
) -> tuple[list[Response], list[Request]]:
    """Fetch a page where loopback counts as public; return the responses and the requests.

    Args:
        scripts: The scripts of the servers, given their port.
        page: A page whose address is a path.
        names: The resolver.
        times: How often to fetch it.
    """
    web = Web()

    async def main() -> list[Response]:
        async with web, fetcher(names=names) as made:
            web.scripts |= scripts(web.port)
            address = web.url(page.url, page.host)
            return [await made.fetch(replace(page, url=address)) for _ in range(times)]

    return asyncio.run(main()), web.log


@pytest.mark.parametrize("where", ["127.0.0.2", "169.254.169.254", "inside.test"])
def test_redirects_lead_to_no_private_address(where: str) -> None:
    names = Names({"inside.test": [["10.1.2.3"]]})
    (got,), asked = fetched(
        lambda port: {"/a": redirect(f"http://{where}:{port}/secret")},
        Page(0, "/a", "good.test"),
        names,
    )
    assert got.error is not None
    assert "private" in got.error
    assert got.requests == 1
    assert {one.target for one in asked} == {"/robots.txt", "/a"}


def test_nothing_that_one_host_sent_reaches_another() -> None:
    headers = [("Set-Cookie", "session=secret; Domain=test; Path=/"), ("ETag", '"mine"')]

    def scripts(port: int) -> dict[str, Script]:
        there = ("Location", f"http://two.test:{port}/b")
        return {
            "one.test/a": answer("moved", "302 Found", [*headers, there]),
            "two.test/b": answer("here", headers=[*headers, ("Content-Type", "text/html")]),
        }

    known = Page(
        0,
        "/a",
        "one.test",
        validators=Validators('"mine"', "Mon, 01 Jan 2024 00:00:00 GMT"),
        body=b"the digest of a copy",
    )
    answers, asked = fetched(scripts, known, Names(), times=3)
    assert [(got.error, got.requests) for got in answers] == [(None, 2)] * 3
    for one in asked:
        assert not {"cookie", "authorization", "referer", "origin"} & set(one.headers)
        sent = {"if-none-match", "if-modified-since"} & set(one.headers)
        assert bool(sent) == one.host.startswith("one.test") & (one.target == "/a")


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://example.org/a", "javascript:alert(1)", "data:text/html,a"]
)
def test_only_http_and_https_are_taken_in(tmp_path: Path, url: str) -> None:
    store = tmp_path / "recrawl.db"
    status, _, complained = program.run("add", "--store", str(store), url)
    assert status == 2
    assert complained.count("\n") == 1
    assert "http" in complained


def test_credentials_in_an_address_are_neither_kept_nor_repeated(tmp_path: Path) -> None:
    store = tmp_path / "recrawl.db"
    url = "http://user:secret@example.org/a"
    status, output, complained = program.run("add", "--store", str(store), url)
    assert (status, output) == (2, "")
    assert "credentials" in complained
    assert "secret" not in complained
