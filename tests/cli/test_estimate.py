"""What ``recrawl estimate`` says about a log."""

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner, Result

from recrawl import GammaFilter, Observations, estimation, fit_host_priors, fit_prior
from recrawl.cli.app import app
from recrawl.planning.methods import METHODS
from recrawl.units import format_rate

#: Two pages of one host that change daily and hardly ever, one of another host, one seen once.
LOG = "page,time,changed,last_modified\n" + "".join(
    [
        "https://a.org/news,2026-01-01,,\n",
        *(f"https://a.org/news,2026-01-{day:02},{day % 5 > 0:d},\n" for day in range(2, 22)),
        "https://a.org/about,2026-01-01,,\n",
        *(f"https://a.org/about,2026-01-{day:02},{day == 9:d},\n" for day in range(2, 22)),
        "https://b.org/,2026-01-03,,\n",
        "https://b.org/,2026-01-10,1,2026-01-09\n",
        "https://b.org/,2026-01-10,1,2026-01-09\n",
        "https://b.org/once,2026-01-10,,\n",
    ]
)
PAGES = ["https://a.org/news", "https://a.org/about", "https://b.org/", "https://b.org/once"]
SUMMARY = (
    "4 pages, 45 visits from 2026-01-01 to 2026-01-21; "
    "1 page with no visit to learn from; 1 repeated row dropped\n"
)


def run(*arguments: str, given: str | bytes | None = None) -> Result:
    result = CliRunner().invoke(app, ["estimate", *arguments], input=given)
    assert result.exit_code == 0, result.output
    return result


def rows(*arguments: str) -> list[dict[str, Any]]:
    """Give the estimates of the log above, as JSON on standard output."""
    found: list[dict[str, Any]] = json.loads(
        run("-", "--format", "json", *arguments, given=LOG).stdout
    )
    return found


def observed() -> Observations:
    """Give what the log above teaches, counted by hand."""
    changed = [*(day % 5 > 0 for day in range(2, 22)), *(day == 9 for day in range(2, 22)), True]
    elapsed = [*[1.0] * 40, 7.0]
    age = [*[math.nan] * 40, 1.0]
    return Observations.of(elapsed, changed, page=[0] * 20 + [1] * 20 + [2], pages=4, age=age)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_gives_what_the_library_gives(name: str) -> None:
    method = getattr(estimation, METHODS[name])()
    state = method.update(method.start(4), observed())
    low, high = method.interval(state, 0.8)
    found = rows("--method", name, "--level", "0.8")
    assert [row["page"] for row in found] == PAGES
    assert [row["visits"] for row in found] == [20, 20, 1, 0]
    assert [row["rate"] for row in found] == pytest.approx(method.rate(state).tolist())
    assert [row["low"] for row in found] == pytest.approx(low.tolist())
    assert [row["high"] for row in found] == pytest.approx(high.tolist())


def test_methods_are_not_one_another() -> None:
    rates = [tuple(row["rate"] for row in rows("--method", name)) for name in METHODS]
    assert len(set(rates)) == len(METHODS)


def test_priors_are_learned_from_the_fleet_and_from_hosts() -> None:
    fleet = GammaFilter(prior=fit_prior(observed()))
    host = GammaFilter(prior=fit_host_priors(observed(), np.array([0, 0, 1, 1])))
    for name, method in [("alone", GammaFilter()), ("fleet", fleet), ("host", host)]:
        state = method.update(method.start(4), observed())
        found = [row["rate"] for row in rows("--prior", name)]
        assert found == pytest.approx(method.rate(state).tolist())


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_all_pages_go_to_a_file_by_its_ending(tmp_path: Path, kind: str) -> None:
    (tmp_path / "log.csv").write_text(LOG, encoding="utf-8")
    path = tmp_path / f"rates.{kind.upper()}"
    result = run(str(tmp_path / "log.csv"), "-o", str(path))
    assert result.stdout == ""
    assert result.stderr == SUMMARY
    if kind == "parquet":
        found = parquet.read_table(path).to_pylist()
    else:
        text = path.read_text(encoding="utf-8")
        found = json.loads(text) if kind == "json" else list(csv.DictReader(io.StringIO(text)))
    assert list(found[0]) == ["page", "rate", "low", "high", "visits"]
    assert [row["page"] for row in found] == PAGES
    assert [float(row["rate"]) for row in found] == [row["rate"] for row in rows()]


