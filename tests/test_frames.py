"""Columns of pandas, polars, pyarrow and DuckDB go in as they are, and results come out as such."""

import pydoc
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow.interchange import from_dataframe

import recrawl
from recrawl import allocate, estimate
from recrawl.errors import ArgumentError

PAGES = ["a", "b", "a", "b", "a"]
DAYS = [datetime(2026, 3, day, 6 * day) for day in (1, 1, 2, 3, 3)]  # noqa: DTZ001
#: What a difference of times within each page is: nothing at the first visit.
GAPS = [
    None,
    None,
    timedelta(days=1, hours=6),
    timedelta(days=2, hours=12),
    timedelta(days=1, hours=6),
]
CHANGED = [None, None, True, False, True]
EXPECTED = estimate(["a", "b", "a"], [1.25, 2.5, 1.25], [True, False, True])


def of_numpy() -> tuple[Any, Any, Any]:
    gaps = np.array(GAPS, "timedelta64[us]")
    return np.array(PAGES), gaps, np.array([False, False, True, False, True])


def of_pyarrow() -> tuple[Any, Any, Any]:
    table = pa.table({"page": PAGES, "elapsed": pa.array(GAPS), "changed": CHANGED})
    return table["page"], table["elapsed"], table["changed"]


def of_pandas() -> tuple[Any, Any, Any]:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"page": PAGES, "time": DAYS, "changed": CHANGED})
    return frame.page, frame.groupby("page").time.diff(), frame.changed


def of_pandas_arrow() -> tuple[Any, Any, Any]:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"page": PAGES, "changed": CHANGED}).convert_dtypes()
    gaps = pandas.Series(GAPS, dtype="duration[us][pyarrow]")
    return frame.page.astype("category"), gaps, frame.changed


def of_polars() -> tuple[Any, Any, Any]:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"page": PAGES, "time": DAYS, "changed": CHANGED})
    frame = frame.with_columns(elapsed=polars.col("time").diff().over("page"))
    return frame["page"], frame["elapsed"], frame["changed"]


def of_duckdb() -> tuple[Any, Any, Any]:
    duckdb = pytest.importorskip("duckdb")
    table = pa.table({"page": PAGES, "elapsed": [None, None, 1.25, 2.5, 1.25], "changed": CHANGED})
    database = duckdb.connect()
    database.register("visits", table)
    relation = database.sql("select * from visits")
    return relation.select("page"), relation.select("elapsed"), relation.select("changed")


SOURCES = [of_numpy, of_pyarrow, of_pandas, of_pandas_arrow, of_polars, of_duckdb]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_columns_of_every_library_are_taken(source: Callable[[], tuple[Any, Any, Any]]) -> None:
    found = estimate(*source())
    assert found.page.tolist() == ["a", "b"]
    assert found.rate.tolist() == EXPECTED.rate.tolist()
    assert found.visits.tolist() == [2, 1]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_rates_of_every_library_are_allocated(source: Callable[..., Any]) -> None:
    source()  # skips where the library is missing
    rates: Any
    if source is of_duckdb:
        rates = pytest.importorskip("duckdb").sql("select unnest([1.0, 2.0])::double")
    elif source in (of_pandas, of_polars):
        rates = pytest.importorskip(source.__name__[3:]).Series([1.0, 2.0])
    else:
        rates = pa.chunked_array([[1.0], [2.0]])
    expected = allocate([1.0, 2.0], 2.0).crawl_rate
    assert allocate(rates, 2.0).crawl_rate.tolist() == expected.tolist()


def test_a_gap_in_changed_is_refused_with_its_row() -> None:
    for bits in (
        [True, None, False],
        np.array([True, np.nan, False], np.object_),
        pa.array([True, None, False]),
    ):
        with pytest.raises(ArgumentError, match="changed: row 1 has no value; leave out the row"):
            estimate([1, 1, 1], [1.0, 1.0, 1.0], bits)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="changed: not a column of yes or no"):
        estimate([1, 1], [1.0, 1.0], np.array([True, "yes"], np.object_))


