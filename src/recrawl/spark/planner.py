"""On the driver: from a crawl log or beliefs to a plan."""

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
from recrawl.spark import pricing
from recrawl.spark.learning import believe, page_type
from recrawl.spark.observing import SOURCE
from recrawl.spark.pricing import DEMAND_COLUMNS, HOST_COLUMNS, AddUp, SampleDemand, Total, Write
from recrawl.spark.search import Model, find_prices
from recrawl.spark.session import DataFrame, collected, mapped, partitions_of

_PAGE_COLUMNS = ("change_rate", "low", "high", "observations", "importance")


@dataclass(frozen=True)
class Wanted:
    """What a plan is asked for, but for its tables; attributes as the arguments of `plan`."""

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
        passes: How many passes over the pages the price took, one for the sample included.
        kind: POISSON or PERIODIC.
        cached: The pages, which Spark keeps.
    """

    frame: DataFrame
    budget: float
    pages: int
    passes: int
    kind: int
    cached: DataFrame

    def totals(self) -> dict[str, float]:
        """Return visits per day, and the freshness of the plan and of equal rates, by name."""
        equal = self.budget / self.pages
        rows = collected(
            mapped(
                self.frame.select("change_rate", "importance", "crawl_rate"),
                Total(self.kind, equal),
                pricing.TOTAL_SCHEMA,
            )
        )
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
        df: A crawl log, as for `beliefs`; or what `beliefs` returned, and then the last five
            arguments do not matter.
        budget: Visits to all pages together: a number per day, or a text such as "1000/day".
        importance: How much the freshness of each page counts: a table with the columns page and
            importance; 1 for pages that it does not have. By default the column importance of the
            log, and 1 where it says nothing.
        host_budget: The most visits to any one host: a number per day, or a text.
        visits: Whether visits to a page are evenly spaced ("periodic") or random ("poisson").
        previous: As for `beliefs`, and likewise the rest.
        method: How to estimate change rates.
        prior: What to expect of a page before its first visit.
        columns: What the log calls its columns, by our names.
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
    believed, release = df, None
    if "change_rate" not in df.columns:
        believed, release = believe(df, previous, wanted.method, wanted.prior, LEVEL, wanted.naming)
    pages = _weighted(believed, importance)
    if per_host is not None:
        pages = _by_host(pages, kind, per_host)
    pages = pages.persist()
    search = _Search(pages, kind, per_host)
    prices = search.prices(total)
    if release is not None:
        release()
    schema = (
        f"page {page_type(pages)}, change_rate double, low double, high double, "
        "importance double, crawl_rate double, next_visit timestamp"
    )
    frame = mapped(pages, Write(kind, per_host, prices), schema)
    return Planned(frame, total, search.pages, search.passes, kind, pages)


def _budget(name: str, value: float | str) -> float:
    found = as_budget(name, value)  # type: ignore[arg-type]
    if found <= 0.0:
        raise ArgumentError(f"{name}: {value!r} allows no visits")
    return found


def _weighted(pages: DataFrame, importance: DataFrame | None) -> DataFrame:
    """Return pages with the importance that counts."""
    from pyspark.sql.functions import coalesce, lit, max, min  # noqa: A004

    pages = pages.select("page", *_PAGE_COLUMNS, "last_visit")
    if importance is not None:
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
        checked = joined.select("page", *_PAGE_COLUMNS, "last_visit", "_lowest", "_highest")
        pages = mapped(checked, pricing.Check(), _schema(pages))
    return pages.withColumn("importance", coalesce(pages["importance"], lit(1.0)))


def _schema(frame: DataFrame, more: str = "") -> str:
    """Return the schema of a table of pages as text."""
    fields = (f"{field.name} {field.dataType.simpleString()}" for field in frame.schema)
    return ", ".join([*fields, more] if more else fields)


def _by_host(pages: DataFrame, kind: int, host_budget: float) -> DataFrame:
    """Return pages dealt by host, with the prices at which hosts are full."""
    numbered = mapped(pages, pricing.NumberHosts(), _schema(pages, "host bigint"))
    dealt = numbered.repartition(partitions_of(pages), "host")
    more = ", ".join(f"{name} double" for name in HOST_COLUMNS[1:])
    return mapped(dealt, pricing.FindFullPrices(kind, host_budget), _schema(dealt, more))


class _Search:
    """The search for the price on cached pages.

    Attributes:
        pages: The number of pages.
        passes: How many passes it took so far.
    """

    def __init__(self, frame: DataFrame, kind: int, host_budget: float | None) -> None:
        self._kind, self._host_budget = kind, host_budget
        self._names = [*DEMAND_COLUMNS, *(HOST_COLUMNS if host_budget is not None else ())]
        self._frame = frame
        self.pages = self.passes = 0

    def prices(self, budget: float) -> PricePair | None:
        """Return the price at which the pages spend a budget; None if no visit gains anything."""
        most = max(1, SAMPLE // partitions_of(self._frame))
        sampled = self._frame.select(*self._names, "observations")
        rows = collected(
            mapped(sampled, SampleDemand(most, self._host_budget), pricing.SAMPLE_SCHEMA)
        )
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
        found = pricing.pages_of(sample, self._kind, self._host_budget)
        return Model(found, len(sample) / self.pages)

    def _demand(self, prices: tuple[float, ...]) -> tuple[Floats, Floats]:
        """Return what all pages demand at some prices, and its fall, after a pass over them."""
        self.passes += 1
        added = AddUp(self._kind, self._host_budget, prices)
        rows = collected(mapped(self._frame.select(*self._names), added, pricing.SUMS_SCHEMA))
        sums = (
            [np.frombuffer(row[name], np.float64) for row in rows] for name in ("demand", "fall")
        )
        demand, fall = (
            np.array([math.fsum(part) for part in zip(*found, strict=True)]) for found in sums
        )
        return demand, fall
