"""On executors: turn blocks of observations into samples for a prior, and into rows of beliefs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from recrawl.estimation import Prior
from recrawl.estimation.belief import Belief
from recrawl.formats.cells import NO_DIGEST
from recrawl.hosts import number_hosts
from recrawl.planning.parts import estimator_of
from recrawl.planning.sampling import Sample, host_priors, lowest, name_hashes, sample_pages
from recrawl.spark.blocks import unpacked
from recrawl.spark.observing import STATE, observations_of

#: Pages per batch of output.
BATCH_PAGES = 1 << 16

SAMPLE_SCHEMA = "hashes binary, rows binary, elapsed binary, changed binary, visited long"
#: The columns of beliefs after the page, with their types in Arrow and in Spark.
COLUMNS = {
    "change_rate": (pa.float64(), "double"),
    "low": (pa.float64(), "double"),
    "high": (pa.float64(), "double"),
    "observations": (pa.int64(), "bigint"),
    "importance": (pa.float64(), "double"),
    "last_visit": (pa.timestamp("us", "UTC"), "timestamp"),
    "seen": (pa.bool_(), "boolean"),
    "digest": (pa.int64(), "bigint"),
    "elapsed": (pa.float64(), "double"),
    "shape": (pa.float64(), "double"),
    "time": (pa.float64(), "double"),
    "prior_shape": (pa.float64(), "double"),
    "prior_time": (pa.float64(), "double"),
}


@dataclass(frozen=True)
class SamplePages:
    """Returns the sample of each partition that a prior is learned from.

    Attributes:
        most: The maximum number of pages per partition.
    """

    most: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the sample as one row, and how many pages it was chosen from."""
        samples, visited = list[Sample](), 0
        for batch in batches:
            for table in unpacked([batch]):
                seen = observations_of(table)
                hashes = name_hashes(table["page"].combine_chunks())
                samples.append(sample_pages(seen, hashes, self.most))
                visited += int((np.bincount(seen.page) > 0).sum())
        if visited:
            found = lowest(samples, self.most)
            cells = [pa.array([column.tobytes()], pa.binary()) for column in found]
            names = [*Sample._fields, "visited"]
            yield pa.record_batch([*cells, pa.array([visited])], names)


def sample_of(row: Any) -> Sample:  # noqa: ANN401 - pyspark's rows
    """Return the sample in a row."""
    return Sample(
        np.frombuffer(row["hashes"], np.uint64),
        np.frombuffer(row["rows"], np.int64),
        np.frombuffer(row["elapsed"], np.float64),
        np.frombuffer(row["changed"], np.bool_),
    )


@dataclass(frozen=True)
class Believe:
    """Turns blocks into rows of beliefs.

    Attributes:
        method: The method of estimation.
        level: The level of intervals.
        prior: The prior of all pages, if there is one.
        by_host: Whether to learn a prior for every host; its blocks are in one partition.
    """

    method: str
    level: float
    prior: Prior | None
    by_host: bool

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield beliefs."""
        if self.by_host:
            tables = list(unpacked(batches))
            if tables:
                table = pa.concat_tables(tables)
                yield from self._rows(table.take(pa.array(_by_hash(table))))
            return
        for batch in batches:
            for table in unpacked([batch]):
                yield from self._rows(table)

    def _rows(self, table: Any) -> Iterator[Any]:  # noqa: ANN401 - pyarrow has no types
        page = table["page"].combine_chunks()
        seen = observations_of(table)
        prior = self.prior
        if self.by_host and prior is not None:
            prior = host_priors(seen, name_hashes(page), number_hosts(page)[0], prior)
        estimator = estimator_of(self.method, prior)
        state = estimator.update(_started(estimator, table), seen)
        low, high = estimator.interval(state, self.level)
        found: dict[str, Any] = {
            "change_rate": estimator.rate(state),
            "low": low,
            "high": high,
            "observations": state.visits,
            "importance": _or_null(table["importance"].to_numpy(), np.isnan),
            "last_visit": table["last_visit"],
            "seen": table["seen"],
            "digest": _or_null(table["digest"].to_numpy(), lambda digest: digest == NO_DIGEST),
        }
        if isinstance(state, Belief) and not self.by_host:
            found |= {"elapsed": state.elapsed, "shape": state.shape, "time": state.time}
            if prior is not None:
                shape, time = prior.columns(len(table))
                found |= {"prior_shape": shape, "prior_time": time}
        names = page if pa.types.is_integer(page.type) else page.cast(pa.string())
        arrays = [
            _array(found[name]).cast(kind) if name in found else pa.nulls(len(table), kind)
            for name, (kind, _) in COLUMNS.items()
        ]
        whole = pa.record_batch([names, *arrays], ["page", *COLUMNS])
        for first in range(0, len(whole), BATCH_PAGES):
            yield whole.slice(first, BATCH_PAGES)


def _array(column: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return a NumPy or table column as one Arrow array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else pa.array(column)


def _by_hash(table: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    return np.argsort(name_hashes(table["page"].combine_chunks()), kind="stable")


def _or_null(column: Any, is_missing: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    return pa.array(column, mask=is_missing(column))


def _started(estimator: Any, table: Any) -> Any:  # noqa: ANN401 - any estimator and its state
    """Return the states of pages before the observations of a block."""
    state = estimator.start(len(table))
    if "_shape" not in table.column_names:
        return state
    known = table["_shape"].is_valid().to_numpy()
    columns = []
    for name, column in zip(STATE, state, strict=True):
        earlier = table[f"_{name}"].fill_null(0).to_numpy()
        columns.append(np.where(known, earlier, column).astype(column.dtype))
    return type(state)(*columns)
