"""On the driver: make a plan from a crawl log or beliefs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from recrawl.allocation.inputs import as_budget, kind_of
from recrawl.allocation.one_budget import SAMPLE
from recrawl.allocation.price_search import PricePair
from recrawl.errors import ArgumentError, CrawlLogError, InputError
from recrawl.formats.naming import Naming
from recrawl.kernels.jit import Floats
from recrawl.planning.methods import SPACINGS, Spacing, check_choice
from recrawl.planning.parts import NOTHING_LEARNED
from recrawl.planning.plan import LEVEL
from recrawl.spark.learning import Believed, believe, page_type
from recrawl.spark.observing import SOURCE
from recrawl.spark.pages import PAGES_SCHEMA, Check, PackPages
from recrawl.spark.pricing import (
    SAMPLE_SCHEMA,
    SUMS_SCHEMA,
    TOTAL_SCHEMA,
    AddUp,
    FindFullPrices,
    SampleDemand,
    Total,
    Write,
    pages_of,
)
from recrawl.spark.search import Model, find_prices
from recrawl.spark.session import DataFrame, Then, collected, mapped, partitions_of

_PAGE_COLUMNS = ("page", "change_rate", "low", "high", "observations", "importance", "last_visit")


@dataclass(frozen=True)
class Wanted:
    """The parameters of a plan, without its tables; attributes as the arguments of `plan`."""

    budget: float | str
    host_budget: float | str | None = None
    visits: Spacing = "periodic"
    method: str = "gamma"
    prior: str | None = None
    naming: Naming = field(default_factory=Naming)


@dataclass
class Planned:
    """A plan, and how it was found.

    Attributes:
        frame: The plan.
        budget: Visits per day.
        pages: The number of pages.
        passes: How many passes over the pages the price took, including one for the sample.
        cached: The pages, which Spark caches,
        write: and what turns them into the plan.
    """

    frame: DataFrame
    budget: float
    pages: int
    passes: int
    cached: DataFrame
    write: Write

    def totals(self) -> dict[str, float]:
        """Return visits per day, and the freshness of the plan and of equal rates, by name."""
        total = Total(self.write, self.budget / self.pages)
        rows = collected(mapped(self.cached.select("demand"), total, TOTAL_SCHEMA))
        weight, fresh, alike, used = (
            math.fsum(row[name] for row in rows) for name in ("weight", "fresh", "alike", "used")
        )
        fresh, alike = fresh / weight, alike / weight
        return {"budget": self.budget, "visits": used, "freshness": fresh, "alike": alike}


def plan(
    df: DataFrame,
    *,
    budget: float | str,
    importance: DataFrame | None = None,
    host_budget: float | str | None = None,
    visits: Spacing = "periodic",
    previous: DataFrame | None = None,
    method: str = "gamma",
    prior: str | None = None,
    columns: Mapping[str, str] | None = None,
    ignore_unknown: bool = False,
) -> DataFrame:
    """Plan how often to visit every page in a crawl log, so that the copy is freshest.

    Args:
        df: A crawl log, as for `beliefs`; or what `beliefs` returned, in which case the last five
            arguments are ignored.
        budget: Visits to all pages together: a number per day, or a text such as "1000/day".
        importance: How much the freshness of each page counts: a table with the columns page and
            importance; 1 for pages that it does not have. By default the column importance of the
            log, and 1 where it is empty.
        host_budget: The maximum visits to any one host: a number per day, or a text.
        visits: Whether visits to a page are evenly spaced ("periodic") or random ("poisson").
        previous: As for `beliefs`, like the remaining arguments.
        method: How to estimate change rates.
        prior: What to expect of a page before its first visit.
        columns: The log's names of columns, by our names.
        ignore_unknown: Skip unknown columns instead of rejecting them.

    Returns:
        One row per page: page, change_rate, low and high (of the 95 % interval), importance,
        crawl_rate in visits per day, and next_visit, null for a page that gets no visits.

    Raises:
        ArgumentError: An argument is invalid, or hosts have a budget but a page has no host.
        InputError: A table is invalid.
    """
    naming = Naming(columns or {}, ignore_unknown)
    wanted = Wanted(budget, host_budget, visits, method, prior, naming)
    return make_plan(df, wanted, importance, previous).frame


def make_plan(
    df: DataFrame,
    wanted: Wanted,
    importance: DataFrame | None = None,
    previous: DataFrame | None = None,
) -> Planned:
    """Return a plan and how it was found; tables as for `plan`."""
    check_choice("visits", wanted.visits, SPACINGS)
    kind = kind_of(wanted.visits, "freshness")
    total, limit = _budget("budget", wanted.budget), wanted.host_budget
    per_host = None if limit is None else _budget("host_budget", limit)
    believed = None
    if "change_rate" not in df.columns:
        believed = believe(df, previous, wanted.method, wanted.prior, LEVEL, wanted.naming)
    buckets = 0 if per_host is None else partitions_of(df)
    pages = _pages(df, believed, importance, PackPages(buckets))
    if per_host is not None:
        by_host = pages.repartition(buckets, "bucket")
        pages = mapped(by_host, FindFullPrices(kind, per_host), PAGES_SCHEMA)
    pages = pages.persist()
    search = _Search(pages, kind, per_host)
    write = Write(kind, per_host, search.prices(total))
    page = page_type(df) if believed is None else believed.page_type
    if believed is not None:
        believed.release()
    schema = (
        f"page {page}, change_rate double, low double, high double, "
        "importance double, crawl_rate double, next_visit timestamp"
    )
    frame = mapped(pages, write, schema)
    return Planned(frame, total, search.pages, search.passes, pages, write)


def _budget(name: str, value: float | str) -> float:
    found = as_budget(name, value)  # type: ignore[arg-type]
    if found <= 0.0:
        raise ArgumentError(f"{name}: {value!r} allows no visits")
    return found


def _pages(
    df: DataFrame, believed: Believed | None, importance: DataFrame | None, pack: PackPages
) -> DataFrame:
    """Return blocks of pages, from beliefs yet to be computed or from a table of beliefs."""
    if believed is not None and importance is None:
        # In one step: Spark handles no row of a page before the plan.
        return mapped(believed.blocks, Then(believed.believe, pack), PAGES_SCHEMA)
    rows = (df if believed is None else believed.frame).select(*_PAGE_COLUMNS)
    return mapped(rows if importance is None else _weighted(rows, importance), pack, PAGES_SCHEMA)


def _weighted(pages: DataFrame, importance: DataFrame) -> DataFrame:
    """Return pages with their importance from another table."""
    from pyspark.sql.functions import max, min  # noqa: A004

    missing = [name for name in ("page", "importance") if name not in importance.columns]
    if missing:
        raise InputError("importance", f"there is no column '{missing[0]}'")
    listed = importance.select(
        importance["page"].cast(page_type(pages)), importance["importance"].cast("double")
    )
    bounds = listed.groupBy("page").agg(
        min("importance").alias("_lowest"), max("importance").alias("_highest")
    )
    joined = pages.drop("importance").join(bounds, "page", "full")
    joined = joined.withColumn("importance", joined["_lowest"])
    fields = (f"{field.name} {field.dataType.simpleString()}" for field in pages.schema)
    return mapped(joined.select(*_PAGE_COLUMNS, "_lowest", "_highest"), Check(), ", ".join(fields))


class _Search:
    """The search for the price on cached pages.

    Attributes:
        pages: The number of pages.
        passes: How many passes it took so far.
    """

    def __init__(self, frame: DataFrame, kind: int, host_budget: float | None) -> None:
        self._kind, self._host_budget = kind, host_budget
        self._frame = frame
        self.pages = self.passes = 0

    def prices(self, budget: float) -> PricePair | None:
        """Return the price at which the pages spend a budget; None if no visit gains anything."""
        most = max(1, SAMPLE // partitions_of(self._frame))
        sampled = self._frame.select("observations", "demand")
        rows = collected(mapped(sampled, SampleDemand(most, self._host_budget), SAMPLE_SCHEMA))
        self.passes += 1
        self.pages = sum(row["pages"] for row in rows)
        if not sum(row["observations"] for row in rows):
            raise CrawlLogError(SOURCE, NOTHING_LEARNED)
        if not math.fsum(row["weight"] for row in rows) > 0.0:
            raise InputError(SOURCE, "no page has an importance above 0", column="importance")
        if not sum(row["gaining"] for row in rows):
            return None
        return find_prices(self._demand, self._model(rows), budget)

    def _model(self, rows: list[Any]) -> Model:
        tables = [ipc.open_stream(row["sample"]).read_all() for row in rows]
        if self._host_budget is None:
            shares = [len(one) / row["pages"] for one, row in zip(tables, rows, strict=True)]
            steps = [max(1, round(share / min(shares))) for share in shares]
            tables = [
                one.take(pa.array(np.arange(0, len(one), step)))
                for one, step in zip(tables, steps, strict=True)
            ]
        sample = pa.concat_tables(tables)
        found = pages_of(sample, self._kind, self._host_budget)
        return Model(found, len(sample) / self.pages)

    def _demand(self, prices: tuple[float, ...]) -> tuple[Floats, Floats]:
        """Compute what all pages demand at some prices, and its fall, in one pass over them."""
        self.passes += 1
        added = AddUp(self._kind, self._host_budget, prices)
        rows = collected(mapped(self._frame.select("demand"), added, SUMS_SCHEMA))
        sums = (
            [np.frombuffer(row[name], np.float64) for row in rows] for name in ("demand", "fall")
        )
        demand, fall = (
            np.array([math.fsum(part) for part in zip(*found, strict=True)]) for found in sums
        )
        return demand, fall
