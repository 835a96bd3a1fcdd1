"""The program as a shell runs it: its start, its ends, its pipes and its terminal."""

import builtins
import fcntl
import io
import os
import signal
import subprocess
import sys
import termios
import time
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pytest
from cli.on_a_terminal import HANGS, PROGRAM, in_a_terminal, without_notes
from pyarrow import parquet
from store.made_up import NOON, found
from typer.testing import CliRunner

from recrawl.__main__ import main as start_program
from recrawl.cli.app import app
from recrawl.cli.render import progress
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore

LOG = "page,time,changed\na,2026-01-01,\na,2026-01-02,1\n"


def run(*arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        [*PROGRAM, *arguments], input=given, capture_output=True, text=True, check=False
    )
    ended.stderr = without_notes(ended.stderr)
    return ended


def test_where_there_is_no_terminal_a_line_says_what_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.progress_bar("Reading"):
        for _ in range(60_000):
            said = capsys.readouterr().err
            if said:
                break
            time.sleep(0.01)
    assert said == "recrawl: Reading takes a while\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(LOG, encoding="utf-8")
    return path


def test_help_lists_the_commands_and_loads_nothing_heavy() -> None:
    """Help answers at once because no command's libraries are imported for it."""
    script = (
        "import sys; sys.argv = ['recrawl', '--help']\n"
        "from recrawl.cli.app import app\n"
        "try: app()\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'numba', 'pyarrow', 'scipy', 'matplotlib'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "estimate" in run.stdout
    assert run.stdout.endswith("[]\n")


def loaded_by(*arguments: str) -> set[str]:
    """Return the modules that a command has loaded when it ends."""
    script = (
        "import sys\n"
        "from recrawl.cli.app import app\n"
        "try: app(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code\n"
        "print('loaded', *sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
    )
    return set(run.stdout.rpartition("loaded ")[2].split())


def test_only_the_command_that_was_asked_for_is_loaded() -> None:
    found = loaded_by("status", "--help")
    commands = {name for name in found if name.startswith("recrawl.cli.commands.")}
    assert commands == {"recrawl.cli.commands.status"}
    assert not found & {"numpy", "rich", "asyncio", "recrawl.crawler"}


@pytest.mark.parametrize(
    ("command", "unneeded"),
    [
        (["changes"], {"rich"}),
        (["show", "https://a.example/"], set()),
        (["status"], set()),
        (["pages"], set()),
    ],
    ids=" ".join,
)
def test_commands_that_only_look_load_little(
    command: list[str], unneeded: set[str], tmp_path: Path
) -> None:
    path = tmp_path / "recrawl.db"
    with SqliteStore.open(path, create=True) as store:
        store.add([NewPage("https://a.example/", "a.example")], at=0)
        visit = found(store.pages([0])[0], b"one", NOON)
        store.record([replace(visit, belief=(1.5, 3.0))])
    heavy = {"asyncio", "matplotlib", "numba", "pyarrow", "scipy", "email.utils", *unneeded}
    assert not loaded_by(*command, "--store", str(path)) & heavy


def test_a_crawl_loads_nothing_that_it_does_not_need() -> None:
    """It runs for months, and what it loads stays in memory."""
    script = (
        "import sys, recrawl.crawler.running\n"
        "print(sorted({'pyarrow', 'pandas', 'scipy.optimize', 'matplotlib'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


@pytest.mark.parametrize(
    ("command", "own"),
    [
        ("estimate", ["--level"]),
        ("plan", ["--budget", "--importance", "--host-budget", "--visits"]),
        ("budget", ["--freshness", "--importance", "--visits", "--plot"]),
    ],
)
def test_help_shows_examples_and_every_option(command: str, own: list[str]) -> None:
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "100"}).stdout
    assert f"recrawl {command} crawl.csv" in shown
    for option in ("--method", "--prior", "--format", "--output", "--ignore-unknown", *own):
        assert option in shown


def test_the_version_is_the_packages() -> None:
    assert run("--version").stdout == f"recrawl {version('recrawl')}\n"


def test_a_log_goes_through_a_pipe() -> None:
    ended = run("estimate", "-", "--format", "csv", given=LOG)
    assert ended.returncode == 0
    assert ended.stdout.startswith('"page","rate","low","high","visits"\n"a",')


def test_a_parquet_log_goes_through_a_pipe() -> None:
    """A pipe cannot be read from its end, where Parquet keeps its table of contents."""
    file = io.BytesIO()
    parquet.write_table(pa.table({"page": ["a", "a"], "time": [0, 9], "changed": [0, 1]}), file)
    command = [*PROGRAM, "estimate", "-"]
    ended = subprocess.run(command, input=file.getvalue(), capture_output=True, check=False)
    assert ended.returncode == 0
    assert ended.stdout.endswith(b"1 page, 2 visits from 1970-01-01 to 1970-01-01\n")


def test_a_failure_is_one_sentence_without_a_trace(log: Path) -> None:
    log.write_text(LOG + "a,soon,1\n", encoding="utf-8")
    ended = run("estimate", str(log), "-o", str(log.with_name("rates.csv")))
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith(f"recrawl: {log}, row 4, column 'time': 'soon' is not a time")
    assert ended.stderr.count("\n") == 1
    assert list(log.parent.iterdir()) == [log]


