"""Large reads: the fleet as columns, the log and the copies a batch at a time."""

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from recrawl.errors import StoreError
from recrawl.formats.common_crawl import LOG
from recrawl.records import NO_TIME, Outcome, Page, Response, State, digest_of
from recrawl.store.database import Database
from recrawl.store.editing import last_serial
from recrawl.store.encoding import read_headers, read_page
from recrawl.store.rows import Copy, Fleet, Observed

#: Rows turned into columns at once.
ROWS_AT_ONCE = 20_000
#: Copies read at once; their contents are read one by one.
COPIES_AT_ONCE = 500


def fleet(database: Database) -> Fleet:
    """Read every page that is visited; see `SqliteStore.fleet`."""
    with database.transaction("begin_read"):
        serial = last_serial(database)
        (pages,) = database.rows("count_fleet", State.GONE)[0]
        ints = np.empty((4, pages), np.int64)
        floats = np.empty((3, pages))
        url: list[str] = []
        values = {"no_time": NO_TIME, "gone": State.GONE}
        for rows in database.batches("fleet", values, ROWS_AT_ONCE):
            number, host, urls, importance, shape, time, last_visit, failures = zip(
                *rows, strict=True
            )
            here = slice(len(url), len(url) + len(rows))
            for place, column in enumerate((number, host, last_visit, failures)):
                ints[place, here] = column
            for place, column in enumerate((importance, shape, time)):
                # NumPy makes NaN of None when it is told that floats are wanted.
                floats[place, here] = np.array(column, np.float64)
            url.extend(urls)
        names: dict[int, str] = dict(database.rows("hosts"))
    known, codes = np.unique(ints[1], return_inverse=True)
    return Fleet(
        serial=serial,
        number=ints[0],
        host=codes.astype(np.int64, copy=False),
        hosts=[names[host] for host in known.tolist()],
        url=url,
        importance=floats[0],
        shape=floats[1],
        time=floats[2],
        last_visit=ints[2],
        failures=ints[3],
    )


def observations(database: Database, about: int) -> Observed:
    """Read what visits taught; see `SqliteStore.observations`."""
    (logged,) = database.rows("count_visits")[0]
    wanted = {
        "stride": max(-(-logged // about), 1),
        "changed": Outcome.CHANGED,
        "unchanged": Outcome.UNCHANGED,
    }
    batches = [
        np.array(rows, np.int64) for rows in database.batches("observations", wanted, ROWS_AT_ONCE)
    ]
    rows = np.concatenate(batches) if batches else np.empty((0, 3), np.int64)
    return Observed(rows[:, 0].copy(), rows[:, 1].copy(), rows[:, 2] != 0)


def visits(database: Database, batch: int) -> Iterator[Any]:
    """Walk through the log; see `SqliteStore.visits`."""
    page, at = -1, 0
    while rows := database.rows("visits_after", page, at, batch):
        page, at = rows[-1][:2]
        columns = zip(*rows, strict=True)
        yield pa.record_batch(
            [_array(column, kind) for column, kind in zip(columns, LOG.types, strict=True)],
            schema=LOG,
        )


def _array(column: tuple[Any, ...], kind: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    if pa.types.is_boolean(kind):
        # SQLite has no truth but 0 and 1.
        return pa.array(column, pa.int8()).cast(kind)
    return pa.array(column, kind)


def body(database: Database, digest: bytes) -> bytes:
    """Find a content and see that it is what its digest says; see `SqliteStore.body`."""
    row = database.row("body", digest)
    if row is None:
        raise StoreError(f"{database.place}: there is no content {digest.hex()} in the store")
    content = inflated(row[0], digest)
    if content is None:
        raise StoreError(f"{database.place}: the content {digest.hex()} is damaged")
    return content


def inflated(deflated: bytes, digest: bytes) -> bytes | None:
    """Inflate a content; None if it is not what its digest says."""
    try:
        content = zlib.decompress(deflated)
    except zlib.error:
        return None
    return content if digest_of(content) == digest else None


def copy_of(database: Database, page: Page) -> Copy | None:
    """Give a page's copy with the response that brought it; None where it has none."""
    if page.body is None:
        return None
    row = database.row("copy_of", page.number)
    if row is None:
        raise StoreError(f"{database.place}: the headers of {page.url} are missing")
    url, status, at, headers, truncated = row
    response = Response(
        url=url,
        status=status,
        at=at,
        headers=read_headers(headers),
        body=body(database, page.body),
        truncated=bool(truncated),
    )
    return Copy(page, response)


def copies(database: Database) -> Iterator[Copy]:
    """Walk through all copies; see `SqliteStore.copies`."""
    last = -1
    while rows := database.rows("pages_with_copy_after", last, COPIES_AT_ONCE):
        last = rows[-1][0]
        for row in rows:
            found = copy_of(database, read_page(row))
            if found is not None:
                yield found
