"""Documents that are small to send and dear to read, each as the bytes of a body."""

import functools
import gzip
import itertools

WORDS = [b"nobody", b"ever", b"wrote", b"this", b"before", b"today"]
SIZE = 400_000
_numbers = itertools.count()


def fresh() -> bytes:
    """Return a text that is new, so that the page has to be parsed."""
    number = next(_numbers)
    return b"<p>" + b" ".join(WORDS[number // 6**digit % 6] for digit in range(6))


def filled(piece: bytes, size: int = SIZE) -> bytes:
    """Return a page that repeats something."""
    return fresh() + piece * (size // len(piece))


@functools.cache
def robots_of_agents() -> bytes:
    """Make a robots.txt of 20,000 agents that share 20,000 rules: 550 kB."""
    agents = b"".join(b"User-agent:%x\n" % n for n in range(20_000))
    return b"User-agent: *\n" + agents + b"".join(b"Allow:/%x\n" % n for n in range(20_000))


@functools.cache
def robots_of_stars() -> bytes:
    """Make a robots.txt of rules that take long to match."""
    return b"User-agent: *\n" + b"".join(b"Disallow: /*%x*a*b*c$\n" % n for n in range(900))


@functools.cache
def sitemap_of_comment() -> bytes:
    """Make a sitemap with a comment of 45 MB: 44 kB of gzip."""
    text = b"<urlset><!--" + b"x" * 45_000_000 + b"--></urlset>"
    return gzip.compress(text, 9)


@functools.cache
def sitemap_of_defaults() -> bytes:
    """Make a sitemap whose elements have thousands of attributes that are not written."""
    names = b"".join(b'a%d CDATA "%s"\n' % (n, b"v" * 20) for n in range(2_000))
    head = b"<!DOCTYPE urlset [<!ATTLIST url\n" + names + b">]>"
    return gzip.compress(head + b"<urlset>" + b"<url></url>" * 40_000 + b"</urlset>", 9)


@functools.cache
def sitemap_of_depth() -> bytes:
    """Make a sitemap of elements in one another."""
    return gzip.compress(b"<urlset>" + b"<url>" * 5_000_000, 9)


def sitemap_of_sitemaps(where: str) -> bytes:
    """Make an index of sitemaps that are indexes again, each new."""
    entries = "".join(
        f"<sitemap><loc>{where}/{next(_numbers)}.xml</loc></sitemap>" for _ in range(1_000)
    )
    return f"<sitemapindex>{entries}</sitemapindex>".encode()


#: Pages that parsers find hard.
PAGES = {
    "options": b"<select>" + b"<option>a <i>b" * 28,
    "paragraphs": b"<p>",
    "custom_tags": b"<x-a><x-b>",
    "tables": b"<table><tr><td>",
    "misnested": b"<b><i></b><u></i><a href=x></u>",
    "attributes": b"<a " + b"x=y " * 2_000,
    "open_quote": b'<a href="',
    "entities": b"&notin&amp&CounterClockwiseContourIntegral;",
    "foreign": b"<svg><math><mi><foreignObject>",
}
