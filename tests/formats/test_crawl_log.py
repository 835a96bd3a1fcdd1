"""Crawl logs of every kind, read and compared with what plain Python reads."""

import csv
import gzip
import io
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from recrawl.formats.crawl_log import read_log
from recrawl.records import NO_TIME, CrawlLog, Outcome
from recrawl.units import parse_time

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def microseconds(at: datetime) -> int:
    return (at - EPOCH) // timedelta(microseconds=1)


def log_of(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def rows(visits: CrawlLog) -> list[tuple[Any, int, int]]:
    names = visits.names.to_pylist()
    return [
        (names[page], int(at), int(outcome))
        for page, at, outcome in zip(visits.page, visits.time, visits.outcome, strict=True)
    ]


PLAIN = "page,time,changed\nb,2026-01-01,\na,2026-01-02,\nb,2026-01-03,1\na,2026-01-03,0\n"


def test_visits_come_sorted_by_first_appearance_and_time(tmp_path: Path) -> None:
    visits = read_log(log_of(tmp_path / "log.csv", PLAIN))
    day = 86_400 * 10**6
    start = microseconds(datetime(2026, 1, 1, tzinfo=UTC))
    assert rows(visits) == [
        ("b", start, Outcome.FIRST),
        ("b", start + 2 * day, Outcome.CHANGED),
        ("a", start + day, Outcome.FIRST),
        ("a", start + 2 * day, Outcome.UNCHANGED),
    ]
    assert visits.crawl_rate is None
    assert visits.last_modified is None
    assert visits.importance is None
    assert visits.duplicates == 0


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.replace("\n", "\r\n"),
        "\ufeff" + PLAIN,
        PLAIN.rstrip("\n"),
        PLAIN + "\n\n",
        PLAIN.replace("b,", "\nb,").replace("a,", ",,\na,"),
        PLAIN.replace(",", " , ").replace("b ", "b").replace("a ,", "a,"),
        '"page","time","changed"\n' + PLAIN.partition("\n")[2].replace("b,", '"b",'),
        PLAIN.replace(",1\n", ",true\n").replace(",0\n", ",FALSE\n"),
        PLAIN.replace(",1\n", ",1.0\n").replace(",0\n", ",0.0\n"),
        "changed,time,page\n,2026-01-01,b\n,2026-01-02,a\n1,2026-01-03,b\n0,2026-01-03,a\n",
    ],
)
def test_the_same_log_written_in_other_ways(tmp_path: Path, text: str) -> None:
    expected = rows(read_log(log_of(tmp_path / "plain.csv", PLAIN)))
    assert rows(read_log(log_of(tmp_path / "log.csv", text))) == expected


def test_a_gzipped_log_is_read_whatever_its_name(tmp_path: Path) -> None:
    expected = rows(read_log(log_of(tmp_path / "plain.csv", PLAIN)))
    for name in ("log.csv.gz", "log"):
        (tmp_path / name).write_bytes(gzip.compress(PLAIN.encode(), mtime=0))
        assert rows(read_log(tmp_path / name)) == expected


def test_quoted_cells_may_hold_commas_quotes_and_newlines(tmp_path: Path) -> None:
    text = 'page,time,changed\n"a,""b""\nc",2026-01-01,\n"a,""b""\nc",2026-01-02,1\n'
    visits = read_log(log_of(tmp_path / "log.csv", text))
    assert visits.names.to_pylist() == ['a,"b"\nc']


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01T12:00:00Z",
        "2026-01-01 12:00",
        "2026-01-01 12:00:00",
        "2026-01-01T12:00:00.000",
        "2026-01-01T14:00:00+02:00",
        "2026-01-01 04:00:00-0800",
        "2026-01-01 12:00:00+00",
        "1767268800",
        "1767268800.0",
        "1.7672688e9",
        " 2026-01-01T12:00:00Z ",
        "2026-01-01T12:00:00.000000999Z",
        "1767268800.00000001",
    ],
)
def test_times_are_understood_alone_and_mixed(tmp_path: Path, text: str) -> None:
    head = "page,time,changed\n"
    alone = read_log(log_of(tmp_path / "alone.csv", f"{head}a,{text},\n"))
    assert alone.time.tolist() == [microseconds(NOON)]
    others = "b,2026-01-01T12:00:00.25Z,\nc,2026-01-01,\nd,0,\n"
    mixed = read_log(log_of(tmp_path / "mixed.csv", f"{head}{others}a,{text},\n"))
    assert mixed.time.tolist() == [
        microseconds(NOON) + 250_000,
        microseconds(NOON) - 12 * 3600 * 10**6,
        0,
        microseconds(NOON),
    ]


