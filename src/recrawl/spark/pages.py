"""On executors: pages as blocks in the cells of a table, from beliefs to the plan.

The columns that determine prices have a separate cell: a pass over the pages moves nothing else,
and Spark handles no single page.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl.errors import InputError
from recrawl.planning.plan import checked_hosts
from recrawl.planning.sampling import host_hashes
from recrawl.spark.believing import BATCH_PAGES
from recrawl.spark.blocks import enlarged, pack, split, unpacked
from recrawl.units import quoted

#: The columns that determine prices,
DEMAND_COLUMNS = ("change_rate", "importance")
#: and those that pages have if hosts have a budget: a number that differs from host to host, and
#: the price at which the host is full, as in `recrawl.allocation.hosts.Hosts`.
HOST_COLUMNS = ("host", "full_low", "full_high", "full_share")
#: The other columns of a page.
REST_COLUMNS = ("page", "low", "high", "last_visit", "observations")
PAGES_SCHEMA = "bucket int, observations long, demand binary, rest binary"


@dataclass(frozen=True)
class PackPages:
    """Turns rows of beliefs into blocks of pages; the default importance is 1.

    Attributes:
        buckets: The number of buckets that blocks are assigned to by host; 0 if hosts do not
            matter.
    """

    buckets: int = 0

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield blocks."""
        for batch in enlarged(batches, BATCH_PAGES):
            at = batch.schema.names.index("importance")
            pages = batch.set_column(at, "importance", batch.column(at).fill_null(1.0))
            if self.buckets:
                yield from self._by_host(pages)
            else:
                yield packed(pages)

    def _by_host(self, pages: Any) -> Iterator[Any]:  # noqa: ANN401 - pyarrow has no types
        checked_hosts(pages.column("page"))
        host = host_hashes(pages.column("page"))
        numbered = pages.append_column("host", pa.array(host.view(np.int64)))
        for bucket, part in split(numbered, host, self.buckets):
            yield packed(part, bucket)


def packed(pages: Any, bucket: int = 0) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return a batch or a table of pages as a block."""
    names = pages.schema.names
    demand = [name for name in (*DEMAND_COLUMNS, *HOST_COLUMNS) if name in names]
    cells = [
        pa.array([bucket], pa.int32()),
        pa.array([pc.sum(pages.column("observations")).as_py()], pa.int64()),
        pa.array([pack(pages.select(demand))], pa.binary()),
        pa.array([pack(pages.select(REST_COLUMNS))], pa.binary()),
    ]
    return pa.record_batch(cells, column_names(PAGES_SCHEMA))


def joined(batches: Iterable[Any], *cells: str) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return all pages of a partition, with the columns of some cells; None if there are none."""
    batches = list(batches)
    tables = [list(unpacked(batches, cell)) for cell in cells]
    if not tables[0]:
        return None
    whole, *others = (pa.concat_tables(parts) for parts in tables)
    for other in others:
        for name in other.column_names:
            whole = whole.append_column(name, other[name])
    return whole


def column_names(schema: str) -> list[str]:
    """Return the names of the columns in a Spark schema.

    >>> column_names("bucket int, block binary")
    ['bucket', 'block']
    """
    return [column.split()[0] for column in schema.split(", ")]


@dataclass(frozen=True)
class Check:
    """Rejects pages that have an importance but are not in the log, or that have two."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the pages, without the columns of the list of importances."""
        for batch in batches:
            two = pc.not_equal(batch.column("_lowest"), batch.column("_highest"))
            _refuse(batch, batch.column("change_rate").is_null(), "is not in the crawl log")
            _refuse(batch, two, "has another importance in another row")
            yield batch.drop_columns(["_lowest", "_highest"])


def _refuse(batch: Any, wrong: Any, problem: str) -> None:  # noqa: ANN401 - pyarrow has no types
    found = batch.column("page").filter(wrong)
    if len(found):
        page = quoted(str(found[0].as_py()))
        raise InputError("importance", f"the page {page} {problem}")
