"""How ``recrawl paper`` runs, what it writes, and what it prints."""

import io
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli.on_a_terminal import HANGS, without_notes
from cli.refusing import left_alone, refused
from paper.made_up import made_up_section
from typer.testing import CliRunner

from recrawl.cli.app import app
from recrawl.paper import PARTS

QUICK = ("3", "--runs", "5")


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["paper", *arguments])
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an empty folder, and work in it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def made_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace the real parts by made-up ones, on one processor."""
    for name in PARTS:
        part = SimpleNamespace(run=lambda _runs, _seed, name=name: made_up_section(name))
        monkeypatch.setitem(sys.modules, f"made_up_{name}", part)
        monkeypatch.setitem(PARTS, name, f"made_up_{name}")
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    return folder


def never(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if anything is computed."""

    def computed(*_: object, **__: object) -> None:
        pytest.fail("this was to be refused before anything is computed")

    monkeypatch.setattr("recrawl.paper.parts._sections", computed)


def test_claims_are_shown_and_the_report_named(made_up: Path) -> None:
    lines = run("theorems").splitlines()
    assert lines[0].split() == ["section", "the", "paper", "says", "verdict"]
    assert [line.split() for line in lines[1:7]] == [
        *[["3.1", "x", "tends", "to", "y", "holds"]] * 3,
        *[["5", "A", "&", "B", "<i>agree</i>", "does", "not", "hold"]] * 3,
    ]
    assert lines[7:] == [
        "6 claims: 3 hold, 3 do not hold",
        "The report is paper-report/report.html; open it in a browser",
    ]
    assert [path.name for path in made_up.iterdir()] == ["paper-report"]


def test_nothing_must_be_given(made_up: Path) -> None:
    assert "18 claims: 9 hold, 9 do not hold\n" in run()
    report = (made_up / "paper-report" / "report.html").read_text(encoding="utf-8")
    assert "recrawl paper all --runs 1000 --seed 0" in report
    assert {f"{name}.csv" for name in PARTS} < {
        path.name for path in (made_up / "paper-report").iterdir()
    }


def test_the_report_has_the_options(made_up: Path) -> None:
    run("2", "--runs", "7", "--seed", "4", "-o", "some/where")
    report = (made_up / "some" / "where" / "report.html").read_text(encoding="utf-8")
    assert "recrawl paper 2 --runs 7 --seed 4" in report


def test_claims_fit_a_terminal(made_up: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del made_up
    shown = io.StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys, "stdout", shown)
    app(["paper", "1"], standalone_mode=False)
    assert "does not hold" in shown.getvalue()
    assert max(map(len, shown.getvalue().splitlines())) <= 60


def test_an_experiment_runs_and_the_same_seed_gives_the_same_bytes(folder: Path) -> None:
    for name, seed in [("one", "1"), ("again", "1"), ("other", "2")]:
        assert f"The report is {name}/report.html" in run(*QUICK, "--seed", seed, "-o", name)
    one, again, other = (
        {path.name: path.read_bytes() for path in (folder / name).iterdir()}
        for name in ("one", "again", "other")
    )
    assert one == again
    assert {"report.html", "claims.csv", "experiment-3.png", "experiment-3.svg"} < set(one)
    tables = [name for name in one if name.endswith(".csv") and name != "claims.csv"]
    assert tables
    assert any(one[name] != other[name] for name in tables)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("4", "EXPERIMENT: '4' is not one of 1, 2, 3, theorems, beyond, all"),
        ("1 --runs 0", "--runs: 0 is not a positive number of runs; 1000 is usual"),
        ("--runs -5", "--runs: -5 is not a positive number of runs; 1000 is usual"),
        ("3 -o file", "file: this is a file, not a folder"),
        ("3 -o file/x", "file/x: it cannot be written: Not a directory"),
        ("3 -o new/file/x --runs 0", "--runs: 0 is not a positive number of runs; 1000 is usual"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, sentence: str
) -> None:
    never(monkeypatch)
    (folder / "file").write_text("mine", encoding="utf-8")
    assert left_alone(folder, "paper", *arguments.split()) == sentence


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
def test_a_folder_without_permission_is_reported_first(monkeypatch: pytest.MonkeyPatch) -> None:
    never(monkeypatch)
    assert refused("paper", "-o", "/proc").startswith("/proc: it cannot be written: ")


def test_an_experiment_that_fails_leaves_no_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "made_up", SimpleNamespace(run=failing))
    monkeypatch.setitem(PARTS, "experiment-1", "made_up")
    assert CliRunner().invoke(app, ["paper", "1", "-o", "new/newer"]).exit_code == 130
    assert list(folder.iterdir()) == []


def test_interrupted_it_ends_soon_and_leaves_nothing(folder: Path) -> None:
    """Two processes are at work, on what would take them minutes."""
    command = [sys.executable, "-m", "recrawl", "paper", "beyond", "--runs", "100000", "-o", "new"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        time.sleep(1)
        while not has_workers(process.pid):
            assert process.poll() is None
            time.sleep(0.05)
        interrupt(process)
        assert process.stderr is not None
        assert without_notes(process.stderr.read().decode()) == ""
    assert process.returncode == 130
    assert list(folder.iterdir()) == []


def has_workers(process: int) -> bool:
    """Whether a process has started others; true where that cannot be seen."""
    children = Path(f"/proc/{process}/task/{process}/children")
    return not children.exists() or len(children.read_text("ascii").split()) >= 2


def interrupt(process: subprocess.Popen[bytes]) -> None:
    """Press Ctrl-C, and again as a person would: one can get lost while modules are loaded."""
    for _ in range(5):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=HANGS / 5)
            return
    process.kill()


def test_help_shows_examples_and_every_option() -> None:
    shown = CliRunner().invoke(app, ["paper", "--help"], env={"COLUMNS": "100"}).stdout
    assert "recrawl paper theorems --seed 7" in shown
    for option in ("--runs", "--seed", "--output"):
        assert option in shown
