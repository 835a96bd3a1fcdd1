"""Sitemaps as sites write them, and as they should not."""

import gzip
import time
import zlib
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.content.sitemaps.packed import read_packed
from recrawl.content.sitemaps.sitemaps import (
    MAX_BYTES,
    MAX_ENTRIES,
    Sitemap,
    _whole_tokens,
    read_sitemap,
)

DAY = 1_767_225_600_000_000
URLSET = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:xhtml="http://www.w3.org/1999/xhtml" xmlns:image="http://www.google.com/image">
<url><xhtml:link rel="alternate" hreflang="de" href="http://example.org/de/a"/>
<loc> http://example.org/a?y=2&amp;x=1 </loc><lastmod>2026-01-01</lastmod>
<image:image><image:loc>http://example.org/i.png</image:loc></image:image></url>
<url><loc>http://example.org/b</loc><lastmod>2026-01-01T01:00:00+01:00</lastmod></url>
<url><loc>http://example.org/c</loc><lastmod>yesterday</lastmod></url>
<url><loc>mailto:me</loc></url><url></url>
</urlset>"""
EXPECTED = (
    ("http://example.org/a?x=1&y=2", DAY),
    ("http://example.org/b", DAY),
    ("http://example.org/c", None),
)


@pytest.mark.parametrize(
    "body",
    [
        URLSET.encode(),
        b"\xef\xbb\xbf" + URLSET.encode(),
        b"\n " + URLSET[39:].encode(),
        gzip.compress(URLSET.encode(), mtime=0),
        URLSET.replace("UTF-8", "UTF-16").encode("utf-16"),
        URLSET.replace("<", "<s:").replace("<s:/", "</s:").replace("<s:?", "<?")
        .replace("xmlns=", "xmlns:s=").replace("s:xhtml", "xhtml").replace("s:image", "image")
        .encode(),
    ],
)  # fmt: skip
def test_a_sitemap(body: bytes) -> None:
    assert read_sitemap(body) == Sitemap(EXPECTED, (), is_whole=True)


def test_an_index() -> None:
    index = """<sitemapindex><sitemap><loc>http://example.org/s.xml.gz</loc>
    <lastmod>2026-01</lastmod></sitemap></sitemapindex>"""
    expected = Sitemap((), (("http://example.org/s.xml.gz", DAY),), kind="index")
    assert read_sitemap(index.encode()) == expected


def test_feeds() -> None:
    rss = """<rss xmlns:atom="http://www.w3.org/2005/Atom"><channel><link>http://example.org/</link>
    <item><title>A</title><atom:link rel="self" href="http://example.org/self"/>
    <link>http://example.org/a</link><pubDate>Thu, 01 Jan 2026 00:00:00 GMT</pubDate></item>
    </channel></rss>"""
    atom = """<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://example.org/"/><entry>
    <link rel="edit" href="http://example.org/edit"/><link href="http://example.org/a"/>
    <updated>2026-01-01T00:00:00Z</updated></entry></feed>"""
    for feed in (rss, atom):
        expected = Sitemap((("http://example.org/a", DAY),), kind="feed")
        assert read_sitemap(feed.encode()) == expected


def test_a_list_of_addresses() -> None:
    body = b"http://example.org/a\r\n\r\nhttp://example.org/b\nnonsense\nhttp://example.org/a\n"
    entries = read_sitemap(body).entries
    assert entries == (("http://example.org/a", None), ("http://example.org/b", None))


def test_what_comes_before_the_damage_counts() -> None:
    cut = URLSET[: URLSET.index("<url><loc>http://example.org/c")]
    for body in (
        cut.encode(),
        (cut + "</wrong>").encode(),
        gzip.compress(cut.encode(), mtime=0)[:-6],
    ):
        found = read_sitemap(body)
        assert found.entries == EXPECTED[:2]
        assert not found.is_whole


def test_limits() -> None:
    many = "".join(f"<url><loc>http://e.org/{n}</loc></url>" for n in range(MAX_ENTRIES + 2))
    found = read_sitemap(f"<urlset>{many}</urlset>".encode())
    assert len(found.entries) == MAX_ENTRIES
    assert not found.is_whole
    lines = "\n".join(f"http://e.org/{n}" for n in range(MAX_ENTRIES + 2))
    assert len(read_sitemap(lines.encode()).entries) == MAX_ENTRIES


def test_a_sitemap_of_just_the_limits_is_whole() -> None:
    line = b"http://e.org/a\n"
    just = line + b"\n" * (MAX_BYTES - len(line))
    for packed in (bytes, partial(gzip.compress, compresslevel=1)):
        assert read_sitemap(packed(just)).is_whole
        assert not read_sitemap(packed(just + b"\n")).is_whole
    long = "x" * 10_000
    found = read_sitemap(f"<urlset><url><loc>http://e.org/{long}</loc></url></urlset>".encode())
    assert found == Sitemap()


BROKEN = Sitemap(is_whole=False, problem="it is not well-formed XML")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("<!DOCTYPE html>\n<title>Not found</title>", "it is an HTML page, not a sitemap or feed"),
        ("<!-- hello --><HTML><body>", "it is an HTML page, not a sitemap or feed"),
        ("<html><url><loc>http://e.org/</loc></url></html>", "it is an HTML page, not"),
        ("<svg></svg>", "its root element is 'svg', not one of a sitemap or feed"),
        ("<urlset><url>", "it is not well-formed XML"),
        ('{"error": 404}', "there is no URL in it"),
        ("", "it is empty"),
    ],
)
def test_what_is_no_sitemap_is_told(body: str, problem: str) -> None:
    assert (read_sitemap(body.encode()).problem or "").startswith(problem)


def test_an_empty_sitemap_is_one() -> None:
    for body in ("<urlset/>", "<sitemapindex></sitemapindex>", "<rss><channel/></rss>"):
        assert read_sitemap(body.encode()).problem is None


def test_bombs() -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = packer.compress(b"<urlset>" + b" " * (4 * MAX_BYTES)) + packer.flush()
    begin = time.process_time()
    assert read_sitemap(bomb) == BROKEN
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 20))
    entities = (
        f'<!DOCTYPE u [<!ENTITY l0 "ha">{laughs}]><urlset><url><loc>&l19;</loc></url></urlset>'
    )
    assert read_sitemap(entities.encode()) == BROKEN
    outside = (
        '<!DOCTYPE u [<!ENTITY x SYSTEM "file:///etc/passwd">]><urlset><url><loc>&x;</loc></url>'
    )
    assert read_sitemap(outside.encode()) == BROKEN
    deep = b"<url>" * 1_000_000
    assert read_sitemap(deep).entries == ()
    # Some seconds; minutes or all memory if one of them goes off.
    assert time.process_time() - begin < 60.0


@given(st.binary(max_size=200))
def test_any_bytes_can_be_read(body: bytes) -> None:
    read_sitemap(body)
    read_sitemap(b"<urlset><url><loc>" + body)
    read_sitemap(b"\x1f\x8b" + body)


class Stuck:
    """A parser in the middle of a token that does not end."""

    CurrentByteIndex = 8


def test_a_token_of_megabytes_is_read_a_few_times_and_not_with_every_piece() -> None:
    pieces = [bytes(65_536)] * 700
    fed = list(_whole_tokens(pieces, Stuck()))  # type: ignore[arg-type]
    assert b"".join(fed) == b"".join(pieces)
    assert len(fed) <= 12


def test_defaults_of_attributes_are_not_multiplied() -> None:
    defaults = " ".join(f'a{number} CDATA "x"' for number in range(1_000))
    bomb = f"<!DOCTYPE urlset [<!ATTLIST url {defaults}>]><urlset>" + "<url/>" * 50_000
    found = read_sitemap(gzip.compress(bomb.encode()))
    assert (found.entries, found.is_whole) == ((), False)
    assert found.problem == "it is not well-formed XML"


def test_a_full_sitemap_survives_packing() -> None:
    entry = "<url><loc>http://e.org/{}</loc><lastmod>{}</lastmod></url>"
    urls = "".join(entry.format(n, "2026-01-01" if n % 2 else "") for n in range(1_000))
    maps = "<sitemap><loc>http://e.org/s.xml</loc></sitemap>"
    body = f"<urlset>{urls}{maps}</urlset>".encode()
    assert read_packed(body).unpacked() == read_sitemap(body)
    assert read_packed(b"<urlset/>").unpacked() == Sitemap()
