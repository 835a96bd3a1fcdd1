"""On the driver: estimate beliefs from the rows of a crawl log."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from recrawl.errors import ArgumentError, CrawlLogError
from recrawl.estimation import Prior
from recrawl.estimation.fleet import MAX_PAGES
from recrawl.formats.crawl_log import log_columns
from recrawl.formats.naming import Naming
from recrawl.planning.methods import WITH_PRIOR, check_method, default_prior
from recrawl.planning.parts import NOTHING_LEARNED
from recrawl.planning.plan import LEVEL
from recrawl.planning.sampling import Sample, fleet_prior, lowest
from recrawl.spark.believing import COLUMNS, SAMPLE_SCHEMA, Believe, SamplePages, sample_of
from recrawl.spark.blocks import BLOCK_SCHEMA
from recrawl.spark.observing import EARLIER, SOURCE, Observe
from recrawl.spark.session import DataFrame, collected, mapped, partitions_of


class Believed(NamedTuple):
    """Beliefs that executors have yet to compute.

    Attributes:
        blocks: The observations.
        believe: Turns them into rows of beliefs.
        page_type: Spark's name for the type of pages.
        release: Frees the memory that blocks take.
    """

    blocks: DataFrame
    believe: Believe
    page_type: str
    release: Callable[[], object]

    @property
    def frame(self) -> DataFrame:
        """The beliefs, one row per page."""
        types = ", ".join(f"{name} {kind}" for name, (_, kind) in COLUMNS.items())
        return mapped(self.blocks, self.believe, f"page {self.page_type}, {types}")


def beliefs(
    df: DataFrame,
    *,
    previous: DataFrame | None = None,
    method: str = "gamma",
    prior: str | None = None,
    level: float = LEVEL,
    columns: Mapping[str, str] | None = None,
    ignore_unknown: bool = False,
) -> DataFrame:
    """Estimate how often every page in a crawl log changes.

    Args:
        df: A crawl log, one row per visit, in any order; columns as in the files that
            `recrawl.read_log` reads.
        previous: What this function returned for earlier rows. The result then takes both these and
            the new rows into account, which must be newer. The prior stays the same.
        method: How to estimate change rates: a key of `METHODS`.
        prior: What to expect of a page before its first visit: nothing ("alone"), or what all pages
            of the log ("fleet") or of its host ("host") are like. By default "fleet", if the
            method has a prior.
        level: The level of the intervals.
        columns: The log's names of columns, by our names, such as ``{"page": "url"}``.
        ignore_unknown: Skip unknown columns instead of rejecting them.

    Returns:
        One row per page: page, change_rate, low and high, observations, importance, last_visit; and
        the columns that ``previous`` needs.

    Raises:
        ArgumentError: An argument is invalid.
        CrawlLogError: The log is invalid, or has no observations.
    """
    naming = Naming(columns or {}, ignore_unknown)
    return believe(df, previous, method, prior, level, naming).frame


def believe(
    df: DataFrame,
    previous: DataFrame | None,
    method: str,
    prior: str | None,
    level: float,
    naming: Naming,
) -> Believed:
    """Return beliefs; arguments as for `beliefs`."""
    if previous is not None:
        return _continued(df, previous, method, prior, level, naming)
    prior = default_prior(method) if prior is None else prior
    check_method(method, prior)
    by_host = prior == "host"
    count = partitions_of(df)
    rows = _log_rows(df, naming)
    blocks = _repartitioned(rows, count, Observe(method, count if by_host else 0))
    if by_host:
        blocks = blocks.repartition(count, "bucket")
    if prior == "alone":
        return Believed(blocks, Believe(method, level, None, by_host), page_type(rows), _nothing)
    blocks = blocks.persist()
    fleet = fleet_prior(_sample(blocks, count))
    how = Believe(method, level, fleet, by_host)
    return Believed(blocks, how, page_type(rows), blocks.unpersist)


def _nothing() -> None:
    """Free nothing."""


def _continued(
    df: DataFrame,
    previous: DataFrame,
    method: str,
    prior: str | None,
    level: float,
    naming: Naming,
) -> Believed:
    """Update earlier beliefs with new rows."""
    if method not in WITH_PRIOR:
        raise ArgumentError(
            f"previous: the method {method} needs all rows; only {' and '.join(WITH_PRIOR)} "
            "continue beliefs"
        )
    if prior is not None:
        raise ArgumentError("prior: beliefs that continue previous ones keep their prior")
    missing = [name for name in ("page", *COLUMNS) if name not in previous.columns]
    if missing:
        raise ArgumentError(
            f"previous: there is no column {missing[0]}; give what beliefs returned"
        )
    first = collected(previous.select("shape", "prior_shape", "prior_time").limit(1))
    if not first or first[0]["shape"] is None:
        raise ArgumentError(
            "previous: beliefs with priors of hosts cannot be continued; use the prior fleet"
        )
    shape, time = first[0]["prior_shape"], first[0]["prior_time"]
    kept = None if shape is None else Prior(shape, time)
    rows = _log_rows(df, naming)
    both = rows.unionByName(_earlier(previous), allowMissingColumns=True)
    blocks = _repartitioned(both, partitions_of(df), Observe(method))
    how = Believe(method, level, kept, by_host=False)
    return Believed(blocks, how, page_type(rows), _nothing)


class _Log:
    """A crawl log without a file."""

    def error(self, problem: str, *, column: str | None = None) -> CrawlLogError:
        """Return an error that says what is wrong."""
        return CrawlLogError(SOURCE, problem, column=column)


def _log_rows(df: DataFrame, naming: Naming) -> DataFrame:
    """Return the columns of a crawl log by our names."""
    chosen = log_columns(_Log(), df.columns, naming)
    return df.select(*(df[_quoted(own)].alias(name) for name, own in chosen.items()))


def _quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def _earlier(previous: DataFrame) -> DataFrame:
    """Return earlier beliefs as columns to go with the rows of a log."""
    return previous.select("page", *(previous[name[1:]].alias(name) for name in EARLIER))


def _repartitioned(rows: DataFrame, partitions: int, observe: Observe) -> DataFrame:
    """Return blocks of observations, after repartitioning rows by page."""
    return mapped(rows.repartition(partitions, "page"), observe, BLOCK_SCHEMA)


def page_type(frame: DataFrame) -> str:
    """Return the type of the column page."""
    return str(frame.schema["page"].dataType.simpleString())


def _sample(blocks: DataFrame, partitions: int) -> Sample:
    """Return the pages with the lowest hashes: a few from each partition, or all if needed."""
    share = MAX_PAGES / partitions
    fair = min(MAX_PAGES, int(share + 6.0 * np.sqrt(share)) + 16)
    for most in (fair, MAX_PAGES):
        rows = collected(mapped(blocks, SamplePages(most), SAMPLE_SCHEMA))
        samples = [sample_of(row) for row in rows]
        if not samples:
            raise CrawlLogError(SOURCE, NOTHING_LEARNED)
        found = lowest(samples)
        if all(_is_complete(*pair, found) for pair in zip(rows, samples, strict=True)):
            break
    return found


def _is_complete(row: Any, sample: Sample, found: Sample) -> bool:  # noqa: ANN401 - pyspark's rows
    """Return whether a partition cannot have more of the lowest pages than it returned."""
    gave_all: bool = sample.hashes.size == row["visited"]
    return gave_all or (found.hashes.size == MAX_PAGES and sample.hashes[-1] >= found.hashes[-1])
