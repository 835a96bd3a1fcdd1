"""Every way in which a crawl log or an option can be wrong: one sentence, exit code 2, no trace."""

import gzip
import io
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from cli import refusing
from pyarrow import parquet
from typer.testing import CliRunner

from recrawl.cli.app import app
from recrawl.planning.methods import METHODS

HEAD = "page,time,changed\n"
GOOD = HEAD + "a,2026-01-01,\na,2026-01-02,1\n"


def refused(*arguments: str, given: bytes | None = None) -> str:
    """Give the sentence with which ``recrawl estimate`` refuses."""
    return refusing.refused("estimate", *arguments, given=given)


def refused_log(path: Path, *options: str) -> str:
    """Refuse a log in a folder of its own, leaving no output; the sentence begins with its name."""
    before = set(path.parent.iterdir())
    sentence = refused(str(path), "-o", str(path.with_name("rates.csv")), *options)
    assert set(path.parent.iterdir()) == before
    assert sentence.startswith(str(path))
    return sentence.removeprefix(str(path))


NO_VISITS = "there are no visits in it"
NO_CHANGED = "there is no column 'changed' or 'outcome' or 'digest'"
NO_UTF8 = "this is not UTF-8"
EMPTY = "the cell is empty"
OUTSIDE = "is outside the years 1 to 9999"
SEEN_ONCE = "no page was seen twice, so nothing can be learned"
NOTHING_SAID = "no visit says whether its page had changed since the previous one"
CUT_SHORT = "the compressed file is truncated or damaged"
ALL_COLUMNS = (
    "known columns are page, time, changed, outcome, digest, status, crawl_rate, last_modified, "
    "importance, and --ignore-unknown skips all others"
)
EXTRA = "page,time,changed,{}\na,1,,{}\na,2,,{}\n"

