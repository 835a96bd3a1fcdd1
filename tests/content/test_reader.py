"""How bodies are read: what counts, what does not, and that nothing in them does harm."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.content.html import parse as html
from recrawl.content.html.parse import MAX_BYTES, beginning, in_utf8, is_parsable
from recrawl.content.noise import masking
from recrawl.content.noise.masking import is_random, masked, steady_link, steady_text
from recrawl.content.page_content import is_same
from recrawl.content.reader import Reader
from recrawl.errors import ArgumentError

PAIRS = Path(
    os.environ.get("RECRAWL_HTML_PAIRS", Path(__file__).parents[3] / "shared" / "html-pairs")
)
KINDS = [Reader(), Reader("main"), Reader("bytes"), Reader("selector", "p, a")]

ARTICLE = """<!doctype html><html><head><title>Soup</title><meta name=x content=1>
<script nonce=abc>var t = 1</script></head><body>
<header><a href=/>Home</a> of soups</header>
<nav><ul><li><a href=/a>A</a><li><a href=/b>B</a></ul></nav>
<article><header><h1>Leek soup</h1></header>
<p>Leeks are <em>cut</em> and boiled, as
<a href="/how?utm_source=x" title="Boiling">described</a> here.</p>
<ul><li><a href=/x>Pea soup</a><li><a href=/y>Bean soup</a></ul>
<form><input type=hidden name=csrf value=TOKEN><button>Send</button></form></article>
<footer>© Soups</footer></body></html>"""


def same(reader: Reader, one: str, other: str) -> bool:
    contents = (reader.read(page.encode(), "text/html; charset=utf-8") for page in (one, other))
    first, second = (content.fingerprint() for content in contents)
    return first == second


def test_the_modes() -> None:
    body = ARTICLE.encode()
    read = {reader.kind: list(reader.read(body, "text/html").texts) for reader in KINDS}
    assert read["text/9"] == [
        *("Home of soups", "A", "B", "Leek soup", "Leeks are cut and boiled, as described here."),
        *("Pea soup", "Bean soup", "Send", "© Soups"),
        *("\x02/", "\x02/a", "\x02/b", "\x02/how Boiling", "\x02/x", "\x02/y"),
    ]
    assert read["main/9"] == [
        "Leek soup",
        "Leeks are cut and boiled, as described here.",
        "\x02/how Boiling",
    ]
    assert len(read["bytes/9"]) == 1
    assert read["selector/9:p, a"][:3] == ["Home", "A", "B"]
    assert "Leeks are cut and boiled, as described here." in read["selector/9:p, a"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("var t = 1", "var t = 2"),
        ("TOKEN", "OTHER"),
        ("nonce=abc", "nonce=xyz"),
        ("<em>cut</em>", "<i>cut</i>"),
        ("cut</em> and", "cut</em>\n   and"),
        ("utm_source=x", "utm_source=y"),
        ("<nav>", "<nav class=new data-id=77>"),
        ("© Soups", "© Soups<!-- made in 3 ms -->"),
    ],
)
def test_what_nobody_reads_is_no_change(old: str, new: str) -> None:
    changed = ARTICLE.replace(old, new)
    assert changed != ARTICLE
    assert same(Reader(), ARTICLE, changed)
    assert not same(Reader("bytes"), ARTICLE, changed)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("boiled", "fried"),
        ("/how?", "/why?"),
        ("Boiling", "Frying"),
        ("Leek soup", "Leek Soup"),
        ("here.</p>", "here.</p><p>Salt!</p>"),
        ("boiled, as", "boiled 20 minutes, as"),
        ("/how?utm_source=x", "/how?page=2"),
    ],
)
def test_what_is_read_is_a_change(old: str, new: str) -> None:
    assert not same(Reader(), ARTICLE, ARTICLE.replace(old, new))
    assert not same(Reader("main"), ARTICLE, ARTICLE.replace(old, new))


def test_the_main_text_has_no_edges() -> None:
    for old, new in (("© Soups", "© Stews"), ("of soups", "of stews"), ("Pea soup", "Pea stew")):
        assert same(Reader("main"), ARTICLE, ARTICLE.replace(old, new))
        assert not same(Reader(), ARTICLE, ARTICLE.replace(old, new))


def test_one_main_element_is_the_main_text() -> None:
    page = "<div>{}</div><main><p>Text</p></main>"
    assert same(Reader("main"), page.format("one"), page.format("two"))


def test_a_selector_reads_inline_elements_once_each() -> None:
    page = (
        "<p>From <span class=price>12 <b>€</b></span></p><p class=price>a <i class=price>b</i></p>"
    )
    assert Reader("selector", ".price").read(page.encode()).texts == ("12 €", "a b")
    several = Reader("selector", ["h1", ".price"])
    assert several.kind == "selector/9:h1, .price"
    assert several.read(f"<h1>T</h1>{page}".encode()).texts == ("T", "12 €", "a b")
    assert Reader("selector", "#none").read(page.encode()).texts == ()


@pytest.mark.parametrize(
    ("mode", "selector", "name"),
    [("words", None, "mode"), ("selector", None, "selector"), ("text", "p", "selector"),
     ("selector", "p[", "selector"), ("selector", "", "selector")],
)  # fmt: skip
def test_settings_that_cannot_be_used(mode: str, selector: str | None, name: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{name}: "):
        Reader(mode, selector)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content_type", "body", "texts"),
    [
        ("application/json", b'{"a": 1,\n "b": 2}', ('{"a": 1,', '"b": 2}')),
        ("text/plain", b"<b>one</b>\n\ntwo  words", ("<b>one</b>", "two words")),
        ("application/atom+xml", b"<a>\n<b/>", ("<a>", "<b/>")),
        (None, b"\n <p>one", ("one",)),
        (None, b"one", ("one",)),
        ("text/html", b"", ()),
    ],
)
def test_other_types(content_type: str | None, body: bytes, texts: tuple[str, ...]) -> None:
    assert Reader().read(body, content_type).texts == texts


@pytest.mark.parametrize("content_type", ["image/png", "image/svg+xml", "application/pdf", None])
def test_binary_is_compared_by_its_bytes(content_type: str | None) -> None:
    one, other = (Reader().read(b"\x89P\0" + end, content_type) for end in (b"a", b"b"))
    assert len(one.texts) == len(other.texts) == 1
    assert one.fingerprint() != other.fingerprint()


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("Zürich ’".encode(), None),
        ("Zürich ’".encode("cp1252"), None),
        ("Zürich ’".encode("utf-8-sig"), "text/html; charset=latin-1"),
        ("Zürich ’".encode("utf-16"), "text/html"),
        ("Zürich ’".encode("cp1252"), 'text/html; charset="windows-1252"'),
        (b"<meta charset=cp1252>" + "Zürich ’".encode("cp1252"), "text/html"),
        ("Zürich ’".encode(), "text/html; charset=punycode"),
        ("Zürich ’".encode(), "text/html; charset=rot13"),
        ("Zürich ’".encode(), "text/html; charset=\x00!"),
    ],
)
def test_charsets(body: bytes, content_type: str | None) -> None:
    assert Reader().read(body, content_type or "text/html").texts == ("Zürich ’",)


def test_a_charset_that_lies_is_survived() -> None:
    assert Reader().read(b"a\xff\xfeb", "text/html; charset=utf-8").texts == ("a\ufffd\ufffdb",)
    assert in_utf8(b"a\xff\xfeb", "text/html; charset=utf-8") == "a\ufffd\ufffdb".encode()
    # It is believed even where the bytes could be UTF-8, as browsers do.
    assert in_utf8("Zürich".encode(), "text/html; charset=latin-1") == "ZÃ¼rich".encode()


HOSTILE = {
    "nested": b"<div>" * 2_000_000,
    "nested and closed": b"<div>" * 100_000 + b"x" + b"</div>" * 100_000,
    "nested, closing others": b"<div></b>" * 100_000,
    "nested inline": b"<span>" * 100_000 + b"x",
    "nested mixed": b"<div><span>" * 50_000,
    "nested in tables": b"<div><table><tr><td></div>" * 20_000,
    "never closed": b"".join(b"<b id=%d>" % n for n in range(900)) + b"<p>x" * 100_000,
    "attributes": b"<a " + b" ".join(b"a%d" % n for n in range(200_000)) + b">x",
    "attributes of a script": b"<script " + b" ".join(b"a%d" % n for n in range(99_000)) + b">",
    "unclosed tags": b"<a <a <a " * 500_000,
    "unclosed quotes": b"<a b=\"<a c='" * 400_000,
    "open comment": b"<!--" * 1_000_000,
    "NUL": b"\0" * 1_000_000 + b"<p>x\0y",
    "less than": b"<" * 5_000_000,
    "links": b"<a href=x?a=1>x</a>" * 100_000,
    "one word": b"x" * 10_000_000,
    "digits": b"1" * 5_000_000,
    "digits and spaces": b"1 " * 2_000_000,
    "frames": b"<frameset><frame src=x></frameset>",
    "selects": b"<select><option>" * 100_000,
    "templates": b"<template>" * 20_000,
    "foreign": b"<svg><math>" * 20_000,
    "foreign options": b"<math>" + b"<option>" * 30_000 + b"</b>" * 200_000,
    "options and groups": b"<option><optgroup>" * 100_000,
    "items of two lists": b"<li><dd>" * 200_000,
    "paths": b"<path>" * 30_000 + b"</b>" * 200_000,
    "ruby": b"<rt>" * 400_000,
    "open comment in text": b"<xmp>" + b"<!--" * 400_000,
    "closed comment in text": b"<noembed>-->" + b"<!--" * 400_000,
}


def seconds_of(work: Callable[[], object]) -> float:
    """Return the processor time that something takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


