"""Plans from Python: from a file or a log that was read, with their columns in every format."""

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import recrawl
from recrawl.errors import ArgumentError, CrawlLogError
from recrawl.formats.tables import write_table
from recrawl.planning.cost import freshness_cost
from recrawl.planning.plan import next_visits

LAST = np.array([1_767_225_600_000_000] * 4)
RATES = np.array([4.0, 0.0, 1e-6, 1e-300])
LATER = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=1_000_000)
NEXT = ["2026-01-01T06:00:00Z", None, f"{LATER:%Y-%m-%dT%H:%M:%SZ}", None]

LOG = "page,time,changed\n" + "".join(
    f"{page},2026-01-{day:02},{day % every == 0:d}\n"
    for page, every in (("https://a.org/x", 2), ("https://A.org:443/y", 5), ("https://b.org/", 9))
    for day in range(1, 21)
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(LOG, encoding="utf-8")
    return path


def test_a_plan_is_made_from_a_file_or_from_a_log_that_was_read(log: Path) -> None:
    plan = recrawl.plan(log, budget=3.0)
    again = recrawl.plan(recrawl.read_log(log), budget=3.0)
    assert plan.crawl_rate.sum() == pytest.approx(3.0)
    assert plan.page.to_pylist() == ["https://a.org/x", "https://A.org:443/y", "https://b.org/"]
    assert plan.crawl_rate.tolist() == again.crawl_rate.tolist()
    assert plan.uniform.freshness <= plan.freshness < 1.0
    assert list(plan.columns()) == [
        *("page", "change_rate", "low", "high", "importance", "crawl_rate", "next_visit")
    ]


def test_a_log_teaches_what_observe_returns(log: Path) -> None:
    seen = recrawl.observe(recrawl.read_log(log))
    assert (seen.pages, seen.rows) == (3, 57)
    assert seen.elapsed.tolist() == [1.0] * 57


def test_importance_is_one_number_per_page(log: Path) -> None:
    plan = recrawl.plan(log, budget=3.0, importance=[1.0, 0.0, 2.0])
    assert plan.crawl_rate[1] == 0.0
    with pytest.raises(ArgumentError, match=r"importance: has shape \(2,\); the log has 3 pages"):
        recrawl.plan(log, budget=3.0, importance=[1.0, 2.0])


def test_spellings_of_a_host_share_its_budget(log: Path) -> None:
    plan = recrawl.plan(log, budget=9.0, host_budget=1.0)
    assert plan.crawl_rate[:2].sum() == pytest.approx(1.0)
    assert plan.saturated_hosts.tolist() == [True, True]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"method": "magic"}, "method: 'magic' is none of naive, "),
        ({"prior": "x"}, "prior: 'x' is none of alone, fleet, host"),
        ({"prior": "host", "method": "mle"}, "prior: the method mle has no prior"),
        ({"visits": "x"}, "visits: 'x' is none of periodic, poisson"),
    ],
)
def test_arguments_are_checked_before_the_log_is_read(
    arguments: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ArgumentError, match=f"^{problem}"):
        recrawl.plan("no such log", budget=1.0, **arguments)
    with pytest.raises(ArgumentError, match=f"^{problem}"):
        freshness_cost("no such log", 0.9, **arguments)


def test_errors_name_the_file_of_a_log_that_was_read(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("page,time,changed\na,1,\n", encoding="utf-8")
    with pytest.raises(CrawlLogError, match=r"log\.csv: no page was seen twice"):
        recrawl.plan(recrawl.read_log(path), budget=1.0)


def test_a_freshness_costs_what_its_plan_brings(log: Path) -> None:
    cost = freshness_cost(log, 0.9)
    assert recrawl.plan(log, budget=cost.target.visits).freshness == pytest.approx(0.9)
    assert cost.planned.freshness >= cost.as_logged.freshness


def test_the_next_visit_is_a_gap_after_the_last_one_unless_there_is_none() -> None:
    found = next_visits(LAST, RATES)
    assert found.type == pa.timestamp("s", "UTC")
    assert found.is_null().to_pylist() == [False, True, False, True]
    assert found[0].as_py() == datetime(2026, 1, 1, 6, tzinfo=UTC)


def test_the_calendar_ends_where_a_log_ends() -> None:
    almost = np.array([253_402_300_800 - 86_400]) * 1_000_000
    assert next_visits(almost, np.array([1.0])).to_pylist() == [None]
    assert str(next_visits(almost, np.array([1.001]))[0].as_py())[:10] == "9999-12-31"


def test_times_are_iso_8601_in_text_and_typed_in_parquet(tmp_path: Path) -> None:
    columns = {"page": pa.array(list("abcd")), "next_visit": next_visits(LAST, RATES)}
    write_table(columns, "csv", tmp_path / "csv")
    with (tmp_path / "csv").open(encoding="utf-8", newline="") as file:
        assert [row["next_visit"] or None for row in csv.DictReader(file)] == NEXT
    write_table(columns, "json", tmp_path / "json")
    written = json.loads((tmp_path / "json").read_text(encoding="utf-8"))
    assert [row["next_visit"] for row in written] == NEXT
    write_table(columns, "parquet", tmp_path / "parquet")
    table = parquet.read_table(tmp_path / "parquet")
    assert table["next_visit"].type == pa.timestamp("ms", "UTC")
    assert table["next_visit"][0].as_py() == datetime(2026, 1, 1, 6, tzinfo=UTC)


def visits_per_day(folder: Path, page: Any, day: Any) -> float:  # noqa: ANN401 - NumPy arrays
    """Give how many visits per day a log is said to have."""
    time = (np.asarray(day) * 86_400e6).astype("datetime64[us]")
    changed = np.arange(time.size) % 3 == 0
    write_table(
        {"page": page, "time": time, "changed": changed.astype(int)},
        "parquet",
        folder / "log.parquet",
    )
    return freshness_cost(folder / "log.parquet", 0.5).as_logged.visits


def test_a_log_has_as_many_visits_per_day_as_it_has_visits_and_days(tmp_path: Path) -> None:
    """Visits at random: pages' own first and last visits are closer than those of the log."""
    rng = np.random.default_rng(7)
    page = rng.integers(4_000, size=60_000)
    day = np.sort(rng.uniform(0.0, 60.0, page.size))
    day[[0, -1]] = 0.0, 60.0
    assert visits_per_day(tmp_path, page, day) == pytest.approx(60_000 / 60)


def test_visits_at_even_intervals_are_counted_wherever_each_page_begins(tmp_path: Path) -> None:
    """Each page every five days, some of them since the first day, others since the fifth."""
    page = np.repeat(np.arange(500), 12)
    day = np.linspace(0.0, 5.0, 500)[page] + 5.0 * np.tile(np.arange(12), 500)
    assert visits_per_day(tmp_path, page, day) == pytest.approx(500 / 5)


def test_pages_that_are_all_visited_at_once_are_visited_as_often_as_that(tmp_path: Path) -> None:
    """Four rounds, a week apart, take three weeks but stand for four."""
    page, day = np.tile(np.arange(50), 4), np.repeat([0.0, 7.0, 14.0, 21.0], 50)
    assert visits_per_day(tmp_path, page, day) == pytest.approx(50 / 7)
