"""Numbers with a unit are converted or refused, never read as plain numbers."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import recrawl
from recrawl.errors import ArgumentError
from recrawl.estimation import staleness, survival
from recrawl.quantities import duration, durations, numbers, rates, times

#: Types say what is usual; here it is not.
API: Any = recrawl
HOURS = [36, 12, 6]
DAYS = [1.5, 0.5, 0.25]
AS_PYTHON = [timedelta(hours=hours) for hours in HOURS]


class Streamed:
    """A column that only speaks Arrow, as some data frames do."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._column = column

    def __arrow_c_stream__(self, schema: object = None) -> object:
        return self._column.__arrow_c_stream__(schema)


class Quantity(float):
    """A number with a unit, as libraries of units have them."""

    @property
    def units(self) -> str:
        return "hour"


def columns() -> list[Any]:
    found: list[Any] = [AS_PYTHON, tuple(AS_PYTHON), np.array(AS_PYTHON), ["36h", "12h", "6h"]]
    found += [np.array(HOURS, "m8[h]").astype(f"m8[{unit}]") for unit in ("m", "s", "ms", "us")]
    found += [np.array(HOURS, "m8[h]").astype("m8[ns]"), np.array([6, 2, 1], "m8[6h]")]
    found += [list(np.array(HOURS, "m8[h]")), np.ma.array(np.array(HOURS, "m8[h]"))]
    arrow = [pa.array(AS_PYTHON, pa.duration(unit)) for unit in ("s", "ms", "us", "ns")]
    found += [*arrow, pa.chunked_array([arrow[0]]), Streamed(pa.chunked_array([arrow[0]]))]
    return [*found, list(arrow[0])]


@pytest.mark.parametrize("column", columns(), ids=lambda column: type(column).__name__)
def test_durations_of_every_kind_are_days(column: Any) -> None:  # noqa: ANN401
    assert durations("elapsed", column).tolist() == DAYS


def test_frames_of_pandas_and_polars_are_understood() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for column in (
        pandas.Series(AS_PYTHON),
        pandas.Series(AS_PYTHON, dtype="duration[us][pyarrow]"),
        pandas.TimedeltaIndex(AS_PYTHON),
        list(pandas.Series(AS_PYTHON)),
        polars.Series(AS_PYTHON),
        polars.Series(AS_PYTHON, dtype=polars.Duration("ns")),
    ):
        assert durations("elapsed", column).tolist() == DAYS
    missing = pandas.Series([pandas.Timedelta(days=1), pandas.NaT])
    assert np.isnan(durations("age", missing)).tolist() == [False, True]
    for dates in (pandas.Series([datetime(2026, 1, 1)]), polars.Series([datetime(2026, 1, 1)])):  # noqa: DTZ001
        with pytest.raises(ArgumentError, match=r"^elapsed: "):
            durations("elapsed", dates)


def test_a_missing_duration_is_nan() -> None:
    columns: list[Any] = [
        np.array([1, "NaT"], "m8[D]"),
        [timedelta(days=1), None],
        pa.array([1, None], pa.duration("s")),
        np.ma.array([1.0, 2.0], mask=[False, True]),
        np.ma.array(np.array([1, 2], "m8[D]"), mask=[False, True]),
    ]
    for column in columns:
        assert np.isnan(durations("age", column)).tolist() == [False, True]


@pytest.mark.parametrize("read", [numbers, rates, durations, times])
@pytest.mark.parametrize(
    "column",
    [
        np.array(["2026-01-01"], "M8[D]"),
        [datetime(2026, 1, 1, tzinfo=UTC)],
        pa.array([1], pa.timestamp("s")),
        [Quantity(4.0)],
        Quantity(4.0),
        [1 + 2j],
        [b"4"],
        ["four"],
        ["4"],
        [[1.0], [1.0, 2.0]],
        np.array([1], "m8[M]"),
        np.array([1], "m8"),
        [object()],
        {"a": 1},
        [10**400],
    ],
    ids=lambda column: type(column).__name__,
)
def test_what_has_no_length_in_days_is_refused(read: Callable[..., Any], column: Any) -> None:  # noqa: ANN401
    with pytest.raises(ArgumentError, match=r"^given: ") as caught:
        read("given", column)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("column", [AS_PYTHON, np.array(HOURS, "m8[h]"), ["6h"]])
def test_a_duration_is_no_rate_and_no_plain_number(column: Any) -> None:  # noqa: ANN401
    for read in (numbers, rates):
        with pytest.raises(ArgumentError, match=r"^given: "):
            read("given", column)


def test_one_number_is_not_a_column() -> None:
    with pytest.raises(ArgumentError, match=r"^half_life: "):
        duration("half_life", [1.0])


