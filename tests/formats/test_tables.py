"""Tables on disk: every format read back, and a disk that gives out on the way."""

import csv
import json
import math
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from recrawl.errors import OutputError
from recrawl.formats.tables import JSON_BATCH_ROWS, Format, write_table

COLUMNS = {
    "page": pa.array(["https://example.org/\u00fc", 'a "quoted", name\n']),
    "rate": np.array([0.1, 1e-300]),
    "visits": np.array([3, 2**40]),
}


def read_back(path: Path) -> dict[str, list[Any]]:
    """Read a table with the plainest tool there is for its format."""
    if path.suffix == ".parquet":
        columns: dict[str, list[Any]] = parquet.read_table(path).to_pydict()
        return columns
    with path.open(encoding="utf-8", newline="") as file:
        rows = json.load(file) if path.suffix == ".json" else list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_a_table_is_read_back_as_it_was(tmp_path: Path, kind: Format) -> None:
    path = tmp_path / f"table.{kind}"
    write_table(COLUMNS, kind, path)
    found = read_back(path)
    assert list(found) == ["page", "rate", "visits"]
    assert found["page"] == COLUMNS["page"].to_pylist()
    assert [float(cell) for cell in found["rate"]] == [0.1, 1e-300]
    assert [int(cell) for cell in found["visits"]] == [3, 2**40]
    assert list(tmp_path.iterdir()) == [path]


def test_json_has_one_object_a_line(tmp_path: Path) -> None:
    write_table({"page": pa.array([7, 8]), "50 %": np.array([1.0, 2.5])}, "json", tmp_path / "t")
    assert (tmp_path / "t").read_text(encoding="utf-8") == (
        '[\n{"page": 7, "50 %": 1.0},\n{"page": 8, "50 %": 2.5}\n]\n'
    )


def test_json_without_rows_is_an_empty_list(tmp_path: Path) -> None:
    write_table({"page": pa.array([], pa.string())}, "json", tmp_path / "t")
    assert json.loads((tmp_path / "t").read_text(encoding="utf-8")) == []


@given(st.lists(st.tuples(st.text(), st.floats()), min_size=1, max_size=20))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_json_brings_every_text_and_float_back(
    tmp_path: Path, rows: list[tuple[str, float]]
) -> None:
    names, rates = zip(*rows, strict=True)
    write_table({"page": pa.array(names), "rate": np.array(rates)}, "json", tmp_path / "t.json")
    found = read_back(tmp_path / "t.json")
    assert found["page"] == list(names)
    assert found["rate"] == [rate if math.isfinite(rate) else None for rate in rates]


def test_json_longer_than_a_batch_is_one_list(tmp_path: Path) -> None:
    number = 2 * JSON_BATCH_ROWS + 1
    write_table({"visits": np.arange(number)}, "json", tmp_path / "t.json")
    assert read_back(tmp_path / "t.json")["visits"] == list(range(number))


def test_a_new_file_has_the_permissions_any_new_file_has(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    write_table(COLUMNS, "csv", tmp_path / "table")
    assert (tmp_path / "table").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_replaced_file_keeps_its_permissions_and_its_link(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("before", encoding="utf-8")
    kept.chmod(0o640)
    (tmp_path / "link").symlink_to(kept)
    write_table(COLUMNS, "json", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    assert len(json.loads(kept.read_text(encoding="utf-8"))) == 2


#: Writes a table of a megabyte and more where no file may grow beyond 64 KB, and says what happens.
ON_A_SMALL_DISK = """
import resource, sys
import numpy as np
from recrawl.errors import OutputError
from recrawl.formats.tables import write_table
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
try:
    write_table({"x": np.random.default_rng(1).random(200_000)}, *sys.argv[1:])
except OutputError as error:
    print(error)
"""


@pytest.mark.parametrize("kind", ["csv", "json", "jsonl", "parquet"])
@pytest.mark.parametrize("before", [None, "precious"])
def test_a_disk_that_gives_out_leaves_everything_as_it_was(
    tmp_path: Path, kind: str, before: str | None
) -> None:
    path = tmp_path / "table"
    if before is not None:
        path.write_text(before, encoding="utf-8")
    command = [sys.executable, "-c", ON_A_SMALL_DISK, kind, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout == f"{path}: it cannot be written: File too large\n"
    assert run.stderr == ""
    left = {found.name: found.read_text(encoding="utf-8") for found in tmp_path.iterdir()}
    assert left == ({} if before is None else {"table": before})


def test_an_interrupted_table_leaves_nothing(tmp_path: Path) -> None:
    """Whatever ends the writing, here a name that is no text, ends it without a trace."""
    with pytest.raises(TypeError):
        write_table({"page": pa.array([b"bytes"])}, "json", tmp_path / "table")
    assert list(tmp_path.iterdir()) == []


def test_places_where_no_file_can_be_are_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"table: there is no directory .*missing$"):
        write_table(COLUMNS, "csv", tmp_path / "missing" / "table")
    with pytest.raises(OutputError, match="this is a directory, not a file"):
        write_table(COLUMNS, "csv", tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"there is no directory .*file$"):
        write_table(COLUMNS, "csv", tmp_path / "file" / "table")
    with pytest.raises(OutputError, match="it cannot be written: File name too long"):
        write_table(COLUMNS, "csv", tmp_path / ("x" * 300))


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_table({"x": np.array([1])}, "csv", pipe)
    assert os.read(reader, 100) == b'"x"\n1\n'
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_json_lines_are_the_rows_of_json(tmp_path: Path) -> None:
    columns = {"page": pa.array(["a", "b"]), "rate": np.array([0.5, np.nan])}
    write_table(columns, "jsonl", tmp_path / "t.jsonl")
    write_table(columns, "json", tmp_path / "t.json")
    lines = (tmp_path / "t.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == json.loads((tmp_path / "t.json").read_bytes())
    write_table({"page": pa.array([], pa.string())}, "jsonl", tmp_path / "none.jsonl")
    assert (tmp_path / "none.jsonl").read_bytes() == b""
