"""On executors: turn the rows of some pages into blocks of observations.

A block holds the data of some thousand pages, serialised into one cell of a table: Spark moves and
caches it without handling single rows. Pages are in order of the hashes of their names, so that a
partition that is recomputed is identical to the last bit.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl.errors import CrawlLogError
from recrawl.estimation import Observations
from recrawl.formats.cells import NO_DIGEST
from recrawl.formats.crawl_log import Visits
from recrawl.kernels.grouping import stable_order
from recrawl.kernels.jit import Bools, Ints
from recrawl.planning.parts import last_visits, latest_importance, observed
from recrawl.planning.sampling import host_hashes, name_hashes
from recrawl.records import NO_TIME, CrawlLog, Outcome
from recrawl.spark.blocks import BLOCK, enlarged, pack, split
from recrawl.units import quoted

#: What messages call the log.
SOURCE = "crawl log"
#: The minimum number of rows converted at a time.
BATCH_ROWS = 1 << 17
#: The approximate size of a block, in bytes.
BLOCK_BYTES = 1 << 23
#: Columns of earlier beliefs, which go with the rows of a log.
STATE = ("observations", "elapsed", "shape", "time")
EARLIER = ("_last_visit", "_seen", "_digest", "_importance", *(f"_{name}" for name in STATE))
#: Columns of observations, which have one element per row.
ROW_COLUMNS = ("elapsed", "changed", "crawl_rate", "age")


@dataclass(frozen=True)
class Observe:
    """Turns the rows of a partition into blocks of pages.

    Attributes:
        method: The method of estimation.
        buckets: The number of buckets that blocks are assigned to by host; 0 if they stay in place.
    """

    method: str
    buckets: int = 0

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield blocks."""
        filled = (batch for batch in batches if len(batch))
        first = next(filled, None)
        if first is None:
            return
        rows: Iterator[Any] = chain([first], filled)
        before = None
        if "_seen" in first.schema.names:
            rows, before = _separated(rows)
        yield from _packed(_pages(_read(rows, before), before, self.method), self.buckets)


class _Read(NamedTuple):
    """A log, and the digest of the newest version of each page; None without digests."""

    log: CrawlLog
    digest: Ints | None


def _separated(batches: Iterable[Any]) -> tuple[Iterator[Any], Any]:
    """Separate the rows of a log, as batches, from earlier beliefs, as a table or None."""
    rows, earlier = [], []
    for batch in batches:
        is_row = batch.column("_seen").is_null()
        of_log = [name for name in batch.schema.names if name not in EARLIER]
        rows.append(batch.filter(is_row).select(of_log))
        earlier.append(batch.filter(pc.invert(is_row)).select(["page", *EARLIER]))
    filled = (batch for batch in rows if len(batch))
    table = pa.Table.from_batches(earlier)
    if not len(table):
        return filled, None
    kind = table["page"].type
    wide = kind if pa.types.is_integer(kind) else pa.large_string()
    return filled, table.set_column(0, "page", table["page"].cast(wide)).combine_chunks()


def _read(rows: Iterable[Any], before: Any) -> _Read:  # noqa: ANN401 - pyarrow has no types
    """Read the rows of a partition; pages with earlier beliefs start with their last visit."""
    larger = enlarged(rows, BATCH_ROWS)
    first = next(larger, None)
    if first is None:
        visits = Visits.of([], SOURCE)
        visits.kept = {name: [] for name in ("page", "time", "outcome")}
    else:
        visits = Visits.of(chain([first], larger), SOURCE)
        for batch in visits.batches():
            visits.keep(batch)
    if before is not None:
        _check_newer(visits, before)
        visits.keep(_begun(visits, before))
    digests = _newest_digests(visits)
    log = visits.log()
    if digests is None:
        return _Read(log, None)
    names, newest = digests
    return _Read(log, newest[_positions(log.names, names)])


def _last_times(before: Any) -> Ints:  # noqa: ANN401 - pyarrow has no types
    found: Ints = before["_last_visit"].cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy()
    return found


def _positions(wanted: Any, names: Any) -> Ints:  # noqa: ANN401 - pyarrow has no types
    """Return the positions of pages among names; -1 for those that are missing."""
    return np.asarray(pc.fill_null(pc.index_in(wanted, value_set=names), -1), np.int64)


def _check_newer(visits: Visits, before: Any) -> None:  # noqa: ANN401 - pyarrow has no types
    """Raise an error if a visit is not newer than the last one in the beliefs."""
    last = _last_times(before)
    names = visits.names.values()
    position = _positions(names, before["page"])
    for page, time in zip(visits.kept["page"], visits.kept["time"], strict=True):
        known = position[page]
        late = (known >= 0) & (time <= last[known])
        if late.any():
            name = quoted(str(names[int(page[np.argmax(late)])].as_py()))
            raise CrawlLogError(
                SOURCE,
                f"the page {name} has a visit that is not newer than its last one in previous; "
                "give rows of new visits only",
            )


