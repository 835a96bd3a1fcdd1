"""Copies as WARC, read back with warcio."""

import base64
import gzip
import hashlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from recrawl.errors import OutputError
from recrawl.formats.warc import write_warc
from recrawl.records import Response

NOON = 1_767_268_800_000_000
URL = "https://example.org/a"
HEADERS = (
    ("Content-Type", "text/html; charset=utf-8"),
    ("Content-Encoding", "gzip"),
    ("transfer-encoding", "chunked"),
    ("Content-Length", "7"),
    ("X-Twice", "one"),
    ("X-Twice", "zwei é \udcff"),
    ("X-Evil", "a\r\nX-Other: b"),
)


def test_a_copy_is_a_response_record(tmp_path: Path) -> None:
    body = b"<p>hello</p>" * 100
    target = tmp_path / "copies.warc.gz"
    answer = Response(URL, 200, NOON + 7, HEADERS, body, truncated=True)
    assert write_warc([(URL, answer)], target, at=NOON, software="recrawl/1") == (1, 1)
    with target.open("rb") as file:
        records = ArchiveIterator(file, check_digests="raise")
        info = next(records)
        assert info.rec_type == "warcinfo"
        assert info.rec_headers.get_header("WARC-Date") == "2026-01-01T12:00:00.000000Z"
        assert b"software: recrawl/1\r\n" in info.content_stream().read()
        record = next(records)
        assert record.content_stream().read() == body
        headers = record.rec_headers
        assert headers.protocol == "WARC/1.1"
        assert headers.get_header("WARC-Target-URI") == URL
        assert headers.get_header("WARC-Date") == "2026-01-01T12:00:00.000007Z"
        assert headers.get_header("WARC-Truncated") == "length"
        assert headers.get_header("Recrawl-Page") is None
        digest = hashlib.sha1(body, usedforsecurity=False).digest()
        told = "sha1:" + base64.b32encode(digest).decode()
        assert headers.get_header("WARC-Payload-Digest") == told
        assert record.http_headers.get_statuscode() == "200"
        assert record.http_headers.statusline == "200 OK"
        names = [name for name, _ in record.http_headers.headers]
        assert names == ["Content-Type", "X-Twice", "X-Twice", "X-Evil", "Content-Length"]
        assert record.http_headers.get_header("X-Evil") == "a X-Other: b"
        assert record.http_headers.get_header("Content-Length") == str(len(body))
        assert next(records, None) is None


def test_headers_that_are_not_ascii_are_written_as_they_came(tmp_path: Path) -> None:
    """Kept as Latin-1, in which any byte is valid; warcio alone ends with a UnicodeEncodeError."""
    received = [
        (b"Link", b"<\xc3\xa9.css>; rel=preload; title=\xc3\xa9"),
        (b"Content-Disposition", b'attachment; filename="caf\xe9.pdf"; x=\xff'),
        (b"X-Every-Byte", bytes(byte for byte in range(1, 256) if byte not in b"\r\n")),
        (b"X-N\xe4me", b"\x85 \x0b \x1c"),
    ]
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in received)
    target = tmp_path / "copies.warc.gz"
    copies = [(URL, Response(URL, 200, NOON, headers, b"a")), (URL, Response(URL, 200, NOON))]
    assert write_warc(copies, target, at=NOON, software="recrawl/1") == (2, 0)
    lines = gzip.decompress(target.read_bytes()).split(b"\r\n")
    assert all(name + b": " + value in lines for name, value in received)
    with target.open("rb") as file:
        records = list(ArchiveIterator(file, check_digests="raise"))
    assert len(records) == 3


ODD = [
    Response(URL, 200, NOON, (("A", "b\r\nWARC-Type: evil"),), b"a"),
    Response(URL, 200, NOON, (("A\r\nB: c", "d"), ("", "x"), ("a:b", "y")), b"a"),
    Response(URL, 200, NOON, (("A", "\u20ac \ud800"),), b"a"),
    Response(URL + "\r\nX: y\udcff", 200, NOON, (), b"a"),
    Response(URL, 200, 10**18, (), b"a"),
    Response(URL, 200, -1, (), b"a"),
]


@pytest.mark.parametrize("odd", ODD)
def test_what_cannot_be_written_as_it_is_spoils_nothing(tmp_path: Path, odd: Response) -> None:
    target = tmp_path / "copies.warc.gz"
    fine = Response(URL, 200, NOON, (("A", "b"),), b"fine")
    copies = [(URL, fine), (odd.url, odd), (URL, fine)]
    assert write_warc(copies, target, at=NOON, software="recrawl/1") == (3, 1)
    with target.open("rb") as file:
        bodies = [
            record.content_stream().read()
            for record in ArchiveIterator(file, check_digests="raise")
            if record.rec_type == "response"
        ]
    assert bodies == [b"fine", b"a", b"fine"]


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.text(max_size=5), st.text(max_size=10)), max_size=4), st.text(max_size=9)
)
def test_any_headers_and_url_are_written(headers: list[tuple[str, str]], url: str) -> None:
    with TemporaryDirectory() as folder:
        target = Path(folder) / "copies.warc.gz"
        odd = Response(f"http://a.test/{url}", 200, NOON, tuple(headers), b"a")
        assert write_warc([(URL, odd)], target, at=NOON, software="recrawl/1").copies == 1
        with target.open("rb") as file:
            records = ArchiveIterator(file, check_digests="raise")
            assert [record.content_stream().read() for record in records][1:] == [b"a"]


def test_a_redirected_copy_names_its_page_and_the_same_copy_has_the_same_name(
    tmp_path: Path,
) -> None:
    answer = Response("https://example.org/b", 299, NOON, (), b"")
    for name in ("one", "two"):
        write_warc([(URL, answer)], tmp_path / name, at=NOON, software="recrawl/1")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    with (tmp_path / "one").open("rb") as file:
        _, record = ArchiveIterator(file)
    assert record.rec_headers.get_header("WARC-Target-URI") == "https://example.org/b"
    assert record.rec_headers.get_header("Recrawl-Page") == URL
    assert record.http_headers.get_statuscode() == "299"


def test_copies_that_fail_leave_what_was_there(tmp_path: Path) -> None:
    def failing() -> Iterator[tuple[str, Response]]:
        yield URL, Response(URL, 200, NOON, (), b"a")
        raise RuntimeError

    (tmp_path / "copies.warc.gz").write_bytes(b"old")
    with pytest.raises(RuntimeError):
        write_warc(failing(), tmp_path / "copies.warc.gz", at=NOON, software="recrawl/1")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]
    with pytest.raises(OutputError, match="this is a directory"):
        write_warc([], tmp_path, at=NOON, software="recrawl/1")
