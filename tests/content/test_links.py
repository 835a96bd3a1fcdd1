"""Which pages a page links to."""

import pytest

from recrawl.content.html.links import MAX_LINKS, links

URL = "http://example.org/a/"


def found(page: str, **more: str) -> list[str]:
    return links(page.encode(), "text/html; charset=utf-8", URL, tuple(more.items()))


def test_links_are_canonical_in_order_and_once() -> None:
    page = """<a href="b?y=2&amp;x=1#c">1</a> <a href="B">2</a> <a href=" b?x=1&y=2 ">3</a>
    <a href="//example.com">4</a> <a href="../c/./d">5</a> <area href=/é><a href="#top">6</a>
    <a href="">7</a><a href="/a/">8</a>"""
    assert found(page) == [
        "http://example.org/a/b?x=1&y=2",
        "http://example.org/a/B",
        "http://example.com/",
        "http://example.org/c/d",
        "http://example.org/%C3%A9",
    ]


def test_what_is_no_page_is_left_out() -> None:
    page = """<a href="mailto:a@b.c">1</a><a href="javascript:x()">2</a><a href="i.PNG?x=1">3</a>
    <a href="x.tar.gz">4</a><a href="http://[::1">5</a><a href="ftp://x/">6</a><a href="tel:1">7</a>
    <a href="http://me:secret@example.org/">8</a><a>9</a><a href="paper.pdf">10</a>"""
    assert found(page) == ["http://example.org/a/paper.pdf"]


@pytest.mark.parametrize(
    "path",
    [
        "/js",
        "/css",
        "/docs/png",
        "/zip",
        "/node.js",
        "/topics/vue.js",
        "/libs/normalize.css",
        "/.iso",
    ],
)
def test_a_segment_is_an_extension_only_if_it_says_so(path: str) -> None:
    assert found(f'<a href="{path}">') == [f"http://example.org{path}"]


def test_the_base_counts() -> None:
    assert found('<base href="/z/"><a href=b>') == ["http://example.org/z/b"]
    assert found('<base href="http://[::1"><a href=b>') == ["http://example.org/a/b"]


def test_nofollow_is_respected() -> None:
    assert found("<a rel='noopener NoFollow' href=b>1</a><a href=c>2</a>") == [f"{URL}c"]
    assert found("<meta name=Robots content='noindex, NOFOLLOW'><a href=b>") == []
    assert found("<meta name=robots content=none><a href=b>") == []
    assert found("<meta name=robots content=noindex><a href=b>") == [f"{URL}b"]
    assert found("<a href=b>", **{"X-Robots-Tag": "noindex, nofollow"}) == []
    assert found("<a href=b>", **{"X-Robots-Tag": "otherbot: nofollow"}) == [f"{URL}b"]


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "image/png"])
def test_only_html_has_links(content_type: str) -> None:
    assert links(b"<a href=b>", content_type, URL) == []


def test_a_hostile_page_has_none() -> None:
    assert found("<div>" * 100_000 + "<a href=b>") == []


def test_links_are_read_up_to_a_limit() -> None:
    page = "".join(f"<a href=/{n}>x</a>" for n in range(MAX_LINKS + 1))
    assert found(page)[-1] == f"http://example.org/{MAX_LINKS - 1}"
