"""What ``recrawl export`` writes."""

import gzip
import io
import json
import re
import sqlite3
from contextlib import closing
from csv import DictReader
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from cli.crawling_site import move_to, run
from cli.refusing import left_alone
from crawler.filled import ABOUT, BROKEN, DAY, GONE, NEWS, NEWS_BODY, fill
from pyarrow import csv, parquet
from store.made_up import found
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from recrawl.formats.common_crawl import COMMON_CRAWL, CRAWL_LOG
from recrawl.records import digest_of
from recrawl.store.sqlite import SqliteStore

VISITS = [NEWS, NEWS, ABOUT, BROKEN, GONE]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_to(tmp_path, monkeypatch)
    fill("recrawl.db", 20_000 * DAY)


def test_the_log_has_common_crawls_columns() -> None:
    assert run("export", "log", "log.parquet").stdout == "log.parquet: 5 visits\n"
    table = parquet.read_table("log.parquet")
    assert table.column_names == COMMON_CRAWL.names
    assert table["url"].to_pylist() == VISITS
    assert table["changed"].to_pylist() == [None, True, None, None, None]


def test_a_log_as_csv_has_the_same_content() -> None:
    run("export", "log", "log.parquet")
    run("export", "log", "log.CSV")
    written, whole = csv.read_csv("log.CSV"), parquet.read_table("log.parquet")
    assert written.column_names == whole.column_names
    for name in ("url", "fetch_status", "outcome", "changed", "fetch_bytes"):
        assert written[name].to_pylist() == [
            "" if cell is None and name == "outcome" else cell for cell in whole[name].to_pylist()
        ]


def test_a_log_as_json_lines_has_the_same_content_also_on_standard_output() -> None:
    run("export", "log", "log.parquet")
    assert run("export", "log", "log.jsonl").stdout == "log.jsonl: 5 visits\n"
    written = Path("log.jsonl").read_text(encoding="utf-8")
    assert run("export", "log", "-", "--format", "jsonl").stdout == written
    rows = [json.loads(line) for line in written.splitlines()]
    whole = parquet.read_table("log.parquet").to_pylist()
    for row, expected in zip(rows, whole, strict=True):
        assert {name for name, cell in row.items() if cell != expected[name]} <= {
            "fetch_time",
            "prev_fetch_time",
        }
        assert datetime.fromisoformat(row["fetch_time"]) == expected["fetch_time"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_log_goes_to_standard_output_as_to_a_file(kind: str) -> None:
    run("export", "log", f"log.{kind}")
    printed = run("export", "log", "-", "--format", kind).stdout_bytes
    assert printed == Path(f"log.{kind}").read_bytes()


def test_times_in_a_log_are_as_elsewhere() -> None:
    run("export", "log", "log.csv")
    with Path("log.csv").open(encoding="utf-8") as file:
        times = [row["fetch_time"] for row in DictReader(file)]
    assert len(times) == len(VISITS)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", time) for time in times)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_an_exported_log_is_read_again(kind: str) -> None:
    run("export", "log", f"log.{kind}", "--native")
    shown = run("estimate", f"log.{kind}", "--format", "csv").stdout
    assert [row["page"] for row in DictReader(shown.splitlines())] == list(dict.fromkeys(VISITS))


def test_a_log_without_visits_still_has_its_columns() -> None:
    with SqliteStore.open("empty.db", create=True):
        pass
    run("export", "log", "log.csv", "--store", "empty.db")
    assert (
        Path("log.csv").read_text(encoding="utf-8")
        == ",".join(f'"{name}"' for name in COMMON_CRAWL.names) + "\n"
    )


@pytest.mark.parametrize("formula", ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "\t=1", "\r=1"])
def test_no_spreadsheet_runs_what_a_server_sent(formula: str) -> None:
    with closing(sqlite3.connect("recrawl.db")) as store, store:
        store.execute("UPDATE visits SET mime = ?1, error = ?1", [formula])
        store.execute("UPDATE pages SET failures = 1")
    run("export", "log", "log.csv")
    table = csv.read_csv("log.csv", parse_options=csv.ParseOptions(newlines_in_values=True))
    for name in ("content_mime_type", "error"):
        assert {cell for cell in table[name].to_pylist() if cell} == {f"'{formula}"}
    run("export", "log", "log.parquet")
    assert formula in parquet.read_table("log.parquet")["error"].to_pylist()
    listed = run("pages", "--format", "csv").stdout
    assert f"'{formula}" in listed
    assert not any(f"{mark}{formula}" in listed for mark in ',"')


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_the_log_says_which_pages_are_refused_and_why(name: str) -> None:
    reason = "disallowed by robots.txt"
    with closing(sqlite3.connect("recrawl.db")) as store, store:
        store.execute("UPDATE pages SET state = 3, reason = ? WHERE url = ?", (reason, ABOUT))
    assert run("export", "log", name).stdout == f"{name}: 5 visits, 1 refused page\n"
    table = csv.read_csv(name) if name.endswith("csv") else parquet.read_table(name)
    assert table.num_rows == len(VISITS) + 1
    last = table.slice(len(VISITS)).to_pylist()[0]
    assert (last["url"], last["outcome"], last["error"]) == (ABOUT, "refused", reason)
    assert last["fetch_time"] is None
    # A crawl log has visits, and nothing else.
    assert run("export", "log", name, "--native").stdout == f"{name}: 5 visits\n"