def test_rows_without_a_gap_are_first_visits_and_keep_other_columns_in_step() -> None:
    rates = [9.0, 2.0, 9.0, 3.0]
    found = estimate(
        [5, 5, 7, 5], [np.nan, 1.0, np.nan, 2.0], [0, 1, 0, 0],
        crawl_rate=rates, method=recrawl.LLN(),
    )  # fmt: skip
    expected = estimate([5, 5], [1.0, 2.0], [1, 0], crawl_rate=[2.0, 3.0], method=recrawl.LLN())
    assert found.page.tolist() == [5]
    assert found.rate.tolist() == expected.rate.tolist()


def test_a_log_is_estimated_by_its_columns(tmp_path: Path) -> None:
    rows = "a,1,first b,2,first a,86401,failed a,172801,changed b,86402,unchanged".split()
    text = "\n".join(["page,time,outcome", *rows])
    (tmp_path / "log.csv").write_text(text)
    log = recrawl.read_log(tmp_path / "log.csv")
    np.testing.assert_array_equal(log.elapsed, [np.nan, np.nan, 2.0, np.nan, 1.0])
    assert log.changed.tolist() == [False, False, True, False, False]
    found = estimate(log.page, log.elapsed, log.changed)
    assert found.page.tolist() == [0, 1]
    seen = recrawl.observe(log)
    assert found.rate.tolist() == estimate(seen.page, seen.elapsed, seen.changed).rate.tolist()


def results(tmp_path: Path) -> list[Any]:
    (tmp_path / "log.csv").write_text(
        "page,time,changed\n"
        + "".join(f"<b>{p}</b>,{d * 86400},{d % 2}\n" for p in "ab" for d in range(9))
    )
    return [
        estimate(["<b>a</b>", "b"], [1.0, 2.0], [True, False]),
        allocate([1.0, 2.0], 2.0),
        recrawl.plan(tmp_path / "log.csv", budget=2.0),
    ]


def test_results_are_tables_of_every_library(tmp_path: Path) -> None:
    for result in results(tmp_path):
        table = result.to_arrow()
        assert table.num_rows == 2
        assert table.column_names == list(result.columns())
        assert pa.table(result).equals(table)
        assert from_dataframe(result).column_names == table.column_names
        for name in ("pandas", "polars"):
            pytest.importorskip(name)
            frame = getattr(result, f"to_{name}")()
            assert list(frame.columns) == table.column_names
            assert frame[table.column_names[-1]].to_list() == table[-1].to_pylist()


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ArgumentError, match="polars is not installed: pip install polars"):
        allocate([1.0], 1.0).to_polars()


def test_results_are_short_in_a_line_and_safe_in_a_notebook(tmp_path: Path) -> None:
    for result in results(tmp_path):
        assert len(repr(result)) < 160
        assert repr(result).startswith(f"{type(result).__name__}(2 pages, ")
        shown = result._repr_html_()
        assert "<svg" in shown
        assert "<b>" not in shown
    empty = estimate([], [], [])
    assert "<svg" not in empty._repr_html_()
    assert repr(empty) == "Estimates(0 pages, 0 visits, changes per day: none)"


def test_logs_and_what_is_believed_of_them_are_short_in_a_line(tmp_path: Path) -> None:
    *_, plan = results(tmp_path)
    log = recrawl.read_log(tmp_path / "log.csv")
    assert repr(log) == f"CrawlLog('{tmp_path / 'log.csv'}': 18 visits to 2 pages)"
    assert repr(plan.beliefs).startswith("Beliefs(2 pages, changes per day: ")


@pytest.mark.parametrize("function", [estimate, allocate])
def test_help_fits_a_screen(function: Callable[..., object]) -> None:
    lines = pydoc.plain(pydoc.render_doc(function)).splitlines()
    assert sum(1 + len(line) // 100 for line in lines) <= 52
    assert ": 'ArrayLike'" in lines[2]
