"""Responses that break HTTP in a thousand ways: each becomes a response, and none is slow."""

import asyncio
import gc
import gzip
import random
import time
import zlib

from scripted_web import PATIENT, Request, Script, Web, fetcher

from recrawl.records import Response

#: A sample that takes seconds; with another seed it is another one.
RESPONSES, SEED, AT_ONCE = 1_200, 48, 20
#: Seconds of processor time that the loop may be busy at a stretch: some hundredths, whatever else
#: the machine does, and minutes for a response that breaks a parser.
MAX_BUSY = 5.0

_STATUS = [
    b"HTTP/1.1 200 OK", b"HTTP/1.0 200", b"HTTP/9.9 200 OK", b"HTTP/1.1 200", b"HTTP/1.1  200  OK",
    b"http/1.1 200 ok", b"HTTP/1.1 99 Low", b"HTTP/1.1 1000 High", b"HTTP/1.1 -200 OK", b"200 OK",
    b"HTTP/1.1 \xd9\xa2\xd9\xa0\xd9\xa0 OK", b"ICY 200 OK", b"", b"\x16\x03\x01\x02", b"HTTP/1.1",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK", b"HTTP/1.1 101 Switching Protocols",
    b"HTTP/1.1 204 No Content", b"HTTP/1.1 206 Partial", b"HTTP/1.1 301 Moved",
    b"HTTP/1.1 304 Not Modified", b"HTTP/1.1 401 No", b"HTTP/1.1 416 Range", b"HTTP/1.1 503 Later",
    b"PRI * HTTP/2.0", b"HTTP/1.1 200 " + b"O" * 9_000,
]  # fmt: skip
_HEADERS = [
    b"Content-Length: 5", b"Content-Length: -1", b"Content-Length: 5, 5",
    b"Content-Length: 5\r\nContent-Length: 6", b"Content-Length: 0x5",
    b"Content-Length: 99999999999999999999999",
    b"Content-Length: \xd9\xa5", b"Content-Length:", b"Content-Length: +5",
    b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked, chunked",
    b"Transfer-Encoding: identity", b"Transfer-Encoding: xchunked", b"Transfer-Encoding : chunked",
    b"Transfer-Encoding: gzip, chunked", b"Transfer-Encoding:\x0bchunked",
    b"Content-Encoding: gzip", b"Content-Encoding: deflate", b"Content-Encoding: br",
    b"Content-Encoding: gzip, gzip, gzip", b"Content-Encoding: \xff", b"Content-Type: \xe9/\xff",
    b"Content-Type: text/html; charset=utf-99", b'Content-Type: text/html; charset="', b": empty",
    b"no colon at all", b" folded: yes", b"\tfolded", b"X\x00Y: z", b"X: \x00", b"X: \x7f\x80\xff",
    b"Location: http://[", b"Location: //", b"Location: \xff", b"Location: javascript:1",
    b"Location: http://host.test:99999/", b"Location: " + b"a" * 9_000, b"Retry-After: -5",
    b"Retry-After: 99999999999999999999", b"Retry-After: Thu, 99 Foo 0000 99:99:99 GMT",
    b'ETag: "', b"ETag: \xff", b"Last-Modified: yesterday",
    b"Last-Modified: Mon, 01 Jan 99999 00:00:00 GMT", b"Set-Cookie: a=b; Domain=.", b"Link: <",
    b"Connection: close, keep-alive, upgrade", b"Upgrade: h2c", b"Trailer: X",
    b"X: " + b"y" * 9_000,
]  # fmt: skip
_BODIES = [
    b"hello", b"", b"5\r\nhello\r\n0\r\n\r\n", b'5;ext="\r\nhello\r\n0\r\n\r\n', b"-5\r\nhello",
    b"ffffffffffffffffff\r\nhello", b"5\nhello\n0\n\n", b"5\r\nhel", b"0\r\nX: y\r\n\r\n",
    b"0x5\r\nhello\r\n0\r\n\r\n", b"zz\r\n", gzip.compress(b"hello"), gzip.compress(b"hello")[:-4],
    b"\x1f\x8b\x08" + b"\xff" * 100, zlib.compress(b"hello"), b"<p>" * 3_000, bytes(range(256)),
    gzip.compress(b"a") * 50,
]  # fmt: skip


def malformed(rng: random.Random) -> bytes:
    """Return a response that is wrong in some way, or in several."""
    end = rng.choice([b"\r\n"] * 8 + [b"\n", b"\r", b"\n\r"])
    status = rng.choice([_STATUS[0]] * 20 + _STATUS)
    lines = [status, *rng.choices(_HEADERS, k=rng.choice([0, 1, 1, 2, 3, 8]))]
    sent = end.join(lines) + end + (end if rng.random() < 0.95 else b"") + rng.choice(_BODIES)
    if rng.random() < 0.3:
        changed = bytearray(sent)
        for _ in range(rng.randrange(1, 6)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        sent = bytes(changed)
    return sent[: rng.randrange(len(sent) + 1)] if rng.random() < 0.2 else sent


def sending(data: bytes, pieces: int) -> Script:
    """Send something in pieces, and hang up."""

    async def talk(_: Request, writer: asyncio.StreamWriter) -> None:
        step = max(len(data) // pieces, 1)
        for at in range(0, len(data), step):
            writer.write(data[at : at + step])
            await asyncio.sleep(0)
        await writer.drain()
        writer.close()

    return talk


async def fetch_all(responses: int, seed: int) -> tuple[list[Response], float]:
    """Fetch malformed responses; return what came, and the longest that the loop was busy."""
    rng = random.Random(seed)  # noqa: S311 - made-up responses
    paths = {f"/{n}": sending(malformed(rng), rng.choice([1, 1, 2, 7])) for n in range(responses)}
    busiest = 0.0

    async def beat() -> None:
        nonlocal busiest
        while True:
            before = time.thread_time()
            await asyncio.sleep(0)
            busiest = max(busiest, time.thread_time() - before)

    async with Web(dict(paths)) as web, fetcher(limits=PATIENT) as made:
        got: list[Response] = []
        names = iter(enumerate(paths))

        async def work() -> None:
            for number, path in names:
                # A host of its own each time, as a 429 or Retry-After would close it for the next.
                got.append(await made.fetch(web.page(path, f"h{number}.test")))

        beating = asyncio.create_task(beat())
        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        beating.cancel()
    return got, busiest


def test_malformed_responses_are_responses_and_never_slow() -> None:
    # What thousands of other tests left is not looked through meanwhile.
    gc.freeze()
    try:
        got, busiest = asyncio.run(fetch_all(RESPONSES, SEED))
    finally:
        gc.unfreeze()
    assert len(got) == RESPONSES
    # Most cannot be read, and each of them says why; some are harmless.
    failed = [one for one in got if one.error is not None]
    assert 0.3 * RESPONSES < len(failed) < 0.95 * RESPONSES
    assert all(one.error and "\n" not in one.error for one in failed)
    assert busiest < MAX_BUSY