def test_standard_output_carries_data_only() -> None:
    for where in ([], ["-o", "-"]):
        result = run("-", "--format", "csv", *where, given=LOG)
        assert len(list(csv.DictReader(io.StringIO(result.stdout)))) == 4
        assert result.stderr == SUMMARY


def test_parquet_comes_and_goes_through_pipes() -> None:
    table = pa.table({"page": [7, 7], "time": [0, 86_400], "changed": [None, True]})
    file = io.BytesIO()
    parquet.write_table(table, file)
    result = run("-", "--format", "parquet", given=file.getvalue())
    found = parquet.read_table(io.BytesIO(result.stdout_bytes)).to_pydict()
    assert found["page"] == [7]
    assert found["visits"] == [1]


def test_a_table_shows_the_fastest_pages_in_words() -> None:
    result = run("-", given=LOG)
    lines = [line.split() for line in result.stdout.splitlines()]
    assert [line[0] for line in lines[1:4]] == [PAGES[0], PAGES[2], PAGES[1]]
    news, about = rows()[:2]
    for line, row in ((lines[1], news), (lines[3], about)):
        rate, low, high = (format_rate(row[name]).split() for name in ("rate", "low", "high"))
        assert line[1:] == [*rate, *low, "–", *high, "20"]
    assert "95 % sure between" in result.stdout
    assert result.stdout.endswith(
        f"These 3 change most often; --format csv or -o FILE lists all pages.\n{SUMMARY}"
    )
    assert result.stderr == ""


def test_a_table_is_cut_at_twenty_and_never_breaks_an_address() -> None:
    pages = [f"https://example.org/{'x' * 300}/{number}" for number in range(30)]
    visits = "".join(f"{page},{day},1\n" for page in pages for day in range(3))
    lines = run("-", given=f"page,time,changed\n{visits}").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:21]] == pages[:20]
    assert lines[21].startswith("These 20 change most often")


def test_a_table_of_all_pages_does_not_offer_more() -> None:
    result = run("-", given="page,time,changed\n[red]a[/red]\x1b[2J,1,\n[red]a[/red]\x1b[2J,2,1\n")
    assert "lists all pages" not in result.stdout
    assert "[red]a[/red]\\x1b[2J " in result.stdout
    assert "\x1b" not in result.stdout


def test_unknown_columns_are_skipped_when_asked() -> None:
    log = "page,time,changed,status\na,1,,200\na,2,1,200\n"
    assert "1 page, 2 visits" in run("-", "--ignore-unknown", given=log).stdout


@pytest.mark.parametrize("command", [["estimate"], ["plan", "--budget", "3/day"]])
def test_no_spreadsheet_runs_the_name_of_a_page(command: list[str], tmp_path: Path) -> None:
    """Neither in a file nor on standard output; other formats have names as they are."""
    name = '=HYPERLINK("http://evil.example/")'
    log, target = tmp_path / "log.csv", tmp_path / "out.csv"
    rows = [("page", "time", "changed"), *((name, f"2026-01-0{day}", day % 2) for day in (1, 2, 3))]
    with log.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    first, *options = command
    for where in (["-o", str(target)], ["--format", "csv"], ["--format", "json"]):
        ended = CliRunner().invoke(app, [first, str(log), *options, *where])
        assert ended.exit_code == 0, ended.output
        printed = target.read_text(encoding="utf-8") if where[0] == "-o" else ended.stdout
        if where[-1] == "json":
            assert json.loads(printed)[0]["page"] == name
        else:
            (row,) = csv.DictReader(io.StringIO(printed))
            assert row["page"] == f"'{name}"
