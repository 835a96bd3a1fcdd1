"""Fetching from a server that behaves: validators, redirects, robots.txt, pauses, errors."""

import asyncio
import gzip
import time
import zlib
from collections.abc import Callable, Coroutine
from dataclasses import replace
from email.utils import formatdate
from itertools import pairwise
from typing import Any

import pytest
from ports import silent_port
from scripted_web import AGENT, PATIENT, Names, Request, Web, answer, fetcher, redirect
from virtual_time import clock
from virtual_time import run as run_virtual

from recrawl.clock import Clock
from recrawl.http.fetch import Fetcher
from recrawl.http.gate import Gate
from recrawl.http.headers import location, retry_after, sendable
from recrawl.http.host_pacing import TOO_MANY_PAUSE, HostPacing
from recrawl.http.limits import Limits
from recrawl.http.request import MAX_DRAINED
from recrawl.records import Page, Response, Validators

HTML = (("Content-Type", "text/html"),)
COPY = b"the digest of a copy"[:16]


def visit(
    web: Web,
    path: str = "/a",
    *,
    validators: Validators | None = None,
    fetching: Callable[[], Fetcher] = fetcher,
) -> Response:
    """Start the web, and fetch one page of it."""

    async def main() -> Response:
        async with web, fetching() as made:
            page = web.page(path)
            if validators is not None:
                page = replace(page, validators=validators, body=COPY)
            return await made.fetch(page)

    return asyncio.run(main())


def during(web: Web, story: Callable[[Fetcher], Coroutine[Any, Any, None]]) -> None:
    """Start the web, and let a story happen on it."""

    async def main() -> None:
        async with web, fetcher() as made:
            await story(made)

    asyncio.run(main())


def test_a_page_is_fetched() -> None:
    web = Web({"/a": answer("<p>hello", headers=[*HTML, ("ETag", '"1"'), ("X-Odd", "\xe9")])})
    start, at = time.perf_counter(), time.time_ns() // 1000
    got = visit(web)
    assert at <= got.at <= time.time_ns() // 1000
    assert 0.0 < got.seconds < time.perf_counter() - start
    assert got.error is None
    assert (got.status, got.body, got.truncated) == (200, b"<p>hello", False)
    assert (got.requests, got.transferred) == (1, 8)
    assert got.url == web.url("/a")
    assert got.headers == (
        ("Content-Length", "8"),
        ("Content-Type", "text/html"),
        ("ETag", '"1"'),
        ("X-Odd", "\xe9"),
    )
    assert got.header("etag") == '"1"'


def test_the_agent_says_who_it_is_and_nothing_of_others() -> None:
    web = Web({"/a": answer(headers=[("Set-Cookie", "a=b")]), "/b": redirect("/a")})

    async def story(made: Fetcher) -> None:
        for _ in range(2):
            await made.fetch(web.page("/b"))

    during(web, story)
    assert web.targets() == ["/b", "/a", "/b", "/a"]
    for request in web.log:
        assert request.headers["user-agent"] == AGENT
        assert request.headers["accept-encoding"] == "gzip, deflate"
        assert not {"cookie", "referer", "authorization", "if-none-match"} & set(request.headers)


# Validators


@pytest.mark.parametrize(
    "validators",
    [
        Validators('W/"1"', "Mon, 01 Jan 2024 00:00:00 GMT"),
        Validators('W/"1"'),
        Validators(None, "yesterday"),
    ],
)
def test_validators_are_sent_word_for_word(validators: Validators) -> None:
    web = Web({"/a": answer("", "304 Not Modified", [("ETag", '"2"')])})
    got = visit(web, validators=validators)
    assert (got.status, got.error, got.body) == (304, None, None)
    assert got.header("ETag") == '"2"'
    sent = web.log[-1].headers
    assert sent.get("if-none-match") == validators.etag
    assert sent.get("if-modified-since") == validators.last_modified


