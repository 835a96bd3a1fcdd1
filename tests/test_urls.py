"""A page has one URL, and what is not a URL is rejected with a reason."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recrawl.errors import AddressError
from recrawl.hosts import host_of
from recrawl.urls import (
    MAX_CHARACTERS,
    are_plain,
    canonical,
    matches,
    origin_of,
    pattern_of,
    redirected,
)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("  http://example.org/a \n", "http://example.org/a"),
        ("http://example.org", "http://example.org/"),
        ("http://example.org?a", "http://example.org/?a="),
        ("HTTP://EXAMPLE.org/A", "http://example.org/A"),
        ("http://example.org./", "http://example.org/"),
        ("http://example.org:80/", "http://example.org/"),
        ("http://example.org:/", "http://example.org/"),
        ("https://example.org:443/", "https://example.org/"),
        ("https://example.org:80/", "https://example.org:80/"),
        ("http://example.org:0080/", "http://example.org/"),
        ("http://example.org/a/./b/../c", "http://example.org/a/c"),
        ("http://example.org/../../a", "http://example.org/a"),
        ("http://example.org/a#part", "http://example.org/a"),
        ("http://example.org/?b=2&a=1&b=1", "http://example.org/?a=1&b=1&b=2"),
        ("http://example.org/%7euser/%2f", "http://example.org/~user/%2F"),
        ("http://example.org/a b?c d", "http://example.org/a%20b?c+d="),
        ("http://example.org/ü?ü", "http://example.org/%C3%BC?%C3%BC="),
        ("http://Bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://faß.example/", "http://xn--fa-hia.example/"),
        ("http://例え。テスト/", "http://xn--r8jz45g.xn--zckzah/"),
        ("http://exa\nmple.org/\ta", "http://example.org/a"),
        ("http://a_b.example.org/", "http://a_b.example.org/"),
        ("http://[::0:1]:80/", "http://[::1]/"),
        ("http://[2001:DB8::A]:81/", "http://[2001:db8::a]:81/"),
        ("http://example.org\\@evil.example/", "http://example.org/@evil.example/"),
    ],
)
def test_every_spelling_has_one_canonical_form(written: str, meant: str) -> None:
    assert canonical(written) == meant
    assert canonical(meant) == meant


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "0x7f.1", "0x7F.0.0.0x1", "2130706433", "017700000001", "0177.1", "127.1",
     "127.0.1", "１２７.０.０.１", "127。0。0。1", "0x7f000001", "127.0.0.1."],
)  # fmt: skip
def test_odd_notations_of_loopback_are_seen_through(host: str) -> None:
    assert canonical(f"http://{host}/") == "http://127.0.0.1/"


@pytest.mark.parametrize(
    "host",
    ["256.1.1.1", "1.2.3.4.5", "1.2.3.256", "0x100000000", "4294967296", "08", "127%2e0.0.1",
     "a.1", "[::1", "::1", "[fe80::1%25eth0]", "[1.2.3.4]", "", ".", "a..b", ".a", "a b",
     "a,b", "a" * 64, "a." * 127 + "abc", "exa\u00admple\u2028.org"],
)  # fmt: skip
def test_invalid_hosts_are_rejected(host: str) -> None:
    with pytest.raises(AddressError, match=r"this is not a valid URL|control characters"):
        canonical(f"http://{host}/")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("example.org/a", r"example.org/a: it must begin with http:// or https://"),
        ("//example.org/a", "it must begin with http:// or https://"),
        ("", "it must begin with http:// or https://"),
        ("mailto:a@example.org", "it must begin with http:// or https://"),
        ("ftp://example.org/", "ftp is not supported; http and https are"),
        ("file:///etc/passwd", "file is not supported"),
        ("http://example.org:0/", "not a valid URL"),
        ("http://example.org:65536/", "not a valid URL"),
        ("http://example.org:8o/", "not a valid URL"),
        ("http://example.org/\x00", "control characters"),
        ("http://example.org/\ud800", "not a valid URL"),
        ("http://example.org/" + "a" * MAX_CHARACTERS, "at most 4,096 characters"),
        ("http://example.org/" + "ü" * (MAX_CHARACTERS - 100), "at most 4,096 characters"),
    ],
)
def test_what_cannot_be_crawled_is_rejected_in_one_sentence(url: str, why: str) -> None:
    with pytest.raises(AddressError, match=why) as caught:
        canonical(url)
    assert len(str(caught.value)) < 200
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("user", ["user:secret@", "user@", ":secret@", "a@b:secret@"])
def test_credentials_are_rejected_and_not_repeated(user: str) -> None:
    with pytest.raises(AddressError, match="credentials in URLs are not used") as caught:
        canonical(f"http://{user}example.org/")
    assert "secret" not in str(caught.value)


ODD = st.text(st.sampled_from("aZ0%/.;?&=+:@#[]\\|~ üß\u3002\t$,'\"<>{}^`2F3fE"), max_size=30)


@given(st.one_of(ODD, st.text(max_size=30)), st.sampled_from(["", "example.org/", "1.2.3.4:81/a"]))
def test_canonical_twice_is_canonical_once(rest: str, host: str) -> None:
    try:
        once = canonical(f"http://{host}{rest}")
    except AddressError:
        return
    assert canonical(once) == once
    assert once.isascii()
    assert once.isprintable()
    assert " " not in once
    assert host_of(once) == host_of(f"http://{host}{rest}") in once
    assert once.startswith(f"{origin_of(once)}/")


@given(ODD, ODD)
def test_redirects_lead_to_a_url_or_are_rejected(path: str, location: str) -> None:
    try:
        base = canonical(f"http://example.org/{path}")
        target = redirected(base, location)
    except AddressError:
        assume(False)  # noqa: FBT003 - hypothesis's own way
    assert target.isascii()
    assert target.isprintable()
    assert origin_of(canonical(target)) == origin_of(target)


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/b?z=1&a=2", "http://example.org/b?z=1&a=2"),
        ("b?flag", "http://example.org/a/b?flag"),
        ("?x", "http://example.org/a/page?x"),
        ("//Other.example", "http://other.example/"),
        ("https://example.org:443", "https://example.org/"),
        ("http://example.org?x=1", "http://example.org/?x=1"),
        ("/ü b", "http://example.org/%C3%BC%20b"),
        (" /c ", "http://example.org/c"),
    ],
)
def test_redirects_keep_what_the_server_wrote(location: str, target: str) -> None:
    assert redirected("http://example.org/a/page", location) == target


@pytest.mark.parametrize(
    "location", ["ftp://x/", "javascript:x", "http://u:p@x/", "http://[/", "http://1.2.3.999/"]
)
def test_redirects_to_anything_else_are_rejected(location: str) -> None:
    with pytest.raises(AddressError):
        redirected("http://example.org/a", location)


@given(
    st.from_regex(r"https?://([a-z0-9-]{1,63}\.)+[a-z0-9-]{1,63}/[A-Za-z0-9/_.~-]*", fullmatch=True)
)
def test_a_url_that_is_taken_as_it_is_would_come_out_the_same(url: str) -> None:
    # An empty query makes no difference, but leads the long way.
    try:
        long_way = canonical(f"{url}?")
    except AddressError:
        with pytest.raises(AddressError):
            canonical(url)
    else:
        assert canonical(url) == long_way


NAMED = st.from_regex(r"https?://[a-z.-]{1,8}\.[a-z]{1,3}/[A-Za-z/.~?\n-]{0,6}", fullmatch=True)


@given(st.lists(NAMED, max_size=5))
def test_urls_that_are_plain_together_are_canonical_one_by_one(urls: list[str]) -> None:
    if are_plain(urls):
        assert [canonical(url) for url in urls] == urls


@pytest.mark.parametrize(
    ("urls", "is_plain"),
    [
        ([], True),
        (["http://a.example/", "https://b.example/c/d.html"], True),
        (["http://a.example/", "https://b.example"], False),
        (["http://a.example/b?c"], False),
        (["http://a.example/\nhttp://b.example/"], False),
        (["http://a.example/".ljust(MAX_CHARACTERS, "b")], True),
        (["http://a.example/".ljust(MAX_CHARACTERS + 1, "b")], False),
        ([f"http://{'a.' * 126}example/"], False),
    ],
)
def test_plain_urls_are_recognised_together(urls: list[str], is_plain: bool) -> None:
    assert are_plain(urls) == is_plain


@pytest.mark.parametrize(
    "written",
    ["https://Example.org/a?y=2&x=1", "https://example.org:443/b/../a?x=1&y=2#top"],
)
def test_a_pattern_without_a_star_is_the_url_of_one_page(written: str) -> None:
    assert matches(pattern_of(written), canonical(written))