@pytest.fixture(scope="module")
def ordinary() -> float:
    """Return the processor time that an ordinary page of 2 MB takes on this machine, now."""
    page = b"<ul>" + b"<li><p>One <a href=/x>two</a> three." * 55_000
    return seconds_of(lambda: Reader().read(page, "text/html").fingerprint())


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("reader", KINDS, ids=lambda reader: reader.kind)
def test_hostile_pages_take_no_longer_than_others(
    reader: Reader, name: str, ordinary: float
) -> None:
    def read() -> None:
        reader.read(HOSTILE[name], "text/html").fingerprint()

    assert seconds_of(read) < 20 * ordinary


@pytest.mark.parametrize("name", ["nested", "links", "nested in tables", "attributes"])
def test_noise_in_hostile_pages_is_found_as_quickly(name: str, ordinary: float) -> None:
    one, other = (Reader().read(HOSTILE[name] + end, "text/html") for end in (b"<p>a", b"<p>b"))
    assert seconds_of(lambda: one.fingerprint(one.noise(other))) < 20 * ordinary


def test_pages_for_people_are_parsed() -> None:
    row = b"<tr><td><p>One<td><a href=x>two</a> <b>three</b><td><ul><li>x<li>y</ul></tr>"
    assert is_parsable(b"<table>" + row * 20_000 + b"</table>")
    assert is_parsable(b"<script>" + b"a<b;" * 50_000 + b"</script><img src='data:" + b"x" * 90_000)


