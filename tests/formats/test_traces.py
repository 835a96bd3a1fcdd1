"""Traces as folders: what is written is read, and what cannot be used is named."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from recrawl.errors import InputError, OutputError
from recrawl.formats import traces
from recrawl.formats.traces import ALIVE, Trace, check_folder, read_trace, write_trace

PAGES = "page,name,weight,born,died\n7,a,2.5,100,\n3,b,,200,400\n"
CHANGES = "page,time\n3,300\n7,150\n"


def folder_of(folder: Path, pages: str = PAGES, changes: str = CHANGES) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "pages.csv").write_text(pages, encoding="utf-8")
    (folder / "changes.csv").write_text(changes, encoding="utf-8")
    return folder


def columns(trace: Trace) -> dict[str, list[Any]]:
    return {name: list(column) for name, column in vars(trace).items()}


READ = {
    "page": [7, 3],
    "name": ["a", "b"],
    "importance": [2.5, 1.0],
    "born": [100, 200],
    "died": [ALIVE, 400],
    "change_page": [0, 1],
    "change_time": [150, 300],
}


def test_csv_is_read(tmp_path: Path) -> None:
    trace = read_trace(folder_of(tmp_path))
    assert columns(trace) == READ
    kinds = {name: column.dtype for name, column in vars(trace).items() if name != "name"}
    assert kinds.pop("page") == np.int32
    assert kinds.pop("importance") == np.float64
    assert set(kinds.values()) == {np.dtype(np.int64)}


def test_times_may_be_written_as_people_do(tmp_path: Path) -> None:
    pages = "died,born,name,page\n,1970-01-01T00:01:40Z,a, 7 \n400.9,1970-01-01 00:03:20,b,3\n"
    trace = read_trace(folder_of(tmp_path, pages))
    assert columns(trace) == READ | {"importance": [1.0, 1.0]}


def test_parquet_of_any_whole_numbers_and_times_is_read(tmp_path: Path) -> None:
    day = pa.array([0, 86_400], pa.timestamp("s", "UTC"))
    pages = {"page": pa.array([2, 1], pa.uint64()), "name": [5, 6], "born": day, "died": [None] * 2}
    parquet.write_table(pa.table(pages), tmp_path / "pages.parquet")
    changes = {"page": pa.array([1], pa.int8()), "time": pa.array([90_000_000], pa.int32())}
    parquet.write_table(pa.table(changes), tmp_path / "changes.parquet")
    trace = read_trace(tmp_path)
    assert trace.name == ["5", "6"]
    assert trace.born.tolist() == [0, 86_400]
    assert (trace.died == ALIVE).all()
    assert (trace.change_page.tolist(), trace.change_time.tolist()) == ([1], [90_000_000])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_pages_that_never_changed_are_a_trace(tmp_path: Path, kind: str) -> None:
    folder_of(tmp_path, changes="page,time\n")
    if kind == "parquet":
        (tmp_path / "changes.csv").unlink()
        parquet.write_table(pa.table({"page": [], "time": []}), tmp_path / "changes.parquet")
    assert read_trace(tmp_path).change_time.size == 0


def test_unknown_columns_are_skipped_when_asked(tmp_path: Path) -> None:
    folder_of(tmp_path, changes="page,time,author\n7,150,x\n3,300,y\n")
    assert columns(read_trace(tmp_path, ignore_unknown=True)) == READ


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
PAGE = st.tuples(
    NAMES,
    st.floats(0.0, 1e300),
    st.integers(-(10**9), 10**10),
    st.none() | st.integers(0, 10**10),
)


@given(data=st.data())
def test_what_is_written_is_read_again(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Changes come in any order, some twice; a plain sorted set says what is to come out."""
    number = st.integers(-(2**31), 2**31 - 1)
    pages = data.draw(st.dictionaries(number, PAGE, min_size=1, max_size=6))
    change = st.tuples(st.integers(0, len(pages) - 1), st.integers(0, 5))
    changes = data.draw(st.lists(change, max_size=20))
    name, weight, born, lived = zip(*pages.values(), strict=True)
    trace = Trace(
        page=np.array(list(pages), np.int32),
        name=list(name),
        importance=np.array(weight),
        born=np.array(born),
        died=np.array(
            [ALIVE if age is None else start + age for start, age in zip(born, lived, strict=True)]
        ),
        change_page=np.array([page for page, _ in changes], np.int64),
        change_time=np.array([time for _, time in changes], np.int64),
    )
    folder = tmp_path_factory.mktemp("trace") / "new"
    write_trace(folder, trace)
    assert sorted(path.name for path in folder.iterdir()) == ["changes.parquet", "pages.parquet"]
    read = columns(read_trace(folder))
    pairs = zip(read.pop("change_page"), read.pop("change_time"), strict=True)
    assert list(pairs) == sorted(set(changes))
    assert read == {name: column for name, column in columns(trace).items() if name in read}


