"""Logs larger than memory give the same plan to the last bit, and leave nothing behind."""

import errno
import io
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from typer.testing import CliRunner

import recrawl
from recrawl.cli.app import app
from recrawl.errors import CrawlLogError, OutputError
from recrawl.formats import batches, spill
from recrawl.planning import memory
from recrawl.planning.beliefs import Reading, learn
from recrawl.planning.cost import freshness_cost
from recrawl.planning.methods import METHODS, WITH_PRIOR
from recrawl.planning.plan import Plan

#: Less than any log takes, so that all are dealt.
LITTLE = 1.0
QUESTIONS = [
    *((method, "alone") for method in METHODS),
    *itertools.product(WITH_PRIOR, ("fleet", "host")),
]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read and deal so few rows at a time that every file has many batches."""
    monkeypatch.setattr(batches, "PARQUET_BATCH_ROWS", 500)
    monkeypatch.setattr(spill, "CHUNK_ROWS", 700)


def made_up(rows: int, pages: int, seed: int = 0, *, integers: bool = False) -> pa.Table:
    """Return a log with everything in it, in no order, with repeated rows and pages seen once."""
    rng = np.random.default_rng(seed)
    page = rng.zipf(1.5, rows) % pages
    time = rng.permutation(rows) * 3_000 + 1_700_000_000
    words = np.array(["changed", "unchanged", "failed", "gone", "first", ""])
    names = [f"https://h{number % 23}.example/{number}" for number in page]
    table = pa.table(
        {
            "page": page if integers else names,
            "time": time,
            "outcome": words[rng.choice(6, rows, p=[0.3, 0.55, 0.05, 0.02, 0.03, 0.05])],
            "importance": pa.array(rng.random(rows), mask=rng.random(rows) < 0.5),
            "crawl_rate": pa.array(rng.random(rows) + 0.1, mask=rng.random(rows) < 0.5),
            "last_modified": pa.array(time - rng.integers(0, 10**6, rows)),
        }
    )
    return pa.concat_tables([table, table.slice(0, rows // 20)])


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    parquet.write_table(made_up(12_000, 900), path, row_group_size=1_000)
    return path


def assert_same(one: Plan, other: Plan) -> None:
    """Compare two plans to the last bit."""
    assert one.beliefs.facts == other.beliefs.facts
    assert one.page.equals(other.page)
    ours, theirs = one.columns(), other.columns()
    for name in list(ours)[1:]:
        assert pa.array(ours[name]).equals(pa.array(theirs[name])), name
    assert one.beliefs.observations.tolist() == other.beliefs.observations.tolist()
    assert (one.freshness, one.as_logged, one.uniform, one.allocation.price) == (
        *(other.freshness, other.as_logged, other.uniform),
        other.allocation.price,
    )


@pytest.mark.parametrize(("method", "prior"), QUESTIONS)
def test_a_plan_is_the_same_to_the_last_bit(log: Path, method: str, prior: str) -> None:
    asked: dict[str, Any] = {"method": method, "prior": prior, "budget": 300.0}
    held = recrawl.plan(log, host_budget=20.0, **asked)
    assert_same(recrawl.plan(log, host_budget=20.0, memory=LITTLE, **asked), held)


def test_pages_that_are_numbers_and_priors_from_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recrawl.estimation import fleet

    # So few that most pages are left out of the sample.
    monkeypatch.setattr(fleet, "MAX_PAGES", 50)
    path = tmp_path / "log.parquet"
    parquet.write_table(made_up(6_000, 800, seed=1, integers=True), path)
    held = recrawl.plan(path, budget=100.0)
    dealt = recrawl.plan(path, budget=100.0, memory="1kB")
    assert_same(dealt, held)
    assert pa.types.is_integer(dealt.page.type)
    # A log that is expected to be long is dealt to more files.
    monkeypatch.setattr(spill, "PART_ROWS", 1)
    assert_same(recrawl.plan(path, budget=100.0, memory="1kB"), held)


ROW = st.tuples(
    st.sampled_from([f"https://{host}.example/{n}" for host in "ab" for n in range(5)]),
    st.integers(0, 40),
    st.sampled_from(["", "0", "1"]),
)


@given(st.lists(ROW, min_size=2, max_size=60, unique_by=lambda row: row[:2]))
@settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_log_is_folded_as_in_memory(tmp_path: Path, rows: list[tuple[str, int, str]]) -> None:
    path = tmp_path / "log.csv"
    path.write_text("page,time,changed\n" + "".join(f"{p},{t},{c}\n" for p, t, c in rows))
    found = list[Plan | str]()
    for limit in (1e9, LITTLE):
        try:
            found.append(recrawl.plan(path, budget=3.0, memory=limit))
        except CrawlLogError as error:
            found.append(str(error))
    held, dealt = found
    if isinstance(held, str) or isinstance(dealt, str):
        assert held == dealt
    else:
        assert_same(dealt, held)


def test_estimates_and_budgets_are_the_same(log: Path) -> None:
    one, other = (
        learn(log, prior="fleet", level=0.8, reading=Reading(memory=limit))
        for limit in (None, LITTLE)
    )
    for ours, theirs in zip(one.interval(0.8), other.interval(0.8), strict=True):
        assert ours.tolist() == theirs.tolist()
    cheap, dear = (freshness_cost(log, 0.7, memory=limit) for limit in (None, LITTLE))
    assert cheap.target == dear.target
    assert cheap.freshness.tolist() == dear.freshness.tolist()


def test_the_output_of_commands_is_the_same_bytes(log: Path, tmp_path: Path) -> None:
    for name, command in {
        "plan.parquet": ["plan", "--budget", "300/day"],
        "plan.csv": ["plan", "--budget", "300/day", "--host-budget", "9/day"],
        "rates.json": ["estimate", "--prior", "host"],
        "curve.csv": ["budget", "--freshness", "0.7"],
    }.items():
        written = []
        for limit in ("10GB", "1kB"):
            out = tmp_path / f"{limit}-{name}"
            options = [command[0], str(log), *command[1:], "--memory", limit, "-o", str(out)]
            result = CliRunner().invoke(app, options)
            assert result.exit_code == 0, result.output
            written.append(out.read_bytes())
        assert written[0] == written[1], name


def test_rows_that_disagree_are_named_as_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [f"p{number % 40},{number},0\n" for number in range(2_000)]
    path.write_text("page,time,changed\n" + "".join([*rows, "\n", "p3,43,1\n"]))
    said = []
    for limit in (1e9, LITTLE):
        with pytest.raises(CrawlLogError, match=r"row 2003: .* in row 45, and the two") as caught:
            recrawl.plan(path, budget=1.0, memory=limit)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_a_log_that_teaches_nothing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("page,time,changed\na,1,\nb,2,\n")
    with pytest.raises(CrawlLogError, match="no page was seen twice"):
        recrawl.plan(path, budget=1.0, memory=LITTLE)
    path.write_text("page,time,changed\na,1,\na,2,\n")
    with pytest.raises(CrawlLogError, match="no visit says whether its page had changed"):
        recrawl.plan(path, budget=1.0, memory=LITTLE)


class FullDisk(io.FileIO):
    """A file on a disk that has a few kilobytes left."""

    def write(self, data: Any, /) -> int:  # noqa: ANN401
        if self.tell() > 4_000:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)


def test_a_disk_that_fills_up_is_one_sentence(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = itertools.count()

    def small_file(**_options: Any) -> FullDisk:  # noqa: ANN401
        return FullDisk(tmp_path / f"spill-{next(numbers)}", "w+")

    monkeypatch.setattr(tempfile, "TemporaryFile", small_file)
    out = tmp_path / "plan.csv"
    result = CliRunner().invoke(
        app, ["plan", str(log), "--budget", "9/day", "--memory", "1kB", "-o", str(out)]
    )
    assert result.exit_code == 2
    assert result.output.count("\n") == 1
    assert "it is full, and" in result.output
    assert "set TMPDIR to a folder on a larger disk" in result.output
    assert not out.exists()


def test_a_disk_that_is_too_small_is_said_before_work_is_done(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": 1_000})
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(OutputError, match=r"about 0\.0 GB are needed, and 0\.0 GB are free there"):
        recrawl.plan(log, budget=1.0, memory=LITTLE)


KILLED = """
import os, signal, sys
import recrawl
from recrawl.formats import batches, spill

