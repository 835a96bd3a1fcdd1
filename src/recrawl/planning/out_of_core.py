"""Process logs larger than memory: visits are partitioned by page into temporary files.

    batches ──▶ too large? ──no──▶ kept, and folded at once
                    │ yes
                    ▼
    partitioned by page   ──▶ each file: sort, observe ──▶ sample ──▶ prior
                                          │                            │
                                          ▼                            ▼
                              observations of each file ──▶ beliefs, in the order of the log

The sample that a prior is learned from does not depend on the partitions, and pages come out in
their order in the log: the numbers are identical, to the last bit, to those computed in memory.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl.errors import CrawlLogError
from recrawl.estimation import Observations, Prior
from recrawl.formats.crawl_log import Visits
from recrawl.formats.spill import Part, Spill, Stash, check_disk
from recrawl.hosts import number_hosts
from recrawl.kernels.hashing import Hashes
from recrawl.kernels.jit import Floats, Ints
from recrawl.kernels.texts import scatter_texts
from recrawl.planning.memory import Memory, release_unused, share_left
from recrawl.planning.parts import (
    NOTHING_LEARNED,
    Believed,
    PageFacts,
    believed,
    estimator_of,
    nothing_learned,
    observed,
    page_facts,
)
from recrawl.planning.sampling import (
    Sample,
    fleet_prior,
    host_hashes,
    host_priors,
    lowest,
    name_hashes,
    sample_pages,
)
from recrawl.records import LogFacts

if TYPE_CHECKING:
    from recrawl.planning.beliefs import Options, Progress

Advance = Callable[[int, int | None], object]

#: The facts of no pages.
_EMPTY = np.empty(0, np.int64)
NOTHING = PageFacts(_EMPTY, _EMPTY, _EMPTY, None)
#: The names of columns that observations may have.
_COLUMNS = ("elapsed", "changed", "crawl_rate", "age")


def spill_rest(
    visits: Visits, memory: Memory, files: ExitStack, advance: Advance, *, by_host: bool = False
) -> Spill | None:
    """Read a log; if it takes too much memory, partition it into temporary files.

    Args:
        visits: The log. If it is not too large, all its visits are kept there.
        memory: How much memory it may take.
        files: Closes temporary files in the end.
        advance: Called with the rows read, and about how many there are.
        by_host: Whether to keep the pages of a host together.

    Returns:
        The temporary files, or None if all visits are kept.

    Raises:
        OutputError: The disk is too small for them.
    """
    spill: Spill | None = None
    for batch in visits.batches():
        if spill is None and memory.is_exceeded(visits.names, visits.rows):
            stored = sum(column.nbytes for column in batch.values()) / len(batch["page"])
            expected = int(visits.rows.count * share_left(visits.rows))
            check_disk(int(expected * stored))
            hashes_of = host_hashes if by_host else name_hashes
            spill = Spill(visits, files, expected, hashes_of)
        if spill is None:
            visits.keep(batch)
        else:
            spill.add(batch)
        rows = visits.rows
        advance(rows.count, int(rows.count * share_left(rows)) if rows.size else None)
    if spill is not None:
        spill.flush()
    return spill


@dataclass
class _Folded:
    """The results of one file; its observations are in another temporary file.

    Attributes:
        lengths: The bytes of each page's name; 0 if pages are numbers.
        first_row: The first row of each in the log.
        facts: What the log says about them.
        rows: How many observations each has.
        host: The host of each, numbered within the part, if it is needed,
        hashes: and the hash of its name.
        sample: Those that the prior of all pages may be learned from.
        position: The position of each among all pages.
    """

    lengths: Ints
    first_row: Ints
    facts: PageFacts
    rows: Ints
    host: Ints | None
    hashes: Hashes | None
    sample: Sample | None
    position: Ints


def believe_spilled(
    visits: Visits,
    spill: Spill,
    files: ExitStack,
    options: "Options",
    progress: "Progress",
) -> dict[str, Any]:
    """Return the attributes of `Beliefs` about the pages of a log in temporary files.

    Raises:
        CrawlLogError: The log is invalid, has no observations, or lacks what the method needs.
        OutputError: The disk is full.
    """
    stash, names_of, parts = Stash(files), Stash(files), list[_Folded]()
    sample: Sample | None = None
    duplicates = done = 0
    if spill.first == spill.last:
        raise CrawlLogError(visits.source, NOTHING_LEARNED)
    with progress("Folding") as advance:
        for part in spill.parts():
            names_of.put(len(parts), {"page": part.log.names})
            parts.append(_folded(len(parts), part, options, stash))
            sample = _joined([sample, parts[-1].sample])
            parts[-1].sample = None
            duplicates += part.log.duplicates
            done += part.log.page.size + part.log.duplicates
            advance(done, spill.rows)
    release_unused()
    if not any(one.rows.any() for one in parts):
        pages = sum(one.rows.size for one in parts)
        raise CrawlLogError(visits.source, nothing_learned(spill.rows - duplicates, pages))
    _number_pages(parts)
    fleet = None if sample is None else fleet_prior(sample)
    names, facts = _names_in_order(parts, names_of), _facts_in_order(parts)
    release_unused()
    with progress("Estimating") as advance:
        found = _believed(parts, stash, options, fleet, advance)
    release_unused()
    known = LogFacts(
        visits.source,
        len(names),
        spill.rows - duplicates,
        spill.first,
        spill.last,
        duplicates,
        tuple(visits.notes),
    )
    return {
        "facts": known,
        "names": names,
        "change_rate": found.change_rate,
        "observations": found.observations,
        "pages": facts,
        "interval": _kept_interval(found, options.level),
    }


def _kept_interval(
    found: Believed, level: float | None
) -> Callable[[float], tuple[Floats, Floats]]:
    def interval(asked: float) -> tuple[Floats, Floats]:
        if asked != level or found.low is None or found.high is None:
            raise ValueError(f"the intervals at {asked} were not kept")
        return found.low, found.high

    return interval


def _folded(number: int, part: Part, options: "Options", stash: Stash) -> _Folded:
    """Process the visits of a file, and write their observations to another."""
    log = part.log
    seen = observed(log, options.method)
    columns = {name: getattr(seen, name) for name in _COLUMNS}
    stash.put(number, {name: values for name, values in columns.items() if values is not None})
    rows = np.bincount(seen.page, minlength=log.pages)
    hashes = None if options.prior == "alone" else name_hashes(log.names)
    by_host, nowhere = options.prior == "host", np.empty(0, np.int64)
    is_text = not pa.types.is_integer(log.names.type)
    return _Folded(
        pc.binary_length(log.names).to_numpy() if is_text else nowhere,
        part.first_row,
        page_facts(log),
        rows,
        host=number_hosts(log.names)[0] if by_host else None,
        hashes=hashes if by_host else None,
        sample=None if hashes is None else sample_pages(seen, hashes),
        position=nowhere,
    )


def _number_pages(parts: Sequence[_Folded]) -> None:
    """Set the position of each page among all, in order of first appearance in the log."""
    first_row = np.concatenate([one.first_row for one in parts])
    # Each part is already in order, which a stable sort exploits.
    order = np.argsort(first_row, kind="stable")
    del first_row
    position = np.empty(order.size, np.int64)
    position[order] = np.arange(order.size)
    for one, here in zip(parts, _spans(parts), strict=True):
        one.position, one.first_row = position[here], np.empty(0, np.int64)


def _spans(parts: Sequence[_Folded]) -> list[slice]:
    ends = np.cumsum([0, *(one.rows.size for one in parts)]).tolist()
    return [slice(low, high) for low, high in pairwise(ends)]


def _in_order(parts: Sequence[_Folded], columns: Iterable[Any], dtype: Any) -> Any:  # noqa: ANN401
    """Combine the columns of all parts into one column of all pages."""
    out = np.empty(sum(one.rows.size for one in parts), dtype)
    for one, column in zip(parts, columns, strict=True):
        out[one.position] = column
    return out


def _facts_in_order(parts: Sequence[_Folded]) -> PageFacts:
    found: list[Any] = []
    for name in PageFacts._fields:
        columns = [getattr(one.facts, name) for one in parts]
        found.append(None if columns[0] is None else _in_order(parts, columns, columns[0].dtype))
    for one in parts:
        # No longer needed, and as large as the result.
        one.facts, one.lengths = NOTHING, NOTHING.last_visit
    return PageFacts(*found)


def _names_in_order(parts: Sequence[_Folded], names: Stash) -> Any:  # noqa: ANN401
    """Return the names of all pages, read from the files one part at a time."""
    first = names.take(0)["page"]
    if pa.types.is_integer(first.type):
        numbers = (names.take(number)["page"].to_numpy() for number in range(len(parts)))
        return pa.array(_in_order(parts, numbers, first.type.to_pandas_dtype()))
    ends = np.zeros(sum(one.rows.size for one in parts) + 1, np.int64)
    for one in parts:
        ends[1 + one.position] = one.lengths
    np.cumsum(ends, out=ends)
    characters = np.empty(int(ends[-1]), np.uint8)
    for number, one in enumerate(parts):
        scatter_texts(names.take(number)["page"], one.position, ends, characters)
        names.drop(number)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(characters)]
    return pa.Array.from_buffers(pa.large_string(), ends.size - 1, buffers)


def _observations(one: _Folded, number: int, stash: Stash) -> Observations:
    columns = {
        name: column.to_numpy(zero_copy_only=False) for name, column in stash.take(number).items()
    }
    page = np.repeat(np.arange(one.rows.size), one.rows)
    return Observations(one.rows.size, page, **columns)


def _joined(samples: list[Sample | None]) -> Sample | None:
    """Combine the samples of several parts."""
    known = [sample for sample in samples if sample is not None]
    return lowest(known) if known else None


def _prior(one: _Folded, seen: Observations, fleet: Prior | None) -> Prior | None:
    if fleet is None or one.host is None or one.hashes is None:
        return fleet
    return host_priors(seen, one.hashes, one.host, fleet)


def _believed(
    parts: Sequence[_Folded],
    stash: Stash,
    options: "Options",
    fleet: Prior | None,
    advance: Advance,
) -> Believed:
    """Estimate part by part; return columns of all pages."""
    pages = sum(one.position.size for one in parts)
    asked = options.level is not None
    found = Believed(
        np.empty(pages),
        np.empty(pages, np.int64),
        np.empty(pages) if asked else None,
        np.empty(pages) if asked else None,
    )
    total, done = sum(int(one.rows.sum()) for one in parts), 0
    for number, one in enumerate(parts):
        seen = _observations(one, number, stash)
        estimator = estimator_of(options.method, _prior(one, seen, fleet))
        here = believed(seen, estimator, options.level)
        for column, values in zip(found, here, strict=True):
            if column is not None and values is not None:
                column[one.position] = values
        stash.drop(number)
        one.position = one.rows = NOTHING.last_visit
        done += seen.rows
        advance(done, total)
    return found
