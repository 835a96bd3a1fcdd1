"""The command ``recrawl demo``: in a pipe, live on a terminal, and nothing left behind."""

import io
import os
import pty
import re
import signal
import subprocess
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cli.on_a_terminal import HANGS, PATIENT, PROGRAM
from cli.refusing import refused
from rich.console import Console
from typer.testing import CliRunner

from recrawl.cli.app import app
from recrawl.cli.render.demo import WIDTH, findings, picture, results, sparkline
from recrawl.demo.ground_truth import Curve, Verdicts
from recrawl.demo.run import DemoResult, Snapshot
from recrawl.engine.stats import Stats
from recrawl.errors import StoreError
from recrawl.records import Outcome
from recrawl.store.sqlite import SqliteStore

QUICKLY = ["--seconds", "2", "--pages", "40"]


def a_sight(seconds: float = 30.0) -> Snapshot:
    found = Counter({Outcome.CHANGED: 500, Outcome.UNCHANGED: 1_200})
    view = Stats(0, 1.0, pages=300, outcomes=found, not_modified=600, requests=1_800)
    flat = np.ones(100)
    return Snapshot(
        view,
        seconds,
        60.0,
        Curve(seconds, 0.85 * flat),
        Curve(60.0, 0.75 * flat),
        Curve(60.0, 0.875 * flat),
    )


def a_demo(correlation: float) -> DemoResult:
    visits = np.array([12, 10, 9])
    yes, no = True, False
    verdicts = Verdicts(
        np.array([1.0, 2.0, 16.0, 17.0]),
        np.array([1, 2, 3, 4]),
        np.array([yes, yes, yes, no]),
        np.array([no, no, no, yes]),
        np.array([yes, no, yes, no]),
        np.array([no, no, no, yes]),
    )
    return DemoResult(
        a_sight(), visits, np.ones(3), np.ones(3), correlation, verdicts, ["a", "b", "c"]
    )


def printed(*what: object) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=80).print(*what)
    return file.getvalue().splitlines()


def test_a_pipe_gets_the_end_and_the_folder_stays_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    ended = subprocess.run(
        [*PROGRAM, "demo", *QUICKLY], capture_output=True, text=True, check=True, timeout=HANGS
    )
    assert ended.stderr.startswith("recrawl: starting a small web of ")
    assert ended.stderr.count("\n") == 1
    lines = ended.stdout.splitlines()
    assert lines[0].split() == ["policy", "true", "freshness", "second", "half", "requests"]
    assert [line.split("  ")[0] for line in lines[1:4]] == ["recrawl", "uniform", "best possible"]
    assert "recrawl run --budget" in lines[-1]
    assert max(map(len, lines)) <= 80
    assert list(tmp_path.iterdir()) == []


def test_what_is_kept_can_be_used(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    ended = CliRunner().invoke(app, ["demo", *QUICKLY, "--keep", str(kept)])
    assert ended.exit_code == 0, ended.output
    assert (kept / "freshness.png").read_bytes().startswith(b"\x89PNG")
    commands = [line.split()[1:] for line in ended.output.splitlines() if line.startswith("  ")]
    assert [command[0] for command in commands] == ["status", "show"]
    for command in commands:
        shown = CliRunner().invoke(app, command)
        assert shown.exit_code == 0, shown.output
        assert "40 pages" in shown.output or "127.0.0." in shown.output
    before = (kept / "recrawl.db").read_bytes()
    assert "already has a store" in refused("demo", "--keep", str(kept))
    assert (kept / "recrawl.db").read_bytes() == before


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "--keep: " in refused("demo", "--keep", str(tmp_path / "file" / "kept"))


def started(*options: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start the demo on a terminal of its own."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*PATIENT, "demo", *options], stdout=theirs, stderr=theirs)
    os.close(theirs)
    return process, ours


def read_until(terminal: int, wanted: bytes) -> bytes:
    """Read from a terminal until something matches, or until it is closed."""
    seen = b""
    while not re.search(wanted, seen):
        try:
            seen += os.read(terminal, 65_536)
        except OSError:
            break
    return seen


def test_a_terminal_shows_it_live_and_ctrl_c_prints_the_result() -> None:
    process, terminal = started("--seconds", "3600", "--pages", "40")
    # A machine that is busy may leave out seconds.
    live = read_until(terminal, rb"Second ([2-9]|[0-9]{2,}) of 3600")
    assert b"Starting a small web" in live
    process.send_signal(signal.SIGINT)
    end = read_until(terminal, b"never printed")
    assert process.wait(timeout=HANGS) == 0
    assert b"best possible" in end
    # Long before the end.
    assert re.search(rb"visits in [0-9]{1,3} s", end)
    assert b"Traceback" not in end
    os.close(terminal)


def test_ctrl_c_before_there_is_a_result_ends_it_quietly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the first copies are made, which takes so many pages almost half a minute."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process, terminal = started("--pages", "2000")
    read_until(terminal, b"begin to change")
    while not copies_in(tmp_path):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    end = read_until(terminal, b"never printed")
    assert process.wait(timeout=HANGS) == 130
    assert b"Traceback" not in end
    os.close(terminal)


def copies_in(folder: Path) -> int:
    """Return how many copies the demo that runs in a folder has made."""
    for path in folder.glob("*/recrawl.db"):
        try:
            with SqliteStore.open(path) as store:
                return store.totals().with_copy
        except StoreError:
            # It is being made.
            break
    return 0


def test_the_picture_fits_a_terminal() -> None:
    lines = printed(picture(a_sight()))
    assert len(lines) < 20
    assert max(map(len, lines)) <= 80
    assert any("1,800" in line for line in lines)


def test_the_number_beside_a_curve_is_the_mean_that_its_column_names() -> None:
    falling = Curve(60.0, np.linspace(1.0, 0.2, 100))
    sight = replace(a_sight(60.0), ours=falling, uniform=falling, best=falling)
    header, *rows = [line for line in printed(picture(sight)) if line.endswith(("mean", " %"))]
    assert header.endswith("mean")
    assert len(rows) == 3
    assert all(row.endswith(" 60.0 %") for row in rows)


def test_curves_are_drawn_as_far_as_they_have_come() -> None:
    half = np.repeat([1.0, 0.5], 50)
    assert sparkline(Curve(60.0, half), 60.0, 60.0) == "█" * (WIDTH // 2) + "▁" * (WIDTH // 2)
    assert len(sparkline(Curve(15.0, half), 15.0, 60.0)) == WIDTH // 4
    assert sparkline(Curve(60.0, np.zeros(100)), 60.0, 60.0) == "▁" * WIDTH


def test_the_table_has_all_three() -> None:
    text = "\n".join(printed(results(a_sight())))
    assert all(share in text for share in ("85.0 %", "75.0 %", "87.5 %", "1,800"))


def test_the_findings_summarise_what_was_learned() -> None:
    text = findings(a_demo(0.9249))
    assert "1,700 visits in 30 s: 500 changed, 1,200 unchanged (600 not modified), 0 failed" in text
    assert "2 pages visited 10 times or more: rank correlation 0.92." in text
    assert "2 of 3 visits to unchanged pages, 1 of them in the second half." in text
    assert text.endswith("\n1 of 1 visit to changed pages missed the change.")
    assert "Too few pages" in findings(a_demo(float("nan")))
