"""Every benchmark runs: each is started at its smallest size, and none can be forgotten."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.__main__ import ABSENT, ALL  # noqa: E402

#: Options with which a benchmark does all that it can.
OPTIONS = {"quick": ["--record"]}
SECTION = re.compile(r"<!-- bench:([\w-]+) -->\n(.*?)<!-- /bench -->", re.DOTALL)
#: It takes minutes to start Spark three times; `tests/test_spark.py` makes the same plans.
SLOW, SLOW_ONES_TOO = frozenset({"spark"}), "RECRAWL_TEST_SLOW_BENCHMARKS"
RUN = re.compile(r"^def run\(.*?\) -> list\[Figure\]:", re.MULTILINE | re.DOTALL)
COMMIT = re.compile(r"\n\nAs of commit `[0-9a-f]{10}`(, with changes)?\.\n\n$")


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", ALL)
def test_a_benchmark_runs(name: str) -> None:
    if name in SLOW and SLOW_ONES_TOO not in os.environ:
        pytest.skip(f"it takes minutes, and runs if {SLOW_ONES_TOO} is set")
    before = _files()
    done = run("--smallest", name, *OPTIONS.get(name, []))
    if done.returncode == ABSENT:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr[-4_000:]
    assert "All figures" in done.stdout
    assert _files() == before, "at the smallest size, nothing of the project is written"


def _files() -> dict[Path, int]:
    """Return what benchmarks might write, and when it was written."""
    folders = (ROOT / "docs", ROOT / "benchmarks")
    return {
        path: path.stat().st_mtime_ns
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_every_module_that_measures_is_a_benchmark() -> None:
    modules = {name.partition(":")[0] for name in ALL.values()}
    defining = {
        path.stem
        for path in (ROOT / "benchmarks").glob("*.py")
        if RUN.search(path.read_text("utf-8"))
    }
    # This one is a part of another.
    assert defining == modules | {"policies_model"}


def test_what_a_program_said_that_failed_is_shown(tmp_path: Path) -> None:
    """A setting that is out of range stopped a benchmark without a word."""
    code = (
        "from pathlib import Path; from benchmarks.serving import started\n"
        f"with started(Path({str(tmp_path / 'no.db')!r}), 'serve', budget='nonsense'): pass"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "nonsense" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_tables_say_which_commit_they_are_of(page: Path) -> None:
    for name, text in SECTION.findall(page.read_text("utf-8")):
        assert COMMIT.search(text), f"{name}: `python -m benchmarks` writes it"
