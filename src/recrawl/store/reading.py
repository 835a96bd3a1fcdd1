"""Read much at once: all pages as columns, and the log and the copies in batches."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from recrawl.errors import StoreError
from recrawl.estimation.shown.evidence import Evidence, read_evidence
from recrawl.estimation.shown.rates import RatePrior, ShownRates
from recrawl.kernels.jit import Floats, Ints
from recrawl.records import (
    NO_TIME,
    SIGNALS,
    Change,
    ChangeKind,
    Outcome,
    Page,
    Response,
    State,
    digest_of,
)
from recrawl.store.database import Database, Row
from recrawl.store.editing import find_pages, last_serial
from recrawl.store.encoding import InflateError, inflate, read_headers
from recrawl.store.rows import Copy, LoggedVisit, Observed, Outlook, PageTable

#: Rows turned into columns at a time.
ROWS_PER_BATCH = 20_000
#: With more pages than the first of these, a sample of the second size stands for all, as reading
#: all from a store takes more than a second. Its freshness is within 0.7 % of that of all pages in
#: 19 of 20 cases, if pages are equally important.
MAX_READ = 200_000
SAMPLED = 20_000
#: The name of what is believed about change rates before visits.
RATE_PRIOR = "rate_prior"
GOLDEN_RATIO = (5.0**0.5 - 1.0) / 2.0
#: Copies listed at a time; their bodies are read one by one.
COPIES_PER_BATCH = 500


def fleet(database: Database) -> PageTable:
    """Read every page that is to be visited; see `SqliteStore.fleet`."""
    with database.transaction("begin_read"):
        serial = last_serial(database)
        resting = {"gone": State.GONE, "refused": State.REFUSED}
        (pages,) = database.rows("count_fleet", *resting.values())[0]
        ints = np.empty((5, pages), np.int64)
        floats = np.empty((3, pages))
        url: list[str] = []
        octaves: list[bytes | None] = []
        values = {"no_time": NO_TIME, **resting}
        for rows in database.batches("fleet", values, ROWS_PER_BATCH):
            number, host, urls, importance, shape, time, last_visit, failures, asked, packed = zip(
                *rows, strict=True
            )
            here = slice(len(url), len(url) + len(rows))
            for index, column in enumerate((number, host, last_visit, failures, asked)):
                ints[index, here] = column
            for index, column in enumerate((importance, shape, time)):
                # With an explicit float type, NumPy turns None into NaN.
                floats[index, here] = np.array(column, np.float64)
            url.extend(urls)
            octaves.extend(packed)
        names: dict[int, str] = dict(database.rows("hosts"))
    known, codes = np.unique(ints[1], return_inverse=True)
    return PageTable(
        serial=serial,
        number=ints[0],
        host=codes.astype(np.int64, copy=False),
        hosts=[names[host] for host in known.tolist()],
        url=url,
        importance=floats[0],
        shape=floats[1],
        time=floats[2],
        octaves=octaves,
        last_visit=ints[2],
        failures=ints[3],
        asked=ints[4].astype(np.bool_),
    )


def outlook(database: Database, sample: int | None) -> Outlook:
    """Read how fresh pages to visit are; see `SqliteStore.outlook`."""
    with database.transaction("begin_read"):
        values: dict[str, Any] = {"no_time": NO_TIME}
        values |= {"gone": State.GONE, "refused": State.REFUSED}
        if sample is not None:
            (numbered,) = database.rows("next_page")[0]
            values["pages"] = json.dumps(spread(sample, numbered))
        columns, evidence = numbers_and_evidence(
            database, "outlook" if sample is None else "outlook_of", values, 7
        )
        prior = rate_prior(database)
        names: dict[int, str] = dict(database.rows("hosts"))
    number, host, importance, shape, time, last_visit, failures = columns
    known, codes = np.unique(host.astype(np.int64), return_inverse=True)
    return Outlook(
        number=number.astype(np.int64),
        host=codes,
        hosts=[names[host] for host in known.tolist()],
        importance=importance,
        shape=nan_for_0(shape),
        time=nan_for_0(time),
        last_visit=last_visit.astype(np.int64),
        failures=failures.astype(np.int64),
        rates=ShownRates(evidence, prior),
    )


def spread(count: int, below: int) -> list[int]:
    """Return evenly spread page numbers, one from each of as many ranges of equal length.

    The positions within the ranges follow the golden ratio, as a list of pages may be periodic.

    >>> spread(4, 40)
    [0, 16, 22, 38]
    """
    each = np.arange(min(count, below))
    chosen = (each + each * GOLDEN_RATIO % 1.0) * (below / max(each.size, 1))
    return list(map(int, chosen))


def numbers_and_evidence(
    database: Database, name: str, values: dict[str, Any], columns: int
) -> tuple[Floats, Evidence]:
    """Return the rows of a query as columns of numbers, all of them floats, and of evidence.

    Page numbers, times and the like are integers below 2^53, or ``NO_TIME``, and therefore exact.
    """
    batches, evidence = [np.empty((columns, 0))], [read_evidence([])]
    for rows in database.batches(name, values, ROWS_PER_BATCH):
        *read, packed = zip(*rows, strict=True)
        batches.append(np.array(read, np.float64))
        evidence.append(read_evidence(packed))
    return np.concatenate(batches, axis=1), np.concatenate(evidence)


def rate_prior(database: Database) -> RatePrior:
    """Return what a run last believed about change rates before a page's own visits."""
    row = database.row("meta", RATE_PRIOR)
    return RatePrior.from_text(None if row is None else row[0])


