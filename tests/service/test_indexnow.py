"""IndexNow: who is believed, what is answered, and how little a stranger can do."""

import asyncio
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from acceptance import program
from service.served import Answered, Served, served, settings_in
from site_server import Site, page_about, serving
from virtual_time import clock as virtual_clock
from virtual_time import run

from recrawl.records import Response
from recrawl.service.auth.guard import MAX_PUSHED_BYTES
from recrawl.service.problems import ProblemError
from recrawl.service.push import indexnow
from recrawl.service.push.indexnow import HOST_KEYS, MAX_URLS, IndexNow, Submission, has_key
from recrawl.store.sqlite import SqliteStore

A = "https://a.example"
KEY = "0123456789abcdef"
FILE = f"{A}/{KEY}.txt"
PAGES_OF = "https://a.example/{n}"
PAGES = [PAGES_OF.format(n=n) for n in range(3)]


class Keys:
    """Files with keys, and who asked for them."""

    def __init__(self, **files: str) -> None:
        self.files = {FILE: KEY, **files}
        self.asked: list[str] = []
        self.wait = 0.0

    async def fetch(self, url: str) -> Response:
        self.asked.append(url)
        await asyncio.sleep(self.wait)
        body = self.files.get(url)
        if body is None:
            return Response(url, 404, 0)
        return Response(url, 200, 0, body=body.encode())


class World:
    """A service that listens, and a site that it crawls."""

    def __init__(self, on: Served, keys: Keys) -> None:
        self.on = on
        self.keys = keys

    @property
    def listening(self) -> IndexNow:
        found = self.on.service.incoming.indexnow
        assert found is not None
        return found

    async def submit(self, urls: list[str], key: str = KEY) -> Answered:
        body = {"host": "a.example", "key": key, "urlList": urls}
        return await self.on.ask("POST", "/indexnow", body, token=None)

    async def settled(self) -> None:
        """Wait until no key is being checked, and what waited for that is used."""
        await asyncio.gather(*self.listening._tasks)  # noqa: SLF001

    def signals(self, url: str) -> int:
        """Return how many pushes about a page the frontier has heard since its last visit."""
        page = self.on.store.page(url)
        assert page is not None
        tables = self.on.frontier.frontier._tables  # noqa: SLF001
        return int(tables.pages["signals"][page.number]) >> 8 & 15


@asynccontextmanager
async def world(folder: Path, keys: Keys | None = None, **settings: str) -> AsyncIterator[World]:
    """Serve three pages of a site, which were visited an hour ago."""
    keys, often = keys or Keys(), {"budget": "1000/s", "host_delay": "0s", "indexnow": "true"}
    known = settings_in(folder, **(often | settings))
    async with served(known, PAGES, virtual_clock(), keys.fetch) as on:
        await asyncio.sleep(1.0)
        lease = await on.api("POST", "/leases", {"limit": 3, "pages_per_host": 3})
        assert len(lease["pages"]) == 3
        reports = [
            {"page": one["page"], "status": 200, "digest": one["url"]} for one in lease["pages"]
        ]
        await on.api("POST", "/reports", {"lease": lease["lease"], "reports": reports})
        await asyncio.sleep(3_600.0)
        yield World(on, keys)


def test_nobody_is_believed_before_the_site_has_shown_the_key(tmp_path: Path) -> None:
    async def main() -> None:
        async with world(tmp_path) as at:
            at.keys.wait = 5.0
            new = f"{A}/new"
            assert (await at.submit([PAGES[0], new])).status == 202
            assert (at.signals(PAGES[0]), at.on.store.page(new)) == (0, None)
            await at.settled()
            assert at.keys.asked == [FILE]
            assert [at.signals(url) for url in PAGES] == [1, 0, 0]
            assert at.on.store.page(new) is not None
            # From now on the key is known, whoever sends it, and by whichever method.
            query: dict[str, Any] = {"url": PAGES[1], "key": KEY}
            asked = await at.on.ask("GET", "/indexnow", token=None, address="192.0.2.9", **query)
            assert (asked.status, asked.body) == (200, b"")
            assert [at.signals(url) for url in PAGES] == [1, 1, 0]
            # What is said again before the next visit is no news.
            assert (await at.submit(PAGES)).status == 200
            assert [at.signals(url) for url in PAGES] == [1, 1, 1]
            assert at.keys.asked == [FILE]

    run(main())


def test_a_wrong_key_changes_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with world(tmp_path, Keys(**{FILE: "another-key"})) as at:
            assert (await at.submit([*PAGES, f"{A}/new"])).status == 202
            await at.settled()
            answered = await at.submit(PAGES)
            assert answered.status == 403
            assert answered.headers["content-type"] == "application/problem+json"
            assert [at.signals(url) for url in PAGES] == [0, 0, 0]
            assert at.on.store.page(f"{A}/new") is None
            assert at.keys.asked == [FILE]

    run(main())


