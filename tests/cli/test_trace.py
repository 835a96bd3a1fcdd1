"""What ``recrawl trace git`` makes of a repository, through the program as a shell runs it."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from cli.on_a_terminal import without_notes
from cli.refusing import left_alone, refused
from formats.repositories import Commit, make_repository, needs_git, nobodys
from typer.testing import CliRunner

from recrawl.cli.app import app
from recrawl.formats.traces import ALIVE, read_trace

pytestmark = needs_git

DAY = 86_400
#: 2026-03-01, 2026-03-05 and so on: two pages that live, one that dies, and something else.
FIRST = 1_772_323_200
COMMITS = [
    Commit(FIRST, {"docs/a.md": "1", "docs/b.md": "1", "docs/old.md": "1", "LICENSE": "1"}),
    Commit(FIRST + 4 * DAY, {"docs/a.md": "2", "docs/old.md": "2"}),
    Commit(FIRST + 9 * DAY, {"docs/a.md": "3", "docs/old.md": None}),
    Commit(FIRST + 30 * DAY, {"LICENSE": "2"}),
]
SUMMARY = (
    "3 pages, 2 alive, 3 changes from 2026-03-01 to 2026-03-10\n"
    "The trace is in trace. Next: recrawl replay trace --every 1d\n"
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with a repository, where the program runs."""
    for name, value in nobodys().items():
        monkeypatch.setenv(name, value)
    make_repository(tmp_path / "my-site", COMMITS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "recrawl", "trace", "git", "my-site", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    ended.stderr = without_notes(ended.stderr)
    return ended


def test_a_trace_is_written_and_summed_up(place: Path) -> None:
    ended = run("--path", "docs/**/*.md", "-o", "trace")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, SUMMARY, "")
    trace = read_trace(place / "trace")
    assert trace.name == ["docs/a.md", "docs/b.md", "docs/old.md"]
    assert trace.born.tolist() == [FIRST] * 3
    assert trace.died.tolist() == [ALIVE, ALIVE, FIRST + 9 * DAY]
    assert trace.change_page.tolist() == [0, 0, 2]
    days = (trace.change_time - FIRST) / DAY
    assert days.tolist() == [4.0, 9.0, 4.0]


def test_all_files_are_pages_unless_patterns_say_which(place: Path) -> None:
    for arguments, names in [
        ([], ["LICENSE", "docs/a.md", "docs/b.md", "docs/old.md"]),
        (["--path", "*/b.md", "--path", "LICENSE"], ["LICENSE", "docs/b.md"]),
    ]:
        assert run("-o", "trace", "--force", *arguments).returncode == 0
        assert sorted(read_trace(place / "trace").name) == names


def test_json_goes_to_a_pipe_and_the_summary_elsewhere(place: Path) -> None:
    ended = run("--path", "docs", "-o", "trace", "--format", "json")
    assert json.loads(ended.stdout) == [
        {
            "trace": "trace",
            "pages": 3,
            "alive": 2,
            "changes": 3,
            "first": "2026-03-01T00:00:00Z",
            "last": "2026-03-10T00:00:00Z",
        }
    ]
    assert ended.stderr == SUMMARY
    assert (place / "trace" / "pages.parquet").exists()


def test_importance_is_joined_by_name(place: Path) -> None:
    (place / "views.csv").write_text("page,importance\ndocs/b.md,40\n", encoding="utf-8")
    ended = run("--path", "docs", "--importance", "views.csv", "-o", "trace")
    assert ended.returncode == 0
    assert read_trace(place / "trace").importance.tolist() == [1.0, 40.0, 1.0]


BAD_IMPORTANCE = {
    "page,importance\nx.md,1\n": ", row 2, column 'page': the page 'x.md' is not in the history",
    "page,importance\nLICENSE,-1\n": ", row 2, column 'importance': '-1' is not a number, 0 or",
    "page,views\nLICENSE,1\n": ": there is no column 'importance'; the columns are",
    "page,importance,x\nLICENSE,1,1\n": ": the column 'x' is unknown; known columns are page",
}


