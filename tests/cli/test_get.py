"""What ``recrawl get`` gives."""

from dataclasses import replace
from pathlib import Path

import pytest
from cli.crawling_site import move_to, run
from cli.refusing import left_alone, refused
from crawler.filled import DAY, NEW, NEWS, NEWS_BODY, fill
from store.made_up import found

from recrawl.store.sqlite import SqliteStore


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_to(tmp_path, monkeypatch)
    fill("recrawl.db", 20_000 * DAY)


def test_the_copy_comes_byte_for_byte() -> None:
    assert run("get", NEWS).stdout_bytes == NEWS_BODY
    assert run("get", "HTTPS://A.example:443/news#top").stdout_bytes == NEWS_BODY


def test_the_copy_goes_to_a_file() -> None:
    assert run("get", NEWS, "-o", "news.html").stdout == ""
    assert Path("news.html").read_bytes() == NEWS_BODY


def test_headers_come_first() -> None:
    head, _, body = run("get", NEWS, "--headers").stdout_bytes.partition(b"\r\n\r\n")
    assert head.split(b"\r\n") == [
        b"HTTP/1.1 200 OK",
        b"Content-Type: text/html; charset=latin-1",
        b'ETag: "n1"',
        b"Content-Length: %d" % len(NEWS_BODY),
    ]
    assert body == NEWS_BODY


def test_headers_fit_the_decoded_body() -> None:
    """None about a compression that is no longer there, and each byte as it was received."""
    headers = (
        ("content-encoding", "gzip"),
        ("Content-Length", "7"),
        ("Transfer-Encoding", "chunked"),
        ("Link", "<\xc3\xa9>"),
    )
    with SqliteStore.open("recrawl.db") as store:
        page = store.page(NEWS)
        assert page is not None
        visit = found(page, b"hello", 20_001 * DAY)
        store.record([replace(visit, response=replace(visit.response, headers=headers))])
    assert run("get", NEWS, "--headers").stdout_bytes == (
        b"HTTP/1.1 200 OK\r\nLink: <\xc3\xa9>\r\nContent-Length: 5\r\n\r\nhello"
    )


def test_refusals(tmp_path: Path) -> None:
    unknown = "https://nobody.example/"
    sentence = left_alone(tmp_path, "get", unknown, "-o", "x.html")
    assert sentence == f"{unknown}: this page is not in recrawl.db; `recrawl add` adds it"
    assert refused("get", NEW) == f"{NEW}: there is no copy yet; `recrawl run` makes one"
    assert refused("get", "a.example").startswith("a.example: it must begin with http://")
    assert "there is no directory" in refused("get", NEWS, "-o", "no/such.html")


def test_a_copy_that_is_too_expensive_to_read_is_refused_and_left_out_of_an_export() -> None:
    """As bytes it is there all the same."""
    Path("recrawl.toml").write_text('ignore = ["p:nth-last-child(3)"]\n')
    with SqliteStore.open("recrawl.db") as store:
        page = store.page(NEWS)
        assert page is not None
        store.record([found(page, b"<p>x" * 100_000, 20_001 * DAY)])
    sentence = f"{NEWS}: the text of this copy takes too much time or memory to find"
    assert refused("get", NEWS, "--text") == sentence
    exported = run("export", "copies", "texts.jsonl")
    assert sentence in exported.stderr
    assert exported.stdout == "texts.jsonl: 1 copy; 1 damaged, left out\n"
    assert run("get", NEWS).stdout_bytes == b"<p>x" * 100_000