def test_hosts_that_are_not_crawled_are_not_asked_and_not_given_away(tmp_path: Path) -> None:
    async def main() -> None:
        async with world(tmp_path) as at:
            other = {"host": "b.example", "key": KEY, "urlList": ["https://b.example/x"]}
            answered = await at.on.ask("POST", "/indexnow", other, token=None)
            await at.settled()
            assert answered.status == 202
            assert at.keys.asked == []
            assert at.on.store.page("https://b.example/x") is None

    run(main())


def test_new_pages_come_in_as_from_sitemaps(tmp_path: Path) -> None:
    async def main() -> None:
        limits = {"exclude": "*.pdf", "max_sitemap_pages": "5"}
        async with world(tmp_path, None, **limits) as at:
            urls = [f"{A}/a.pdf", *(f"{A}/new{n}" for n in range(4))]
            await at.submit(urls)
            await at.settled()
            there = [at.on.store.page(url) is not None for url in urls]
            assert there == [False, True, True, False, False]
            at.on.store.remove([f"{A}/new0"])
            await at.submit([f"{A}/new0"])
            assert at.on.store.page(f"{A}/new0") is None

    run(main())


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"host": "a.example", "key": KEY}, 400),
        ({"host": "a.example", "key": KEY, "urlList": []}, 400),
        ({"host": "a.example", "key": KEY, "urlList": ["no url"]}, 400),
        ({"host": "a.example", "key": KEY, "urlList": [PAGES_OF.format(n=1)] * 10_001}, 400),
        ({"host": "a.example", "key": KEY, "urlList": "https://a.example/1"}, 400),
        ({"host": "a.example", "key": "short", "urlList": ["https://a.example/1"]}, 422),
        ({"host": "a.example", "key": "../../../etc", "urlList": ["https://a.example/1"]}, 422),
        ({"host": "a.example", "key": KEY, "urlList": ["https://b.example/1"]}, 422),
        ({"host": "a.example", "key": KEY, "urlList": [PAGES_OF.format(n=1), "ftp://a/1"]}, 400),
    ],
)
def test_what_is_not_as_the_protocol_has_it_is_refused(
    tmp_path: Path, body: dict[str, Any], status: int
) -> None:
    async def main() -> None:
        async with world(tmp_path) as at:
            answered = await at.on.ask("POST", "/indexnow", body, token=None)
            assert answered.status == status, answered.body
            assert answered.headers["content-type"] == "application/problem+json"
            assert len(answered.body) < 2_000
            assert at.keys.asked == []
            lacks = await at.on.ask("GET", "/indexnow", token=None, url=PAGES[0])
            assert lacks.status == 400

    run(main())


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'{"urlList": ' + b"[" * 100_000])
def test_bodies_that_are_no_submission_are_refused(tmp_path: Path, body: bytes) -> None:
    async def main() -> None:
        async with world(tmp_path) as at:
            answered = await at.on.ask("POST", "/indexnow", token=None, raw=body)
            assert answered.status == 400
            assert len(answered.body) < 2_000
            large = await at.on.ask(
                "POST", "/indexnow", token=None, raw=b" " * (MAX_PUSHED_BYTES + 1)
            )
            assert large.status == 413

    run(main())


def test_a_key_in_a_folder_speaks_for_that_folder() -> None:
    key_file = f"{A}/news/{KEY}.txt"
    inside = Submission.read([f"{A}/news/1", "http://a.example/news/2"], KEY, key_file)
    assert inside.key_file.url == key_file
    elsewhere = "https://b.example/news/key.txt"
    for urls, location in (
        ([f"{A}/news/1", f"{A}/other"], key_file),
        ([f"{A}/newsroom"], key_file),
        ([f"{A}/1"], elsewhere),
        ([f"{A}/1"], f"{A}/echo?text={KEY}"),
    ):
        with pytest.raises(ProblemError) as refused:
            Submission.read(urls, KEY, location)
        assert refused.value.status == 422


def test_a_port_is_part_of_the_host() -> None:
    urls = ["http://a.example:8080/1"]
    assert Submission.read(urls, KEY, None, "a.example:8080").key_file.host == "a.example:8080"
    with pytest.raises(ProblemError):
        Submission.read(urls, KEY, None, "a.example")


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (KEY, True),
        (f"\ufeff{KEY}\r\n", True),
        (f"other\n{KEY}\n", True),
        (KEY[:-1], False),
        (f"x{KEY}", False),
        ("", False),
    ],
)
def test_a_file_has_a_key_if_a_line_of_it_is_the_key(body: str, found: bool) -> None:
    assert has_key(Response(FILE, 200, 0, body=body.encode()), KEY) is found
    assert not has_key(Response(FILE, 200, 0, body=body.encode(), error="cut off"), KEY)


def test_made_up_keys_soon_lead_to_no_more_requests(tmp_path: Path) -> None:
    async def main() -> None:
        async with world(tmp_path) as at:
            for number in range(HOST_KEYS + 5):
                answered = await at.submit([PAGES[0]], f"made-up-{number:04d}")
                await at.settled()
                expected = 202 if number < HOST_KEYS else 429
                assert answered.status == expected
            assert int(answered.headers["retry-after"]) > 0
            assert len(at.keys.asked) == HOST_KEYS
            assert at.listening.answers == {202: HOST_KEYS, 429: 5}

    run(main())


