"""What the fuzzer feeds to readers of what comes from the web: responses, documents, rules, URLs.

Targets are as in `benchmarks.fuzz_targets`.
"""

import asyncio
import gzip
import random
from collections.abc import Awaitable, Iterable
from contextlib import suppress
from functools import cache
from typing import Any, cast

import numpy as np

from benchmarks import fuzz_inputs as inputs
from recrawl.content.html.feed_links import hub_links
from recrawl.content.html.links import links
from recrawl.content.html.markdown import as_markdown, linked_lines
from recrawl.content.html.parse import in_utf8
from recrawl.content.html.plain_text import own_lines
from recrawl.content.noise.history import History
from recrawl.content.reader import Mode, Reader
from recrawl.content.sitemaps.packed import read_packed
from recrawl.content.sitemaps.sitemaps import read_date
from recrawl.errors import RecrawlError
from recrawl.formats.response_head import response_head
from recrawl.hosts import host_of
from recrawl.http.bodies import BrokenBodyError, read_body
from recrawl.http.connection import (
    Connection,
    ConnectionDroppedError,
    IncompleteBodyError,
    InvalidResponseError,
)
from recrawl.http.headers import decoded, location, retry_after, sendable
from recrawl.http.memory_budget import MemoryBudget
from recrawl.http.robots import Robots
from recrawl.records import Response
from recrawl.service.push.indexnow import Submission
from recrawl.units import parse_http_date
from recrawl.urls import canonical, origin_of, redirected

Numbers = Iterable[Any]

_TYPES = ["text/html", "text/html; charset=utf-8", "text/html;charset=shift_jis", "text/plain", ""]
_TYPES += ["application/json", "application/xml; charset=utf-16", "text/html; charset=idna"]
_MODES: list[Mode] = ["bytes", "text", "main", "selector"]
_HTML = [
    (
        b"<!doctype html><html><head><meta charset=utf-8><title>A</title><base href=/x/></head>"
        b"<body><nav><a href=/a>A</a></nav><main><h1>Title</h1><p>Text <b>bold</b> 12:30 "
        b"<a rel=nofollow href='b?utm_source=x&id=9f8e7d6c'>link</a></p>"
        b"<table><tr><td>1<td>2</table></main>"
        b"<script>var t=1;</script><footer>&copy; 2026</footer></body></html>"
    ),
    b"<p>a<p>b<div id=x class='y z'><ul><li>1<li>2</ul></div><svg><a href=q>s</a></svg>",
    b'{"a": [1, 2, {"b": "text"}], "time": "2026-01-01T00:00:00Z"}',
]
_MAPS = [
    (
        b'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/'
        b'0.9"><url><loc>http://e.org/a</loc><lastmod>2026-01-01</lastmod></url></urlset>'
    ),
    b"<sitemapindex><sitemap><loc>http://e.org/s.xml.gz</loc></sitemap></sitemapindex>",
    (
        b"<rss><channel><item><link>http://e.org/b</link><pubDate>Thu, 01 Jan 2026 11:00:00 GMT"
        b"</pubDate></item></channel></rss>"
    ),
    b"http://e.org/a\nhttp://e.org/b\n",
]
_ROBOTS = [
    (
        b"User-agent: *\nDisallow: /a*b$\nAllow: /a\nCrawl-delay: 2.5\nRequest-rate: 1/5\n"
        b"Sitemap: http://e.org/s.xml\n\nUser-agent: recrawl\nDisallow:\n"
    ),
]
_RESPONSES = [
    (
        b'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: "a"\r\nTransfer-Encoding: chunked\r\n'
        b"\r\n5;x=y\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\n"
    ),
    (
        b"HTTP/1.1 100 Continue\r\n\r\n\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
        b'\r\n1;a=b;c="d"\r\nx\r\n0;e\r\nX-Trailer: 1\r\nX-Long: 2\r\n\r\n'
    ),
    b"HTTP/1.1 099 Low\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
    b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\nHTTP/1.1 304 Not Modified\r\n\r\n",
    b"HTTP/1.0 404 Not Found\r\nLocation: /caf\xe9\r\n folded\r\n\r\nnothing here",
]
_LINKS = ['<https://hub.example/>; rel="hub", </f>; rel=self', '<a>;title="b, <c>";rel="hub self"']
_FEEDS = [
    (
        b'<feed xmlns="http://www.w3.org/2005/Atom"><link rel="hub" href="http://hub.example/"/>'
        b'<link rel="self" href="/f"/><entry><link href="a"/></entry></feed>'
    ),
    b"<rss><channel><atom:link rel='hub self' href='//h.example'/><item/></channel></rss>",
]
_URLS = ["http://example.org:80/a/../b?y=2&x=1#c", "https://bücher.example/%7Ea;p?q=%zz", "//e/x"]
_URLS += ["http://0x7f.1/", "http://[::1]:8080/", "HTTP://user:pw@e.org/", "../c?d#e", "mailto:a@b"]
_SUBMITTED = ["http://e.org/a?b=c", "https://e.org/b/", "http://e.org/0123/c"]
_DATES = ["Thu, 01 Jan 2026 11:00:00 GMT", "2026-01-01T12:00:00+01:00", "120", "Thu, 1-Jan-26 1:1"]


def html(rng: random.Random) -> Numbers:
    """A page, its fingerprint and its noise."""
    mode = rng.choice(_MODES)
    reader = Reader(mode, "main, #x" if mode == "selector" else None)
    kind = rng.choice(_TYPES) or None
    one, other = (reader.read(inputs.mutated(rng, _HTML), kind) for _ in range(2))
    one.fingerprint(one.noise(other))
    one.difference(other)
    History().after(b"digest", one.blocks, other.blocks)
    return ()