@pytest.mark.parametrize("conditional", [True, False])
def test_validators_are_for_a_copy_and_when_wanted(conditional: bool) -> None:
    web = Web({"/a": answer()})

    async def story(made: Fetcher) -> None:
        page = replace(web.page("/a"), validators=Validators('"1"'))
        if not conditional:
            page = replace(page, body=COPY)
        await made.fetch(page, conditional=conditional)

    during(web, story)
    assert "if-none-match" not in web.log[-1].headers


def test_not_modified_without_being_asked_is_an_error() -> None:
    got = visit(Web({"/a": answer("", "304 Not Modified")}))
    assert (got.status, got.error) == (304, "the server answered 304")


def test_validators_go_along_to_the_same_host_and_to_no_other() -> None:
    web = Web({
        "/a": redirect("/b"), "/b": redirect("http://other.test:PORT/c"), "/c": answer()
    })  # fmt: skip

    async def story(made: Fetcher) -> None:
        web.scripts["/b"] = redirect(f"http://other.test:{web.port}/c")
        page = replace(web.page("/a"), validators=Validators('"1"'), body=COPY)
        assert (await made.fetch(page)).status == 200

    during(web, story)
    sent = {request.target: request.headers.get("if-none-match") for request in web.log}
    assert sent == {"/robots.txt": None, "/a": '"1"', "/b": '"1"', "/c": None}


def test_bytes_of_validators_come_back_as_they_were() -> None:
    assert sendable('"\xc3\xa9"') == '"é"'  # UTF-8, received as Latin-1
    assert sendable('"\xe9"') is None  # cannot be sent as it was
    assert sendable("a\x00b") is None
    assert sendable(" ") is None


# Redirects


def test_redirects_are_followed_and_counted() -> None:
    web = Web({
        "/a": redirect("/b", "301 Moved"), "/b": redirect("c?y=1&x=2", "303 See Other"),
        "/c?y=1&x=2": redirect("./d", "307 Temporary"), "/d": redirect("/e", "308 Permanent"),
        "/e": answer("end"),
    })  # fmt: skip
    got = visit(web)
    assert (got.body, got.requests, got.error) == (b"end", 5, None)
    assert got.url == web.url("/e")
    assert got.transferred == 4 * len("moved") + 3


def test_too_many_redirects_are_an_error() -> None:
    web = Web({f"/{n}": redirect(f"/{n + 1}") for n in range(9)})
    got = visit(web, "/0")
    assert got.error == "redirected more than 5 times"
    assert got.requests == 6


@pytest.mark.parametrize("where", ["/a", "/b"])
def test_circles_are_left(where: str) -> None:
    got = visit(Web({"/a": redirect(where), "/b": redirect("/a")}))
    assert got.error == "redirected in a loop"
    assert got.status == 302


@pytest.mark.parametrize("where", ["ftp://x/", "javascript:alert(1)", "http://", "http://u:p@x/"])
def test_redirects_to_no_page_are_errors(where: str) -> None:
    got = visit(Web({"/a": redirect(where)}))
    assert got.error is not None
    assert got.requests <= 2


def test_a_redirect_to_nowhere_is_an_error() -> None:
    got = visit(Web({"/a": answer("", "302 Found")}))
    assert got.error == "the server answered 302 without a Location"


def test_a_redirect_in_utf_8_is_understood() -> None:
    web = Web({"/a": redirect("/ü".encode().decode("latin-1")), "/%C3%BC": answer("yes")})
    assert visit(web).body == b"yes"


# robots.txt


def test_forbidden_pages_are_never_asked_for_also_not_through_redirects() -> None:
    web = Web({"/robots.txt": answer("User-agent: *\nDisallow: /x"), "/a": redirect("/x")})

    async def story(made: Fetcher) -> None:
        got = await made.fetch(web.page("/x"))
        assert (got.error, got.permanent, got.requests) == ("disallowed by robots.txt", True, 0)
        got = await made.fetch(web.page("/a"))
        assert (got.error, got.permanent, got.requests) == ("disallowed by robots.txt", True, 1)
        assert made.robots.requests == 1

    during(web, story)
    assert web.targets() == ["/a"]