@given(st.lists(st.datetimes(timezones=st.just(UTC)), min_size=1, max_size=8))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_time_a_calendar_holds_is_read_to_the_microsecond(
    tmp_path: Path, times: list[datetime]
) -> None:
    cells = [
        at.isoformat() if number % 2 else at.replace(tzinfo=None).isoformat()
        for number, at in enumerate(times)
    ]
    text = "page,time,changed\n" + "".join(f"{n},{cell},\n" for n, cell in enumerate(cells))
    visits = read_log(log_of(tmp_path / "log.csv", text))
    assert visits.time.tolist() == [microseconds(parse_time(cell)) for cell in cells]


def test_an_outcome_decides_where_it_is_given(tmp_path: Path) -> None:
    text = (
        "page,time,changed,outcome\n"
        "a,1,,first\na,2,1,\na,3,1,unchanged\na,4,,failed\na,5,0,Gone\na,6,0,changed\na,7,,\n"
    )
    visits = read_log(log_of(tmp_path / "log.csv", text))
    assert [Outcome(number).name for number in visits.outcome] == [
        "FIRST", "CHANGED", "UNCHANGED", "FAILED", "GONE", "CHANGED", "FIRST",
    ]  # fmt: skip


def test_outcome_alone_is_enough(tmp_path: Path) -> None:
    text = "page,time,outcome\na,1,\na,2,failed\na,3,changed\n"
    visits = read_log(log_of(tmp_path / "log.csv", text))
    assert visits.outcome.tolist() == [Outcome.FIRST, Outcome.FAILED, Outcome.CHANGED]


def test_optional_columns_follow_their_rows_and_may_be_empty(tmp_path: Path) -> None:
    text = (
        "page,time,changed,crawl_rate,last_modified,importance\n"
        "b,2,1, 0.5 ,1970-01-01T00:00:01Z,0\na,1,,,,\nb,1,,2e1,,3\n"
    )
    visits = read_log(log_of(tmp_path / "log.csv", text))
    assert visits.names.to_pylist() == ["b", "a"]
    assert visits.time.tolist() == [10**6, 2 * 10**6, 10**6]
    np.testing.assert_array_equal(visits.crawl_rate, [20.0, 0.5, np.nan])
    np.testing.assert_array_equal(visits.last_modified, [NO_TIME, 10**6, NO_TIME])
    np.testing.assert_array_equal(visits.importance, [3.0, 0.0, np.nan])


def test_repeated_rows_are_dropped_and_counted(tmp_path: Path) -> None:
    text = "page,time,changed,importance\na,1,,\nb,1,,\na,2,1,\na,1,,\na,2,1,\na,2.0,true,\n"
    visits = read_log(log_of(tmp_path / "log.csv", text))
    assert visits.duplicates == 3
    assert rows(visits) == [
        ("a", 10**6, Outcome.FIRST),
        ("a", 2 * 10**6, Outcome.CHANGED),
        ("b", 10**6, Outcome.FIRST),
    ]


def test_unknown_columns_are_skipped_when_asked(tmp_path: Path) -> None:
    text = "x,page,time,,changed,x\n\xff,a,1,?,,\n,a,2,,1,0\n"
    path = tmp_path / "log.csv"
    path.write_bytes(text.encode("latin-1"))
    visits = read_log(path, ignore_unknown=True)
    assert visits.outcome.tolist() == [Outcome.FIRST, Outcome.CHANGED]


ROW = st.tuples(
    st.sampled_from(["https://a.org/", "b", "\u00fc,\"'", "0"]),
    st.integers(0, 5),
    st.sampled_from(["", "0", "1"]),
)