def markdown(rng: random.Random) -> Numbers:
    """A page as Markdown, with its links."""
    body, kind = inputs.mutated(rng, _HTML), rng.choice(_TYPES) or None
    lines = own_lines(body, kind, Reader())
    as_markdown(lines, linked_lines(body, kind, "http://e.org/a/")).encode()
    return ()


def page_links(rng: random.Random) -> Numbers:
    """The links of a page."""
    url = rng.choice(("http://e.org/a/", "https://e.org/b?c=1"))
    for link in links(inputs.mutated(rng, _HTML), rng.choice(_TYPES), url):
        origin_of(link)
    return ()


def sitemap(rng: random.Random) -> Numbers:
    """A sitemap or feed, some of them compressed."""
    body = inputs.mutated(rng, _MAPS)
    if rng.random() < 0.2:
        body = inputs.mutated(rng, [gzip.compress(body, 1)])
    for address, _ in read_packed(body).unpacked().entries:
        origin_of(address)
    return ()


def hubs(rng: random.Random) -> Numbers:
    """The hub that a feed names in its headers, or in itself."""
    hub_links("http://e.org/f", [inputs.text(rng, _LINKS)], inputs.mutated(rng, _FEEDS))
    return ()


def submissions(rng: random.Random) -> Numbers:
    """What somebody submits by IndexNow."""
    told = [inputs.text(rng, _SUBMITTED) for _ in range(rng.choice((1, 1, 2)))]
    key = inputs.text(rng, ["0123abcd", "a-b-c-d-e-f"])
    where = rng.choice((None, inputs.text(rng, ["http://e.org/0123abcd.txt"])))
    Submission.read(told, key, where, rng.choice((None, inputs.text(rng, ["e.org"]))))
    return ()


class _Transport:
    """A transport that nothing leaves."""

    def __init__(self) -> None:
        self._closed = False

    def write(self, _data: bytes) -> None:
        """Send nothing."""

    def abort(self) -> None:
        """Close it."""
        self._closed = True

    def is_closing(self) -> bool:
        """Whether it is closed."""
        return self._closed

    pause_reading = resume_reading = lambda _self: None


def responses(rng: random.Random) -> Numbers:
    """A response as it comes from a socket, in pieces, and its export."""
    sent = inputs.mutated(rng, [*_RESPONSES, *_compressed_responses()])
    cuts = sorted(rng.randrange(len(sent) + 1) for _ in range(rng.choice((0, 1, 3))))
    pieces = [sent[a:b] for a, b in zip([0, *cuts], [*cuts, len(sent)], strict=True)]

    async def exchange() -> float:
        connection = Connection(64, 8_192)
        connection.connection_made(cast("asyncio.BaseTransport", _Transport()))
        reading = asyncio.ensure_future(_read(connection))
        for piece in pieces:
            await asyncio.sleep(0)
            connection.data_received(piece)
        connection.connection_lost(None)
        await reading
        return 0.0

    with suppress(
        ConnectionDroppedError, InvalidResponseError, IncompleteBodyError, BrokenBodyError
    ):
        _run(exchange())
    return ()


async def _read(connection: Connection) -> None:
    await connection.request(b"", 1e3, 1e9)
    headers = decoded(connection.headers)
    body, _, _ = await read_body(connection, headers, 20_000, MemoryBudget())
    response_head(Response("http://e.org/", connection.status, 0, headers, body))


@cache
def _compressed_responses() -> list[bytes]:
    """Return responses whose bodies are compressed."""
    body = gzip.compress(_HTML[0], mtime=0)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    return [head % len(body) + body, head % 50_000 + gzip.compress(bytes(5_000_000), mtime=0)]


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


def robots(rng: random.Random) -> Numbers:
    """A robots.txt, and whether it allows a page."""
    body = inputs.mutated(rng, _ROBOTS)

    async def fetch(url: str, _: int) -> Response:
        return Response(url, 200, 0, body=body)

    async def ask() -> float:
        known = Robots(fetch, "recrawl/1.0")
        rules = await known.rules("http://e.org/a")
        rules.allows("http://e.org/" + rng.choice(("a", "aXb", "?q=%C3%BC", "robots.txt")))
        await known.close()
        return rules.delay

    return [_run(ask())]


def _run(work: Awaitable[float]) -> float:
    return _loop().run_until_complete(asyncio.ensure_future(work, loop=_loop()))


def charset(rng: random.Random) -> Numbers:
    """The encoding of a page."""
    kind = inputs.text(rng, _TYPES) if rng.random() < 0.5 else rng.choice(_TYPES)
    in_utf8(inputs.mutated(rng, _HTML), kind).decode()
    return ()


def headers(rng: random.Random) -> Numbers:
    """Headers as a server sends them."""
    raw = inputs.mutated(rng, [*(date.encode() for date in _DATES), b'W/"etag"', b"/caf\xe9"])
    ((_, value),) = decoded(((b"x", raw),))
    sendable(value)
    with suppress(RecrawlError):
        redirected("http://e.org/a", location(value))
    return [retry_after(value, 1e9) or 0.0]


def dates(rng: random.Random) -> Numbers:
    """Dates as servers and sitemaps write them."""
    text = inputs.text(rng, _DATES)
    return [parse_http_date(text) or 0, read_date(text) or 0]


def urls(rng: random.Random) -> Numbers:
    """URLs, canonical and redirected."""
    url = inputs.text(rng, _URLS)
    host_of(url)
    with suppress(RecrawlError):
        redirected("http://e.org/a/b", url)
    found = canonical(url)
    origin_of(found)
    return [] if canonical(found).startswith(origin_of(found)) else [np.nan]