def _begun(visits: Visits, before: Any) -> dict[str, Any]:  # noqa: ANN401 - pyarrow has no types
    """Return the last visit of each page with earlier beliefs, where its next gap starts."""
    seen = before["_seen"].to_numpy()
    outcome = np.where(seen, np.int8(Outcome.FIRST), np.int8(Outcome.FAILED))
    nothing = {"crawl_rate": np.nan, "importance": np.nan, "last_modified": NO_TIME}
    begun: dict[str, Any] = {
        "page": before["page"].combine_chunks(),
        "time": _last_times(before),
        "outcome": outcome,
    }
    for name, parts in visits.kept.items():
        if name == "digest":
            begun[name] = np.asarray(before["_digest"].fill_null(NO_DIGEST), np.int64)
        elif name not in begun:
            begun[name] = np.full(len(before), nothing[name], parts[0].dtype)
    return begun


def _newest_digests(visits: Visits) -> tuple[Any, Ints] | None:
    """Return pages, and the digest of the newest version of each."""
    if "digest" not in visits.kept:
        return None
    page, time, digest, outcome = (
        np.concatenate(visits.kept[name]) for name in ("page", "time", "digest", "outcome")
    )
    shown = np.flatnonzero((digest != NO_DIGEST) & (outcome == Outcome.FIRST))
    shown = shown[np.argsort(time[shown], kind="stable")]
    newest = np.full(len(visits.names), NO_DIGEST)
    newest[page[shown]] = digest[shown]
    return visits.names.values(), newest


def _pages(read: _Read, before: Any, method: str) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return a table of pages in order of hash, with lists of their observations."""
    log = read.log
    seen = observed(log, method)
    rows = np.bincount(seen.page, minlength=log.pages)
    order = np.argsort(name_hashes(log.names), kind="stable")
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    _, by_page = stable_order(rank[seen.page], log.pages)
    ends = pa.array(np.concatenate([[0], np.cumsum(rows[order])]))
    columns: dict[str, Any] = {
        "page": log.names.take(pa.array(order)),
        "last_visit": last_visits(log)[order],
        "seen": _is_seen(log)[order],
        "digest": (read.digest if read.digest is not None else np.zeros(log.pages, np.int64))[
            order
        ],
    }
    for name in ROW_COLUMNS:
        column = getattr(seen, name)
        if column is not None:
            values = pa.array(column[by_page])
            columns[name] = pa.LargeListArray.from_arrays(ends, values)
    importance = latest_importance(log)
    columns["importance"] = np.full(log.pages, np.nan) if importance is None else importance[order]
    table = pa.table(columns)
    return table if before is None else _with_state(table, before)


def _is_seen(log: CrawlLog) -> Bools:
    """Return which pages a visit saw."""
    found = np.zeros(log.pages, np.bool_)
    found[log.page[(log.outcome != Outcome.FAILED) & (log.outcome != Outcome.GONE)]] = True
    return found


def _with_state(table: Any, before: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return pages with the earlier beliefs about them; null for new ones."""
    known = _positions(table["page"].combine_chunks(), before["page"])
    at = pa.array(known, mask=known < 0)
    for name in STATE:
        table = table.append_column(f"_{name}", before[f"_{name}"].take(at))
    for name, missing in (("importance", np.nan), ("digest", NO_DIGEST)):
        here = table[name].to_numpy()
        earlier = before[f"_{name}"].take(at).fill_null(missing).to_numpy()
        kept = np.where(np.isnan(here) | (here == missing), earlier, here)
        table = table.set_column(table.column_names.index(name), name, pa.array(kept))
    return table


def _packed(table: Any, buckets: int) -> Iterator[Any]:  # noqa: ANN401 - pyarrow has no types
    """Yield blocks; with buckets, those of a host have the same bucket."""
    if not buckets:
        yield from _blocks(table, 0)
        return
    hashes = host_hashes(table["page"].combine_chunks())
    for bucket, part in split(table, hashes, buckets):
        yield from _blocks(part, bucket)


def _blocks(table: Any, bucket: int) -> Iterator[Any]:  # noqa: ANN401 - pyarrow has no types
    if not len(table):
        return
    pages = max(1, BLOCK_BYTES * len(table) // max(table.nbytes, 1))
    for first in range(0, len(table), pages):
        block = pa.array([pack(table.slice(first, pages).combine_chunks())], pa.binary())
        yield pa.record_batch([pa.array([bucket], pa.int32()), block], schema=BLOCK)


def observations_of(table: Any) -> Observations:  # noqa: ANN401 - pyarrow has no types
    """Return the observations of the pages of a block."""
    lists = {
        name: table[name].combine_chunks() for name in ROW_COLUMNS if name in table.column_names
    }
    rows = pc.list_value_length(lists["elapsed"]).to_numpy()
    page = np.repeat(np.arange(len(table)), rows)
    columns = {
        name: column.flatten().to_numpy(zero_copy_only=False) for name, column in lists.items()
    }
    return Observations(len(table), page, **columns)