def test_a_closed_standard_input_is_reported() -> None:
    command = ["/bin/sh", "-c", '"$@" <&-', "sh", *PROGRAM, "estimate", "-"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert without_notes(ended.stderr) == "recrawl: standard input: it is closed\n"


def test_a_full_standard_output_is_reported(log: Path) -> None:
    for options in ([], ["--format", "json"]):
        with Path("/dev/full").open("w", encoding="utf-8") as full:
            command = [*PROGRAM, "estimate", str(log), *options]
            ended = subprocess.run(
                command, stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert ended.returncode == 2
        said = without_notes(ended.stderr)
        assert said.startswith("recrawl: standard output: ")
        assert said.endswith("No space left on device\n")
        assert said.count("\n") == 1


@pytest.mark.parametrize("kind", ["csv", "json", "table"])
def test_a_closed_pipe_ends_it_quietly(log: Path, kind: str) -> None:
    rows = "".join(f"{page},{day},1\n" for page in range(20_000) for day in (1, 2))
    log.write_text("page,time,changed\n" + rows, encoding="utf-8")
    read, write = os.pipe()
    os.close(read)
    command = [*PROGRAM, "estimate", str(log), "--format", kind]
    ended = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert ended.returncode == 1
    assert without_notes(ended.stderr.decode()) == ""


def test_interrupted_while_it_waits_for_a_pipe_it_ends_at_once() -> None:
    """The header and some rows have come; a thread waits for more, and is not waited for."""
    with subprocess.Popen(
        [*PROGRAM, "estimate", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(LOG.encode() * 1000)
        process.stdin.flush()
        time.sleep(1.5)
        while bytes_in(process.stdin.fileno()):
            assert process.poll() is None
            time.sleep(0.05)
        interrupt(process)
        assert process.returncode == 130
        assert without_notes(process.stderr.read().decode()) == ""


def interrupt(process: subprocess.Popen[bytes]) -> None:
    """Press Ctrl-C, and again as a person would: one can get lost while a kernel is compiled."""
    for _ in range(10):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=HANGS / 10)
            return
    process.kill()


def bytes_in(pipe: int) -> int:
    """Return how many bytes wait in a pipe to be read."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_memory_stays_bounded_whatever_the_line(log: Path) -> None:
    os.truncate(log, 4 * 2**30)
    # Measured from a small process: a child is charged for what its parent held when it forked.
    measured = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], check=False).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
    command = [sys.executable, "-c", measured, *PROGRAM, "estimate", str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    code, kibibytes = map(int, done.stdout.split())
    assert code == 2
    assert "row 4: the row is longer than 4 MB" in done.stderr
    assert kibibytes < 600 * 1024


def test_a_terminal_gets_progress_and_a_drawn_table(log: Path) -> None:
    code, shown = in_a_terminal("estimate", str(log))
    assert code == 0
    assert "Reading" in shown
    assert "Estimating" in shown
    assert "──" in shown
    assert "1.9 per day" in shown


def test_a_plan_goes_through_pipes_with_the_summary_apart() -> None:
    ended = run("plan", "-", "--budget", "2/day", "--format", "csv", given=LOG)
    assert ended.returncode == 0
    assert ended.stdout.splitlines()[0] == (
        '"page","change_rate","low","high","importance","crawl_rate","next_visit"'
    )
    assert ended.stdout.splitlines()[1].endswith(',1,2,"2026-01-02T12:00:00Z"')
    assert "this plan" in ended.stderr


def test_a_plan_that_fails_leaves_what_was_there(log: Path) -> None:
    plan = log.with_name("plan.csv")
    plan.write_text("as it was", encoding="utf-8")
    ended = run("plan", str(log), "--budget", "fast", "-o", str(plan))
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith("recrawl: --budget: 'fast' is not a rate; ")
    assert ended.stderr.count("\n") == 1
    assert plan.read_text(encoding="utf-8") == "as it was"


def test_a_terminal_shows_each_task(log: Path) -> None:
    target = str(log.with_name("plan.parquet"))
    code, shown = in_a_terminal("plan", str(log), "--budget", "2/day", "-o", target)
    assert code == 0
    for task in ("Reading", "Estimating", "Planning", "Writing", "this plan"):
        assert task in shown
    code, shown = in_a_terminal("budget", str(log), "--freshness", "0.9")
    assert code == 0
    for task in ("Reading", "Estimating", "Planning", "90 % fresh costs", "▲"):
        assert task in shown
    assert "\x1b[36m" in shown


def test_a_terminal_is_spared_parquet() -> None:
    code, shown = in_a_terminal("estimate", "no such log", "--format", "parquet")
    assert code == 2
    assert "recrawl: standard output: a terminal cannot show Parquet; use -o FILE" in shown


def test_ctrl_c_while_the_program_is_loaded_ends_it_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    load = builtins.__import__

    def interrupted(name: str, *arguments: object, **more: object) -> object:
        if name == "recrawl.cli.app":
            raise KeyboardInterrupt
        return load(name, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", interrupted)
    with pytest.raises(SystemExit) as ended:
        start_program()
    assert ended.value.code == 130


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_standard_streams_may_be_closed(tmp_path: Path, closed: str) -> None:
    with SqliteStore.open(tmp_path / "recrawl.db", create=True) as store:
        store.add([NewPage("https://example.org/", "example.org")], NOON)
    command = f'"$@" status {closed}'
    ended = subprocess.run(
        ["/bin/sh", "-c", command, "sh", *PROGRAM],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, without_notes(ended.stderr)) == (0, "")
    assert ended.stdout.startswith("store ") is (">&-" not in closed.replace("2>&-", ""))
