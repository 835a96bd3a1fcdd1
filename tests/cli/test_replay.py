"""How ``recrawl replay`` compares policies on what really happened."""

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli.on_a_terminal import without_notes
from cli.refusing import refused
from pyarrow import parquet
from typer.testing import CliRunner, Result

from recrawl.cli.app import app
from recrawl.cli.replay_options import DEFAULT_POLICIES
from recrawl.simulation.policies import POLICIES
from recrawl.simulation.ranking import STEPS, rank
from recrawl.simulation.replay import replay
from recrawl.simulation.world import World

DAY = 86_400
#: 2026-01-01; pages are born that day, and the window below starts ten days later.
BORN = 1_767_225_600
DAYS = 20
#: When each page changes, in days since the window's start, and how much it counts. The last page
#: is dead before the window's end.
CHANGES = [[0.3, 1.1, 2.6, 5.4, 9.9, 14.2, 17.7, 19.5], [4.5, 12.0], [], [8.2], [3.0]]
IMPORTANCE = [5.0, 1.0, 2.0, 3.5, 100.0]
WINDOW = ("--from", "2026-01-11", "--to", "2026-01-31")
SUMMARY = "4 pages, 11 changes in 20 days; 2 visits per day, each page every 2 days on average"
LEFT_OUT = "1 of 5 pages takes no part in this window: 1 removed before its end"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with a trace, and work in it."""
    start = BORN + 10 * DAY
    pages = "page,name,weight,born,died\n" + "".join(
        f"{page},{'a' if page < 2 else 'b'}/{page}.html,{counts},{BORN},"
        f"{start + 5 * DAY if counts == 100 else ''}\n"
        for page, counts in enumerate(IMPORTANCE)
    )
    changes = "page,time\n" + "".join(
        f"{page},{start + round(day * DAY)}\n"
        for page, days in enumerate(CHANGES)
        for day in (-9.0, *days)
    )
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / "pages.csv").write_text(pages, encoding="utf-8")
    (tmp_path / "trace" / "changes.csv").write_text(changes, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ["replay", "trace", *arguments])
    assert result.exit_code == 0, result.output
    return result


def found(*arguments: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(run(*arguments, "--format", "json").stdout)
    return rows


def uniform_staleness(tick: float, visits: float) -> float:
    """Visit pages in turn, look at each of them a hundred times a tick, and count."""
    steps = round(DAYS / tick)
    visited = [0.0] * 4
    stale, spent = 0.0, 0
    for step in range(steps):
        for part in range(100):
            now = (step + (part + 0.5) / 100) * tick
            for page in range(4):
                if any(visited[page] < change <= now for change in CHANGES[page]):
                    stale += IMPORTANCE[page] * tick / 100
        while spent + 1 <= (step + 1) * tick * visits:
            visited[spent % 4] = (step + 1) * tick
            spent += 1
    return stale / (DAYS * sum(IMPORTANCE[:4]))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("budget", [("--every", "2d"), ("--budget", "2/day")])
def test_uniform_is_as_stale_as_a_plain_count_says(budget: tuple[str, str]) -> None:
    (row,) = found(*budget, *WINDOW, "--tick", "12h", "--policies", "uniform")
    assert row["staleness"] == pytest.approx(uniform_staleness(0.5, 2.0), abs=2e-3)
    assert row["freshness"] == 1.0 - row["staleness"]
    assert (row["visits"], row["budget_used"]) == (40, 1.0)


@pytest.mark.usefixtures("folder")
def test_every_policy_is_ranked_and_scored_as_the_library_does() -> None:
    rows = found("--every", "2d", *WINDOW, "--policies", "all", "--seed", "3")
    assert sorted(row["policy"] for row in rows) == sorted(POLICIES)
    staleness = [row["staleness"] for row in rows]
    assert staleness == sorted(staleness)
    world = World.from_trace("trace", start="2026-01-11", end="2026-01-31")
    for row in rows:
        assert row == replay(world, POLICIES[row["policy"]](), 2.0, seed=3).as_dict()


@pytest.mark.usefixtures("folder")
def test_the_table_says_what_was_replayed_and_marks_what_is_not_equal() -> None:
    result = run("--every", "2d", *WINDOW)
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[:3] == [SUMMARY, LEFT_OUT, ""]
    lines = lines[1:]
    assert lines[2].split("  ")[0] == "policy"
    shown = {line.split()[0]: line for line in lines[3:14]}
    assert sorted(shown) == sorted(DEFAULT_POLICIES.split(","))
    assert shown["nutch"].startswith("nutch *  ")
    assert shown["index-known"].startswith("index-known †  ")
    assert lines[14:16] == [
        "* misses the budget; 'spent' is the share of it that was used",
        "† knows the true change rates, which no real crawler does",
    ]
    assert lines[16:18] == [
        "",
        "Share of visits that found a change, by predicted probability (visits):",
    ]
    assert max(map(len, lines[1:])) <= 80


@pytest.mark.usefixtures("folder")
def test_the_tables_numbers_are_those_of_the_formats() -> None:
    options = ("--every", "2d", *WINDOW, "--policies", "uniform")
    (row,) = found(*options)
    line = run(*options).stdout.splitlines()[4]
    stale, fresh, spent, wasted = (float(share) for share in re.findall(r"([\d.]+) %", line))
    assert (stale, fresh) == (round(100 * row["staleness"], 2), round(100 * row["freshness"], 2))
    assert (spent, wasted) == (100.0, round(100 * row["wasted"], 1))
    assert "*" not in line


@pytest.mark.usefixtures("folder")
def test_policies_are_named_once_and_a_table_of_equals_has_no_marks() -> None:
    lines = run("--every", "2d", "--policies", "uniform, age,uniform").stdout.splitlines()
    assert sorted(line.split()[0] for line in lines[4:]) == ["age", "uniform"]


@pytest.mark.usefixtures("folder")
def test_a_window_is_chosen_where_none_is_given() -> None:
    world = World.from_trace("trace")
    printed = run("--every", "2d", "--policies", "uniform", "--format", "csv").stderr
    assert printed.startswith(f"{world.pages} pages, {world.change.size} changes in ")


def young_site(folder: Path, *, old: int, young: int) -> None:
    """Make a trace whose changes begin with a few old pages; one more was gone by then."""
    times = {page: BORN + (0 if page < old else 100) * DAY for page in range(old + young)}
    pages = "page,name,born,died\n" + "".join(f"{p},{p}.html,{t},\n" for p, t in times.items())
    changes = "page,time\n" + "".join(
        f"{page},{BORN + day * DAY}\n"
        for page, born in times.items()
        for day in (range(1, 200, 2) if page < old else range(101, 200))
        if BORN + day * DAY > born
    )
    (folder / "trace" / "pages.csv").write_text(f"{pages}999,x,{BORN - 9},{BORN}\n")
    (folder / "trace" / "changes.csv").write_text(changes)


def test_a_window_that_hardly_a_page_lived_through_is_refused_with_a_better_one(
    folder: Path,
) -> None:
    young_site(folder, old=2, young=48)
    begin = ("--every", "2d", "--policies", "uniform", "--from", "2026-01-02")
    sentence = refused("replay", "trace", *begin)
    assert sentence == (
        "--from: of 51 pages, only 2 existed throughout the window from 2026-01-02T00:00:00+00:00 "
        "to 2026-07-19T00:00:00+00:00 (48 created after its start, 1 not there during it); choose "
        "a later start, such as 2026-05-10, or allow so few (--min-share)"
    )
    told = run(*begin, "--min-share", "4%").stdout.splitlines()
    assert told[0].startswith("2 pages, ")
    assert told[1] == (
        "49 of 51 pages take no part in this window: "
        "48 created after its start, 1 not there during it"
    )
    later = run(*begin[:-1], "2026-05-10").stdout.splitlines()
    assert later[1] == "1 of 51 pages takes no part in this window: 1 not there during it"


def test_a_tenth_of_the_pages_is_enough(folder: Path) -> None:
    young_site(folder, old=5, young=45)
    told = run("--every", "2d", "--policies", "uniform", "--from", "2026-01-02").stdout
    assert told.startswith("5 pages, ")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_scores_go_to_a_file(folder: Path, kind: str) -> None:
    path = folder / f"scores.{kind}"
    result = run("--every", "2d", *WINDOW, "--policies", "uniform,age", "-o", str(path))
    assert (result.stdout, result.stderr) == ("", f"{SUMMARY}\n{LEFT_OUT}\n")
    if kind == "csv":
        rows: list[Any] = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    else:
        rows = parquet.read_table(path).to_pylist()
    assert list(rows[0])[:3] == ["policy", "staleness", "freshness"]
    expected = found("--every", "2d", *WINDOW, "--policies", "uniform,age")
    assert [float(row["staleness"]) for row in rows] == [row["staleness"] for row in expected]


@pytest.mark.parametrize(("kind", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_the_comparison_is_drawn_too(folder: Path, kind: str, magic: bytes) -> None:
    path = folder / f"replay.{kind}"
    result = run("--every", "2d", *WINDOW, "--policies", "uniform,nutch", "--plot", str(path))
    assert "uniform" in result.stdout
    assert path.read_bytes().startswith(magic)
    assert sorted(each.name for each in folder.iterdir()) == [path.name, "trace"]


def test_a_shell_gets_data_and_words_apart(folder: Path) -> None:
    command = [sys.executable, "-m", "recrawl", "replay", "trace", "--every", "2d", *WINDOW]
    command += ["--policies", "uniform,index-known", "--format", "json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert ended.returncode == 0
    assert sorted(row["policy"] for row in json.loads(ended.stdout)) == ["index-known", "uniform"]
    assert without_notes(ended.stderr).splitlines() == [
        SUMMARY,
        LEFT_OUT,
        "† knows the true change rates, which no real crawler does",
    ]


REFUSED = {
    "": "--every: give the average time between visits to a page, as in --every 30d, or the",
    "--every 2d --budget 2/day": "--budget: --every already sets the number of visits",
    "--every 2": "--every: '2' has no unit; write for example 30d",
    "--every 0d": "--every: '0d' is not above 0; write for example 30d",
    "--budget 5": "--budget: '5' has no unit; write for example 500/h",
    "--budget 0/day": "--budget: '0/day' allows no visits",
    "--every 2d --tick 0h": "--tick: '0h' is not above 0; write for example 30d",
    "--every 2d --tick 400d": "--tick: 400.0 days is not above 0 and within ",
    "--every 2d --policies best": "--policies: 'best' is none of index, index-gamma, uniform, ",
    "--every 2d --policies uniform,": "--policies: '' is none of index, ",
    "--every 2d --from soon": "--from: 'soon' is not a time; write 2026-01-31",
    "--every 2d --to 2026-13-01": "--to: '2026-13-01' is not a time; write",
    "--every 2d --from 2026-01-31 --to 2026-01-11": "--to: 2026-01-11T00:00:00+00:00 is not after",
    "--every 2d --from 2020-01-01 --to 2020-02-01": "--from: no page existed from 2020-01-01T00:00",
    "--every 2d --min-share 2": "--min-share: 2 is not a share from 0 to 1",
    "--every 2d --min-share 90%": "--from: of 5 pages, only 4 existed throughout the window from ",
    "--every 2d --plot x.gif": "--plot: 'x.gif' does not end in .png or .svg",
    "--every 2d --plot none/x.png": "none/x.png: there is no directory none",
    "--every 2d --format xml": "--format: 'xml' is none of table, csv, json, jsonl, parquet",
    "--every 2d -o none/x.csv": "none/x.csv: there is no directory none",
}


@pytest.mark.parametrize("arguments", REFUSED)
def test_what_cannot_be_used_is_one_sentence(folder: Path, arguments: str) -> None:
    assert refused("replay", "trace", *arguments.split()).startswith(REFUSED[arguments])
    assert [each.name for each in folder.iterdir()] == ["trace"]


@pytest.mark.usefixtures("folder")
def test_the_refusal_of_an_unknown_policy_lists_all() -> None:
    sentence = refused("replay", "trace", "--every", "2d", "--policies", "uniform,best")
    assert sentence.endswith(f"none of {', '.join(POLICIES)}, all")


def test_an_unreadable_trace_is_one_sentence(folder: Path) -> None:
    assert refused("replay", "none", "--every", "2d") == "none: there is no such folder"
    (folder / "trace" / "changes.csv").write_text("page,time\n9,1\n", encoding="utf-8")
    sentence = refused("replay", "trace", "--every", "2d")
    assert sentence == (
        "trace/changes.csv, row 2, column 'page': the page 9 is not among the pages"
    )


def test_pages_that_count_nothing_are_one_sentence(folder: Path) -> None:
    (folder / "trace" / "pages.csv").write_text(
        f"page,name,weight,born,died\n0,a,0,{BORN},\n", encoding="utf-8"
    )
    (folder / "trace" / "changes.csv").write_text("page,time\n", encoding="utf-8")
    assert refused("replay", "trace", "--every", "2d").startswith("--from: there are no changes")
    sentence = refused("replay", "trace", "--every", "2d", *WINDOW)
    assert sentence.startswith("trace: importance: expected numbers from 0 up")


def test_unknown_columns_are_skipped_when_asked(folder: Path) -> None:
    file = folder / "trace" / "changes.csv"
    lines = file.read_text(encoding="utf-8").splitlines()
    wide = [f"{line},{'author' if row == 0 else 'me'}\n" for row, line in enumerate(lines)]
    file.write_text("".join(wide), encoding="utf-8")
    sentence = refused("replay", "trace", "--every", "2d")
    assert sentence.startswith("trace/changes.csv: the column 'author' is unknown")
    printed = run("--every", "2d", *WINDOW, "--policies", "uniform", "--ignore-unknown").stdout
    assert printed.startswith(SUMMARY)


def test_progress_rises_over_all_replays_to_the_end() -> None:
    world = World.poisson([0.1, 1.0, 3.0], days=100.0)
    reports: list[tuple[int, int | None]] = []
    policies = ("uniform", "nutch-scaled", "age")
    rank(world, policies, 1.0, progress=lambda done, total: reports.append((done, total)))
    done = [amount for amount, _ in reports]
    assert done == sorted(done)
    assert {total for _, total in reports} == {3 * STEPS}
    assert done[0] < STEPS / 2
    assert done[-1] == 3 * STEPS
    assert any(STEPS < amount < 2 * STEPS for amount in done)


def test_help_shows_examples_and_every_option() -> None:
    shown = CliRunner().invoke(app, ["replay", "--help"], env={"COLUMNS": "100"}).stdout
    assert "recrawl replay trace --every 30d" in shown
    for option in ("--every", "--budget", "--policies", "--from", "--to", "--tick", "--plot"):
        assert option in shown


def test_the_reference_has_every_policy() -> None:
    root = Path(__file__).parents[2]
    text = (root / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    table = text.partition("### Policies")[2].partition("## ")[0]
    assert set(re.findall(r"`([\w-]+)`(?=[^|]*\|[^|]*\|$)", table, re.MULTILINE)) == set(POLICIES)