@pytest.mark.parametrize("table", BAD_IMPORTANCE)
def test_importance_that_cannot_be_used_is_named(place: Path, table: str) -> None:
    (place / "views.csv").write_text(table, encoding="utf-8")
    sentence = refused("trace", "git", "my-site", "-o", "trace", "--importance", "views.csv")
    assert sentence.startswith(f"views.csv{BAD_IMPORTANCE[table]}")
    assert not (place / "trace").exists()


def test_unknown_columns_of_importance_are_skipped_when_asked(place: Path) -> None:
    (place / "views.csv").write_text("page,importance,x\nLICENSE,5,1\n", encoding="utf-8")
    arguments = ["--path", "LICENSE", "--importance", "views.csv", "-o", "trace"]
    assert run(*arguments, "--ignore-unknown").returncode == 0
    assert read_trace(place / "trace").importance.tolist() == [5.0]


def test_pages_that_all_count_nothing_are_refused(place: Path) -> None:
    (place / "views.csv").write_text("page,importance\nLICENSE,0\n", encoding="utf-8")
    arguments = ("--path", "LICENSE", "--importance", "views.csv", "-o", "trace")
    sentence = refused("trace", "git", "my-site", *arguments)
    assert sentence == "views.csv, column 'importance': no page has an importance above 0"


def test_a_trace_is_overwritten_only_by_force(place: Path) -> None:
    assert run("-o", "trace").returncode == 0
    sentence = left_alone(
        place / "trace", "trace", "git", "my-site", "--path", "LICENSE", "-o", "trace"
    )
    assert sentence == (
        "trace: there is a trace already; name another folder, or overwrite it (--force)"
    )
    assert run("--path", "LICENSE", "-o", "trace", "--force").returncode == 0
    assert read_trace(place / "trace").name == ["LICENSE"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["none", "-o", "x"], "none: there is no such folder"),
        (["none", "-o", "my-site/HEAD"], "my-site/HEAD: this is a file, not a folder"),
        (["none", "-o", "none/x"], "none/x: there is no directory none"),
        (["none", "-o", "x", "--format", "xml"], "--format: 'xml' is none of table, csv, json"),
        ([".", "-o", "x"], ".: this is not a git repository; give the folder that contains .git"),
        (
            ["my-site", "-o", "x", "--path", "*.md"],
            "my-site: no file in its history matches '*.md'",
        ),
        (["my-site", "-o", "x", "--path", ""], "path: an empty pattern matches no file; write"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    place: Path, arguments: list[str], sentence: str
) -> None:
    assert refused("trace", "git", *arguments).startswith(sentence)
    assert not (place / "x").exists()


def test_a_folder_that_needs_quoting_is_quoted(place: Path) -> None:
    ended = run("-o", "my trace")
    assert ended.stdout.endswith("Next: recrawl replay 'my trace' --every 1d\n")
    assert (place / "my trace").is_dir()


def test_help_shows_examples_and_every_option() -> None:
    wide = {"COLUMNS": "100"}
    shown = CliRunner().invoke(app, ["trace", "git", "--help"], env=wide).stdout
    assert "recrawl trace git my-site -o trace" in shown
    for option in ("--output", "-o", "--path", "--importance", "--force", "--format"):
        assert option in shown
    assert "git" in CliRunner().invoke(app, ["trace", "-h"], env=wide).stdout


TEXT = (Path(__file__).parents[2] / "docs" / "reference" / "trace.md").read_text(encoding="utf-8")


def test_the_session_in_the_documentation_is_true(place: Path) -> None:
    """No session there can make a repository first; this one has the repository it speaks of."""
    ((arguments, printed),) = re.findall(
        r"^```text\n\$ recrawl trace git my-site (.*)\n((?:.+\n)+)```$", TEXT, re.MULTILINE
    )
    assert run(*shlex.split(arguments)).stdout == printed
    assert read_trace(place / "trace").change_time.size == 3


def test_the_tables_in_the_documentation_are_the_trace_in_its_example(tmp_path: Path) -> None:
    for name, table in re.findall(r"^```csv (\S+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(table, encoding="utf-8")
    trace = read_trace(tmp_path)
    for name, column in vars(trace).items():
        values = ["ALIVE" if value == ALIVE else value for value in list(column)]
        shown = ", ".join(json.dumps(v) if isinstance(v, str) else str(v) for v in values)
        assert f"{name}=" in TEXT
        assert f"[{shown}]".replace('"ALIVE"', "ALIVE") in TEXT, name
