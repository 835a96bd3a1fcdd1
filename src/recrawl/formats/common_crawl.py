"""Write the log of visits as Parquet, with Common Crawl's column names or recrawl's own.

Both are written in batches, so that a log of any length needs little memory. Common Crawl's
``url_host_registered_domain`` is left out, because it needs the public suffix list.
"""

import base64
import os
import re
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from recrawl.formats.tables import check_target, whole_file
from recrawl.records import SIGNALS, ChangeKind, Outcome

_TIME = pa.timestamp("us", "UTC")

#: A batch of the log as the store has it: one row per visit, by page and then by time. ``outcome``
#: is an `Outcome`, ``change_kind`` a `ChangeKind`, ``signal`` an index in `SIGNALS`, and times are
#: microseconds since 1970.
LOG = pa.schema(
    [
        pa.field("page", pa.int64(), nullable=False),
        pa.field("at", pa.int64(), nullable=False),
        pa.field("url", pa.string(), nullable=False),
        pa.field("importance", pa.float64(), nullable=False),
        pa.field("outcome", pa.int8(), nullable=False),
        pa.field("previous", pa.int64()),
        pa.field("status", pa.int16(), nullable=False),
        pa.field("signal", pa.int8()),
        pa.field("last_modified", pa.int64()),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("ms", pa.int64(), nullable=False),
        pa.field("requests", pa.int64(), nullable=False),
        pa.field("truncated", pa.bool_(), nullable=False),
        pa.field("sha1", pa.binary()),
        pa.field("mime", pa.string()),
        pa.field("redirect", pa.string()),
        pa.field("error", pa.string()),
        pa.field("change_kind", pa.int8()),
        pa.field("change_share", pa.float64()),
    ]
)

#: A batch of refused pages, which have no visit.
REFUSED = pa.schema([pa.field("url", pa.string(), nullable=False), pa.field("reason", pa.string())])

#: Common Crawl's columns, then ours.
COMMON_CRAWL = pa.schema(
    [
        ("url_surtkey", pa.string()),
        ("url", pa.string()),
        ("url_host_name", pa.string()),
        ("fetch_time", _TIME),
        ("fetch_status", pa.int16()),
        ("fetch_redirect", pa.string()),
        ("content_digest", pa.string()),
        ("content_mime_type", pa.string()),
        ("content_truncated", pa.string()),
        ("prev_fetch_time", _TIME),
        ("changed", pa.bool_()),
        ("outcome", pa.string()),
        ("signal", pa.string()),
        ("fetch_bytes", pa.int64()),
        ("fetch_ms", pa.int64()),
        ("not_modified", pa.bool_()),
        ("last_modified", _TIME),
        ("error", pa.string()),
        ("change_share", pa.float64()),
        ("change_kind", pa.string()),
    ]
)

#: The columns that `read_log` reads.
CRAWL_LOG = pa.schema(
    [
        ("page", pa.string()),
        ("time", _TIME),
        ("changed", pa.bool_()),
        ("outcome", pa.string()),
        ("last_modified", _TIME),
        ("importance", pa.float64()),
    ]
)

_OUTCOMES = pa.array([outcome.name.lower() for outcome in Outcome])
_CHANGED = pa.array([{Outcome.CHANGED: True, Outcome.UNCHANGED: False}.get(o) for o in Outcome])
_CHANGE_KINDS = pa.array([kind.name.lower() for kind in ChangeKind])
_WWW = re.compile(r"^www\d*\.")


def write_common_crawl(
    batches: Iterable[Any], target: str | os.PathLike[str], refused: Iterable[Any] = ()
) -> int:
    """Write a log as Parquet with Common Crawl's column names; return the number of visits.

    ``content_digest`` is written as in WARC files, ``sha1:`` and base 32; it and
    ``content_mime_type`` (as sent by the server) are null where no content was received.
    ``changed`` is null for a first visit, a failed one, and a page that was not found. A refused
    page has one row, with the outcome ``refused`` and the reason as its ``error``: as there was no
    visit, all other columns are null.
    ``change_share`` and ``change_kind`` are null where a page did not differ from its copy.

    Args:
        batches: Record batches with the schema `LOG`.
        target: The file, written completely or left as it was.
        refused: Record batches with the schema `REFUSED`.

    Raises:
        OutputError: The file cannot be written.
    """
    return _write(batches, target, COMMON_CRAWL, _common_crawl, refused)