def rates(database: Database, numbers: Ints) -> ShownRates:
    """Return the change rates of some pages, as they are shown."""
    found: dict[int, bytes | None] = dict(database.rows("evidence", json.dumps(numbers.tolist())))
    evidence = read_evidence([found.get(number) for number in numbers.tolist()])
    return ShownRates(evidence, rate_prior(database))


def nan_for_0(column: Floats) -> Floats:
    """Return a column with NaN for 0, which stands for a missing value in queries."""
    column[column == 0.0] = np.nan
    return column


def observations(database: Database, about: int) -> Observed:
    """Read observations; see `SqliteStore.observations`."""
    (logged,) = database.rows("count_visits")[0]
    wanted = {
        "stride": max(-(-logged // about), 1),
        "changed": Outcome.CHANGED,
        "unchanged": Outcome.UNCHANGED,
    }
    batches = [
        np.array(rows, np.int64)
        for rows in database.batches("observations", wanted, ROWS_PER_BATCH)
    ]
    rows = np.concatenate(batches) if batches else np.empty((0, 3), np.int64)
    return Observed(rows[:, 0].copy(), rows[:, 1].copy(), rows[:, 2] != 0)


def history(database: Database, number: int, limit: int) -> list[LoggedVisit]:
    """Return a page's latest visits; see `SqliteStore.history`."""
    return [
        LoggedVisit(
            at=at,
            outcome=Outcome(outcome),
            previous=previous,
            status=status,
            signal=None if signal is None else SIGNALS[signal],
            last_modified=last_modified,
            bytes=size,
            ms=ms,
            requests=requests,
            truncated=bool(truncated),
            mime=mime,
            redirect=redirect,
            error=error,
            change=None if kind is None else Change(ChangeKind(kind), share),
        )
        for (
            at,
            outcome,
            previous,
            status,
            signal,
            last_modified,
            size,
            ms,
            requests,
            truncated,
            mime,
            redirect,
            error,
            kind,
            share,
        ) in database.rows("history", number, limit)
    ]


def visits(database: Database, batch: int) -> Iterator[Any]:
    """Yield the log in batches; see `SqliteStore.visits`."""
    # It takes much memory, and a crawl does not need it.
    import pyarrow as pa

    from recrawl.formats.common_crawl import LOG

    page, at = -1, 0
    while rows := database.rows("visits_after", page, at, batch):
        page, at = rows[-1][:2]
        columns = zip(*rows, strict=True)
        yield pa.record_batch(
            [_array(pa, column, kind) for column, kind in zip(columns, LOG.types, strict=True)],
            schema=LOG,
        )


def refused(database: Database, batch: int) -> Iterator[Any]:
    """Yield refused pages in batches; see `SqliteStore.refused`."""
    import pyarrow as pa

    from recrawl.formats.common_crawl import REFUSED

    page = -1
    while rows := database.rows("refused_after", State.REFUSED, page, batch):
        page = rows[-1][0]
        columns = list(zip(*rows, strict=True))[1:]
        yield pa.record_batch([pa.array(column, pa.string()) for column in columns], REFUSED)


def _array(pa: Any, column: tuple[Any, ...], kind: Any) -> Any:  # noqa: ANN401 - no types
    if pa.types.is_boolean(kind):
        # SQLite's booleans are the numbers 0 and 1.
        return pa.array(column, pa.int8()).cast(kind)
    return pa.array(column, kind)


def body(database: Database, digest: bytes) -> bytes:
    """Return a body, verified against its digest; see `SqliteStore.body`."""
    row = database.row("body", digest)
    if row is None:
        raise StoreError(f"{database.path}: the store has no body {digest.hex()}")
    content = inflated(row[0], row[1], digest)
    if content is None:
        raise StoreError(f"{database.path}: the body {digest.hex()} is damaged")
    return content


def inflated(deflated: bytes, size: int, digest: bytes) -> bytes | None:
    """Decompress a body of a size; return None if it is longer, or does not match its digest."""
    try:
        content = inflate(deflated, size)
    except (InflateError, TypeError, OverflowError):
        # The types of values in a damaged file may be wrong, too.
        return None
    return content if digest_of(content) == digest else None


def current_copy(database: Database, number: int) -> Copy | None:
    """Return the current copy of a page, consistently even while a crawl writes; None if none."""
    with database.transaction("begin_read"):
        page = find_pages(database, [number]).get(number)
        return None if page is None else _copy_of(database, page)


def _copy_of(database: Database, page: Page) -> Copy | None:
    """Return a page's copy with the response it came from; None if there is none."""
    if page.body is None:
        return None
    row = database.row("copy_of", page.number)
    if row is None:
        raise StoreError(f"{database.path}: the headers of {page.url} are missing")
    return Copy(page, response_of(database, page.url, row, body(database, page.body)))


def response_of(database: Database, page: str, row: Row, content: bytes) -> Response:
    """Return the response that a copy came from.

    Args:
        database: The store's database.
        page: The page's URL.
        row: Final URL, status, time, headers and whether the body was truncated.
        content: The body.
    """
    url, status, at, written, truncated = row
    try:
        headers = read_headers(written)
    except (InflateError, ValueError, TypeError):
        raise StoreError(f"{database.path}: the headers of {page} are damaged") from None
    return Response(
        url=url,
        status=status,
        at=at,
        headers=headers,
        body=content,
        truncated=bool(truncated),
    )


def versions_of(database: Database, page: Page) -> list[Copy]:
    """Return the copies of a page, the current one first; see `SqliteStore.versions`."""
    with database.transaction("begin_read"):
        now = find_pages(database, [page.number]).get(page.number)
        current = None if now is None else _copy_of(database, now)
        if current is None:
            return []
        older = [
            Copy(current.page, response_of(database, page.url, row[:5], body(database, row[5])))
            for row in database.rows("versions_of", page.number)
        ]
    return [current, *older]


def copies(database: Database, skipped: Callable[[StoreError], None] | None) -> Iterator[Copy]:
    """Yield all copies; see `SqliteStore.copies`."""
    last = -1
    while rows := database.rows("pages_with_copy_after", last, COPIES_PER_BATCH):
        last = rows[-1][0]
        for row in rows:
            try:
                found = current_copy(database, row[0])
            except StoreError as error:
                if skipped is None:
                    raise
                skipped(error)
                continue
            if found is not None:
                yield found
