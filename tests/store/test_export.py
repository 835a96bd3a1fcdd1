"""A store's log and copies, written to files and read back."""

from pathlib import Path

from pyarrow import parquet
from store.made_up import HOUR, NOON, address, failed, found, new_pages, unchanged
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from recrawl.formats.common_crawl import write_common_crawl, write_crawl_log
from recrawl.formats.crawl_log import read_log
from recrawl.formats.warc import write_warc
from recrawl.records import Outcome
from recrawl.store.sqlite import SqliteStore


def test_what_is_in_the_store_is_in_the_files(tmp_path: Path) -> None:
    with SqliteStore.open(":memory:") as store:
        store.add(new_pages(3), at=NOON)
        store.record(
            [found(page, page.url.encode(), NOON) for page in store.pages([0, 2]).values()]
        )
        store.record([unchanged(store.pages([0])[0], NOON + HOUR)])
        store.record([failed(store.pages([1])[1], NOON)])
        assert write_common_crawl(store.visits(batch=3), tmp_path / "index.parquet") == 4
        assert write_crawl_log(store.visits(batch=3), tmp_path / "log.parquet") == 4
        copies = ((copy.page.url, copy.response) for copy in store.copies())
        written = write_warc(copies, tmp_path / "copies.warc.gz", at=NOON, software="recrawl/0")
        assert written == (2, 0)
    index = parquet.read_table(tmp_path / "index.parquet").to_pylist()
    assert [row["url"] for row in index] == [address(i) for i in (0, 0, 1, 2)]
    assert [row["signal"] for row in index] == ["digest", "etag", None, "digest"]
    visits = read_log(tmp_path / "log.parquet")
    assert visits.names.to_pylist() == [address(i) for i in range(3)]
    assert visits.outcome.tolist() == [
        Outcome.CHANGED,
        Outcome.UNCHANGED,
        Outcome.FAILED,
        Outcome.CHANGED,
    ]
    with (tmp_path / "copies.warc.gz").open("rb") as file:
        archived = {
            record.rec_headers.get_header("WARC-Target-URI"): (
                record.content_stream().read(),
                record.rec_headers.get_header("WARC-Payload-Digest"),
            )
            for record in ArchiveIterator(file, check_digests="raise")
            if record.rec_type == "response"
        }
    assert {url: body for url, (body, _) in archived.items()} == {
        address(i): address(i).encode() for i in (0, 2)
    }
    digests = {row["url"]: row["content_digest"] for row in index if row["content_digest"]}
    assert {url: digest for url, (_, digest) in archived.items()} == digests