def test_whoever_asks_too_often_has_to_wait_and_others_need_not(tmp_path: Path) -> None:
    async def main() -> None:
        async with world(tmp_path) as at:
            now = 0.0
            at.listening._requests._now = lambda: now  # noqa: SLF001
            query: dict[str, Any] = {"url": PAGES[0], "key": KEY}

            async def ask(address: str) -> int:
                asked = await at.on.ask("GET", "/indexnow", token=None, address=address, **query)
                return asked.status

            found = [await ask("192.0.2.1") for _ in range(indexnow.ADDRESS_REQUESTS + 1)]
            assert found[-1] == 429
            assert 429 not in found[:-1]
            assert await ask("192.0.2.2") != 429
            # A network of IPv6 counts as one.
            found = [await ask(f"2001:db8::{n}") for n in range(indexnow.ADDRESS_REQUESTS + 1)]
            assert (found[-1], found[0]) == (429, 200)
            now += indexnow.MINUTE
            assert await ask("192.0.2.1") == 200

    run(main())


def test_a_site_says_no_more_than_so_much_in_an_hour(tmp_path: Path) -> None:
    async def main() -> None:
        async with world(tmp_path, max_sitemap_pages="3") as at:
            await at.submit([PAGES[0]])
            await at.settled()
            urls = [f"{A}/new{n}" for n in range(MAX_URLS - 1)]
            assert (await at.submit(urls)).status == 200
            # More than are allowed again while the test runs, however long that takes.
            more = [f"{A}/more{n}" for n in range(MAX_URLS // 4)]
            assert (await at.submit([PAGES[1], PAGES[2], *more])).status == 429
            assert [at.signals(url) for url in PAGES] == [1, 0, 0]

    run(main())


def test_without_the_setting_nobody_gets_in(tmp_path: Path) -> None:
    async def main() -> None:
        async with world(tmp_path, indexnow="false") as at:
            assert (await at.submit(PAGES)).status == 401
            asked = await at.on.ask("GET", "/indexnow", url=PAGES[0], key=KEY)
            assert asked.status == 404
            assert "indexnow = true" in asked.json["detail"]

    run(main())


def test_another_site_cannot_have_a_browser_submit(tmp_path: Path) -> None:
    async def main() -> None:
        async with world(tmp_path) as at:
            foreign = {"origin": "https://evil.example"}
            answered = await at.on.ask("POST", "/indexnow", {}, token=None, headers=foreign)
            assert answered.status == 403

    run(main())


# With real servers


def submitted(service: str, body: dict[str, Any]) -> int:
    """Submit something over the network; return the status."""
    headers = {"Content-Type": "application/json; charset=utf-8"}
    asked = urllib.request.Request(f"{service}/indexnow", json.dumps(body).encode(), headers)  # noqa: S310
    try:
        with urllib.request.urlopen(asked, timeout=program.HANGS) as answer:  # noqa: S310
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code


def waited_for(done: Callable[[], bool]) -> bool:
    end = time.monotonic() + program.HANGS
    while not done() and time.monotonic() < end:
        time.sleep(0.05)
    return done()


@pytest.mark.parametrize("command", [("run", "--serve"), ("serve",)])
def test_a_site_that_says_so_is_visited_again(tmp_path: Path, command: tuple[str, ...]) -> None:
    store, key = tmp_path / "recrawl.db", KEY
    site = Site({"/0": page_about("Zero."), "/1": page_about("One."), f"/{key}.txt": key})
    settings = {"allow_private": "true", "budget": "1000/day", "host_delay": "0s"}
    settings |= {"listen": "127.0.0.1:0", "indexnow": "true", "spend": "worth"}
    settings |= {"contact": "https://example.org/bot"}
    with serving(site):
        program.add(store, [f"{site.url}/0"])
        host = site.url.removeprefix("http://")
        with program.start(*command, "--store", str(store), settings=settings) as process:
            assert process.stdout is not None
            shown = "".join(process.stdout.readline() for _ in range(2))
            url = re.search(r"http://\S+", shown)
            assert url is not None, shown
            body = {"host": host, "key": key, "urlList": [f"{site.url}/0", f"{site.url}/1"]}
            assert submitted(url[0], body) == HTTPStatus.ACCEPTED
            assert waited_for(lambda: submitted(url[0], body) == HTTPStatus.OK)
            assert submitted(url[0], body | {"key": "a-wrong-key"}) == HTTPStatus.ACCEPTED
            assert waited_for(lambda: submitted(url[0], body | {"key": "a-wrong-key"}) == 403)
            process.terminate()
            process.communicate(timeout=program.HANGS)
    assert process.returncode == 0
    assert len(site.asked(f"/{key}.txt")) == 1
    assert len(site.asked("/a-wrong-key.txt")) == 1
    assert len(site.asked("/robots.txt")) == 1
    with SqliteStore.open(store) as opened:
        assert opened.page(f"{site.url}/1") is not None
    program.check(store)
