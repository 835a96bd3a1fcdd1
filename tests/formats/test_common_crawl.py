"""The log as Parquet: Common Crawl's names, and a crawl log that recrawl reads."""

import base64
import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from recrawl.errors import OutputError
from recrawl.formats.common_crawl import (
    COMMON_CRAWL,
    LOG,
    surt,
    write_common_crawl,
    write_crawl_log,
)
from recrawl.formats.crawl_log import read_log
from recrawl.records import SIGNALS, ChangeKind, Outcome

NOON = 1_767_268_800_000_000
AT_NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
URL = "https://www.example.org/a"


def row(**given: Any) -> dict[str, Any]:  # noqa: ANN401
    plain = {
        "page": 0,
        "at": NOON,
        "url": URL,
        "importance": 2.0,
        "outcome": int(Outcome.FIRST),
        "status": 200,
        "bytes": 10,
        "ms": 250,
        "requests": 1,
        "truncated": False,
    }
    return plain | given


def batch(*rows: dict[str, Any]) -> Any:  # noqa: ANN401
    return pa.RecordBatch.from_pylist(list(rows), schema=LOG)


def test_a_visit_is_told_in_common_crawls_words(tmp_path: Path) -> None:
    digest = hashlib.sha1(b"hello", usedforsecurity=False).digest()
    first = row(sha1=digest, mime="text/html", truncated=True, redirect="https://example.org/b")
    later = row(
        at=NOON + 5,
        outcome=int(Outcome.UNCHANGED),
        previous=NOON,
        status=304,
        signal=SIGNALS.index("etag"),
        last_modified=NOON - 1,
    )
    assert write_common_crawl([batch(first), batch(later)], tmp_path / "log.parquet") == 2
    table = parquet.read_table(tmp_path / "log.parquet")
    assert table.schema.equals(COMMON_CRAWL)
    assert table["fetch_time"].type == pa.timestamp("us", "UTC")
    assert table["fetch_status"].type == pa.int16()
    one, two = table.to_pylist()
    assert one == {
        "url_surtkey": "org,example)/a",
        "url": URL,
        "url_host_name": "www.example.org",
        "fetch_time": AT_NOON,
        "fetch_status": 200,
        "fetch_redirect": "https://example.org/b",
        "content_digest": "sha1:" + base64.b32encode(digest).decode(),
        "content_mime_type": "text/html",
        "content_truncated": "length",
        "prev_fetch_time": None,
        "changed": None,
        "outcome": "first",
        "signal": None,
        "fetch_bytes": 10,
        "fetch_ms": 250,
        "not_modified": False,
        "last_modified": None,
        "error": None,
        "change_share": None,
        "change_kind": None,
    }
    told = {"changed": False, "outcome": "unchanged", "signal": "etag", "not_modified": True}
    assert told.items() <= two.items()
    assert two["prev_fetch_time"] == AT_NOON
    assert two["content_digest"] is None
    assert two["content_truncated"] is None


@pytest.mark.parametrize("kind", ChangeKind)
def test_how_large_a_change_is(tmp_path: Path, kind: ChangeKind) -> None:
    changed = row(change_kind=int(kind), change_share=0.25)
    write_common_crawl([batch(changed)], tmp_path / "log.parquet")
    (found,) = parquet.read_table(tmp_path / "log.parquet").to_pylist()
    assert (found["change_share"], found["change_kind"]) == (0.25, kind.name.lower())


@pytest.mark.parametrize("outcome", Outcome)
def test_changed_is_null_where_a_visit_cannot_tell(tmp_path: Path, outcome: Outcome) -> None:
    write_common_crawl([batch(row(outcome=int(outcome)))], tmp_path / "log.parquet")
    (found,) = parquet.read_table(tmp_path / "log.parquet").to_pylist()
    told = {Outcome.CHANGED: True, Outcome.UNCHANGED: False}
    assert found["changed"] is told.get(outcome)
    assert found["outcome"] == outcome.name.lower()


def test_the_crawl_log_is_one_that_recrawl_reads(tmp_path: Path) -> None:
    other = "https://example.org/b"
    rows = [row(at=NOON + i, outcome=int(outcome)) for i, outcome in enumerate(Outcome)]
    rows.append(row(page=1, url=other, importance=0.5, last_modified=NOON - 7))
    assert write_crawl_log([batch(*rows[:2]), batch(*rows[2:])], tmp_path / "log.parquet") == 6
    visits = read_log(tmp_path / "log.parquet")
    assert visits.names.to_pylist() == [URL, other]
    assert visits.page.tolist() == [0] * 5 + [1]
    assert visits.time.tolist() == [*range(NOON, NOON + 5), NOON]
    assert visits.outcome.tolist() == [*map(int, Outcome), int(Outcome.FIRST)]
    assert visits.importance is not None
    assert visits.importance.tolist() == [2.0] * 5 + [0.5]
    assert visits.last_modified is not None
    assert visits.last_modified[5] == NOON - 7


def test_an_empty_log_has_its_columns(tmp_path: Path) -> None:
    assert write_common_crawl([], tmp_path / "log.parquet") == 0
    assert parquet.read_table(tmp_path / "log.parquet").schema.equals(COMMON_CRAWL)


def test_a_log_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    def failing() -> Iterator[Any]:
        yield batch(row())
        raise RuntimeError

    (tmp_path / "log.parquet").write_bytes(b"old")
    with pytest.raises(RuntimeError):
        write_common_crawl(failing(), tmp_path / "log.parquet")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]
    with pytest.raises(OutputError, match="there is no directory"):
        write_crawl_log([], tmp_path / "nowhere" / "log.parquet")


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    rows = 10_000
    columns = [np.zeros(rows, np.int64)] * len(LOG)
    table = {name: pa.array(column) for name, column in zip(LOG.names, columns, strict=True)}
    table["url"] = pa.array([f"https://example.org/{i}" for i in range(rows)])
    for name in ("sha1", "mime", "redirect", "error"):
        table[name] = pa.nulls(rows)
    one = pa.table(table).cast(LOG).to_batches()[0]

    def most_allocated(batches: int) -> int:
        before = pa.total_allocated_bytes()
        allocated: list[int] = []

        def watched() -> Iterator[Any]:
            for _ in range(batches):
                yield one
                allocated.append(pa.total_allocated_bytes() - before)

        write_common_crawl(watched(), tmp_path / "log.parquet")
        return max(allocated)

    assert most_allocated(20) < 2 * most_allocated(3)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://example.org/", "org,example)/"),
        ("http://www2.a.example.org/B/c?Q=1", "org,example,a)/b/c?q=1"),
        ("http://10.0.0.1:81/a/", "10.0.0.1:81)/a"),
        ("http://[2001:db8::1]/x", "[2001:db8::1])/x"),
    ],
)
def test_surt_keys_sort_by_site(url: str, key: str) -> None:
    assert surt(url) == key
