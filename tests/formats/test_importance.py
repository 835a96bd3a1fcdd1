"""Importance from a file, joined to a log's pages by name."""

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from recrawl.errors import CrawlLogError, InputError
from recrawl.formats.importance import read_importance

NAMES = pa.array(["a", "b", "c"], pa.large_string())


def read(path: Path, text: str, names: pa.Array = NAMES, **settings: Any) -> list[float]:  # noqa: ANN401
    path.write_bytes(text.encode())
    found: list[float] = read_importance(path, names, **settings).tolist()
    return found


def test_pages_are_joined_by_name_in_any_order(tmp_path: Path) -> None:
    found = read(tmp_path / "w.csv", "importance,page\n2.5,c\n0,a\n\n2.5,c\n")
    assert found[::2] == [0.0, 2.5]
    assert math.isnan(found[1])


def test_an_empty_cell_says_nothing(tmp_path: Path) -> None:
    assert math.isnan(read(tmp_path / "w.csv", "page,importance\na,\n")[0])


def test_parquet_is_read_too(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"page": ["b"], "importance": [3]}), tmp_path / "w")
    assert read_importance(tmp_path / "w", NAMES)[1] == 3.0


@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.uint8(), pa.string()])
def test_numbered_pages_are_the_same_whatever_their_type(tmp_path: Path, kind: pa.DataType) -> None:
    names = pa.array([7, 8]).cast(kind)
    assert read(tmp_path / "w.csv", "page,importance\n8,2\n7,1\n", names) == [1.0, 2.0]
    parquet.write_table(pa.table({"page": [8, 7], "importance": [2, 1]}), tmp_path / "w")
    assert read_importance(tmp_path / "w", names).tolist() == [1.0, 2.0]


def test_unknown_columns_are_skipped_when_asked(tmp_path: Path) -> None:
    text = "page,importance,views\na,1,x\n"
    assert read(tmp_path / "w.csv", text, ignore_unknown=True)[0] == 1.0


#: What is wrong, the file, the place that is named, and what is said of it.
BAD = {
    "no rows": ("page,importance\n", "", "there are no pages in it"),
    "no page": ("url,importance\na,1\n", "", "there is no column 'page'; the columns are 'url'"),
    "misspelt": (
        "page,importence\na,1\n",
        "",
        "there is no column 'importance' (is 'importence' a misspelt 'importance'?)",
    ),
    "another column": (
        "page,importance,time\na,1,1\n",
        "",
        "the column 'time' is unknown; known columns are page, importance, and --ignore-unknown",
    ),
    "unknown page": (
        "page,importance\na,1\n\nd,1\n",
        ", row 4, column 'page'",
        "the page 'd' is not in the crawl log",
    ),
    "blank page": ("page,importance\na,1\n,1\n", ", row 3, column 'page'", "the cell is empty"),
    "two minds": (
        "page,importance\nb,1\na,1\na,1\na,2\n",
        ", row 5, column 'importance'",
        "the page 'a' has a different importance in row 3",
    ),
    "filled and empty": (
        "page,importance\na,1\na,\n",
        ", row 3, column 'importance'",
        "the page 'a' has a different importance in row 2",
    ),
    "negative": (
        "page,importance\na,-1\n",
        ", row 2, column 'importance'",
        "'-1' is not a number, 0 or above",
    ),
    "infinite": (
        "page,importance\na,inf\n",
        ", row 2, column 'importance'",
        "'inf' is not a number, 0 or above",
    ),
    "no number": (
        "page,importance\na,high\n",
        ", row 2, column 'importance'",
        "'high' is not a number, 0 or above",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_cannot_be_used_is_named(tmp_path: Path, kind: str) -> None:
    text, place, problem = BAD[kind]
    path = tmp_path / "views.csv"
    with pytest.raises(InputError) as told:
        read(path, text)
    assert str(told.value).startswith(f"{path}{place}: {problem}")
    assert not isinstance(told.value, CrawlLogError)


def test_a_missing_file_is_no_crawl_log_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file") as told:
        read_importance(tmp_path / "w.csv", NAMES)
    assert not isinstance(told.value, CrawlLogError)
    assert (told.value.row, told.value.column) == (None, None)
