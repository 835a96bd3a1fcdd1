"""Tables with cells, names and types that Arrow stumbles over are refused with one sentence."""

import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from recrawl.errors import InputError
from recrawl.formats.crawl_log import read_log
from recrawl.formats.importance import read_importance

PAGES = ["a", "b", "c"]
HUGE = [
    pa.array([1, 2**64 - 1, 2**63], pa.uint64()),
    pa.array([1, 2**63 - 1, 2**53 + 1]),
    pa.array([Decimal(1), Decimal(10) ** 37, Decimal(2)], pa.decimal128(38, 0)),
]


def log_of(path: Path, **columns: Any) -> Path:  # noqa: ANN401
    plain = {"page": PAGES, "time": [1, 2, 3], "changed": [1, 0, 1]}
    parquet.write_table(pa.table(plain | columns), path)
    return path


def not_utf8() -> pa.Array:
    raw = pa.array([b"a", b"b", b"\xff\xfe"])
    return pa.Array.from_buffers(pa.string(), 3, raw.buffers())


@pytest.mark.parametrize("column", HUGE, ids=lambda column: str(column.type))
def test_huge_whole_numbers_are_rounded_like_those_of_a_csv_file(
    tmp_path: Path, column: pa.Array
) -> None:
    log = read_log(log_of(tmp_path / "log.parquet", importance=column, crawl_rate=column))
    expected = [float(number) for number in column.to_pylist()]
    assert log.importance is not None
    assert log.importance.tolist() == expected
    path = tmp_path / "importance.parquet"
    parquet.write_table(pa.table({"page": PAGES, "importance": column}), path)
    assert read_importance(path, pa.array(PAGES)).tolist() == expected


@pytest.mark.parametrize("name", ["page", "time", "changed", "outcome", "importance"])
def test_text_that_is_not_utf8_is_refused_with_its_row(tmp_path: Path, name: str) -> None:
    path = log_of(tmp_path / "log.parquet", **{name: not_utf8()})
    with pytest.raises(InputError, match="this is not UTF-8") as caught:
        read_log(path)
    assert (caught.value.row, caught.value.column) == (3, name)


def test_column_names_that_are_not_utf8_are_damage(tmp_path: Path) -> None:
    file = io.BytesIO()
    parquet.write_table(pa.table({"page": PAGES, "time": [1, 2, 3], "chang": [1, 0, 1]}), file)
    path = tmp_path / "log.parquet"
    path.write_bytes(file.getvalue().replace(b"chang", b"ch\xff\xfeg"))
    with pytest.raises(InputError, match="damaged"):
        read_log(path)


def test_a_csv_row_that_is_too_long_and_not_utf8_has_a_number(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b"page,time,changed\na,1,1\nb,2,1,\xff\xfe\n")
    with pytest.raises(InputError, match=r"row 3: the row has 4 fields, but the header has 3"):
        read_log(path)
    assert capfd.readouterr().err == ""


def test_what_a_reader_did_not_foresee_is_refused_with_its_row(tmp_path: Path) -> None:
    from recrawl.formats.rows import Layout, read_rows

    def read(column: pa.Array) -> object:
        if "c" in column.to_pylist():
            raise pa.ArrowInvalid("odd")
        return column

    layout = Layout({"page": read}, (("page",),), InputError)
    path = log_of(tmp_path / "log.parquet")
    with pytest.raises(InputError, match="row 3, column 'page': the cell cannot be read as string"):
        read_rows(path, layout, ignore_unknown=True)


def test_a_type_with_a_thousand_fields_makes_a_short_sentence(tmp_path: Path) -> None:
    column = pa.array([{f"field\n{number}": 1 for number in range(1_000)}] * 3)
    with pytest.raises(InputError, match="the column holds 'struct<") as caught:
        read_log(log_of(tmp_path / "log.parquet", time=column))
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("rate", ["1e-300", "1e300"])
def test_a_crawl_rate_that_no_estimate_can_use_is_refused(tmp_path: Path, rate: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(f"page,time,changed,crawl_rate\na,1,1,{rate}\n")
    with pytest.raises(InputError, match=r"row 2, column 'crawl_rate': .*1e-60 to 1e\+60"):
        read_log(path)
