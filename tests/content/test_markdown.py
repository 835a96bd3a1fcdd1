"""Pages as Markdown, with their links."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.content.html.markdown import as_markdown, linked_lines
from recrawl.content.html.plain_text import as_text, own_lines
from recrawl.content.reader import Reader

BASE = "https://example.org/a/b"


def markdown(page: str) -> str:
    body = page.encode()
    lines = own_lines(body, "text/html", Reader())
    return as_markdown(lines, linked_lines(body, "text/html", BASE))


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<p>See <a href=c>this</a>, <a href='/d?x=1&amp;y=2'>that</a>.",
         "See [this](https://example.org/a/c), [that](https://example.org/d?x=1&y=2).\n"),
        ("<ul><li><a href=#top>Top</a><li>Plain</ul>", f"- [Top]({BASE}#top)\n- Plain\n"),
        ("<h2><a href=x><b>Bold</b> title</a></h2>", "## [Bold title](https://example.org/a/x)\n"),
        ("<p><a href='javascript:alert(1)'>click</a> <a href=' '>self</a>",
         f"click [self]({BASE})\n"),
        ("<p><a href='mailto:me@a.example'>write</a>", "[write](mailto:me@a.example)\n"),
        ("<p><a href='/a (b)'>[1]</a>", "[\\[1\\]](https://example.org/a%20%28b%29)\n"),
        ("<p>two <a href=1>same</a><p>two <a href=2>same</a>",
         "two [same](https://example.org/a/1)\n\ntwo [same](https://example.org/a/2)\n"),
        ("<p><a href=1></a>nothing <a>no target</a>", "nothing no target\n"),
        ("<a href=1><div>one</div><div>two</div></a>", "one\n\ntwo\n"),
        ("<base href='/c/'><p><a href=d>here</a>", "[here](https://example.org/c/d)\n"),
        ("<p>odd \U000f0001 <a href=1>one</a>\U0010fffd", "odd \U000f0001 one\U0010fffd\n"),
        ("<p><a href='http://[bad'>bad</a>", "bad\n"),
    ],
)  # fmt: skip
def test_links_stay_where_they_are(page: str, expected: str) -> None:
    assert markdown(page) == expected


@given(
    parts=st.lists(
        st.sampled_from(
            ["<p>", "<a href=x>", "</a>", "text", " ", "<li>", "12:30", "<b>", "&amp;", "[", "é"]
        ),
        max_size=30,
    )
)
def test_the_text_is_the_same_with_and_without_links(parts: list[str]) -> None:
    body = "".join(parts).encode()
    lines = own_lines(body, "text/html", Reader())
    written = as_markdown(lines, linked_lines(body, "text/html", BASE))
    plain = written.replace("](https://example.org/a/x)", "").replace("\\[", "[")
    letters = [one for one in as_text(lines) if one not in "[- \n"]
    assert [one for one in plain if one not in "[- \n"] == letters


def test_what_is_no_page_has_no_links() -> None:
    assert not linked_lines(b"\0\1", "image/png", BASE)


@pytest.mark.parametrize("page", [b"\x00\x01\x02", "<p>\U000f0001<a href=1>one</a>".encode()])
def test_a_page_that_is_no_text_or_has_the_marks_of_links_itself_has_no_lines_with_links(
    page: bytes,
) -> None:
    assert linked_lines(page, None, BASE) == {}