def test_the_target_of_a_redirect_has_its_own_robots_txt() -> None:
    web = Web({
        "other.test/robots.txt": answer("User-agent: recrawl-test\nDisallow: /"), "/x": answer()
    })  # fmt: skip

    async def story(made: Fetcher) -> None:
        web.scripts["/a"] = redirect(f"http://other.test:{web.port}/x")
        got = await made.fetch(web.page("/a"))
        assert got.error == "disallowed by robots.txt"
        assert made.robots.requests == 2

    during(web, story)
    assert web.targets() == ["/a"]


def test_robots_txt_may_be_a_redirect() -> None:
    web = Web({"/a": answer(), "other.test/r": answer("User-agent: *\nDisallow: /a")})

    async def story(made: Fetcher) -> None:
        web.scripts["127.0.0.1/robots.txt"] = redirect(f"http://other.test:{web.port}/r")
        assert (await made.fetch(web.page("/a"))).error == "disallowed by robots.txt"
        assert made.robots.requests == 3

    during(web, story)


def test_robots_txt_in_circles_is_none() -> None:
    web = Web({"/robots.txt": redirect("/robots.txt"), "/a": answer()})
    assert visit(web).error is None


def test_a_robots_txt_that_fails_keeps_the_pages_waiting() -> None:
    web = Web({"/robots.txt": answer("", "500 Oh"), "/a": answer()})
    got = visit(web)
    assert got.error is not None
    assert got.error.endswith("cannot be read: the server answered 500")
    assert got.retry_after is not None
    assert 0.0 < got.retry_after <= 300.0
    assert not got.permanent
    assert (got.status, got.requests) == (0, 0)


def test_robots_txt_survives_a_restart() -> None:
    web = Web({"/robots.txt": answer("User-agent: *\nDisallow: /a")})
    kept: dict[str, Any] = {}

    async def main() -> None:
        async with web:
            for _ in range(2):
                async with Fetcher(
                    AGENT,
                    Gate(HostPacing(0.0)),
                    allow_private=True,
                    recall=kept.get,
                    remember=kept.__setitem__,
                ) as made:
                    assert (await made.fetch(web.page("/a"))).permanent

    asyncio.run(main())
    assert len(web.log) == 1


# Pauses


def test_the_server_sees_the_pauses_it_asked_for() -> None:
    web = Web({
        "/robots.txt": answer("User-agent: *\nCrawl-delay: 0.3"),
        "/a": redirect("/b"), "/b": answer(),
    })  # fmt: skip

    async def main() -> None:
        pacing = HostPacing(0.1, 4)
        gate = Gate(pacing, clock=clock())
        async with web, fetcher(gate=gate) as made:
            hosts = ("one.test", "two.test", "three.test")
            got = await asyncio.gather(
                *(made.fetch(web.page("/a", host)) for host in hosts for _ in range(3))
            )
            assert all(one.error is None for one in got)

    run_virtual(main(), grace=0.05)
    for host in ("one.test", "two.test", "three.test"):
        times = [request.at for request in web.log if request.host.startswith(host)]
        assert len(times) == 7
        assert min(later - earlier for earlier, later in pairwise(times)) >= 0.3 - 1e-9


def test_a_long_pause_is_not_waited_out() -> None:
    web = Web({"/robots.txt": answer("User-agent: *\nCrawl-delay: 20"), "/a": answer()})
    got = visit(web)
    assert got.error is not None
    assert got.error.endswith("may not be requested yet")
    assert got.retry_after is not None
    assert 0.0 < got.retry_after <= 20.0
    assert got.requests == 0


@pytest.mark.parametrize("status", ["429 Too Many", "503 Unavailable"])
def test_a_server_that_wants_to_be_left_alone_is(status: str) -> None:
    web = Web({"/a": answer("", status, [("Retry-After", "120")]), "/b": answer()})

    async def story(made: Fetcher) -> None:
        got = await made.fetch(web.page("/a"))
        assert got.error == f"the server answered {status[:3]}"
        assert (got.status, got.retry_after) == (int(status[:3]), 120.0)
        got = await made.fetch(web.page("/b"))
        assert got.retry_after is not None
        assert 0.0 < got.retry_after <= 120.0
        assert got.requests == 0

    during(web, story)
    assert web.targets() == ["/a"]