def write_crawl_log(batches: Iterable[Any], target: str | os.PathLike[str]) -> int:
    """Write a log as the Parquet that `read_log` reads; arguments as for `write_common_crawl`."""
    return _write(batches, target, CRAWL_LOG, _crawl_log)


def surt(url: str) -> str:
    """Return the key that sorts pages by site: the host reversed, then path and query.

    A leading ``www.``, the scheme, a trailing slash and the case of letters do not matter.

    >>> surt("https://www.Example.org:8080/A/?q=1")
    'org,example:8080)/a?q=1'
    """
    parts = urlsplit(url.lower())
    host = parts.hostname or ""
    if ":" in host:
        backwards = f"[{host}]"
    elif host.replace(".", "").isdecimal():
        backwards = host
    else:
        backwards = ",".join(reversed(_WWW.sub("", host).split(".")))
    port = f":{parts.port}" if parts.port else ""
    query = f"?{parts.query}" if parts.query else ""
    return f"{backwards}{port}){parts.path.rstrip('/') or '/'}{query}"


def _write(
    batches: Iterable[Any],
    target: str | os.PathLike[str],
    schema: Any,  # noqa: ANN401 - pyarrow has no types
    turn: Callable[[Any], dict[str, Any]],
    refused: Iterable[Any] = (),
) -> int:
    check_target(target)
    rows = 0
    with whole_file(target) as file, parquet.ParquetWriter(file, schema) as writer:
        for batch in batches:
            writer.write_batch(_with_schema(turn(batch), schema, batch.num_rows))
            rows += batch.num_rows
        for batch in refused:
            writer.write_batch(_with_schema(_refused(batch), schema, batch.num_rows))
    return rows


def _with_schema(columns: dict[str, Any], schema: Any, rows: int) -> Any:  # noqa: ANN401
    """Return a batch with all columns of a schema; those that are not given are null."""
    arrays = [columns.get(field.name, pa.nulls(rows, field.type)) for field in schema]
    return pa.record_batch(arrays, schema=schema)


def _refused(batch: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "url_surtkey": _once(batch["url"], surt),
        "url": batch["url"],
        "url_host_name": _once(batch["url"], _host_name),
        "outcome": pa.array(["refused"] * batch.num_rows),
        "error": batch["reason"],
    }


def _common_crawl(batch: Any) -> dict[str, Any]:  # noqa: ANN401
    truncated = pc.if_else(batch["truncated"], "length", pa.scalar(None, pa.string()))
    return {
        **_shared(batch),
        # A page has many consecutive rows: its keys are computed once.
        "url_surtkey": _once(batch["url"], surt),
        "url": batch["url"],
        "url_host_name": _once(batch["url"], _host_name),
        "fetch_time": batch["at"].cast(_TIME),
        "fetch_status": batch["status"],
        "fetch_redirect": batch["redirect"],
        "content_digest": _once(batch["sha1"], _warc_digest),
        "content_mime_type": batch["mime"],
        "content_truncated": truncated,
        "prev_fetch_time": batch["previous"].cast(_TIME),
        "signal": pa.array(SIGNALS).take(batch["signal"]),
        "fetch_bytes": batch["bytes"],
        "fetch_ms": batch["ms"],
        "not_modified": pc.equal(batch["status"], HTTPStatus.NOT_MODIFIED),
        "error": batch["error"],
        "change_share": batch["change_share"],
        "change_kind": _CHANGE_KINDS.take(batch["change_kind"]),
    }


def _crawl_log(batch: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        **_shared(batch),
        "page": batch["url"],
        "time": batch["at"].cast(_TIME),
        "importance": batch["importance"],
    }


def _shared(batch: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "changed": _CHANGED.take(batch["outcome"]),
        "outcome": _OUTCOMES.take(batch["outcome"]),
        "last_modified": batch["last_modified"].cast(_TIME),
    }


def _once(column: Any, make: Callable[[Any], str]) -> Any:  # noqa: ANN401
    """Convert every cell that is not null, once per distinct value."""
    coded = column.dictionary_encode()
    texts = [make(value) for value in coded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(coded.indices)


def _host_name(url: str) -> str:
    return urlsplit(url).hostname or ""


def _warc_digest(digest: bytes) -> str:
    return f"sha1:{base64.b32encode(digest).decode('ascii')}"