#: What is wrong, the log in Latin-1 or bytes, the place that is named, and what is said of it.
BAD_CSV: dict[str, tuple[str | bytes, str, str]] = {
    "empty file": ("", "", "the file is empty"),
    "header only": (HEAD, "", NO_VISITS),
    "header and empty lines": (HEAD + "\n,,\n\r\n", "", NO_VISITS),
    "no page": (
        "site,time,changed\na,1,\n",
        "",
        "there is no column 'page'; the columns are 'site', 'time', 'changed'; name it with ",
    ),
    "no time": ("page,changed\na,1\n", "", "there is no column 'time'; the columns are 'page', "),
    "no changed": ("page,time\na,1\n", "", f"{NO_CHANGED}; the columns are 'page', 'time'"),
    "misspelt": (
        "page,time,chnaged\na,1,\n",
        "",
        f"{NO_CHANGED} (is 'chnaged' a misspelt 'changed'?)",
    ),
    "spaces": (
        "page time changed\na 1 0\n",
        ", row 1",
        "the columns are separated by spaces; write commas or tabs: tr ' ' '\\t'",
    ),
    "very many columns": (
        "x," * 999 + "y",
        "",
        f"there is no column 'page'; the columns are {'x, ' * 12}".replace("x", "'x'")[:-2]
        + " and 988 more",
    ),
    "unknown column": (
        "page,time,changed,importence\na,1,,\n",
        "",
        f"the column 'importence' is unknown (did you mean 'importance'?); {ALL_COLUMNS}",
    ),
    "unlike any": (
        EXTRA.format("x", 1, 1),
        "",
        "the column 'x' is unknown; known columns are page, ",
    ),
    "repeated column": (
        "page,time,changed,time\na,1,,1\n",
        ", column 'time'",
        "the column appears more than once",
    ),
    "too few fields": (GOOD + "a,3\n", ", row 4", "the row has 2 fields, but the header has 3"),
    "too many fields": (
        GOOD + "a,3,1,1\n",
        ", row 4",
        "the row has 4 fields, but the header has 3",
    ),
    "one field": (HEAD + "\n\na\n", ", row 4", "the row has 1 field, but the header has 3"),
    "open quotes": (
        GOOD + '"a,3,1\na,4,1\n',
        ", row 4",
        "the row has 1 field, but the header has 3",
    ),
    "open quotes in the header": (
        '"page,time,changed\n' + "a,1,\n" * 50_000,
        ", row 1",
        "the header is broken: field larger than field limit (131072)",
    ),
    "bad time": (
        GOOD + "a,yesterday,1\n",
        ", row 4, column 'time'",
        "'yesterday' is not a time; write 2026-01-31, 2026-01-31T12:30:00Z or Unix seconds",
    ),
    "bad time after empty lines": (
        GOOD + "\n,,\na,2026-02-30,1\n",
        ", row 6, column 'time'",
        "'2026-02-30' is not a time;",
    ),
    "bad first time": (
        HEAD + "a,?,1\na,2026-01-01,1\n",
        ", row 2, column 'time'",
        "'?' is not a time;",
    ),
    "bad Unix time": (
        HEAD + "a,17,1\na,17x,1\n",
        ", row 3, column 'time'",
        "'17x' is not a time;",
    ),
    "no number": (HEAD + "a,1,\na,nan,1\n", ", row 3, column 'time'", EMPTY),
    "no time in a row": (GOOD + "a,,1\n", ", row 4, column 'time'", EMPTY),
    "spaces for a time": (GOOD + "a,  ,1\n", ", row 4, column 'time'", EMPTY),
    "beyond all units": (
        HEAD + "a,1e30,1\n",
        ", row 2, column 'time'",
        f"'1e30' {OUTSIDE}",
    ),
    "year 0": (
        GOOD + "a,0000-12-31,1\n",
        ", row 4, column 'time'",
        f"'0000-12-31' {OUTSIDE}",
    ),
    "before year 1 in UTC": (
        GOOD + "a,1,\na,0001-01-01T00:00:00+01:00,1\n",
        ", row 5, column 'time'",
        f"'0001-01-01T00:00:00+01:00' {OUTSIDE}",
    ),
    "infinite time": (HEAD + "a,inf,1\n", ", row 2, column 'time'", f"'inf' {OUTSIDE}"),
    "bad changed": (
        GOOD + "a,2026-01-03,2\n",
        ", row 4, column 'changed'",
        "'2' is neither 0 nor 1",
    ),
    "long bad changed": (
        GOOD + f"a,2026-01-03,{'y' * 9999}\n",
        ", row 4, column 'changed'",
        f"'{'y' * 39}…' is neither 0 nor 1",
    ),
    "bad outcome": (
        "page,time,outcome\na,1,first\na,2,404\n",
        ", row 3, column 'outcome'",
        "'404' is none of first, changed, unchanged, failed, gone",
    ),
    "bad number": (
        EXTRA.format("crawl_rate", 1, "fast"),
        ", row 3, column 'crawl_rate'",
        "'fast' is not a number above 0",
    ),
    "negative rate": (
        EXTRA.format("crawl_rate", 1, -1),
        ", row 3, column 'crawl_rate'",
        "'-1' is not a number above 0",
    ),
    "rate of 0": (
        EXTRA.format("crawl_rate", "", 0),
        ", row 3, column 'crawl_rate'",
        "'0' is not a number above 0",
    ),
    "infinite rate": (
        EXTRA.format("crawl_rate", "inf", 1),
        ", row 2, column 'crawl_rate'",
        "'inf' is not a number above 0",
    ),
    "infinite importance": (
        EXTRA.format("importance", "inf", 1),
        ", row 2, column 'importance'",
        "'inf' is not a number, 0 or above",
    ),
    "negative importance": (
        EXTRA.format("importance", 0, -0.5),
        ", row 3, column 'importance'",
        "'-0.5' is not a number, 0 or above",
    ),
    "bad last_modified": (
        EXTRA.format("last_modified", "", "once"),
        ", row 3, column 'last_modified'",
        "'once' is not a time;",
    ),
    "no UTF-8": (GOOD + "\xff\xfe,1,1\n", ", row 4, column 'page'", NO_UTF8),
    "no UTF-8 in the header": ("p\xe4ge,time,changed\na,1,\n", ", row 1", NO_UTF8),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "", "this is a picture, not a table"),
    "no text": (b"\x7fELF\0\0\x81", "", "this is neither text nor Parquet nor Arrow"),
    "UTF-16": (GOOD.encode("utf-16"), "", "this is UTF-16 text; convert it: iconv"),
    "old Macintosh": (
        GOOD.replace("\n", "\r"),
        ", row 1",
        "the header is broken: new-line character seen in unquoted field",
    ),
    "empty page": (GOOD + ",3,1\n", ", row 4, column 'page'", EMPTY),
    "blank page": (HEAD + "a,1,\n\n  ,3,1\n", ", row 4, column 'page'", EMPTY),
    "conflict": (
        HEAD + "b,1,\na,1,\n\na,2,0\na,1,1\n",
        ", row 6",
        "the page 'a' has the same time in row 3, and the two rows disagree",
    ),
    "conflict of extras": (
        "page,time,changed,importance\na,1,,1\na,1,,\n",
        ", row 3",
        "the page 'a' has the same time in row 2",
    ),
    "steering codes": (
        HEAD + "\x1b[2J,1,\n\x1b[2J,1,1\n",
        ", row 3",
        r"the page '\x1b[2J' has the same time",
    ),
    "no page twice": (HEAD + "a,1,\nb,1,\n", "", SEEN_ONCE),
    "only failures": ("page,time,outcome\na,1,failed\na,2,gone\n", "", NOTHING_SAID),
    "only gaps": (HEAD + "a,1,\na,2,\n", "", NOTHING_SAID),
    "cut gzip": (gzip.compress(GOOD.encode(), mtime=0)[:-12], "", CUT_SHORT),
    "damaged gzip": (b"\x1f\x8b\x08" + bytes(100), "", CUT_SHORT),
    "cut Parquet": ("PAR1" + "\0" * 100, "", "the Parquet file is truncated or damaged"),
}


