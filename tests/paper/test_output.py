"""A report on the disk: all of its files, or none."""

import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from paper.made_up import ORIGIN, made_up_section
from pyarrow import csv

from recrawl.errors import OutputError
from recrawl.paper.output import check_folder, write_report
from recrawl.paper.section import Section

SECTIONS = {"part-1": made_up_section("one"), "part-2": made_up_section("two", timed=True)}
NAMES = {f"{name}.{ending}" for name in ("one", "two") for ending in ("png", "svg", "csv")}
ALL = NAMES | {"claims.csv", "timings.json", "report.html"}


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder; a folder counts as one without content."""
    return {
        str(path.relative_to(folder)): b"" if path.is_dir() else path.read_bytes()
        for path in folder.rglob("*")
    }


@contextmanager
def disk_with_room_for(size: int) -> Iterator[None]:
    """Let no file grow beyond a size, as a full disk would."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_everything_is_written_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    assert write_report(folder, SECTIONS, ORIGIN) == folder / "report.html"
    found = contents(folder)
    assert set(found) == ALL
    (picture,), (table,) = SECTIONS["part-1"].pictures, SECTIONS["part-1"].tables
    assert found["one.png"] == picture.png
    assert found["one.svg"] == picture.svg
    read = csv.read_csv(pa.py_buffer(found["one.csv"])).to_pydict()
    assert read == {name: column.tolist() for name, column in table.columns.items()}
    assert json.loads(found["timings.json"]) == {"part-2": {"seconds": [0.5, 0.25]}}
    assert found["report.html"].startswith(b"<!DOCTYPE html>")
    assert list(tmp_path.iterdir()) == [folder]


def test_claims_are_a_table_in_the_papers_order(tmp_path: Path) -> None:
    write_report(tmp_path, SECTIONS, ORIGIN)
    read = csv.read_csv(
        tmp_path / "claims.csv",
        convert_options=csv.ConvertOptions(column_types={"place": pa.string()}),
    ).to_pydict()
    assert read == {
        "place": ["3.1", "3.1", "5", "5"],
        "claim": ["x tends to y"] * 2 + ["A & B <i>agree</i>"] * 2,
        "measured": ["one: it does", "two: it does", '"one": within 1 %', '"two": within 1 %'],
        "verdict": ["holds"] * 2 + ["does not hold"] * 2,
    }


def test_without_times_or_claims_there_are_fewer_files_or_rows(tmp_path: Path) -> None:
    write_report(tmp_path, {"bare": Section("Bare", ("Nothing.",))}, ORIGIN)
    assert set(contents(tmp_path)) == {"claims.csv", "report.html"}
    assert (tmp_path / "claims.csv").read_text() == '"place","claim","measured","verdict"\n'


def test_missing_folders_are_made(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b" / "c"
    check_folder(folder)
    assert list(tmp_path.iterdir()) == []
    write_report(folder, SECTIONS, ORIGIN)
    assert {path.name for path in folder.iterdir()} == ALL
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_an_earlier_report_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    for name in ("notes.txt", "one.csv", "report.html"):
        (tmp_path / name).write_text("mine", encoding="utf-8")
    (tmp_path / "more").mkdir()
    write_report(tmp_path, SECTIONS, ORIGIN)
    found = contents(tmp_path)
    assert set(found) == ALL | {"notes.txt", "more"}
    assert found["notes.txt"] == b"mine"
    assert b"mine" not in (found["one.csv"], found["report.html"])


def test_the_report_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sees the new report finds all that it links to."""
    placed: list[str] = []
    replace = Path.replace

    def noted(path: Path, target: Path) -> Path:
        placed.append(target.name)
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", noted)
    write_report(tmp_path, SECTIONS, ORIGIN)
    finally_placed = [name for name in placed if name in ALL]
    assert finally_placed[-1] == "report.html"


def test_a_link_to_a_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write_report(tmp_path / "link", SECTIONS, ORIGIN)
    assert (tmp_path / "link").is_symlink()
    assert set(contents(tmp_path / "real")) == ALL


@pytest.mark.parametrize(
    ("below", "sentence"),
    [
        ("file", "this is a file, not a folder"),
        ("file/below/it", "it cannot be written: Not a directory"),
        ("loop", "this is a file, not a folder"),
        ("loop/below", "this is a file, not a folder"),
        ("x" * 300, "it cannot be written: File name too long"),
        ("new/" + "x" * 300, "it cannot be written: File name too long"),
    ],
)
def test_what_cannot_be_written_is_told_before_and_leaves_nothing(
    tmp_path: Path, below: str, sentence: str
) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    (tmp_path / "loop").symlink_to("loop")
    folder = tmp_path / below
    for attempt in (check_folder, lambda folder: write_report(folder, SECTIONS, ORIGIN)):
        with pytest.raises(OutputError) as refused:
            attempt(folder)
        assert str(refused.value) == f"{folder}: {sentence}"
    assert {path.name for path in tmp_path.iterdir()} == {"file", "loop"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
@pytest.mark.parametrize("below", ["", "new", "new/newer"])
def test_a_folder_that_may_not_be_written_is_told(tmp_path: Path, below: str) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(OutputError, match="it cannot be written: Permission denied"):
            check_folder(tmp_path / below)
        assert list(tmp_path.iterdir()) == []
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
@pytest.mark.parametrize("below", ["", "new"])
def test_a_place_where_nobody_may_write_is_told(below: str) -> None:
    with pytest.raises(OutputError, match=r"^/proc.*: it cannot be written: "):
        check_folder(Path("/proc") / below)


@pytest.mark.parametrize("room", [20, 1_000])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, room: int, is_there: bool) -> None:
    folder = tmp_path / "report"
    if is_there:
        folder.mkdir()
        (folder / "report.html").write_text("earlier", encoding="utf-8")
    before = contents(tmp_path)
    with disk_with_room_for(room), pytest.raises(OutputError) as refused:
        write_report(folder, SECTIONS, ORIGIN)
    assert str(refused.value) == f"{folder}: it cannot be written: File too large"
    assert contents(tmp_path) == before


def test_a_table_that_does_not_fit_is_named_by_its_place(tmp_path: Path) -> None:
    bare = Section("Bare", (), tables=made_up_section("long", rows=2_000).tables)
    with disk_with_room_for(9_000), pytest.raises(OutputError) as refused:
        write_report(tmp_path / "new", {"bare": bare}, ORIGIN)
    sentence = f"{tmp_path / 'new' / 'long.csv'}: it cannot be written: "
    assert str(refused.value).startswith(sentence)
    assert list(tmp_path.iterdir()) == []


def test_interrupted_it_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("recrawl.paper.output.write_table", interrupted)
    for folder in (tmp_path, tmp_path / "new" / "newer"):
        with pytest.raises(KeyboardInterrupt):
            write_report(folder, SECTIONS, ORIGIN)
        assert list(tmp_path.iterdir()) == []


def test_a_folder_where_a_file_belongs_stops_it_before_any_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "two.csv").mkdir()
    (tmp_path / "one.png").write_text("mine", encoding="utf-8")
    before = contents(tmp_path)
    with pytest.raises(OutputError, match=r"two\.csv: this is a directory, not a file"):
        write_report(tmp_path, SECTIONS, ORIGIN)
    assert contents(tmp_path) == before


def test_two_files_of_one_name_are_a_mistake(tmp_path: Path) -> None:
    twice = {"part-1": made_up_section("one"), "part-2": made_up_section("one")}
    with pytest.raises(ValueError, match=r"two files of the report are called one\.png"):
        write_report(tmp_path, twice, ORIGIN)
    assert list(tmp_path.iterdir()) == []