@given(st.text(alphabet="<>/ab pdivtrxh1\"'=&#;\n\0é!-", max_size=200))
def test_elements_do_not_change_what_is_read(page: str) -> None:
    for reader in KINDS:
        content = reader.read(page.encode(), "text/html")
        assert tuple(block.text for block in content.blocks) == content.texts
        nothing = frozenset({b"no such key"})
        assert content.fingerprint(nothing) == content.fingerprint()


@given(st.binary(max_size=300), st.sampled_from(["text/html", "application/json", "", None]))
def test_any_bytes_can_be_read(body: bytes, content_type: str | None) -> None:
    for reader in KINDS:
        reader.read(body, content_type).fingerprint()


@pytest.mark.skipif(not PAIRS.is_dir(), reason="the labelled pairs are not here")
def test_labelled_pairs() -> None:
    from pyarrow import parquet

    rows = parquet.read_table(PAIRS / "pairs.parquet").to_pylist()
    found = {True: 0, False: 0}
    for row in rows:
        one, other = (Reader().read(row[name], "text/html") for name in ("before", "after"))
        found[row["content_changed"]] += not is_same(one.fingerprint(), other.fingerprint())
    changed = sum(row["content_changed"] for row in rows)
    assert found[True] >= 0.82 * changed
    assert found[False] <= 0.10 * (len(rows) - changed)


@pytest.mark.parametrize("hidden", ["x='<b>' ", "<b ", "x='>' "])
def test_a_tag_with_endless_attributes_cannot_hide(hidden: str, ordinary: float) -> None:
    """The parser's time grows with their square: minutes for as many as these."""
    attributes = "".join(f"a{n} " + hidden * (n % 1_500 == 0) for n in range(150_000))
    page = f"<div {attributes}>Hello</div>".encode()
    assert seconds_of(lambda: Reader().read(page, "text/html")) < 20 * ordinary