@pytest.mark.parametrize("kind", BAD_CSV)
def test_a_bad_log_is_refused_in_one_sentence(tmp_path: Path, kind: str) -> None:
    content, place, problem = BAD_CSV[kind]
    path = tmp_path / "crawl log.csv"
    path.write_bytes(content.encode("latin-1") if isinstance(content, str) else content)
    assert refused_log(path).startswith(f"{place}: {problem}")


def test_standard_input_is_named_in_words() -> None:
    given = HEAD.encode() + b"a,soon,\n"
    assert refused("-", given=given).startswith("standard input, row 2, column 'time': 'soon'")
    assert refused("-", given=b"") == "standard input: the file is empty"


PARQUET = {"page": pa.array(["a", "a"]), "time": pa.array([1, 2]), "changed": pa.array([0, 1])}
ROWS = "the column holds list<element: int64>"
BAD_PARQUET: dict[str, tuple[dict[str, Any], str, str]] = {
    "no rows": ({name: cells.slice(0, 0) for name, cells in PARQUET.items()}, "", NO_VISITS),
    "unknown column": ({"x": [1, 2]}, "", "the column 'x' is unknown"),
    "pages of another kind": (
        {"page": [1.5, 2.5]},
        ", column 'page'",
        "the column holds double, not text or whole numbers",
    ),
    "no page": ({"page": ["a", None]}, ", row 2, column 'page'", EMPTY),
    "no numbered page": ({"page": [None, 7]}, ", row 1, column 'page'", EMPTY),
    "empty page": ({"page": ["a", ""]}, ", row 2, column 'page'", EMPTY),
    "no UTF-8": ({"page": [b"a", b"\xff"]}, ", row 2, column 'page'", NO_UTF8),
    "no UTF-8 among few": (
        {"page": pa.DictionaryArray.from_arrays([2, 0], [b"\xff", b"", b"a"])},
        ", row 2, column 'page'",
        NO_UTF8,
    ),
    "times of another kind": ({"time": [[1], [2]]}, ", column 'time'", f"{ROWS}, not times"),
    "no time": ({"time": [1, None]}, ", row 2, column 'time'", EMPTY),
    "year 10000": (
        {"time": pa.array([0, 253_402_300_800_000], pa.timestamp("ms"))},
        ", row 2, column 'time'",
        f"'253402300800000' {OUTSIDE}",
    ),
    "time beyond all": (
        {"time": pa.array([1.0, 1e30])},
        ", row 2, column 'time'",
        f"'1e+30' {OUTSIDE}",
    ),
    "changed of another kind": (
        {"changed": [[1], [2]]},
        ", column 'changed'",
        f"{ROWS}, not 0 and 1",
    ),
    "bad changed": ({"changed": [1, 2]}, ", row 2, column 'changed'", "'2' is neither 0 nor 1"),
    "half changed": (
        {"changed": [1.0, 0.5]},
        ", row 2, column 'changed'",
        "'0.5' is neither 0 nor 1",
    ),
    "outcome of another kind": (
        {"outcome": [1, 2]},
        ", column 'outcome'",
        "the column holds int64, not words",
    ),
    "rate of another kind": (
        {"crawl_rate": [True, False]},
        ", column 'crawl_rate'",
        "the column holds bool, not numbers",
    ),
    "NaN importance": (
        {"importance": [1.0, float("nan")]},
        ", row 2, column 'importance'",
        "'nan' is not a number, 0 or above",
    ),
    "conflict": (
        {"time": [1, 1]},
        ", row 2",
        "the page 'a' has the same time in row 1",
    ),
}


@pytest.mark.parametrize("kind", BAD_PARQUET)
def test_a_bad_parquet_log_is_refused_in_one_sentence(tmp_path: Path, kind: str) -> None:
    columns, place, problem = BAD_PARQUET[kind]
    parquet.write_table(pa.table({**PARQUET, **columns}), tmp_path / "log.parquet")
    assert refused_log(tmp_path / "log.parquet").startswith(f"{place}: {problem}")


def parquet_bytes() -> bytes:
    """Give a log of which every page is stored plainly, so that damage hits data."""
    number = 20_000
    table = pa.table(
        {
            "page": pa.array([f"https://example.org/{n * 7919 % 10_007}" for n in range(number)]),
            "time": range(number),
            "changed": [1] * number,
        }
    )
    file = io.BytesIO()
    parquet.write_table(table, file, use_dictionary=False, compression="zstd")
    return file.getvalue()


