"""A hostile web: whatever a server does becomes a response, in time and in little memory."""

import asyncio
import gzip
import math
import resource
import shutil
import socket
import ssl
import struct
import subprocess
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from scripted_web import (
    PATIENT,
    QUICK,
    Names,
    Request,
    Script,
    Web,
    answer,
    fetcher,
    redirect,
)
from virtual_time import now
from virtual_time import run as run_virtual

from recrawl.http.address_guard import is_public
from recrawl.http.connection import Connection, InvalidResponseError
from recrawl.http.limits import Limits
from recrawl.records import Response

Writer = asyncio.StreamWriter

#: A server that makes the process grow by more than this could bring it down.
MAX_GROWTH = 100_000_000


def memory() -> int:
    """Return the peak memory of this process, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def visit(
    script: Script,
    path: str = "/a",
    *,
    limits: Limits = PATIENT,
    scripts: dict[str, Script] | None = None,
    names: Names | None = None,
    allowed: Callable[[str], bool] | None = None,
) -> tuple[Response, Web]:
    """Fetch a page from a server with a script."""
    web = Web({path: script, **(scripts or {})})

    async def main() -> Response:
        made = fetcher(limits=limits, names=names)
        if allowed is not None:
            made = fetcher(limits=limits, names=names, allowed=allowed)
        async with web, made:
            return await made.fetch(web.page(path, "host.test"))

    return asyncio.run(main()), web


def visit_slowly(script: Script) -> tuple[Response, float]:
    """Fetch a page in virtual time; return the response and how many seconds it took."""

    async def main() -> tuple[Response, float]:
        async with Web({"/a": script}) as web, fetcher(limits=QUICK) as made:
            got = await made.fetch(web.page("/a", "host.test"))
            return got, now()

    return run_virtual(main(), grace=0.05)


def forever(head: bytes, piece: bytes, pause: float = 0.0, sent: list[int] | None = None) -> Script:
    """Send a head, and then pieces without end."""

    async def talk(_: Request, writer: Writer) -> None:
        writer.write(head)
        with suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(piece)
                await writer.drain()
                if sent is not None:
                    sent.append(len(piece))
                await asyncio.sleep(pause)

    return talk


def then_close(data: bytes) -> Script:
    """Send something and hang up."""

    async def talk(_: Request, writer: Writer) -> None:
        writer.write(data)
        await writer.drain()
        writer.close()

    return talk


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


# Bodies


@pytest.mark.parametrize(
    "script",
    [
        forever(OK + b"\r\n", b"x" * 65_536),
        forever(CHUNKED, b"10000\r\n" + b"x" * 65_536 + b"\r\n"),
        forever(OK + b"Content-Length: 99999999999999\r\n\r\n", b"x" * 65_536),
    ],
    ids=["until closed", "chunked", "very long"],
)
def test_endless_bodies_are_cut(script: Script) -> None:
    before = memory()
    got, _ = visit(script)
    assert got.error is None
    assert got.truncated
    assert got.body == b"x" * PATIENT.max_bytes
    assert got.transferred < 2 * PATIENT.max_bytes
    assert memory() - before < MAX_GROWTH


def bomb() -> bytes:
    """Make 10 MB that unfold to 10 GB of zeros."""
    made = zlib.compressobj(9, wbits=31)
    head = made.compress(bytes(1_000_000)) + made.flush(zlib.Z_FULL_FLUSH)
    again = made.compress(bytes(1_000_000)) + made.flush(zlib.Z_FULL_FLUSH)
    return head + again * (10_000_000 // len(again))


def test_a_decompression_bomb_does_not_go_off() -> None:
    packed = answer(bomb(), headers=[("Content-Encoding", "gzip")])
    before = memory()
    got, _ = visit(packed)
    assert got.error is None
    assert got.truncated
    assert got.body == bytes(PATIENT.max_bytes)
    assert got.transferred < 500_000
    assert memory() - before < MAX_GROWTH


def test_compressed_nothings_without_end_are_left() -> None:
    got, _ = visit(
        forever(OK + b"Content-Encoding: gzip\r\n\r\n", gzip.compress(b"", mtime=0) * 100)
    )
    assert got.error == "the compressed body has too many gzip members"
    empty = zlib.compressobj(wbits=31)
    head, block = empty.compress(b"x"), empty.flush(zlib.Z_FULL_FLUSH)
    endless = forever(
        OK + b"Content-Encoding: gzip\r\n\r\n" + head + block, b"\0\0\0\xff\xff" * 9999
    )
    got, _ = visit(endless)
    assert got.truncated or got.error is not None
    assert got.transferred < 2 * PATIENT.max_bytes


def test_a_slow_drip_ends_in_time() -> None:
    got, seconds = visit_slowly(forever(OK + b"Content-Length: 1000\r\n\r\n", b"x", 0.2))
    assert got.error == "timed out after 2 s"
    assert seconds == pytest.approx(2.0, abs=0.1)


def test_a_slow_drip_of_headers_ends_in_time() -> None:
    got, seconds = visit_slowly(forever(OK, b"X", 0.2))
    assert got.error == "timed out after 2 s"
    assert seconds == pytest.approx(2.0, abs=0.1)


def test_silence_is_not_waited_out() -> None:
    async def silent(_: Request, __: Writer) -> None:
        await asyncio.sleep(30.0)

    got, seconds = visit_slowly(silent)
    assert got.error == "no data for 1 s"
    assert seconds == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(
    "data",
    [
        OK + b"Content-Length: 100\r\n\r\nshort",
        OK + b"Connection: close\r\nContent-Length: 100\r\n\r\nshort",
        b"HTTP/1.0 200 OK\r\nContent-Length: 100\r\n\r\nshort",
        CHUNKED + b"5\r\nhello\r\n",
        OK + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        CHUNKED + b"zz\r\nhello\r\n0\r\n\r\n",
        CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n",
        CHUNKED + b"5\r\nhello world\r\n0\r\n\r\n",
        CHUNKED + b"fffffffffffffffffffff\r\nhello",
        CHUNKED + b"5" * 100_000,
        OK
        + b"Content-Encoding: gzip\r\nContent-Length: 30\r\n\r\n"
        + gzip.compress(b"x" * 99, mtime=0)[:15],
    ],
)
def test_broken_bodies_are_errors(data: bytes) -> None:
    got, _ = visit(then_close(data))
    assert got.error in {
        "the body is incomplete or broken",
        "the response is not valid HTTP",
        "the connection was closed before the response",
    }
    assert got.body is None


@pytest.mark.parametrize(
    "head",
    [
        OK,
        OK + b"Connection: close\r\n",
        OK + b"Transfer-Encoding: identity\r\n",
        b"HTTP/1.0 200 OK\r\n",
    ],
)
def test_a_body_without_a_length_ends_with_its_connection(head: bytes) -> None:
    got, _ = visit(then_close(head + b"\r\nall of it"))
    assert got.error is None
    assert got.body == b"all of it"


def test_a_body_without_a_length_whose_connection_is_reset_is_an_error() -> None:
    async def reset(_: Request, writer: Writer) -> None:
        writer.write(OK + b"\r\nthe first half")
        await writer.drain()
        await asyncio.sleep(0.05)
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    got, _ = visit(reset)
    assert got.error is not None
    assert got.body is None


def test_what_comes_after_the_length_is_not_of_the_next_page() -> None:
    poisoned = OK + b"Content-Length: 5\r\n\r\nhello" + answer("not asked for")
    web = Web({"/a": poisoned, "/b": answer("right")})

    async def main() -> tuple[Response, Response]:
        async with web, fetcher() as made:
            return await made.fetch(web.page("/a")), await made.fetch(web.page("/b"))

    first, second = asyncio.run(main())
    assert first.body in {b"hello", None}
    assert second.body == b"right"


@pytest.mark.parametrize("charset", ["klingon", "utf-16", '"; drop', "\xff", "a" * 5000])
def test_lies_about_charsets_are_handed_on(charset: str) -> None:
    header = f"text/html; charset={charset}"
    got, _ = visit(answer(b"\xff\xfe\x00", headers=[("Content-Type", header)]))
    assert got.error is None
    assert got.body == b"\xff\xfe\x00"
    assert got.header("content-type") == header


# Heads


@pytest.mark.parametrize(
    "head",
    [
        OK + b"".join(b"X-%d: y\r\n" % n for n in range(10_000)) + b"\r\n",
        OK + b"X-Long: " + b"y" * 1_000_000 + b"\r\n\r\n",
        OK + b"X-" + b"y" * 1_000_000 + b": z\r\n\r\n",
        b"HTTP/1.1 200 " + b"y" * 1_000_000 + b"\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\nhello",
        b"HTTP/1.1 99999 OK\r\n\r\nhello",
        b"HTTP/1.1 -1 OK\r\n\r\nhello",
        b"HTTP/1.1 099 Low\r\n\r\n" + OK + b"Content-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 000 None\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/9.9 200 OK\r\n\r\nhello",
        b"<html>HTTP/0.9 sends no head at all</html>",
        b"\x16\x03\x01\x00\x05hello",
        b"\x00" * 10_000,
        OK + b"Content-Length: abc\r\n\r\nhello",
        OK + b"Content-Length: -5\r\n\r\nhello",
        OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        OK + b"no colon here\r\n\r\nhello",
        OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello",
        b"",
    ],
)
def test_heads_that_are_none_are_errors(head: bytes) -> None:
    before = memory()
    got, _ = visit(then_close(head))
    assert got.error is not None
    assert got.body is None
    assert memory() - before < MAX_GROWTH


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (CHUNKED + b"5\r\nhello\r\n0\r\n", b"X-Trailer: " + b"y" * 50_000 + b"\r\n"),
        (CHUNKED + b"5\r\nhello\r\n0\r\nX-Trailer: ", b"y" * 50_000),
        (CHUNKED + b"5\r\nhello\r\n5;", b"x=y;" * 12_500),
        (CHUNKED + b"5\r\nhello\r\n", b"0" * 50_000),
        (CHUNKED, b"1;" + b"x" * 50_000 + b"\r\ny\r\n"),
        (CHUNKED, b"1\r\nx\r\n" * 10_000),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2_000),
        (b"", b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" * 1_000),
        (b"", b"\r\n" * 25_000),
        (b"HTTP/1.1 200 ", b"OK " * 16_000),
        (OK, b"X: y\r\n" * 10_000),
        (OK + b"X: y", b"\r\n\t" * 16_000),
    ],
    ids=["trailers", "one trailer", "extension", "chunk size", "an extension per chunk",
         "chunks of a byte", "interim", "early hints", "blank lines", "status line", "headers",
         "folded header"],
)  # fmt: skip
def test_whatever_comes_beside_the_body_without_end_is_not_read_on(
    head: bytes, piece: bytes
) -> None:
    sent: list[int] = []
    before = memory()
    got, _ = visit(forever(head, piece, sent=sent))
    assert got.error in {"the response is not valid HTTP", "the body is incomplete or broken"}
    # What was sent and not read is in the system's buffers, which hold a few megabytes.
    assert sum(sent) < 20_000_000
    assert memory() - before < MAX_GROWTH


def test_a_body_in_small_chunks_with_extensions_and_trailers_is_read() -> None:
    chunk = b"a;x=y\r\n0123456789\r\n"
    got, _ = visit(CHUNKED + chunk * 50_000 + b"0\r\nX-Trailer: y\r\n\r\n")
    assert got.error is None
    assert got.body == b"0123456789" * 50_000


def test_headers_count_even_if_they_arrive_at_once() -> None:
    """All in one packet with the end of the response, or a byte at a time."""
    line = b"X-%03d: " + b"y" * 10_000 + b"\r\n"
    head = OK + b"".join(line % number for number in range(30)) + b"Content-Length: 0\r\n\r\n"

    async def receive(step: int) -> str:
        connection = Connection(200, 16_384)
        asking = asyncio.ensure_future(connection.request(b"", math.inf, math.inf))
        await asyncio.sleep(0)
        for at in range(0, len(head), step):
            connection.data_received(head[at : at + step])
        try:
            await asking
        except InvalidResponseError:
            return "refused"
        return "read"

    assert [asyncio.run(receive(step)) for step in (len(head), 9_999)] == ["refused"] * 2


def test_interim_answers_without_end_end_in_time() -> None:
    got, seconds = visit_slowly(forever(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.05))
    assert got.error is not None
    assert "timed out" in got.error
    assert seconds == pytest.approx(2.0, abs=0.1)


def test_switching_protocols_unasked_is_an_error() -> None:
    got, _ = visit(
        then_close(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
    )
    assert got.error is not None


def test_a_connection_that_is_cut_midway_is_an_error() -> None:
    async def cut(_: Request, writer: Writer) -> None:
        writer.write(OK + b"Content-Length: 1000000\r\n\r\n" + b"x" * 1000)
        await writer.drain()
        writer.transport.abort()

    got, _ = visit(cut)
    assert got.error == "the body is incomplete or broken"


# Redirects and addresses


@pytest.mark.parametrize(
    "where",
    ["http://127.0.0.2/", "http://10.0.0.1/", "http://169.254.169.254/latest/", "http://[::1]/",
     "http://0x7f.0.0.2/", "http://2130706434/", "http://[::ffff:10.0.0.1]/", "http://127.2:80/",
     "http://[64:ff9b::a00:1]/", "http://inside.test/"],
)  # fmt: skip
def test_redirects_to_private_addresses_are_refused(where: str) -> None:
    got, web = visit(redirect(where), names=Names({"inside.test": [["192.168.0.1"]]}))
    assert got.error is not None
    assert got.error.endswith(" is private; use --allow-private to crawl it")
    assert got.permanent
    assert got.requests == 1
    assert web.targets() == ["/a"]


@pytest.mark.parametrize("scheme", ["file:///etc/passwd", "gopher://127.0.0.1/", "data:,x"])
def test_redirects_out_of_the_web_are_refused(scheme: str) -> None:
    got, _ = visit(redirect(scheme))
    assert got.error is not None


def test_loopback_is_refused_unless_allowed() -> None:
    got, web = visit(answer(), allowed=is_public)
    assert got.error == "the address 127.0.0.1 is private; use --allow-private to crawl it"
    assert got.permanent
    assert (got.requests, web.log) == (0, [])


def test_an_answer_of_dns_that_changes_lets_nobody_in() -> None:
    # The first question, for robots.txt, is answered with a public address, the second is not.
    names = Names({"host.test": [["127.0.0.1"], ["127.0.0.2"]]})

    async def main() -> tuple[Response, Response]:
        robots = answer("", headers=[("Connection", "close")])
        async with (
            Web({"/robots.txt": robots, "/a": answer()}) as web,
            fetcher(names=names) as made,
        ):
            await made.robots.rules(web.url("/a", "host.test"))
            # As when its time is over.
            made.client.connector._names.clear()  # noqa: SLF001
            first = await made.fetch(web.page("/a", "host.test"))
            return first, await made.fetch(web.page("/a", "host.test"))

    for got in asyncio.run(main()):
        assert got.error == "the address 127.0.0.2 is private; use --allow-private to crawl it"
        assert got.permanent
        assert got.requests == 0
    assert len(names.lookups) == 2


def test_an_answer_of_dns_with_both_kinds_lets_nobody_in() -> None:
    got, _ = visit(answer(), names=Names({"host.test": [["10.0.0.1", "127.0.0.1", "::1"]]}))
    assert got.error is None
    got, _ = visit(answer(), names=Names({"host.test": [["10.0.0.1", "::1"]]}))
    assert got.permanent


# robots.txt


def test_a_huge_robots_txt_is_not_read_to_its_end() -> None:
    sent: list[int] = []
    line = b"Disallow: /private\n" * 1000
    head = OK + b"Content-Length: 50000000\r\n\r\nUser-agent: *\n"
    before = memory()
    got, _ = visit(answer(), scripts={"/robots.txt": forever(head, line, sent=sent)})
    assert got.error is None
    # What was sent and not read is in the system's buffers, which hold a few megabytes.
    assert sum(sent) < 20_000_000
    assert memory() - before < MAX_GROWTH


def test_only_a_part_of_a_huge_robots_txt_is_transferred() -> None:
    web = Web({"/robots.txt": answer(b"#" * 50_000_000)})

    async def main() -> Response:
        async with web, fetcher() as made:
            return await made.fetch_file(web.url("/robots.txt"), 512 * 1024)

    got = asyncio.run(main())
    assert got.truncated
    assert got.transferred < 1_000_000


def test_a_robots_txt_that_hangs_slows_no_other_host() -> None:
    async def hang(_: Request, __: Writer) -> None:
        hanging.set()
        await asyncio.sleep(30.0)

    hanging = asyncio.Event()
    web = Web({"hang.test/robots.txt": hang, "/a": answer()})

    async def main() -> None:
        async with web, fetcher(limits=replace(QUICK, connections=4)) as made:
            stuck = [
                asyncio.create_task(made.fetch(web.page("/a", "hang.test"))) for _ in range(50)
            ]
            await hanging.wait()
            start = now()
            for n in range(20):
                assert (await made.fetch(web.page("/a", f"{n}.test"))).error is None
            assert now() == start
            assert not any(task.done() for task in stuck)
            for got in await asyncio.gather(*stuck):
                assert got.error is not None
                assert "robots.txt of hang.test" in got.error
                assert got.retry_after is not None
                assert got.requests == 0

    run_virtual(main(), grace=0.05)
    assert [request.target for request in web.log if request.host.startswith("hang")] == [
        "/robots.txt"
    ]


@pytest.mark.parametrize(
    "robots",
    [
        forever(OK + b"Content-Encoding: gzip\r\n\r\n", b"\x1f\x8b" + b"\xff" * 1000),
        then_close(OK + b"Content-Length: 100\r\n\r\nUser-agent: *"),
        then_close(b"nonsense"),
    ],
)
def test_a_broken_robots_txt_forbids_for_now(robots: Script) -> None:
    got, web = visit(answer(), scripts={"/robots.txt": robots})
    assert got.error is not None
    assert got.error.startswith("robots.txt of host.test")
    assert got.retry_after is not None
    assert 0.0 < got.retry_after <= 300.0
    assert web.targets() == []


# Storms


def test_a_storm_of_too_many_is_not_answered_with_one() -> None:
    web = Web({f"/{n}": answer("", "429 No", [("Retry-After", "60")]) for n in range(50)})

    async def main() -> None:
        async with web, fetcher() as made:
            got = [await made.fetch(web.page(f"/{n}")) for n in range(50)]
            assert all(one.error is not None for one in got)
            assert all(one.retry_after is not None and 0.0 < one.retry_after <= 60.0 for one in got)

    asyncio.run(main())
    assert len(web.targets()) == 1


def test_tls_with_a_plain_server_is_told() -> None:
    async def plain(reader: asyncio.StreamReader, writer: Writer) -> None:
        await reader.read(100)
        writer.write(answer("400 this is a plain port", "400 Bad Request"))
        writer.close()

    async def main() -> Response:
        server = await asyncio.start_server(plain, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, fetcher() as made:
            return await made.fetch_file(f"https://127.0.0.1:{port}/", 100)

    error = asyncio.run(main()).error or ""
    assert error.endswith("no secure connection: the server does not speak TLS")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_a_certificate_that_nobody_signed_is_not_believed(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",  # noqa: S607
         "-subj", "/CN=127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def main() -> Response:
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        async with server, fetcher() as made:
            return await made.fetch_file(f"https://127.0.0.1:{port}/", 100)

    assert (asyncio.run(main()).error or "").endswith("the certificate is not valid")


def test_a_whole_crawl_of_it_stays_small_and_others_are_not_slowed() -> None:
    packed = bomb()
    web = Web({
        "/endless": forever(OK + b"\r\n", b"x" * 65_536),
        "/bomb": answer(packed, headers=[("Content-Encoding", "gzip")]),
        "/drip": forever(OK + b"Content-Length: 1000\r\n\r\n", b"x", 0.2),
        "/circle": redirect("/circle"),
        "/headers": then_close(OK + b"".join(b"X-%d: y\r\n" % n for n in range(10_000)) + b"\r\n"),
        "/good": answer("good"),
    })  # fmt: skip
    bad = ["/endless", "/bomb", "/drip", "/circle", "/headers"]

    async def main() -> list[Response]:
        async with web, fetcher() as made:
            pages = [web.page(path, f"{n}.test") for n in range(5) for path in bad]
            hostile = [asyncio.create_task(made.fetch(page)) for page in pages]
            good = [await made.fetch(web.page("/good", f"good{n}.test")) for n in range(20)]
            drips = [task for task, page in zip(hostile, pages, strict=True) if "drip" in page.url]
            assert not any(task.done() for task in drips)
            for task in drips:
                task.cancel()
            await asyncio.gather(*hostile, return_exceptions=True)
            assert not any(task.exception() for task in hostile if task not in drips)
            return good

    before = memory()
    good = asyncio.run(main())
    assert all(one.body == b"good" for one in good)
    assert memory() - before < MAX_GROWTH