def test_the_end_of_a_very_long_page_is_ignored() -> None:
    for content_type, before in (("text/html", b"<p>a</p>"), ("text/plain", b"a\n")):
        body = before + b" " * (MAX_BYTES - len(before) - 1) + b"bc"
        assert Reader().read(body, content_type).texts == ("a", "b")


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (b"<div>" * 2_000, True),
        (b"<div>" * 2_001, False),
        (b"<div>" * 2_001 + b"</div>", False),
        (b"<div></div>" * 3_000, True),
        (b"<span></span>" + b"<div>" * 2_000, True),
        (b"<li>x" * 3_000 + b"<dd>y" * 3_000, True),
        (b"<li><dd>" * 3_000, False),
        (b"<dl>" + b"<dd>x<dt>y" * 30_000 + b"</dl><li>", True),
        (b"<ruby>" + b"x<rt>y" * 3_000, True),
        (b"x<rt>y" * 3_000, False),
        (b"<svg>" + b"<path d='M0 0'/>" * 30_000 + b"</svg>", True),
        (b"<svg>" + b"<path d=M0/>" * 3_000 + b"</svg>", False),
        (b"<svg></svg>" + b"<input><option>x<tr><td>y" * 3_000, True),
        (b"<svg>" + b"<input>" * 3_000, False),
        (b"<table>" + b"<rp>" * 3_000, False),
        (b"<b>" * 300 + b"<p>x" * 3_000, True),
        (b"<b>" * 305 + b"<p>x" * 3_000, False),
        (b"<a " + b"abcdefgh " * 1_999 + b">", True),
        (b"<a " + b"abcdefgh " * 2_000 + b">", False),
        (b"<p>" + b"abcdefgh " * 2_001, True),
        (b"<a " + b"abcdefgh " * 60_000 + b">", False),
        (b"<!-- " + b"abcdefgh " * 60_000 + b"-->", True),
    ],
)
def test_what_takes_too_long_is_not_parsed(page: bytes, expected: bool) -> None:
    assert is_parsable(page) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12345678901", "12345678901"),
        ("123456789012", "#"),
        ("at 1:02:03.5, no", "at #, no"),
        ("at 10:30", "at 10:30"),
        ("2026-01-31 10:30:00", "#"),
        ("2026-01-31", "2026-01-31"),
        ("2026.1.31", "2026.1.31"),
        ("2026.1.31.7", "#"),
        ("999 days ago", "#"),
        ("1000 days ago", "1#"),
        ("12 days", "12 days"),
    ],
)
def test_only_what_is_never_content_is_masked(text: str, expected: str) -> None:
    assert steady_text(text) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a1b2c3d4e5f6a7b8", True),
        ("a1b2c3d4e5f6a7b", False),
        ("123456789012-abc", True),
        ("12345678901-abcd", False),
        ("0123abcd-0123-abcd-0123-0123456789ab", True),
        ("abcdefghijkl1mnop", False),
        ("abcdefghijk1m2nop!", False),
    ],
)
def test_random_values_are_long_and_mixed(value: str, expected: bool) -> None:
    assert is_random(value) is expected


@pytest.mark.parametrize(
    ("line", "is_kept"), [("ab <a href=x>cd</a>", True), ("ab <a href=x>cde</a>", False)]
)
def test_a_line_of_the_main_text_has_at_most_half_of_it_in_links(line: str, is_kept: bool) -> None:
    read = Reader("main").read(f"<main><p>{line}</p></main>".encode(), "text/html")
    assert bool(read.texts) is is_kept