def test_files_have_the_columns_that_are_promised(tmp_path: Path) -> None:
    write_trace(tmp_path / "new", read_trace(folder_of(tmp_path)))
    pages = parquet.read_table(tmp_path / "new" / "pages.parquet")
    assert pages.schema.remove_metadata() == pa.schema(
        {
            "page": pa.int32(),
            "name": pa.string(),
            "weight": pa.float64(),
            "born": pa.int64(),
            "died": pa.int64(),
        }
    )
    assert pages["died"].to_pylist() == [None, 400]
    changes = parquet.read_table(tmp_path / "new" / "changes.parquet")
    assert changes.schema.remove_metadata() == pa.schema({"page": pa.int32(), "time": pa.int64()})
    assert changes.to_pylist() == [{"page": 7, "time": 150}, {"page": 3, "time": 300}]


#: What is wrong, the two tables, the place that is named, and what is said of it.
BAD = {
    "no pages": ("page,name,born,died\n", CHANGES, "pages.csv", "there are no pages in it"),
    "no born": (
        "page,name,died\n1,a,\n",
        CHANGES,
        "pages.csv",
        "there is no column 'born'; the columns are 'page', 'name', 'died'",
    ),
    "misspelt": (
        "page,name,wieght,born,died\n1,a,1,1,\n",
        CHANGES,
        "pages.csv",
        "the column 'wieght' is unknown (did you mean 'weight'?)",
    ),
    "no number": (
        "page,name,born,died\n1,a,1,\n1.0,b,1,\n",
        CHANGES,
        "pages.csv, row 3, column 'page'",
        "'1.0' is not a whole number from -2147483648 to 2147483647",
    ),
    "large number": (
        PAGES,
        "page,time\n7,1\n2147483648,1\n",
        "changes.csv, row 3, column 'page'",
        "'2147483648' is not a whole number from -2147483648 to 2147483647",
    ),
    "empty number": (
        "page,name,born,died\n1,a,1,\n,b,1,\n",
        CHANGES,
        "pages.csv, row 3, column 'page'",
        "the cell is empty",
    ),
    "empty name": (
        "page,name,born,died\n1,,1,\n",
        CHANGES,
        "pages.csv, row 2, column 'name'",
        "the cell is empty",
    ),
    "empty birth": (
        "page,name,born,died\n1,a,,5\n",
        CHANGES,
        "pages.csv, row 2, column 'born'",
        "the cell is empty",
    ),
    "empty time": (
        PAGES,
        "page,time\n7,1\n7,\n",
        "changes.csv, row 3, column 'time'",
        "the cell is empty",
    ),
    "no such time": (
        PAGES,
        "page,time\n7,soon\n",
        "changes.csv, row 2, column 'time'",
        "'soon' is not a time; write 2026-01-31",
    ),
    "beyond the calendar": (
        PAGES,
        "page,time\n7,1e30\n",
        "changes.csv, row 2, column 'time'",
        "'1e30' is outside the years 1 to 9999",
    ),
    "negative weight": (
        "page,name,weight,born,died\n1,a,-1,1,\n",
        CHANGES,
        "pages.csv, row 2, column 'weight'",
        "'-1' is not a number, 0 or above",
    ),
    "infinite weight": (
        "page,name,weight,born,died\n1,a,inf,1,\n",
        CHANGES,
        "pages.csv, row 2, column 'weight'",
        "'inf' is not a number, 0 or above",
    ),
    "twins": (
        "page,name,born,died\n9,z,1,\n7,a,1,\n\n3,b,1,\n7,c,1,\n",
        CHANGES,
        "pages.csv, row 6, column 'page'",
        "the page 7 is also in row 3",
    ),
    "early death": (
        "page,name,born,died\n7,a,5,5\n3,b,5,4\n",
        CHANGES,
        "pages.csv, row 3, column 'died'",
        "the page 'b' died before it was born",
    ),
    "unknown page": (
        PAGES,
        "page,time\n7,1\n\n8,1\n9,1\n",
        "changes.csv, row 4, column 'page'",
        "the page 8 is not among the pages",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_cannot_be_used_is_named(tmp_path: Path, kind: str) -> None:
    pages, changes, place, problem = BAD[kind]
    folder_of(tmp_path, pages, changes)
    assert refused(tmp_path).startswith(f"{tmp_path / place}: {problem}")


def refused(folder: Path) -> str:
    with pytest.raises(InputError) as told:
        read_trace(folder)
    assert "\n" not in str(told.value)
    return str(told.value)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"page": [1.0], "time": [1]}, "column 'page': the column holds double, not whole numbers"),
        ({"page": [None], "time": [1]}, "row 1, column 'page': the cell is empty"),
        ({"page": [True], "time": [1]}, "column 'page': the column holds bool, not whole numbers"),
        ({"page": [2**40], "time": [1]}, "row 1, column 'page': '1099511627776' is not a whole"),
        ({"page": [7], "time": [b"\xff"]}, "row 1, column 'time': this is not UTF-8"),
        ({"page": [7], "time": [[1]]}, "not times"),
    ],
)
def test_wrong_types_are_named(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    (folder_of(tmp_path) / "changes.csv").unlink()
    parquet.write_table(pa.table(changes), tmp_path / "changes.parquet")
    sentence = refused(tmp_path)
    assert sentence.startswith(f"{tmp_path / 'changes.parquet'}, ")
    assert problem in sentence


def test_a_folder_that_is_no_trace_is_named(tmp_path: Path) -> None:
    assert refused(tmp_path / "none") == f"{tmp_path / 'none'}: there is no such folder"
    too_long = tmp_path / ("x" * 300)
    assert refused(too_long) == f"{too_long}: it cannot be read: File name too long"
    assert refused(tmp_path) == f"{tmp_path}: there is neither pages.parquet nor pages.csv in it"
    folder_of(tmp_path)
    file = tmp_path / "pages.csv"
    assert refused(file) == f"{file}: a trace is a folder with two tables, this is a file"
    (tmp_path / "changes.csv").unlink()
    sentence = f"{tmp_path}: there is neither changes.parquet nor changes.csv in it"
    assert refused(tmp_path) == sentence
    folder_of(tmp_path)
    (tmp_path / "pages.parquet").touch()
    sentence = f"{tmp_path}: there are both pages.parquet and pages.csv in it; keep one"
    assert refused(tmp_path) == sentence


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("left", ["pages.csv", "changes.csv", "pages.parquet", "changes.parquet"])
def test_a_trace_is_overwritten_only_when_asked(tmp_path: Path, left: str) -> None:
    """A part of a trace counts as one: somebody may still need it."""
    trace = read_trace(folder_of(tmp_path / "old"))
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / left).write_text("as it was", encoding="utf-8")
    before = contents(folder)
    with pytest.raises(OutputError) as told:
        write_trace(folder, trace)
    assert str(told.value) == (
        f"{folder}: there is a trace already; name another folder, or overwrite it (--force)"
    )
    assert contents(folder) == before
    write_trace(folder, trace, overwrite=True)
    assert columns(read_trace(folder)) == READ
    assert sorted(contents(folder)) == ["changes.parquet", "pages.parquet"]