@given(st.lists(ROW, min_size=1, max_size=30, unique_by=lambda row: row[:2]), st.randoms())
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_order_and_format_reads_as_plain_python_does(
    tmp_path: Path, visited: list[tuple[str, int, str]], rng: random.Random
) -> None:
    """Rows with repetitions, as CSV and as Parquet with its own batches, against a dict."""
    repeated = visited + rng.choices(visited, k=5)
    rng.shuffle(repeated)
    file = io.StringIO()
    csv.writer(file).writerows([("page", "time", "changed"), *repeated])
    log_of(tmp_path / "log.csv", file.getvalue())
    pages, times, changed = zip(*repeated, strict=True)
    table = pa.table(
        {
            "page": pa.array(pages),
            "time": pa.array(times, pa.timestamp("s", "Asia/Tokyo")),
            "changed": pa.array([{"0": False, "1": True}.get(cell) for cell in changed]),
        }
    )
    parquet.write_table(table, tmp_path / "log.parquet", row_group_size=7)
    order = list(dict.fromkeys(pages))
    meaning = {"": Outcome.FIRST, "0": Outcome.UNCHANGED, "1": Outcome.CHANGED}
    expected = sorted(
        {(page, at * 10**6, meaning[cell]) for page, at, cell in repeated},
        key=lambda row: (order.index(row[0]), row[1]),
    )
    for name in ("log.csv", "log.parquet"):
        visits = read_log(tmp_path / name)
        assert visits.names.to_pylist() == order
        assert rows(visits) == expected
        assert visits.duplicates == 5


SECOND = 10**6
TIMES: dict[str, pa.Array] = {
    "seconds": pa.array([1, 2], pa.timestamp("s")),
    "milliseconds": pa.array([1000, 2000], pa.timestamp("ms")),
    "microseconds in a zone": pa.array([SECOND, 2 * SECOND], pa.timestamp("us", "Asia/Tokyo")),
    "nanoseconds": pa.array([10**9 + 999, 2 * 10**9], pa.timestamp("ns")),
    "bytes": pa.array([1, 2], pa.int8()),
    "unsigned": pa.array([1, 2], pa.uint64()),
    "floats": pa.array([1.0, 2.0], pa.float64()),
    "short floats": pa.array([1.0, 2.0], pa.float32()),
    "decimals": pa.array([1, 2]).cast(pa.decimal128(30, 3)),
    "text": pa.array(["1970-01-01T00:00:01Z", "2"]),
    "text of few kinds": pa.array(["1", "2"]).dictionary_encode(),
    "text as bytes": pa.array([b"1", b"2"]),
}


@pytest.mark.parametrize("kind", TIMES)
def test_parquet_times_of_every_type(tmp_path: Path, kind: str) -> None:
    table = pa.table({"page": ["a", "a"], "time": TIMES[kind], "changed": [None, True]})
    parquet.write_table(table, tmp_path / "log.parquet")
    assert read_log(tmp_path / "log.parquet").time.tolist() == [SECOND, 2 * SECOND]


def test_parquet_dates_are_midnights(tmp_path: Path) -> None:
    for kind in (pa.date32(), pa.date64()):
        dates = pa.array([EPOCH.date(), EPOCH.date() + timedelta(1)], kind)
        table = pa.table({"page": ["a", "a"], "time": dates, "changed": [None, True]})
        parquet.write_table(table, tmp_path / "log.parquet")
        assert read_log(tmp_path / "log.parquet").time.tolist() == [0, 86_400 * SECOND]


CHANGED: dict[str, pa.Array] = {
    "bool": pa.array([None, True, False]),
    "int": pa.array([None, 1, 0], pa.int64()),
    "unsigned": pa.array([None, 1, 0], pa.uint8()),
    "float": pa.array([None, 1.0, 0.0]),
    "float with NaN": pa.array([float("nan"), 1.0, 0.0]),
    "text": pa.array(["", "True", " 0"]),
    "text of few kinds": pa.array([None, "1", "0"]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", CHANGED)
def test_parquet_changed_of_every_type(tmp_path: Path, kind: str) -> None:
    table = pa.table({"page": ["a"] * 3, "time": [1, 2, 3], "changed": CHANGED[kind]})
    parquet.write_table(table, tmp_path / "log.parquet")
    assert read_log(tmp_path / "log.parquet").outcome.tolist() == [
        Outcome.FIRST,
        Outcome.CHANGED,
        Outcome.UNCHANGED,
    ]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary()])
