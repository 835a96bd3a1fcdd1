"""Logs as pandas, polars, DuckDB, Spark, Nutch, Scrapy and archives write them: read, or refused.

Every shape holds the same four visits: page a on 1, 2 and 3 March 2026 at 8:00, which had changed
on the second and not on the third, and page b on 1 March.
"""

import bz2
import gzip
import json
import lzma
import pickle
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, ipc, parquet

from recrawl import read_log
from recrawl.errors import CrawlLogError
from recrawl.records import CrawlLog, Outcome

A, B = "https://a.example/", "https://b.example/"
PAGES = [A, B, A, A]
DAYS = [datetime(2026, 3, day, 8, tzinfo=UTC) for day in (1, 1, 2, 3)]
SECONDS = [int(day.timestamp()) for day in DAYS]
ISO = [f"{day:%Y-%m-%dT%H:%M:%SZ}" for day in DAYS]
CHANGED = [None, None, True, False]
DIGESTS = ["sha1:AAA", "sha1:BBB", "sha1:CCC", "sha1:CCC"]
TABLE = pa.table(
    {"page": PAGES, "time": pa.array(DAYS, pa.timestamp("us", "UTC")), "changed": CHANGED}
)


def lines(*columns: list[Any], header: str, separator: str = ",") -> str:
    cells = [separator.join(map(str, row)) for row in zip(*columns, strict=True)]
    return "\n".join([header, *cells, ""])


def text(content: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / "log.csv").write_text(content, encoding="utf-8")
        return folder / "log.csv"

    return write


def data(content: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / "log").write_bytes(content)
        return folder / "log"

    return write


def table(
    made: pa.Table, write_to: Callable[[pa.Table, Path], object] = parquet.write_table
) -> Any:  # noqa: ANN401
    def write(folder: Path) -> Path:
        write_to(made, folder / "log.bin")
        return folder / "log.bin"

    return write


def stream(made: pa.Table, path: Path) -> None:
    with ipc.new_stream(str(path), made.schema) as writer:
        writer.write_table(made)


def json_lines(*rows: dict[str, Any]) -> Callable[[Path], Path]:
    return text("".join(json.dumps(row) + "\n" for row in rows))


def plain(changed: list[str], times: list[Any] = ISO) -> str:
    return lines(PAGES, times, changed, header="page,time,changed")


def folder_of_files(folder: Path) -> Path:
    """Spark: a folder of parts, with a mark that the job is done."""
    out = folder / "log"
    out.mkdir()
    parquet.write_table(TABLE.slice(0, 3), out / "part-00000.snappy.parquet")
    parquet.write_table(TABLE.slice(3), out / "part-00001.snappy.parquet")
    (out / "_SUCCESS").touch()
    # What a killed job left behind, and a table of Delta Lake's own log.
    for left in ("_temporary/0", "_delta_log", ".ipynb_checkpoints"):
        (out / left).mkdir(parents=True)
        parquet.write_table(TABLE.slice(0, 1).select(["time"]), out / left / "part-00000.parquet")
    (out / ".part-00000.snappy.parquet.crc").write_bytes(b"crc")
    return out


def hive_partitions(folder: Path) -> Path:
    """Common Crawl's index: folders by crawl and subset, with digests and statuses."""
    for crawl, rows in (("CC-MAIN-2026-09", slice(0, 2)), ("CC-MAIN-2026-10", slice(2, 4))):
        out = folder / f"crawl={crawl}" / "subset=warc"
        out.mkdir(parents=True)
        found = pa.table(
            {
                "url_surtkey": PAGES[rows],
                "url": PAGES[rows],
                "fetch_time": pa.array(DAYS[rows], pa.timestamp("ms")),
                "fetch_status": pa.array([200, 200], pa.int16()),
                "content_digest": DIGESTS[rows],
            }
        )
        parquet.write_table(found, out / "part-0.parquet")
    return folder


def time_in_folders(folder: Path) -> Path:
    for day, page, changed in zip((1, 1, 2, 3), PAGES, ("", "", "1", "0"), strict=True):
        out = folder / f"time=2026-03-{day:02} 08%3A00%3A00"
        out.mkdir(exist_ok=True)
        (out / f"{page[8]}.csv").write_text(f"page,changed\n{page},{changed}\n")
    return folder


def java(day: datetime) -> str:
    return f"{day:%a %b %d %H:%M:%S} UTC {day:%Y}"