def test_too_many_without_a_time_means_some_time() -> None:
    assert visit(Web({"/a": answer("", "429 Too Many")})).retry_after == TOO_MANY_PAUSE
    assert visit(Web({"/a": answer("", "503 Unavailable")})).retry_after is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0), ("30", 30.0), (" 30 ", 30.0), ("99999999", 86_400.0), ("9" * 5000, 86_400.0),
        ("Thu, 01 Jan 1970 00:20:00 GMT", 200.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 86_400.0), ("-5", None), ("1.5", None), ("soon", None),
        ("", None), (None, None), ("Thu, 99 Jan 1970 00:20:00 GMT", None), ("٣", None),
    ],
)  # fmt: skip
def test_retry_after_is_read_carefully(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, 1000.0) == seconds


# Status and content


@pytest.mark.parametrize("status", ["404 Not Found", "410 Gone"])
def test_a_page_that_is_not_there_is_no_error(status: str) -> None:
    got = visit(Web({"/a": answer("nothing", status)}))
    assert (got.status, got.error, got.body) == (int(status[:3]), None, None)


@pytest.mark.parametrize("status", [204, 205, 206, 300, 305, 400, 401, 403, 418, 500, 502, 599])
def test_other_answers_are_errors(status: int) -> None:
    got = visit(Web({"/a": answer("" if status == 204 else "no", f"{status} X")}))
    assert (got.status, got.error, got.body) == (status, f"the server answered {status}", None)


def raw_deflate(data: bytes) -> bytes:
    made = zlib.compressobj(wbits=-15)
    return made.compress(data) + made.flush()


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("gzip", gzip.compress), ("x-gzip", gzip.compress), ("GZip ", gzip.compress),
        ("deflate", zlib.compress), ("deflate", raw_deflate), ("identity", bytes), ("", bytes),
        ("gzip", lambda data: gzip.compress(data[:7], mtime=0) + gzip.compress(data[7:], mtime=0)),
        ("gzip", lambda data: gzip.compress(data, mtime=0) + b"\0" * 20),
        ("gzip", lambda data: b""[len(data) :]),
        ("gzip", lambda data: gzip.compress(data, mtime=0) + gzip.compress(b"", mtime=0) * 50),
    ],
)  # fmt: skip
def test_compressed_pages_are_unfolded(encoding: str, compress: Callable[[bytes], bytes]) -> None:
    content = b"<p>hello</p>" * 50_000
    sent = compress(content)
    got = visit(Web({"/a": answer(sent, headers=[("Content-Encoding", encoding)])}))
    assert got.error is None
    assert got.body == (content if sent else b"")
    assert got.transferred == len(sent)


@pytest.mark.parametrize(
    ("encoding", "sent"),
    [
        ("br", b"x"), ("gzip, gzip", b"x"), ("gzip", b"plain"), ("deflate", b"\x78plain"),
        ("gzip", gzip.compress(b"x" * 1000, mtime=0)[:-9]),
        ("gzip", gzip.compress(b"", mtime=0) * 52),
    ],
)  # fmt: skip
def test_what_cannot_be_unfolded_is_an_error(encoding: str, sent: bytes) -> None:
    got = visit(Web({"/a": answer(sent, headers=[("Content-Encoding", encoding)])}))
    assert got.error is not None
    assert "compressed" in got.error
    assert got.body is None


@pytest.mark.parametrize("size", [999_999, 1_000_000, 1_000_001, 3_000_000])
@pytest.mark.parametrize("compress", [False, True])
def test_pages_are_read_up_to_a_limit(size: int, compress: bool) -> None:
    content = bytes(size)
    sent = gzip.compress(content, mtime=0) if compress else content
    encoding = [("Content-Encoding", "gzip")] if compress else []
    got = visit(Web({"/a": answer(sent, headers=encoding)}))
    assert got.body == content[:1_000_000]
    assert got.truncated is (size > 1_000_000)
    assert got.error is None