def test_parquet_outcomes_of_every_type(tmp_path: Path, kind: pa.DataType) -> None:
    outcomes = pa.array(["first", "refused", "failed"]).cast(kind)
    for column in (outcomes, outcomes.dictionary_encode()):
        table = pa.table({"page": ["a"] * 3, "time": [1, 2, 3], "outcome": column})
        parquet.write_table(table, tmp_path / "log.parquet")
        found = read_log(tmp_path / "log.parquet")
        # A refusal is no visit.
        assert found.outcome.tolist() == [Outcome.FIRST, Outcome.FAILED]


PAGES: dict[str, pa.Array] = {
    "text": pa.array(["b", "a", "b"]),
    "large text": pa.array(["b", "a", "b"], pa.large_string()),
    "bytes": pa.array([b"b", b"a", b"b"]),
    "dictionary": pa.DictionaryArray.from_arrays([2, 1, 2], ["unused", "a", "b"]),
    "dictionary that repeats": pa.DictionaryArray.from_arrays([0, 1, 2], ["b", "a", "b"]),
}


@pytest.mark.parametrize("kind", PAGES)
def test_parquet_pages_of_every_type(tmp_path: Path, kind: str) -> None:
    table = pa.table({"page": PAGES[kind], "time": [1, 2, 3], "changed": [None, None, True]})
    parquet.write_table(table, tmp_path / "log.parquet")
    visits = read_log(tmp_path / "log.parquet")
    assert visits.names.to_pylist() == ["b", "a"]
    assert visits.page.tolist() == [0, 0, 1]


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64(), pa.uint64()])
def test_pages_that_are_whole_numbers_stay_so(tmp_path: Path, kind: pa.DataType) -> None:
    table = pa.table(
        {
            "page": pa.array([7, 3, 7], kind),
            "time": [1, 2, 3],
            "changed": [None, None, 1],
        }
    )
    for column in (table["page"], table["page"].dictionary_encode()):
        parquet.write_table(table.set_column(0, "page", column), tmp_path / "log.parquet")
        visits = read_log(tmp_path / "log.parquet")
        assert visits.names.to_pylist() == [7, 3]
        assert visits.page.tolist() == [0, 0, 1]


def test_parquet_columns_without_any_value(tmp_path: Path) -> None:
    nothing = pa.nulls(2)
    table = pa.table(
        {
            "page": ["a", "a"],
            "time": [1, 2],
            "changed": nothing,
            "outcome": nothing,
            "crawl_rate": nothing,
            "last_modified": nothing,
            "importance": pa.array([1, None], pa.int16()),
        }
    )
    parquet.write_table(table, tmp_path / "log.parquet")
    visits = read_log(tmp_path / "log.parquet")
    assert visits.outcome.tolist() == [Outcome.FIRST, Outcome.FIRST]
    np.testing.assert_array_equal(visits.crawl_rate, [np.nan, np.nan])
    np.testing.assert_array_equal(visits.last_modified, [NO_TIME, NO_TIME])
    np.testing.assert_array_equal(visits.importance, [1.0, np.nan])


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_progress_goes_up_to_the_size_of_the_file(tmp_path: Path, name: str) -> None:
    """Several blocks of a log that is out of order; each block is reported."""
    number = 300_000
    page = np.arange(number) % 1000
    time = np.arange(number)[::-1]
    path = tmp_path / name
    if name.endswith("csv"):
        cells = (f"https://example.org/{p},{t},\n" for p, t in zip(page, time, strict=True))
        log_of(path, "page,time,changed\n" + "".join(cells))
    else:
        nothing = pa.nulls(number, pa.bool_())
        parquet.write_table(pa.table({"page": page, "time": time, "changed": nothing}), path)
    reports: list[tuple[int, int | None]] = []
    visits = read_log(path, progress=lambda done, total: reports.append((done, total)))
    assert visits.page.tolist() == np.repeat(np.arange(1000), 300).tolist()
    assert (np.diff(visits.time)[np.diff(visits.page) == 0] == 1000 * SECOND).all()
    done = [report[0] for report in reports]
    assert len(done) > 1
    assert done == sorted(done)
    assert reports[-1] == (path.stat().st_size, path.stat().st_size)