NUTCH = lines(
    [f'"{page}"' for page in [*PAGES, "https://c.example/"]],
    [2, 2, 2, 6, 1],
    ["db_fetched", "db_fetched", "db_fetched", "db_notmodified", "db_unfetched"],
    # Nutch notes when a page is due: a day after its visit.
    [java(datetime(2026, 3, day, 8, tzinfo=UTC)) for day in (2, 2, 3, 4, 9)],
    ["Thu Jan 01 00:00:00 UTC 1970"] * 5,
    ["86400.0"] * 5,
    ["aa", "bb", "cc", "cc", "null"],
    header="Url,Status code,Status name,Fetch Time,Modified Time,Retry interval seconds,Signature",
)

READ: dict[str, Callable[[Path], Path]] = {
    "pandas to_csv": text(plain(["", "", "True", "False"])),
    "pandas to_csv with an index": text(
        lines(range(4), PAGES, ISO, ["", "", "1.0", "0.0"], header=",url,time,changed")  # type: ignore[arg-type]
    ),
    "pandas to_parquet with nanoseconds": table(
        TABLE.set_column(1, "time", TABLE["time"].cast(pa.timestamp("ns", "UTC")))
    ),
    "pandas categories": table(TABLE.set_column(0, "page", TABLE["page"].dictionary_encode())),
    "pandas to_json of lines, in milliseconds": json_lines(
        *(
            {"page": page, "time": 1000 * at, "changed": bit}
            for page, at, bit in zip(PAGES, SECONDS, CHANGED, strict=True)
        )
    ),
    "pandas NaN in text": text(plain(["NaN", "nan", "1", "0"])),
    "polars write_csv": text(
        plain(["", "", "true", "false"], [s.replace("Z", ".000000") for s in ISO])
    ),
    "polars write_ipc": table(TABLE, lambda made, path: feather.write_feather(made, str(path))),
    "polars write_ndjson": json_lines(
        *(
            {"page": page, "time": at, "changed": bit}
            for page, at, bit in zip(PAGES, ISO, CHANGED, strict=True)
        )
    ),
    "polars write_ipc_stream": table(TABLE, stream),
    "DuckDB COPY TO csv": text(
        plain(["", "", "true", "false"], [s[:-1].replace("T", " ") + "+00" for s in ISO])
    ),
    "DuckDB COPY TO parquet": table(
        TABLE.set_column(2, "changed", pa.array([None, None, 1, 0], pa.int32()))
    ),
    "polars Categorical": table(
        TABLE.set_column(
            0,
            "page",
            pa.DictionaryArray.from_arrays(
                pa.array([0, 1, 0, 0]), pa.array([A, B], pa.string_view())
            ),
        ),
        lambda made, path: feather.write_feather(made, str(path)),
    ),
    "DuckDB, decimals": table(
        TABLE.set_column(2, "changed", pa.array([None, None, 1, 0]).cast(pa.decimal128(20, 0)))
    ),
    "times without signs": text(
        plain(["", "", "1", "0"], [s.replace("-", "").replace(":", "") for s in ISO])
    ),
    "names as in Java": text(
        lines(PAGES, ISO, ["", "", "1", "0"], header="targetUri,lastFetchDate,hasChanged")
    ),
    "Heritrix, after awk": text(
        lines(
            [*PAGES, A],
            [*ISO, "2026-03-04T08:00:00.123Z"],
            [200, 200, 200, 200, -6],
            [*DIGESTS, "-"],
            header="page\ttime\tstatus\tdigest",
            separator="\t",
        )
    ),
    "the Wayback Machine's CDX as CSV": text(
        lines(
            ["x"] * 4,
            [f"{day:%Y%m%d%H%M%S}" for day in DAYS],
            PAGES,
            [200] * 4,
            DIGESTS,
            header="urlkey,timestamp,original,statuscode,digest",
        )
    ),
    "Postgres COPY": text(
        lines(PAGES, ISO, [r"\N", r"\N", "t", "f"], header="page\ttime\tchanged", separator="\t")
    ),
    "MySQL, NULL": text(plain(["NULL", "NULL", "1", "0"], [s[:-1].replace("T", " ") for s in ISO])),
    "Y and N, semicolons": text(
        lines(PAGES, ISO, ["", "", "Y", "N"], header="page;time;changed", separator=";")
    ),
    "Unix seconds": text(plain(["", "", "1", "0"], SECONDS)),
    "Unix microseconds": text(plain(["", "", "1", "0"], [10**6 * at for at in SECONDS])),
    "Unix nanoseconds": table(
        TABLE.set_column(1, "time", pa.array([10**9 * at for at in SECONDS]))
    ),
    "HTTP dates": text(
        lines(
            PAGES,
            [f'"{day:%a, %d %b %Y %H:%M:%S} GMT"' for day in DAYS],
            ["", "", "yes", "no"],
            header="page,time,changed",
        )
    ),
    "a web server's log": text(
        plain(["", "", "1", "0"], [f"{day:%d/%b/%Y:%H:%M:%S} +0000" for day in DAYS])
    ),
    "Spark, a folder of parts": folder_of_files,
    "Spark, times with milliseconds": text(
        plain(["", "", "true", "false"], [s.replace("Z", ".000Z") for s in ISO])
    ),
    "Common Crawl's index": hive_partitions,
    "a column in the names of folders": time_in_folders,
    "a CDX index": json_lines(
        *(
            {
                "urlkey": "x",
                "timestamp": f"{day:%Y%m%d%H%M%S}",
                "url": page,
                "status": "200",
                "digest": digest,
            }
            for page, day, digest in zip(PAGES, DAYS, DIGESTS, strict=True)
        )
    ),
    "Nutch readdb -format csv": text(NUTCH),
    "Scrapy -O log.jsonl": json_lines(
        *(
            {
                "url": page,
                "crawled_at": at.replace("Z", "+00:00"),
                "body_hash": digest,
                "title": "x",
            }
            for page, at, digest in zip(PAGES, ISO, DIGESTS, strict=True)
        )
    ),
    "Scrapy, values of several types": json_lines(
        *(
            {"url": page, "timestamp": at, "changed": bit}
            for page, at, bit in zip(PAGES, ISO, [None, None, 1, False], strict=True)
        )
    ),
    "Screaming Frog": text(
        lines(
            PAGES,
            ISO,
            [200, 200, 200, 200],
            DIGESTS,
            header='"Address","Crawl Timestamp","Status Code","Hash"',
        )
    ),
    "capitals": text(
        plain(["", "", "T", "F"]).replace("page,time,changed", "URL,Timestamp,Changed")
    ),
    "JSON lines of .NET, with a byte order mark": data(
        b"\xef\xbb\xbf"
        + b"".join(
            json.dumps({"page": page, "time": at, "changed": bit}).encode() + b"\r\n"
            for page, at, bit in zip(PAGES, ISO, CHANGED, strict=True)
        )
    ),
    "gzip": data(gzip.compress(plain(["", "", "1", "0"]).encode(), mtime=0)),
    "zstd": data(
        bytes(pa.Codec("zstd").compress(plain(["", "", "1", "0"]).encode(), asbytes=True))
    ),
    "bzip2": data(bz2.compress(plain(["", "", "1", "0"]).encode())),
    "xz": data(lzma.compress(plain(["", "", "1", "0"]).encode())),
}


