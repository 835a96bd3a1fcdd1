"""One fault on trial: planted in a copy of the repository, where tests are run until one fails."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tools.faults import ROOT, Mutant
from tools.selection import PYTEST, Reached, near_and_other, tests_calling

COPIED = ("src", "tests", "docs", "tools", "pyproject.toml")
#: A run may take this many times the CPU seconds that its tests usually take, and these as well:
#: it was recorded on another day, and compiling kernels is part of it.
MAX_TIMES, MAX_CPU, MAX_CPU_COMPILING = 10.0, 60.0, 900.0
#: A test that waits for ever uses no CPU time: it is given up after this many real seconds...
HANGS, HANGS_COMPILING = 120.0, 600.0
#: ...or this many times what it usually takes, and so is a run.
MAX_WAIT_TIMES, MAX_SECONDS = 30.0, 3_600.0
#: A test that was given up has found a fault if it takes less than this share of that without one.
FAR_BELOW = 0.25
NOT_FOUND, NO_TESTS_RAN = 4, 5


class TooSlowError(Exception):
    """A test was given up that takes long without the fault too: the machine is too busy."""


@dataclass(frozen=True)
class Failure:
    """The test that failed first, or was given up."""

    test: str
    was_given_up: bool

    def __str__(self) -> str:
        return f"{self.test}{', which does not end' if self.was_given_up else ''}"


@dataclass(frozen=True)
class Tests:
    """Tests to run, and how long they may take."""

    names: Sequence[str]
    cpu: float
    wait: float

    def run(self, copy: Path) -> Failure | None:
        """Run the tests in a copy, and end whatever they started."""
        waits = ("-o", f"faulthandler_timeout={self.wait}", "-o", "faulthandler_exit_on_timeout=1")
        with (
            tempfile.NamedTemporaryFile() as notes,
            tempfile.TemporaryFile() as output,
            subprocess.Popen(
                [*PYTEST, "-x", "-p", "tools.pytest_trial", *waits, *self.names],
                cwd=copy,
                env=os.environ
                | {
                    "PYTHONPATH": f"{copy}{os.pathsep}{copy / 'src'}",
                    "PYTHONDONTWRITEBYTECODE": "1",
                    "RECRAWL_TRIAL": notes.name,
                    "RECRAWL_TRIAL_CPU": str(round(self.cpu)),
                },
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ) as run,
        ):
            try:
                code = run.wait(MAX_SECONDS)
            except subprocess.TimeoutExpired:
                code = 1
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(run.pid, signal.SIGKILL)
            lines = [line.split("\t") for line in Path(notes.name).read_text().splitlines()]
            if code in {0, NO_TESTS_RAN}:
                return None
            whole = list(dict.fromkeys(name.partition("[")[0] for name in self.names))
            if code == NOT_FOUND and whole != list(self.names):
                # The fault is in a number that cases of a test are named by.
                return replace(self, names=whole).run(copy)
            output.seek(0)
            if not lines:
                raise RuntimeError(output.read().decode(errors="replace")[-2000:])
        failed = next((test for kind, test in lines if kind == "failed"), None)
        return Failure(failed or lines[-1][1], was_given_up=failed is None)


def tests_for(mutant: Mutant, reached: dict[str, Reached], *, only_near: bool) -> list[Tests]:
    """Return what to run for a fault, one after another: the tests that are to find it soonest."""
    calling = [] if mutant.in_kernel else tests_calling(mutant, reached)
    if calling:
        seconds = {name: time for one in reached.values() for name, time in one.seconds.items()}
        usual = [seconds[name] for name in calling]
        wait = max(HANGS, MAX_WAIT_TIMES * max(usual))
        return [Tests(calling, MAX_CPU + MAX_TIMES * sum(usual), wait)]
    # Nothing is known about compiled code, and about what only runs in processes of its own.
    cpu, wait = (MAX_CPU_COMPILING, HANGS_COMPILING) if mutant.in_kernel else (600.0, HANGS)
    near, others = near_and_other(mutant)
    return [Tests(some, cpu, wait) for some in ((near,) if only_near else (near, others)) if some]


def copy_to(folder: Path) -> Path:
    """Copy what tests need, and return where."""
    clean = folder / "clean"
    clean.mkdir()
    for source in (ROOT / name for name in COPIED):
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, clean / source.name)
    return clean


def killer_of(mutant: Mutant, clean: Path, folder: Path, runs: list[Tests]) -> Failure | None:
    """Plant a fault in a copy, and run its tests there; return which failed, if one did.

    Raises:
        TooSlowError: A test was given up, and that may not be due to the fault.
    """
    # A copy for each fault: what is compiled with it is not found by the next. Its files are links:
    # what changes, machine code included, is a new file.
    copy = Path(tempfile.mkdtemp(dir=folder))
    shutil.copytree(clean, copy, copy_function=os.link, dirs_exist_ok=True)
    source = (clean / mutant.path).read_bytes()
    planted = source[: mutant.start] + mutant.instead.encode() + source[mutant.end :]
    (copy / mutant.path).unlink()
    (copy / mutant.path).write_bytes(planted)
    try:
        for tests in runs:
            found = tests.run(copy)
            if found is not None and found.was_given_up and not _ends_soon(found, tests, clean):
                raise TooSlowError(found.test)
            if found is not None:
                return found
        return None
    finally:
        shutil.rmtree(copy)


def _ends_soon(failure: Failure, tests: Tests, clean: Path) -> bool:
    """Whether a test that was given up passes without the fault, in far less time."""
    began = time.monotonic()
    passes = Tests([failure.test], tests.cpu, tests.wait).run(clean) is None
    return passes and time.monotonic() - began < FAR_BELOW * tests.wait