def test_a_damaged_parquet_is_refused(tmp_path: Path) -> None:
    whole = parquet_bytes()
    path = tmp_path / "log.parquet"
    for damaged in (
        whole[:-1],
        whole[: len(whole) // 2],
        whole[:2000] + bytes(9000) + whole[11000:],
    ):
        path.write_bytes(damaged)
        assert refused_log(path) == ": the Parquet file is truncated or damaged"
    result = CliRunner().invoke(app, ["estimate", "-", "--format", "csv"], input=whole)
    assert result.exit_code == 0, result.output


def test_a_bad_cell_is_found_far_down(tmp_path: Path) -> None:
    """Rows are counted across blocks, and a broken row later on does not hide a bad cell."""
    good = "".join(f"https://example.org/{number},{number},\n" for number in range(150_000))
    path = tmp_path / "log.csv"
    path.write_text(HEAD + "\n" + good + "a,?,1\n" + good + "a,1\n", encoding="utf-8")
    assert refused_log(path).startswith(", row 150003, column 'time': '?' is not a time")
    path.write_text(HEAD + "\n" + good + good + "\na,1\n", encoding="utf-8")
    sentence = refused_log(path)
    lines = path.read_text(encoding="utf-8").count("\n")
    assert sentence == f", row {lines}: the row has 2 fields, but the header has 3"


@pytest.mark.parametrize("before", ["", HEAD, GOOD, GOOD + "\n"])
def test_a_line_of_a_hundred_megabytes_is_refused(tmp_path: Path, before: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(before, encoding="utf-8")
    os.truncate(path, 100_000_000)
    row = before.count("\n") + 1
    sentence = refused_log(path)
    assert sentence == f", row {row}: the row is longer than 4 MB (is a quotation mark left open?)"


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    assert refused(str(tmp_path / "log.csv")) == f"{tmp_path}/log.csv: there is no such file"
    assert refused(str(tmp_path)) == f"{tmp_path}: there are no files in this folder"
    (tmp_path / "file").touch()
    inside = tmp_path / "file" / "log.csv"
    assert refused(str(inside)) == f"{inside}: it cannot be read: Not a directory"


ALL_METHODS = ", ".join(METHODS)
NO_ENDING = "does not end in .csv, .json, .jsonl, .parquet; choose a format with --format"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--method", "magic"], f"--method: 'magic' is none of {ALL_METHODS}"),
        (["--prior", "x"], "--prior: 'x' is none of alone, fleet, host"),
        (
            ["--prior", "host", "--method", "lln"],
            "--prior: the method lln has no prior; only gamma and last-modified do",
        ),
        (["--format", "xml"], "--format: 'xml' is none of table, csv, json, jsonl, parquet"),
        (
            ["--format", "table", "-o", "x.csv"],
            "--format: a file holds csv, json, jsonl, parquet, not a table",
        ),
        (["-o", "rates.txt"], f"--output: 'rates.txt' {NO_ENDING}"),
        (["-o", "-"], f"--output: '-' {NO_ENDING}"),
        (["--level", "95"], "--level: 95 is not between 0 and 1; 0.95 is usual"),
        (["--level", "nan"], "--level: nan is not between 0 and 1; 0.95 is usual"),
    ],
)
def test_bad_options_are_refused_before_the_log_is_read(options: list[str], sentence: str) -> None:
    assert refused("no such log", *options) == sentence


def test_an_output_that_cannot_be_is_refused_before_the_log_is_read(tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "rates.csv"
    sentence = refused("no such log", "-o", str(missing))
    assert sentence == f"{missing}: there is no directory {missing.parent}"
    folder = tmp_path / "rates.csv"
    folder.mkdir()
    sentence = refused("no such log", "-o", str(folder))
    assert sentence == f"{folder}: this is a directory, not a file"


def test_a_full_disk_is_told_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(GOOD, encoding="utf-8")
    sentence = refused(str(tmp_path / "log.csv"), "-o", "/dev/full", "--format", "json")
    assert sentence == "/dev/full: it cannot be written: No space left on device"


def test_last_modified_needs_its_column(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(GOOD, encoding="utf-8")
    sentence = refused_log(path, "--method", "last-modified")
    assert sentence == ": the method last-modified needs the column 'last_modified'"


@pytest.mark.parametrize("arguments", [[], ["--no-such-option", "log"], ["--memory"]])
def test_usage_errors_exit_with_2_and_no_trace(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, ["estimate", *arguments])
    assert result.exit_code == 2
    assert result.stderr.startswith("recrawl: ")
    assert result.stderr.endswith("`recrawl estimate --help` shows how it is used\n")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output