def visits(log: CrawlLog) -> list[tuple[str, datetime, str]]:
    names = log.names.to_pylist()
    return [
        (names[page], datetime.fromtimestamp(at / 1e6, UTC), Outcome(outcome).name)
        for page, at, outcome in zip(log.page, log.time, log.outcome, strict=True)
    ]


@pytest.mark.parametrize("shape", READ)
def test_a_shape_is_read_at_once(tmp_path: Path, shape: str) -> None:
    log = read_log(READ[shape](tmp_path))
    assert sorted(visit for visit in visits(log) if visit[2] != "FAILED") == [
        (A, DAYS[0], "FIRST"),
        (A, DAYS[2], "CHANGED"),
        (A, DAYS[3], "UNCHANGED"),
        (B, DAYS[1], "FIRST"),
    ]
    numbered = shape.startswith(("Unix m", "Unix n", "pandas to_json", "a CDX", "the Way"))
    assert len(log.notes) == numbered


def sqlite(folder: Path) -> Path:
    with sqlite3.connect(folder / "log.db") as database:
        database.execute("create table log (page, time, changed)")
    return folder / "log.db"


JSON_ARRAY = json.dumps([{"page": A, "time": ISO[0], "changed": None}])
REFUSED: dict[str, tuple[Callable[[Path], Path], str]] = {
    "Scrapy -O log.json": (text(JSON_ARRAY), "one object per line: -O log.jsonl"),
    "an SQLite database": (sqlite, "export the log as CSV: sqlite3 -header -csv"),
    "a DuckDB database": (data(b"\0" * 8 + b"DUCK" + b"\0" * 9), "COPY log TO 'log.parquet'"),
    "an Excel workbook": (data(b"PK\x03\x04" + b"\0" * 30), "save it as CSV"),
    "a pickled frame": (data(pickle.dumps({"page": [A]})), r"df\.to_parquet"),
    "Nutch's own files": (data(b"SEQ\x06\x19org.apache.hadoop.io.Text"), "nutch readdb"),
    "an ORC file": (data(b"ORC\x0a\x0b\x00"), r"df\.write\.parquet"),
    "an Avro file": (data(b"Obj\x01\x04\x14avro.codec"), r"df\.write\.parquet"),
    "a WARC file": (data(b"WARC/1.1\r\nWARC-Type: warcinfo\r\n"), "use its index"),
    "names of its own": (
        text("site,seen,new\na,2026-03-01,1\n"),
        r"the columns are 'site', 'seen', 'new'; name it with --columns page=NAME",
    ),
    "a CDXJ index": (text(f'a)/ 20260301080000 {{"url": "{A}"}}\n'), "as JSON lines: awk"),
    "a CDX index": (text(" CDX N b a m s k r M S V g\na)/ 20260301080000 x"), "a table: awk"),
    "Heritrix's crawl.log": (
        text(f"2026-03-01T08:00:00.123Z   200      12345 {A} L - text/html #042 - sha1:A - -\n"),
        "this is a crawl.log of Heritrix; write it as a table: awk",
    ),
    "Nutch's dump as text": (text(f"{A}\tVersion: 7\nStatus: 2 (db_fetched)\n"), "-format csv"),
    "the Wayback Machine's JSON": (text('[["urlkey","timestamp"],\n["a","2"]]'), "@csv"),
    "Elasticsearch's hits": (json_lines({"_id": 1, "_source": {"url": A}}), "jq -c ._source"),
    "pandas to_json of columns": (
        text('{"page":{"0":"a"},"time":{"0":1},"changed":{"0":true}}'),
        "orient='records', lines=True",
    ),
    "UTF-16 of Excel": (data(plain(["", "", "1", "0"]).encode("utf-16")), "iconv -f UTF-16"),
    "no header": (text(f"{A},2026-03-01,1\n"), "write them above, such as page,time,changed"),
    "spaces between columns": (text(f"page time changed\n{A} 2026-03-01 1\n"), "tr ' ' "),
    "days first": (text(plain(["", "", "1", "0"], ["1/3/2026"] * 4)), "write 2026-01-31"),
    "a broken line": (text('{"page": "a"\n'), "row 1: the line is not a JSON object"),
    "a deep list": (
        text(f'{{"page": "a"}}\n{{"page": {"[" * 200_000}{"]" * 200_000}}}\n'),
        "row 2: values are nested more than 100 levels deep",
    ),
    "deep objects": (text('{"a": ' * 200_000), "row 1: values are nested more than 100 levels"),
    "a list deeper with every line": (
        text('{"page": "[' + "]" * 300 + '"}\n[[\n' + "[[\n" * 99_999),
        "row 52: values are nested more than 100 levels",
    ),
    "a damaged archive": (
        data(gzip.compress(b"page,time,changed\n" * 999)[:30]),
        "truncated or damaged",
    ),
    "a damaged Arrow file": (data(b"ARROW1\0\0" + b"x" * 40), "the Arrow file is truncated"),
}


