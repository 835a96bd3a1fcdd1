"""Which hub a feed names, in its headers or in itself."""

import gzip

import pytest

from recrawl.content.html.feed_links import MAX_BYTES, HubLinks, hub_links

FEED = "https://a.example/blog/feed"
HUB = "https://hub.example/"
ATOM = (
    '<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom">'
    '<link rel="hub" href="{hub}"/><link rel="self" href="/blog/feed.atom"/>'
    '<link href="https://a.example/"/><entry><link rel="hub" href="https://evil.example/"/>'
    "</entry></feed>"
)
RSS = (
    '<rss xmlns:atom="http://www.w3.org/2005/Atom"><channel><atom:link rel="hub" href="{hub}"/>'
    "<item><link>https://a.example/1</link></item></channel></rss>"
)


@pytest.mark.parametrize("pack", [False, True])
def test_a_feed_names_its_hub_before_its_entries(pack: bool) -> None:
    for text, topic in ((ATOM, "https://a.example/blog/feed.atom"), (RSS, FEED)):
        body = text.format(hub=HUB).encode()
        found = hub_links(FEED, [], gzip.compress(body) if pack else body)
        assert found == HubLinks(HUB, topic)
    assert hub_links(FEED, [], RSS.format(hub="/hub").encode()) == HubLinks(
        "https://a.example/hub", FEED
    )


def test_headers_come_first() -> None:
    headers = [
        '<https://one.example/a,b?c=1>; title="x, y"; rel="hub other", <feed2>; rel=self',
        "<https://two.example/>; rel=hub",
    ]
    found = hub_links(FEED, headers, ATOM.format(hub=HUB).encode())
    assert found == HubLinks("https://one.example/a,b?c=1", "https://a.example/blog/feed2")
    plain = ["<http://one.example/>; rel=hub", "<https://two.example/>; rel=hub"]
    assert hub_links(FEED, plain, b"") == HubLinks("https://two.example/", FEED)
    # A header about something else does not hide what the feed says.
    other = ["<https://a.example/css>; rel=preload"]
    found = hub_links(FEED, other, RSS.format(hub=HUB).encode())
    assert found is not None
    assert found.hub == HUB


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not a feed",
        b"\x1f\x8b broken",
        RSS.format(hub="ftp://hub.example/").encode(),
        RSS.format(hub="javascript:alert(1)").encode(),
        RSS.format(hub="https://[::1/").encode(),
        b'<!DOCTYPE f [<!ENTITY h "http://h.example/">]><feed><link rel="hub" href="&h;"/></feed>',
        b"<feed>"
        + b"<!-- -->" * MAX_BYTES
        + b'<link rel="hub" href="https://hub.example/"/></feed>',
        b'<feed xmlns="\xff"><link rel="hub"/></feed>',
    ],
)
def test_what_names_no_hub_has_none(body: bytes) -> None:
    assert hub_links(FEED, [], body) is None
    assert hub_links(FEED, ['<>; rel="', "<" * 10_000, '"' * 10_000, "a" * 100_000], body) is None


@pytest.mark.parametrize(("before", "is_found"), [(8_000, True), (8_192, False)])
def test_only_the_beginning_of_headers_is_searched(before: int, is_found: bool) -> None:
    headers = ["x" * before, f"<{HUB}>; rel=hub"]
    assert (hub_links(FEED, headers, b"") is not None) is is_found