def killed(self):
    os.kill(os.getpid(), signal.SIGKILL)

spill.Spill.parts = killed
recrawl.plan(sys.argv[1], budget=1.0, memory=1.0)
"""


def test_a_process_that_is_killed_leaves_nothing_behind(log: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(log)],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


def test_only_a_log_that_is_too_large_is_dealt(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dealt = list[bool]()
    once = spill.Spill.__init__

    def noted(self: spill.Spill, *given: Any, **named: Any) -> None:  # noqa: ANN401
        dealt.append(True)
        once(self, *given, **named)

    monkeypatch.setattr(spill.Spill, "__init__", noted)
    recrawl.plan(log, budget=1.0, memory="1GB")
    recrawl.plan(log, budget=1.0)
    assert not dealt
    monkeypatch.setattr(memory, "free_memory", lambda: 100)
    recrawl.plan(log, budget=1.0)
    assert dealt


def test_the_size_of_a_log_is_guessed_from_its_beginning(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first rows take times how much more there is, not what all take in the end."""
    monkeypatch.setattr(memory, "ENOUGH_ROWS", 1)
    read = list[int]()
    once = spill.Spill.__init__

    def noted(self: spill.Spill, visits: Any, *given: Any, **named: Any) -> None:  # noqa: ANN401
        read.append(visits.rows.count)
        once(self, visits, *given, **named)

    monkeypatch.setattr(spill.Spill, "__init__", noted)
    recrawl.plan(log, budget=1.0, memory=memory.BYTES_PER_VISIT * 11_000)
    assert read
    assert read[0] < 11_000


def test_progress_counts_rows(log: Path) -> None:
    from contextlib import contextmanager

    reports = dict[str, list[tuple[int, int | None]]]()

    @contextmanager
    def progress(stage: str) -> Iterator[Any]:
        yield lambda done, total: reports.setdefault(stage, []).append((done, total))

    recrawl.plan(log, budget=1.0, memory=LITTLE, progress=progress)
    rows = 12_600
    assert reports["Reading rows"][-1] == (rows, rows)
    assert reports["Folding"][-1] == (rows, rows)
    done, total = reports["Estimating"][-1]
    assert done == total
    assert [report[0] for report in reports["Folding"]] == sorted(
        report[0] for report in reports["Folding"]
    )