def test_a_folder_keeps_its_other_files(tmp_path: Path) -> None:
    trace = read_trace(folder_of(tmp_path / "old"))
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    write_trace(tmp_path, trace)
    assert columns(read_trace(tmp_path)) == READ
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_places_where_no_trace_can_be_are_named(tmp_path: Path) -> None:
    trace = read_trace(folder_of(tmp_path))
    file, nowhere = tmp_path / "pages.csv", tmp_path / "none" / "trace"
    for place, problem in [
        (file, "this is a file, not a folder"),
        (nowhere, f"there is no directory {nowhere.parent}"),
        (tmp_path / ("x" * 300), "it cannot be written: File name too long"),
    ]:
        with pytest.raises(OutputError) as told:
            write_trace(place, trace)
        assert str(told.value) == f"{place}: {problem}"
    check_folder(tmp_path, overwrite=True)


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("failing", [0, 1])
def test_a_failure_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_new: bool, failing: int
) -> None:
    """The disk is full: while the first table is written, or the second."""
    trace = read_trace(folder_of(tmp_path / "old"))
    folder = tmp_path / ("new" if is_new else "old")
    before = None if is_new else contents(folder)
    written = list[object]()

    def write_table(table: pa.Table, file: Any) -> None:  # noqa: ANN401
        if len(written) == failing:
            raise OSError(28, "No space left on device")
        written.append(table)
        parquet.write_table(table, file)

    monkeypatch.setattr(traces, "parquet", SimpleNamespace(write_table=write_table))
    with pytest.raises(OutputError, match="No space left on device"):
        write_trace(folder, trace, overwrite=True)
    assert (contents(folder) if folder.exists() else None) == before