def test_a_file_is_fetched_and_counted_apart() -> None:
    web = Web({"/s.xml": answer("x" * 100)})

    async def story(made: Fetcher) -> None:
        got = await made.fetch_file(web.url("/s.xml"), 50, Validators('"7"'))
        assert (got.body, got.truncated) == (b"x" * 50, True)
        assert (made.files, made.robots.requests) == (1, 1)

    during(web, story)
    assert web.log[-1].headers["if-none-match"] == '"7"'


def test_a_file_is_not_asked_for_where_robots_txt_forbids_it() -> None:
    web = Web(
        {
            "/robots.txt": answer("User-agent: *\nDisallow: /\nAllow: /r\nSitemap: http://e.org/s"),
            "/s.xml": answer("x"),
            "/r": redirect("/s.xml"),
        }
    )

    async def story(made: Fetcher) -> None:
        for path in ("/s.xml", "/r"):
            got = await made.fetch_file(web.url(path), 50)
            assert (got.error, got.body) == ("disallowed by robots.txt", None)
        assert await made.named_sitemaps(web.url("/")) == ("http://e.org/s",)

    during(web, story)
    assert [request.target for request in web.log] == ["/robots.txt", "/r"]


def test_a_file_that_must_stay_on_its_site_does_not_lead_to_another() -> None:
    web = Web({"/s.xml": redirect("/t.xml"), "/t.xml": answer("x")})

    async def story(made: Fetcher) -> None:
        assert (await made.fetch_file(web.url("/s.xml"), 9, stay_on_site=True)).body == b"x"
        web.scripts["/t.xml"] = redirect(f"http://other.test:{web.port}/u.xml")
        got = await made.fetch_file(web.url("/s.xml"), 9, stay_on_site=True)
        assert got.error == f"redirected to another host, other.test:{web.port}"

    during(web, story)
    assert web.targets() == ["/s.xml", "/t.xml"] * 2


# Connections