@pytest.mark.parametrize(
    ("start", "encoding", "content_type"),
    [
        ("", "utf-8", "text/html"),
        ("a", "utf-8", "text/html; charset=utf-8"),
        ("ab", "utf-8", "text/plain"),
        ("", "cp1252", "text/html; charset=cp1252"),
        ("", "cp1252", "application/json"),
        ("", "utf-16", "text/html"),
        ("", "gb18030", "text/html; charset=gb18030"),
        ("", "utf-8", "image/svg"),
        ("", "utf-8", None),
    ],
)
def test_the_beginning_of_a_long_body_is_read_like_all_of_it(
    start: str, encoding: str, content_type: str | None
) -> None:
    """Also where the beginning would end within a character."""
    reader = Reader()
    text = f"{start}<p>" + "ü" * 40 + "<a href=/x>y</a>"
    body = (text * (2_100_000 // len(text))).encode(encoding)
    part = reader.beginning(body, content_type)
    # Of characters of two bytes or more, four times as much is kept.
    assert (len(part) == len(body)) == (content_type == "image/svg" or encoding == "utf-16")
    assert Reader("bytes").beginning(body, content_type) is body
    assert reader.read(part, content_type).texts == reader.read(body, content_type).texts


def test_a_short_body_is_its_own_beginning() -> None:
    for size in (0, 1, MAX_BYTES):
        body = bytes([0x80]) * size
        assert Reader().beginning(body, "text/html") == body
    assert len(Reader().beginning(bytes([0x80]) * 2 * MAX_BYTES, "text/html")) <= MAX_BYTES + 4


@given(st.binary(max_size=12) | st.text(alphabet="aü€😀", max_size=12).map(str.encode))
def test_bytes_are_utf_8_if_python_can_decode_them(body: bytes) -> None:
    """Also where they are looked at a few at a time."""
    try:
        body.decode()
    except UnicodeDecodeError:
        expected = False
    else:
        expected = True
    for size in range(1, 6):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(html, "_DECODED", size)
            assert html._is_utf8(body) == expected  # noqa: SLF001


@given(st.text(alphabet="<>/ab =\"'\n!-", max_size=120))
def test_no_tag_with_many_attributes_escapes_the_quick_check(text: str) -> None:
    """A plain search through all tags finds none that the search for doubtful ones does not."""
    page = text.encode()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"_LONG": 8, "_MAX_ATTRIBUTES": 2, "_LARGE": 0}.items():
            patch.setattr(html, name, value)
        tags = [tag for tag in html._WHOLE_TAG.findall(page) if tag[1:2] != b"!"]  # noqa: SLF001
        has_huge = any(
            len(tag) > 8 and len(html._ATTRIBUTE.findall(tag)) > 2  # noqa: SLF001
            for tag in tags
        )
        assert not (has_huge and is_parsable(page))


@pytest.mark.parametrize(
    "raw",
    [
        b"<xmp>1 < 2</xmp>",
        b"<noembed> < </noembed>",
        b"<!-- < -->",
        # The end of a tag is missing, so the next one is part of it.
        b"<br<i>",
        b"<p class=a <b>One</b>",
        b"<p<i title='>'>One</p>",
    ],
)
def test_brackets_that_are_not_escaped_do_not_hide_what_follows(raw: bytes) -> None:
    """Texts and tags come by turns; one bracket too many would turn all texts into tags."""
    texts = [Reader().read(raw + b"<p>" + text + b"</p>").texts for text in (b"Soup", b"Stew")]
    assert [one[-1] for one in texts] == ["Soup", "Stew"]


def test_a_plain_link_is_what_it_would_be_if_it_were_looked_at_in_full() -> None:
    for href in ("/a/b-c_d.html", "https://example.org/Terms/", "//e.org/"):
        assert steady_link(href) == href == steady_link(f" {href} ")
    assert steady_link("https://e.org/cdn-cgi/l/email-protection") == "mailto:"


def test_a_link_of_nothing_but_a_random_value_is_masked_from_sixteen_letters_on() -> None:
    random = "4f8Kd02mmP19sKd7"
    assert (len(random), steady_link(random)) == (16, "#")
    assert steady_link(random[:15]) == random[:15]


def test_the_depth_of_an_element_is_the_number_of_elements_around_it() -> None:
    blocks = Reader().read(b"<p>One<div><ul><li>Two<li><p>Three</ul></div>").blocks
    depths = [block.element.depth for block in blocks]
    assert depths == [len(list(block.element.ancestors())) - 1 for block in blocks]
    assert depths[0] < depths[1] < depths[2]


def test_a_character_is_the_same_however_it_is_escaped() -> None:
    escaped, plain = (
        Reader().read(page.encode()).texts
        for page in ("<p>Caf&eacute; &amp; bar, 2 &lt; 3", "<p>Café & bar, 2 < 3")
    )
    assert escaped == plain == ("Café & bar, 2 < 3",)


@given(st.text(alphabet="abcdefgmptuy0. JulyMon-", max_size=60))
def test_a_text_without_digits_is_masked_like_any_other(text: str) -> None:
    assert masked(text) == masking._VARYING.sub("#", text)  # noqa: SLF001


@pytest.mark.parametrize("before", range(5))
def test_the_beginning_of_a_page_ends_with_a_whole_character(before: int) -> None:
    body = b"a" * (MAX_BYTES - before) + "\u20ac".encode() * 10
    found = beginning(body)
    assert body.startswith(found)
    assert found.decode().strip("a") == "\u20ac" * (-(-before // 3))