def test_estimates_from_durations_are_those_from_days() -> None:
    page, changed = ["a", "b", "a"], [True, False, True]
    plain = API.estimate(page, DAYS, changed, age=[1.0, 0.5, 0.25], crawl_rate=2.0)
    ages = np.array([24, 12, 6], "m8[h]")
    for elapsed in columns():
        found = API.estimate(page, elapsed, changed, age=ages, crawl_rate="2/day")
        assert found.rate.tolist() == plain.rate.tolist()
        seen = API.Observations.of(elapsed, changed, age=ages)
        assert seen.elapsed.tolist() == DAYS
    for method in (API.MLE(), API.GammaFilter(API.Prior(0.5, timedelta(days=3)), half_life="1w")):
        assert API.estimate(page, columns()[0], changed, method=method).rate[0] > 0.1


def test_a_unit_or_a_mask_is_seen_beside_first_visits_too() -> None:
    """Rows without a gap are left out, which must not turn the other columns into plain numbers."""
    gaps, changed = [np.nan, 1.0, 1.0], [False, True, False]
    with pytest.raises(ArgumentError, match=r"^crawl_rate: "):
        recrawl.estimate(["a"] * 3, gaps, changed, crawl_rate=[Quantity(4.0)] * 3)
    masked = np.ma.array([0.0, 0.5, 0.25], mask=[False, False, True])
    found, meant = (
        recrawl.estimate(["a"] * 3, gaps, changed, age=age, method=recrawl.LastModified()).rate
        for age in (masked, [0.0, 0.5, np.nan])
    )
    assert found.tolist() == meant.tolist()


def test_a_tracker_understands_a_duration() -> None:
    one, other = API.Tracker(API.GammaFilter()), API.Tracker(API.GammaFilter())
    one.observe(changed=True, elapsed=timedelta(hours=36), age=np.timedelta64(6, "h"))
    other.observe(changed=True, elapsed=1.5, age=0.25)
    assert one.rate == other.rate


def test_beliefs_and_chances_understand_durations() -> None:
    assert API.Prior(0.5, timedelta(days=10)).rate == 0.05
    elapsed: Any = np.timedelta64(96, "h")
    days: Any = timedelta(days=4)
    assert float(survival(2.0, 4.0, elapsed)) == 0.25
    assert float(staleness(2.0, days, 4.0)) == 0.75


@pytest.mark.parametrize("page", [["a", None], [None], [1.5, 2.0], ["a", float("nan")]])
def test_a_page_without_a_name_is_refused(page: Any) -> None:  # noqa: ANN401
    with pytest.raises(ArgumentError, match=r"^page: row \d is "):
        API.estimate(page, [1.0] * len(page), [True] * len(page))


def test_a_page_is_no_time() -> None:
    with pytest.raises(ArgumentError, match=r"^page: row 0 is "):
        API.estimate(np.array(["2026-01-01"], "M8[D]"), [1.0], [True])


def test_budgets_may_be_written_with_a_unit() -> None:
    assert API.allocate([1.0, 2.0], "24/day").price == API.allocate([1.0, 2.0], 24.0).price
    assert API.freshness_curve([1.0], ["1/day", "2/day"]).tolist() == [0.5, 2 / 3]
    frontier = API.Frontier("48/day", half_life="30d", host_delay=timedelta(seconds=1))
    frontier.add([0, 1], now=timedelta(0), last_visit=0.0)
    assert frontier.take(timedelta(hours=1), 10).size == 1
    world = API.World.poisson(["1/day"] * 5, days="20d")
    assert API.replay(world, API.policy_named("uniform"), "5/day").visits == 100


REFUSED: list[tuple[str, Callable[[], object]]] = [
    ("budget", lambda: API.Frontier("4")),
    ("budget", lambda: API.Frontier("four a day")),
    ("budget", lambda: API.Frontier(None)),
    ("budget", lambda: API.Frontier(timedelta(days=4))),
    ("now", lambda: API.Frontier(1.0).take(datetime(2026, 1, 1, tzinfo=UTC), 1)),
    ("limit", lambda: API.Frontier(1.0).take(0.0, "all")),
    ("visits", lambda: API.Frontier(1.0).spend(None)),
    ("page", lambda: API.Frontier(1.0).add(["a", None], now=0.0)),
    ("importance", lambda: API.Frontier(1.0).add([0], now=0.0, importance=[timedelta(1)])),
    ("last_visit", lambda: API.Frontier(1.0).add([0], now=0.0, last_visit=np.array([0], "M8[s]"))),
    ("change_rate", lambda: API.allocate(np.array([1], "m8[h]"), 1.0)),
    ("cost", lambda: API.allocate([1.0], 1.0, cost=np.array([1], "m8[h]"))),
    ("budget", lambda: API.allocate([1.0], timedelta(days=1))),
    ("freshness", lambda: API.budget_for("half", [1.0])),
    ("elapsed", lambda: API.estimate(["a"], np.array(["2026-01-01"], "M8[D]"), [True])),
    ("half_life", lambda: API.GammaFilter(half_life="soon")),
    ("level", lambda: API.estimate(["a"], [1.0], [True]).interval("95%")),
]


@pytest.mark.parametrize(("argument", "use"), REFUSED, ids=lambda value: str(value)[:20])
def test_what_cannot_be_meant_is_refused(argument: str, use: Callable[[], object]) -> None:
    with pytest.raises(ArgumentError, match=f"^{argument}: ") as caught:
        use()
    assert "\n" not in str(caught.value)
