"""Read crawl logs: tables of visits, which are checked and sorted."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recrawl.errors import CrawlLogError
from recrawl.formats import cells
from recrawl.formats.cells import EMPTY, NO_DIGEST, Outcomes
from recrawl.formats.inputs import Paths, find_inputs, inputs_name
from recrawl.formats.naming import Named, Naming, choose_columns
from recrawl.formats.rows import Layout, Rows, page_names, stream_batches, stream_rows
from recrawl.formats.times import Note, no_note, read_times
from recrawl.kernels.grouping import sort_groups, stable_order
from recrawl.kernels.jit import Ints
from recrawl.kernels.numbering import Numbering, Numbers
from recrawl.progress import Progress, no_progress
from recrawl.records import NO_TIME, CrawlLog, Outcome
from recrawl.units import MICROSECONDS_A_SECOND, quoted

#: Other programs' names for our columns: Common Crawl, Nutch (dumps of its CrawlDb), Scrapy, CDX
#: indexes, Screaming Frog, and hand-made data frames. ``fetch_time`` also stands for ``fetch
#: time``, ``fetch-time`` and ``fetchTime``.
ALIASES = {
    "page": "url uri link address page_url target_uri warc_target_uri original".split(),
    "time": [
        *"fetch_time timestamp fetched_at crawled_at visited_at scraped_at crawl_time".split(),
        *"crawl_timestamp warc_date datetime date ts when fetched crawled visited".split(),
        *"fetch_date last_fetch_date last_fetched crawl_date retrieved_at accessed_at".split(),
        *"checked_at last_checked last_seen".split(),
    ],
    "changed": "is_changed has_changed was_changed modified".split(),
    "outcome": ["result"],
    "digest": [
        *"content_digest signature content_hash body_hash hash checksum fingerprint".split(),
        *"sha1 sha256 md5 etag".split(),
    ],
    "status": ["fetch_status", "status_code", "http_status", "code"],
    "crawl_rate": [],
    "last_modified": ["lastmod"],
    "importance": ["weight"],
    "_interval": ["retry_interval_seconds"],
    "_status_name": ["status_name"],
}
#: Nutch's statuses of pages that it knows of but has not visited, and of pages that are gone.
_UNVISITED = ("db_unfetched", "db_orphan")
_NUTCH_OUTCOMES = {"db_gone": Outcome.GONE, "db_redir_temp": Outcome.FAILED} | {
    "db_redir_perm": Outcome.FAILED,
    "db_notmodified": Outcome.UNCHANGED,
}
#: The outcome of a page in an exported log that was never visited.
_REFUSED = "refused"


def read_log(
    source: Paths,
    *,
    columns: Mapping[str, str] | None = None,
    ignore_unknown: bool = False,
    progress: Progress | None = None,
) -> CrawlLog:
    """Read a crawl log; visits come out sorted by page and time, without duplicates.

    Args:
        source: A file, a folder or a pattern, or a list of them; ``"-"`` is standard input. CSV and
            JSON lines, also compressed, Parquet, or Arrow.
        columns: What the log calls its columns, by our names, such as ``{"page": "url"}``. The
            names of Common Crawl, Nutch, Scrapy and others are known.
        ignore_unknown: Skip unknown columns instead of rejecting them.
        progress: Called with the bytes read and the size of the files, None if unknown.

    Raises:
        CrawlLogError: The log is invalid; the message says where and why.
    """
    report = progress or no_progress
    visits = Visits.open(source, Naming(columns or {}, ignore_unknown))
    for batch in visits.batches():
        visits.keep(batch)
        report(visits.rows.done, visits.rows.size)
    return visits.log()


@dataclass
class Visits:
    """The visits of a log, while they are read.

    Attributes:
        source: What messages call the log.
        rows: Where the rows come from.
        notes: Remarks on how cells were read.
        kept: Columns of batches that are kept: page, time, outcome and others by name.
        names: The names of pages in batches that are kept, which have their numbers.
    """

    source: str
    rows: Rows
    notes: dict[str, None]
    _stream: Iterator[dict[str, Any]]
    kept: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    names: Numbering = field(default_factory=Numbering)
    _page_type: Any = None

    @classmethod
    def open(cls, source: Paths, naming: Naming) -> "Visits":
        """Start reading a log."""
        inputs = find_inputs(source, CrawlLogError)
        rows, notes = Rows(CrawlLogError), dict[str, None]()
        layout = _layout(lambda remark: notes.setdefault(f"time: {remark}"))
        return cls(inputs_name(inputs), rows, notes, stream_rows(inputs, layout, rows, naming))

    @classmethod
    def of(cls, batches: Iterable[pa.RecordBatch], source: str) -> "Visits":
        """Start reading batches whose columns have our names, as `log_columns` finds them."""
        rows, notes = Rows(CrawlLogError), dict[str, None]()
        layout = _layout(lambda remark: notes.setdefault(f"time: {remark}"))
        return cls(source, rows, notes, stream_batches(batches, layout, rows, source))

    def batches(self) -> Iterator[dict[str, Any]]:
        """Yield columns by name: pages as an Arrow array, the others as arrays.

        Raises:
            CrawlLogError: The log is invalid, or there are no visits in it.
        """
        for columns in self._stream:
            first = self.rows.count - len(columns["page"])
            columns["page"] = self._pages(columns["page"], first)
            yield _with_outcomes(columns)
        if not self.rows.count:
            raise CrawlLogError(self.source, "there are no visits in it")

    def _pages(self, page: pa.Array, first: int) -> pa.Array:
        """Return pages in the type common to all batches: text, or integers of one type."""
        if cells.is_text(page.type):
            blank = pc.index(pc.binary_length(pc.utf8_trim_whitespace(page)), 0).as_py()
            if blank >= 0:
                raise self.rows.error("the cell is empty", first + blank, "page")
        self._page_type = self._page_type or page.type
        if page.type == self._page_type:
            return page
        try:
            return page.cast(self._page_type)
        except pa.ArrowException:
            file = self.rows.files[0].name
            raise self.rows.error(f"pages are {self._page_type} in {file}", None, "page") from None

    def keep(self, batch: dict[str, Any]) -> None:
        """Keep a batch; the name of a page is kept once."""
        batch["page"] = self.names.add(batch["page"])
        for name, column in batch.items():
            self.kept.setdefault(name, []).append(column)

    def log(self) -> CrawlLog:
        """Return the kept batches as a log, and release them."""
        names, self.names = self.names.values(), Numbering()
        columns = {name: np.concatenate(self.kept.pop(name)) for name in list(self.kept)}
        return sorted_visits(self, names, columns, lambda row: row)


def log_columns(table: Named, found: Sequence[str], naming: Naming) -> dict[str, str]:
    """Return what a table calls the columns of a crawl log, by our names.

    Raises:
        CrawlLogError: A column is missing or unknown.
    """
    return choose_columns(table, found, _layout(no_note), naming)


def _layout(note: Note) -> Layout:
    def times(column: pa.Array) -> Ints:
        found = read_times(column, note)
        if (found == NO_TIME).any():
            raise cells.BadCell("the cell is empty", int(np.argmax(found == NO_TIME)))
        return found

    return Layout(
        readers={
            "page": page_names,
            "time": times,
            "changed": cells.read_changed,
            "outcome": cells.read_outcomes,
            "digest": cells.read_digests,
            "status": cells.read_statuses,
            "crawl_rate": cells.read_rates,
            "last_modified": read_times,
            "importance": cells.read_importances,
            "_interval": cells.read_importances,
            "_status_name": _read_status_names,
        },
        required=(("page",), ("time",), ("changed", "outcome", "digest")),
        error_type=CrawlLogError,
        aliases=ALIASES,
        instead_of={
            "digest": ("changed", "outcome"),
            "status": ("outcome", "_status_name"),
        },
        dropped=_never_visited,
    )


def _never_visited(batch: pa.RecordBatch) -> pa.Array | None:
    """Return which rows are of pages that were listed without a visit."""
    for name, words in (("outcome", [_REFUSED]), ("_status_name", list(_UNVISITED))):
        if name in batch.schema.names and cells.is_text(batch.column(name).type):
            column = batch.column(name)
            if pa.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            found = pc.is_in(column, value_set=pa.array(words).cast(column.type))
            return found if pc.any(found).as_py() else None
    return None


def _read_status_names(column: pa.Array) -> Outcomes:
    texts = cells.read_text(column).to_pylist()
    return np.array([_NUTCH_OUTCOMES.get(text, EMPTY) for text in texts], np.int8)


def _with_outcomes(columns: dict[str, Any]) -> dict[str, Any]:
    """Return columns with one outcome per row, derived from all columns that determine it.

    ``outcome`` takes precedence, then ``changed``, then the status of a failed visit. Digests are
    compared later, when the rows of a page are together. Nutch records when a page is due, not when
    it was visited, which is a retry interval earlier.
    """
    if "_interval" in columns:
        interval = columns.pop("_interval") * MICROSECONDS_A_SECOND
        columns["time"] = columns["time"] - np.nan_to_num(interval).astype(np.int64)
    found: Outcomes | np.int8 = EMPTY
    for name in ("changed", "_status_name", "status", "outcome"):
        column = columns.pop(name, None)
        if column is not None:
            found = np.where(column == EMPTY, found, column)
    found = np.broadcast_to(found, len(columns["page"]))
    columns["outcome"] = np.where(found == EMPTY, np.int8(Outcome.FIRST), found)
    return columns


def sorted_visits(
    visits: Visits,
    names: pa.Array,
    columns: dict[str, NDArray[Any]],
    row_of: Callable[[Ints], Ints],
) -> CrawlLog:
    """Return visits sorted by page and time, without duplicates.

    Args:
        visits: Where they come from.
        names: The names of the pages.
        columns: Columns by name, which are removed as they are used: they may fill half of the
            memory. Pages are numbered in order of first appearance.
        row_of: Maps rows of the columns to rows of the log.
    """
    page, time, order = _by_page_and_time(columns.pop("page"), columns.pop("time"), len(names))
    columns = {name: columns.pop(name)[order] for name in list(columns)}
    again = np.flatnonzero((page[1:] == page[:-1]) & (time[1:] == time[:-1])) + 1
    if again.size:
        pairs = row_of(order[again - 1]), row_of(order[again])
        _reject_conflicts(visits.rows, columns, again, pairs, lambda i: names[int(page[again[i]])])
        page, time = np.delete(page, again), np.delete(time, again)
        columns = {name: np.delete(column, again) for name, column in columns.items()}
    if "digest" in columns:
        columns["outcome"] = _compared(page, columns["outcome"], columns.pop("digest"))
    return CrawlLog(
        page=page,
        time=time,
        names=names,
        duplicates=again.size,
        source=visits.source,
        notes=tuple(visits.notes),
        **columns,
    )


def _compared(page: Ints, outcome: Outcomes, digest: Ints) -> Outcomes:
    """Return outcomes by comparing each digest with that of the previous visit.

    A visit without a digest counts as failed.
    """
    undecided = outcome == Outcome.FIRST
    shown = np.flatnonzero(undecided & (digest != NO_DIGEST))
    found = np.where(undecided, np.int8(Outcome.FAILED), outcome)
    again = page[shown[1:]] == page[shown[:-1]]
    same = digest[shown[1:]] == digest[shown[:-1]]
    found[shown] = Outcome.FIRST
    found[shown[1:]] = np.where(
        again, np.where(same, Outcome.UNCHANGED, Outcome.CHANGED), Outcome.FIRST
    )
    return found


def _by_page_and_time(numbers: Numbers, time: Ints, pages: int) -> tuple[Ints, Ints, Ints]:
    """Return sorted pages and times, and the order."""
    starts, order = stable_order(numbers.astype(np.int64), pages)
    sorted_time = time[order]
    sort_groups(starts, sorted_time, order)
    return np.repeat(np.arange(pages), np.diff(starts)), sorted_time, order


def _reject_conflicts(
    rows: Rows,
    columns: dict[str, NDArray[Any]],
    again: Ints,
    pairs: tuple[Ints, Ints],
    name_of: Callable[[int], pa.Scalar],
) -> None:
    """Raise an error if two rows of the same page and time differ."""
    for column in columns.values():
        here, before = column[again], column[again - 1]
        differs = (here != before) & ~(np.isnan(here) & np.isnan(before))
        if differs.any():
            item = int(np.argmax(differs))
            first, second = sorted(int(side[item]) for side in pairs)
            where = f"row {rows.number(first)}"
            if rows.file(first) is not rows.file(second):
                where = f"{rows.file(first).name}, {where}"
            raise rows.error(
                f"the page {quoted(str(name_of(item)))} has the same time in {where}, "
                "and the two rows disagree",
                second,
            )