def test_connections_are_kept_and_one_that_died_meanwhile_is_made_anew() -> None:
    async def answer_then_close(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(answer("x"))
        await writer.drain()
        ports.append(writer.get_extra_info("peername")[1])

    ports: list[int] = []
    web = Web({"/a": answer_then_close})

    async def drop(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()
        web.scripts["/b"] = answer("again")

    web.scripts["/b"] = drop

    async def story(made: Fetcher) -> None:
        for _ in range(3):
            assert (await made.fetch(web.page("/a"))).error is None
        assert len(set(ports)) == 1
        got = await made.fetch(web.page("/b"))
        assert (got.body, got.requests) == (b"again", 2)

    during(web, story)
    assert web.targets() == ["/a", "/a", "/a", "/b", "/b"]


def test_a_new_connection_that_is_dropped_is_not_tried_again() -> None:
    async def drop(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    web = Web({"/robots.txt": answer(headers=[("Connection", "close")]), "/a": drop})
    got = visit(web)
    assert got.error == "the connection was closed before the response"
    assert (got.requests, web.targets()) == (1, ["/a"])


def test_no_more_connections_are_kept_than_allowed() -> None:
    web = Web({"/a": answer()})
    limits = replace(PATIENT, idle_connections=2)

    async def main() -> None:
        async with web, fetcher(limits=limits) as made:
            for host in ("a.test", "b.test", "c.test", "a.test"):
                assert (await made.fetch(web.page("/a", host))).error is None
                async with asyncio.timeout(60.0):
                    # Those of the host that was asked for least recently are closed.
                    await web.until_open(2)
            assert web.open_connections == 2

    asyncio.run(main())


def test_no_more_requests_are_in_flight_than_allowed() -> None:
    in_flight = highest = 0

    async def slow(_: Request, writer: asyncio.StreamWriter) -> None:
        nonlocal in_flight, highest
        in_flight += 1
        highest = max(highest, in_flight)
        await asyncio.sleep(0.05)
        in_flight -= 1
        writer.write(answer())

    web = Web({"/a": slow})

    async def main() -> None:
        async with web, fetcher(limits=replace(PATIENT, connections=3)) as made:
            await asyncio.gather(*(made.fetch(web.page("/a", f"{n}.test")) for n in range(12)))

    run_virtual(main(), grace=0.05)
    assert highest == 3


def test_a_date_to_wait_for_is_one_of_the_clock_of_the_crawl() -> None:
    date = formatdate(1_000_120, usegmt=True)
    web = Web({"/a": answer("", "503 Busy", [("Retry-After", date)])})
    then = Clock(wall=lambda: 1_000_000_000_000)

    async def main() -> Response:
        gate = Gate(HostPacing(0.0, 8), clock=then)
        async with web, fetcher(gate=gate) as made:
            return await made.fetch(web.page("/a"))

    got = asyncio.run(main())
    assert (got.error, got.retry_after) == ("the server answered 503", 120.0)


@pytest.mark.parametrize("where", ["/plain", "/caf\xe9", "/\u20ac"])
def test_a_location_may_be_in_utf_8_or_in_latin_1(where: str) -> None:
    assert location(where.encode().decode("latin-1")) == where
    if where.isascii() or "\xe9" in where:
        assert location(where) == where


def test_failures_to_connect_are_told_in_plain_words() -> None:
    async def main() -> list[Response]:
        async with fetcher(names=Names({"none.test": []})) as made:
            unknown = await made.fetch_file("http://none.test/", 100)
            assert (unknown.error or "").endswith("no connection: unknown host")
            with silent_port() as port:
                return [
                    await made.fetch_file(f"http://127.0.0.1:{port}/", 100),
                    await made.fetch(Page(0, f"http://127.0.0.1:{port}/a", "x")),
                ]

    refused, page = asyncio.run(main())
    for got in (refused, page):
        assert got.error is not None
        assert got.error.endswith("cannot be read: no connection: refused")
        assert (got.status, got.requests) == (0, 0)


def test_a_fetch_can_be_cancelled_and_leaves_nothing_behind() -> None:
    async def hang(_: Request, __: asyncio.StreamWriter) -> None:
        received.set()
        await asyncio.sleep(600.0)

    received = asyncio.Event()

    web = Web({"/hang": hang, "/a": answer()})

    async def story(made: Fetcher) -> None:
        task = asyncio.create_task(made.fetch(web.page("/hang")))
        await received.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await made.fetch(web.page("/a"))).error is None

    during(web, story)


@pytest.mark.parametrize(("size", "connections"), [(MAX_DRAINED, 1), (20 * MAX_DRAINED, 2)])
def test_a_short_error_page_is_read_so_that_the_connection_can_be_reused(
    size: int, connections: int
) -> None:
    ports = set[int]()

    async def error(_: Request, writer: asyncio.StreamWriter) -> None:
        ports.add(writer.get_extra_info("peername")[1])
        writer.write(answer(bytes(size), "404 Not Found"))

    web = Web({"/a": error})

    async def story(made: Fetcher) -> None:
        for _ in range(2):
            got = await made.fetch(web.page("/a"))
            assert (got.status, got.body) == (404, None)

    during(web, story)
    assert len(ports) == connections


def in_virtual_time(web: Web, story: Callable[[Fetcher], Coroutine[Any, Any, None]], delay: float,
                    **limits: int) -> None:  # fmt: skip
    """Run a story with a delay between requests to a host."""

    async def main() -> None:
        gate = Gate(HostPacing(delay, 4), clock=clock())
        async with web, fetcher(gate=gate, limits=replace(PATIENT, **limits)) as made:
            await story(made)

    run_virtual(main(), grace=0.05)


def test_pages_are_postponed_where_files_and_redirects_wait_for_their_turn() -> None:
    web = Web({"/a": redirect("/b"), "/b": answer(), "/s.xml": answer()})

    async def story(made: Fetcher) -> None:
        assert (await made.fetch_file(web.url("/s.xml"), 100)).error is None
        assert (await made.fetch_file(web.url("/s.xml"), 100)).error is None
        got = await made.fetch(web.page("/a"))
        assert (got.requests, got.postponed) == (0, True)
        assert got.retry_after == pytest.approx(20.0, abs=0.1)
        await asyncio.sleep(20.0)
        got = await made.fetch(web.page("/a"))
        assert (got.error, got.requests) == (None, 2)

    in_virtual_time(web, story, delay=20.0)


def test_a_redirect_to_a_host_that_must_wait_is_a_failure_not_a_postponement() -> None:
    web = Web({})

    async def story(made: Fetcher) -> None:
        web.scripts["/a"] = redirect(f"http://other.test:{web.port}/b")
        made.gate.close_host(f"other.test:{web.port}", 503, 100.0)
        await made.robots.rules(web.url("/a"))
        got = await made.fetch(web.page("/a"))
        assert got.error is not None
        assert (got.requests, got.postponed) == (1, False)

    during(web, story)


def test_rules_that_never_arrive_leave_connections_to_others() -> None:
    async def hang(_: Request, __: asyncio.StreamWriter) -> None:
        await asyncio.sleep(1000.0)

    web = Web({"/a": answer()})
    web.scripts |= {f"{n}.test/robots.txt": hang for n in range(9)}

    async def story(made: Fetcher) -> None:
        await made.robots.rules(web.url("/a", "known.test"))
        stuck = [asyncio.create_task(made.fetch(web.page("/a", f"{n}.test"))) for n in range(9)]
        await asyncio.sleep(1.0)
        assert len(web.log) == 1 + 2
        assert (await made.fetch(web.page("/a", "known.test"))).error is None
        assert not any(task.done() for task in stuck)
        for got in await asyncio.gather(*stuck):
            assert (got.requests, got.postponed) == (0, True)

    in_virtual_time(web, story, delay=0.0, connections=4)


def test_the_limits_are_those_of_the_documentation() -> None:
    assert Limits() == Limits(
        connections=32,
        idle_connections=200,
        connect_timeout=10.0,
        read_timeout=15.0,
        total_timeout=60.0,
        max_bytes=10_000_000,
        max_redirects=5,
        max_headers=200,
        max_header_bytes=16_384,
    )


def test_requests_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "recrawl.http")
    web = Web({"/a": answer("hello")})
    visit(web)
    expected = f"GET {web.url('/a')}: 200, 5 bytes"
    assert ("recrawl.http", 10, expected) in caplog.record_tuples


# What turns out not to be a page


@pytest.mark.parametrize("size", [100, 5_000_000])
def test_a_link_to_a_file_is_known_by_its_media_type_and_its_body_is_not_read(size: int) -> None:
    kind = [("Content-Type", "Text/JavaScript; charset=utf-8")]
    web = Web({"/node.js": answer(b"x" * size, headers=kind), "/go": redirect("/node.js")})

    async def story(made: Fetcher) -> None:
        for path, requests in (("/node.js", 1), ("/go", 2)):
            found = await made.fetch(replace(web.page(path), depth=1))
            assert found.error == "not a page: text/javascript"
            assert (found.permanent, found.body, found.requests) == (True, None, requests)
            # A few pieces are read, in case the file is short: the connection is used again.
            assert found.transferred <= 10 * MAX_DRAINED < 5_000_000

    during(web, story)


def test_a_page_that_a_user_added_or_that_has_a_copy_may_be_of_any_type() -> None:
    web = Web({"/a.png": answer(b"picture", headers=[("Content-Type", "image/png")])})

    async def story(made: Fetcher) -> None:
        added = web.page("/a.png")
        for page in (added, replace(added, depth=1, body=COPY)):
            found = await made.fetch(page)
            assert (found.error, found.body) == (None, b"picture")

    during(web, story)


@pytest.mark.parametrize("kind", ["text/html", "application/pdf", "application/json", "text/plain"])
def test_a_link_to_a_document_is_a_page(kind: str) -> None:
    web = Web({"/node.js": answer("text", headers=[("Content-Type", kind)])})

    async def story(made: Fetcher) -> None:
        found = await made.fetch(replace(web.page("/node.js"), depth=1))
        assert (found.error, found.body) == (None, b"text")

    during(web, story)