@pytest.mark.parametrize("shape", REFUSED)
def test_a_shape_is_refused_with_what_to_type(tmp_path: Path, shape: str) -> None:
    write, sentence = REFUSED[shape]
    with pytest.raises(CrawlLogError, match=sentence) as caught:
        read_log(write(tmp_path))
    assert "\n" not in str(caught.value)


def test_brackets_in_texts_are_not_nested_values(tmp_path: Path) -> None:
    rows = [{"page": A + r"\"[{[" * 60, "time": 86_400 * day, "changed": 1} for day in range(9)]
    assert len(visits(read_log(json_lines(*rows)(tmp_path)))) == 9


def test_columns_are_those_that_were_named(tmp_path: Path) -> None:
    path = text(lines(PAGES, ISO, ["", "", 1, 0], header="site,seen,new"))(tmp_path)
    log = read_log(path, columns={"page": "site", "time": "seen", "changed": "new"})
    assert [row[2] for row in visits(log)] == ["FIRST", "CHANGED", "UNCHANGED", "FIRST"]
    with pytest.raises(CrawlLogError, match="there is no column 'url'; the columns are 'site'"):
        read_log(path, columns={"page": "url"})


def test_files_of_one_log_have_the_same_columns(tmp_path: Path) -> None:
    parquet.write_table(TABLE.slice(0, 1), tmp_path / "1.parquet")
    more = TABLE.append_column("importance", pa.array([1.0] * 4))
    parquet.write_table(more.slice(1, 3), tmp_path / "2.parquet")
    with pytest.raises(
        CrawlLogError, match=r"2\.parquet, column 'importance': .*1\.parquet has no"
    ):
        read_log(tmp_path / "*.parquet")
    log = read_log([tmp_path / "2.parquet", tmp_path / "1.parquet"])
    assert log.importance is not None
    assert log.names.to_pylist() == [B, A]
    np.testing.assert_array_equal(log.importance, [1.0, np.nan, 1.0, 1.0])


