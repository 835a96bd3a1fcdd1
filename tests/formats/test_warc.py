"""Copies as WARC, read back with warcio."""

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
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
    assert write_warc([(URL, answer)], target, at=NOON, software="recrawl/1") == 1
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