@pytest.mark.parametrize("name", ["crawl.csv", "crawl.parquet"])
def test_a_native_log_is_one_that_estimate_reads(name: str) -> None:
    run("export", "log", name, "--native")
    rows = json.loads(run("estimate", name, "--format", "json").stdout)
    assert {row["page"]: row["visits"] for row in rows}[NEWS] == 1
    assert len(rows) == len(set(VISITS))
    if name.endswith("parquet"):
        assert parquet.read_table(name).column_names == CRAWL_LOG.names


def test_copies_are_a_warc() -> None:
    assert run("export", "copies", "c.warc.gz").stdout == "c.warc.gz: 2 copies\n"
    with Path("c.warc.gz").open("rb") as file:
        found = {
            record.rec_headers.get_header("WARC-Target-URI"): record.content_stream().read()
            for record in ArchiveIterator(file)
            if record.rec_type == "response"
        }
    assert found == {NEWS: NEWS_BODY, ABOUT: f"<p>{ABOUT}</p>".encode()}


def test_one_header_does_not_break_the_export_of_everything() -> None:
    with SqliteStore.open("recrawl.db") as store:
        page = store.page(NEWS)
        assert page is not None
        visit = found(page, b"new", 20_001 * DAY)
        link = (("Link", "<\xc3\xa9>; rel=preload; title=\xff"),)
        store.record([replace(visit, response=replace(visit.response, headers=link))])
    assert run("export", "copies", "c.warc.gz").stdout == "c.warc.gz: 2 copies\n"
    content = gzip.decompress(Path("c.warc.gz").read_bytes())
    assert b"\r\nLink: <\xc3\xa9>; rel=preload; title=\xff\r\n" in content


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        ("UPDATE bodies SET deflated = x'00' WHERE digest = ?", " is damaged"),
        (
            "UPDATE copies SET headers = x'00' WHERE page = 0 AND ?",
            f"headers of {NEWS} are damaged",
        ),
        ("DELETE FROM copies WHERE page = 0 AND ?", f"headers of {NEWS} are missing"),
    ],
)
def test_a_damaged_copy_is_left_out_and_the_others_are_written(damage: str, what: str) -> None:
    with closing(sqlite3.connect("recrawl.db")) as database:
        changed = database.execute(damage, (digest_of(NEWS_BODY) if "digest" in damage else 1,))
        assert changed.rowcount == 1
        database.commit()
    result = run("export", "copies", "c.warc.gz")
    assert result.stdout == "c.warc.gz: 1 copy; 1 damaged, left out\n"
    assert result.stderr.startswith("recrawl: recrawl.db: the ")
    assert what in result.stderr
    with Path("c.warc.gz").open("rb") as file:
        _, record = ArchiveIterator(file)
    assert record.rec_headers.get_header("WARC-Target-URI") == ABOUT


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["log", "log.txt"], "FILE: 'log.txt' does not end in .parquet, .csv or .jsonl"),
        (["log", "log.csv", "--format", "jsonl"], "--format: 'log.csv' would contain jsonl but"),
        (["log", "-"], "--format: choose one of parquet, csv, jsonl"),
        (["copies", "c.jsonl", "--format", "warc"], "--format: 'c.jsonl' would contain warc but"),
        (["copies", "c.warc"], "FILE: 'c.warc' does not end in .warc.gz"),
        (["log", "no/log.csv"], "no/log.csv: there is no directory no"),
        (["log", "log.csv", "--store", "no.db"], "no.db: there is no store here"),
    ],
)
def test_refusals(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    assert left_alone(tmp_path, "export", *arguments).startswith(sentence)


def test_copies_as_json_lines_have_the_text() -> None:
    html = b"<html lang=fr><title>Une soupe</title><h1>Soupe</h1><p>De poireaux"
    with SqliteStore.open("recrawl.db") as store:
        page = store.page(NEWS)
        assert page is not None
        store.record([found(page, html, 20_001 * DAY)])
    assert run("export", "copies", "texts.jsonl").stdout == "texts.jsonl: 2 copies\n"
    lines = [json.loads(line) for line in Path("texts.jsonl").read_text("utf-8").splitlines()]
    assert lines[0] == {
        "url": NEWS,
        "title": "Une soupe",
        "language": "fr",
        "text": "Soupe\nDe poireaux\n",
        "fetched": "2024-10-05T00:00:00.000000Z",
        "changed": "2024-10-05T00:00:00.000000Z",
        "digest": digest_of(html).hex(),
    }
    run("export", "copies", "texts.parquet")
    table = parquet.read_table("texts.parquet")
    assert table.column_names == list(lines[0])
    assert table["text"].to_pylist() == [line["text"] for line in lines]
    shown = run("export", "copies", "-", "--format", "jsonl").stdout
    assert [json.loads(line) for line in shown.splitlines()] == lines
    late = run("export", "copies", "-", "--format", "jsonl", "--since", "2024-10-05").stdout
    assert [json.loads(line) for line in late.splitlines()] == lines[:1]


def test_a_warc_can_go_to_standard_output() -> None:
    written = run("export", "copies", "-", "--format", "warc", "--since", "1970-01-01")
    run("export", "copies", "copies.warc.gz")
    there = [record.rec_headers["WARC-Target-URI"] for record in records(written.stdout_bytes)]
    assert there == [
        record.rec_headers["WARC-Target-URI"]
        for record in records(Path("copies.warc.gz").read_bytes())
    ]
    assert NEWS in there


def records(content: bytes) -> list[Any]:
    return list(ArchiveIterator(io.BytesIO(content)))


def test_the_format_of_copies_is_chosen_or_told_by_the_name(tmp_path: Path) -> None:
    sentence = left_alone(tmp_path, "export", "copies", "-")
    assert sentence == "--format: choose one of warc, jsonl, parquet"
    sentence = left_alone(tmp_path, "export", "copies", "copies.zip")
    assert sentence == "FILE: 'copies.zip' does not end in .warc.gz, .jsonl or .parquet"
    sentence = left_alone(tmp_path, "export", "copies", "a.jsonl", "--since", "soon")
    assert sentence == "--since: 'soon' is not a time; write for example 2026-01-31 or 2h"