def test_a_row_is_named_in_the_file_it_is_in(tmp_path: Path) -> None:
    csv.write_csv(TABLE, tmp_path / "1.csv")
    (tmp_path / "2.csv").write_text(f"page,time,changed\n\n{A},soon,1\n")
    with pytest.raises(CrawlLogError, match=r"2\.csv, row 3, column 'time': 'soon' is not a time"):
        read_log(tmp_path)
    (tmp_path / "2.csv").write_text(f"page,time,changed\n\n{A},2026-03-02T08:00:00Z,0\n")
    with pytest.raises(CrawlLogError, match=r"2\.csv, row 3: .* in .*1\.csv, row 4, and the two"):
        read_log(tmp_path)


def test_a_page_without_a_digest_was_not_seen(tmp_path: Path) -> None:
    text = "url,timestamp,digest,status\n" + "".join(
        f"{A},2026-03-0{day},{digest},{status}\n"
        for day, digest, status in [
            (1, "x", 200), (2, "", 200), (3, "y", 503), (4, "x", 200), (5, "", 304), (6, "z", 200),
            (7, "z", 404), (8, "z", 200),
        ]
    )  # fmt: skip
    (tmp_path / "log.csv").write_text(text)
    log = read_log(tmp_path / "log.csv")
    assert [Outcome(number).name for number in log.outcome] == [
        "FIRST", "FAILED", "FAILED", "UNCHANGED", "UNCHANGED", "CHANGED", "GONE", "UNCHANGED",
    ]  # fmt: skip


@pytest.mark.parametrize("nothing", ["", "-", "NULL", "null", "None", r"\N", "NaN", " n/a "])
def test_a_visit_whose_digest_says_that_there_is_none_shows_nothing(
    tmp_path: Path, nothing: str
) -> None:
    rows = lines(
        [A] * 3, [ISO[i] for i in (0, 2, 3)], ["x", nothing, "x"], header="page,time,digest"
    )
    log = read_log(text(rows)(tmp_path))
    assert [Outcome(outcome).name for outcome in log.outcome] == ["FIRST", "FAILED", "UNCHANGED"]


def test_columns_may_have_numbers_for_names(tmp_path: Path) -> None:
    """pandas: a frame without names of columns, and with its index."""
    rows = lines([9, 8, 7, 6], PAGES, ISO, ["", "", 1, 0], header=",0,1,2")
    log = read_log(text(rows)(tmp_path), columns={"page": "0", "time": "1", "changed": "2"})
    assert log.names.to_pylist() == [A, B]


def test_a_column_that_only_later_lines_have_is_not_passed_over(tmp_path: Path) -> None:
    """Lines are read some megabytes at a time; failures must not be lost because they come late."""
    row = {"page": A, "time": ISO[0], "changed": None, "title": "x" * 1_000}
    late = {"page": B, "time": ISO[1], "outcome": "failed"}
    path = json_lines(*[row] * 5_000, late)(tmp_path)
    with pytest.raises(CrawlLogError, match=r"'outcome': it is missing from the first lines"):
        read_log(path, ignore_unknown=True)
    log = read_log(
        json_lines(row | {"outcome": None}, *[row] * 5_000, late)(tmp_path), ignore_unknown=True
    )
    assert log.outcome.tolist() == [Outcome.FIRST, Outcome.FAILED]


@pytest.mark.parametrize(
    ("date", "hour"),
    [
        ("Sun Mar 01 08:00:00 GMT+02:00 2026", 6),
        ("Sun Mar 01 08:00:00 EST 2026", 13),
        ("Sun, 01 Mar 2026 08:00:00", 8),
        ("Sun Mar 01 08:00:00 CET 2026", None),
        ("Sun, 01 Mar 2026 08:00:00 IST", None),
    ],
)
def test_a_zone_that_is_not_known_is_not_taken_for_utc(
    tmp_path: Path, date: str, hour: int | None
) -> None:
    path = text(f'page,time,changed\n{A},"{date}",\n')(tmp_path)
    if hour is None:
        with pytest.raises(CrawlLogError, match=r"row 2, column 'time': .* unknown time zone"):
            read_log(path)
    else:
        assert visits(read_log(path))[0][1].hour == hour
