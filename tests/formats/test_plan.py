"""The columns of a plan, and its times in every format."""

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from recrawl.formats.plan import next_visits, plan_columns
from recrawl.formats.tables import write_table

LAST = np.array([1_767_225_600_000_000] * 4)
RATES = np.array([4.0, 0.0, 1e-6, 1e-300])
LATER = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=1_000_000)
NEXT = ["2026-01-01T06:00:00Z", None, f"{LATER:%Y-%m-%dT%H:%M:%SZ}", None]


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
    ones = np.ones(4)
    columns = plan_columns(
        pa.array(list("abcd")),
        change_rate=ones,
        low=ones,
        high=ones,
        importance=ones,
        crawl_rate=RATES,
        last_visit=LAST,
    )
    write_table(columns, "csv", tmp_path / "csv")
    with (tmp_path / "csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = ["page", "change_rate", "low", "high", "importance", "crawl_rate", "next_visit"]
    assert list(rows[0]) == names
    assert [row["next_visit"] or None for row in rows] == NEXT
    write_table(columns, "json", tmp_path / "json")
    told = json.loads((tmp_path / "json").read_text(encoding="utf-8"))
    assert [row["next_visit"] for row in told] == NEXT
    write_table(columns, "parquet", tmp_path / "parquet")
    table = parquet.read_table(tmp_path / "parquet")
    assert table.column_names == names
    assert table["next_visit"].type == pa.timestamp("ms", "UTC")
    assert table["next_visit"][0].as_py() == datetime(2026, 1, 1, 6, tzinfo=UTC)