def test_pages_are_put_in_their_place_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut short between the two, a new folder is no trace, and says so."""
    trace = read_trace(folder_of(tmp_path / "old"))
    replace = Path.replace

    def die(self: Path, target: Path) -> Path:
        if target.name == "pages.parquet":
            raise KeyboardInterrupt
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", die)
    with pytest.raises(KeyboardInterrupt):
        write_trace(tmp_path / "new", trace)
    assert list(contents(tmp_path / "new")) == ["changes.parquet"]
    assert "there is neither pages.parquet nor pages.csv" in refused(tmp_path / "new")


BESIDE = Path(__file__).parents[2].parent / "shared" / "traces"
REAL = Path(os.environ.get("RECRAWL_TRACES", BESIDE))


@pytest.mark.skipif(not REAL.is_dir(), reason="no real traces: RECRAWL_TRACES names no folder")
def test_real_traces_are_read_and_written(tmp_path: Path) -> None:
    folders = [path for path in sorted(REAL.iterdir()) if (path / "pages.parquet").exists()]
    assert folders
    for folder in folders:
        trace = read_trace(folder)
        pages = parquet.read_table(folder / "pages.parquet")
        changes = parquet.read_table(folder / "changes.parquet")
        assert trace.name == pages["name"].to_pylist()
        assert (trace.died == ALIVE).sum() == pages["died"].null_count
        told = zip(changes["page"].to_pylist(), changes["time"].to_pylist(), strict=True)
        found = zip(trace.page[trace.change_page].tolist(), trace.change_time.tolist(), strict=True)
        assert set(found) == set(told)
        assert (trace.change_time >= trace.born[trace.change_page]).all()
        assert (trace.change_time <= trace.died[trace.change_page]).all()
        write_trace(tmp_path / folder.name, trace)
        again = read_trace(tmp_path / folder.name)
        for name, column in vars(trace).items():
            np.testing.assert_array_equal(getattr(again, name), column, err_msg=name)
