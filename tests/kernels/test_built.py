"""Kernels that are built with the package: all of them, and never out of date."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from site_server import Site, page_about, serving

from recrawl.kernels import built, jit

ROOT = Path(__file__).parents[2]
#: Runs the program where numba, and so compiling anything, is out of reach.
WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = sys.modules["llvmlite"] = None
from recrawl.cli.app import main
main()
"""
ALL_BUILT = """
import sys
sys.modules["numba"] = sys.modules["llvmlite"] = None
import importlib
from recrawl.kernels import built, jit
from tools.build_kernels import modules
for module in modules():
    importlib.import_module(module)
kernels = [source for source in jit.SOURCES.values() if source.kernel]
print(len(kernels), [source.function for source in kernels if not built.find(source.function)])
"""
WITH_WHAT_BUILDING_NEEDS = """
import importlib.metadata, sys, tomllib
from pathlib import Path
from tools.build_kernels import modules
declared = tomllib.loads(Path("pyproject.toml").read_text())["build-system"]["requires"]
NEEDED = {name.partition(">")[0] for name in declared} | {"llvmlite", "recrawl", "tools"}
INSTALLED = set(importlib.metadata.packages_distributions())
class OnlyNeeded:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in INSTALLED - NEEDED:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, OnlyNeeded())
for module in modules():
    importlib.import_module(module)
"""
LOG = "page,time,changed\n" + "".join(
    f"https://a.org/{page},2026-01-{day:02},{int(day % (page + 1) == 0)}\n"
    for page in range(5)
    for day in range(1, 29)
)
PAGES = "page,name,weight,born,died\n0,a,1,1767225600,\n1,b,1,1767225600,\n"
CHANGES = "page,time\n" + "".join(f"{i % 2},{1767225600 + 40000 * i}\n" for i in range(60))


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """Build the kernels if they are out of date."""
    env = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "tools.build_kernels", "--fast"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return env


def test_every_kernel_is_built(environment: dict[str, str]) -> None:
    command = [sys.executable, "-c", ALL_BUILT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    count, missing = done.stdout.split(maxsplit=1)
    assert int(count) > 30, done.stderr
    assert missing.strip() == "[]"


@pytest.mark.parametrize(
    "command",
    [
        "estimate crawl.csv",
        "estimate crawl.csv --method mle",
        "plan crawl.csv --budget 3/day",
        "budget crawl.csv --freshness 0.6",
        "replay trace --every 5d",
        "simulate --pages 30 --days 30",
        "demo --pages 50 --seconds 2",
    ],
)
def test_no_command_compiles(command: str, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "trace").mkdir()
    (tmp_path / "crawl.csv").write_text(LOG, encoding="utf-8")
    (tmp_path / "trace" / "pages.csv").write_text(PAGES, encoding="utf-8")
    (tmp_path / "trace" / "changes.csv").write_text(CHANGES, encoding="utf-8")
    run(command.split(), environment, tmp_path)


def test_a_crawl_compiles_nothing(environment: dict[str, str], tmp_path: Path) -> None:
    site = Site({f"/{name}": page_about(f"This is {name}.") for name in "abc"})
    with serving(site):
        run(["add", *(f"{site.url}/{name}" for name in "abc")], environment, tmp_path)
        quickly = "--budget 50/s --host-delay 0s --allow-private --for 2s".split()
        run(["run", *quickly], environment, tmp_path)
    assert len(site.asked("/a")) >= 1
    for command in (["status"], ["pages"], ["show", f"{site.url}/a"]):
        run(command, environment, tmp_path)


def run(arguments: list[str], environment: dict[str, str], folder: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_NUMBA, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_kernel_that_has_changed_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    @jit.compiled
    def doubled(number: float) -> float:
        return 2.0 * number

    source = jit.SOURCES[doubled].function
    hashed = built.source_hash(__file__)
    rows = {built.kernel_name(source): [(hashed, [lambda _: 7.0])]}
    monkeypatch.setattr(built, "_rows", lambda: rows)
    call = built.find(source)
    assert call is not None
    assert call(1.0) == 7.0
    rows[built.kernel_name(source)] = [("of another source", [lambda _: 7.0])]
    assert built.find(source) is None
    assert doubled(1.5) == 3.0


CALLS = """
import gc, sys
sys.modules["numba"] = sys.modules["llvmlite"] = None
import numpy as np
from recrawl.kernels.grouping import _count_buckets as kernel
from recrawl.scheduling.value import due_after

page, counts = np.array([0, 1, 1, 3]), np.zeros(4, np.int64)
kernel(page, 0, 4, 0, counts)
assert counts.tolist() == [1, 2, 0, 1]

# What is not contiguous, or of a smaller type, is copied, and what was written is copied back.
wide = np.zeros(8, np.int64)
kernel(np.repeat(page, 2)[::2], 0, 4, 0, wide[::2])
assert wide.tolist() == [1, 0, 2, 0, 0, 0, 1, 0]
small = np.zeros(4, np.int32)
kernel(page.astype(np.int32), np.int64(0), 4, False, counts)
assert counts.tolist() == [2, 4, 0, 2]
page.flags.writeable = False
kernel(page, 0, 4, 0, counts)
assert counts.tolist() == [3, 6, 0, 3]

for wrong in (
    (page, 0, 4, 0),
    (page, 0, 4, 0, counts, 1),
    (page.tolist(), 0, 4, 0, counts),
    (page.astype(np.float64), 0, 4, 0, counts),
    (page.reshape(2, 2), 0, 4, 0, counts),
    (page, 0.5, 4, 0, counts),
    (page, 0, 2**70, 0, counts),
):
    try:
        kernel(*wrong)
    except (TypeError, OverflowError):
        continue
    raise SystemExit(f"taken: {wrong}")

# An array that a kernel returns lives as long as it is used.
ones = np.ones(1000)
results = [due_after(ones, ones, ones, 0.1) for _ in range(100)]
gc.collect()
assert all(np.array_equal(result, results[0]) for result in results)
"""


def test_arguments_are_taken_as_they_are_or_refused(environment: dict[str, str]) -> None:
    command = [sys.executable, "-c", CALLS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_records_are_annotated_with_their_dtype() -> None:
    pytest.importorskip("numba")
    from tools.kernel_types import signatures

    def kernel(rows: np.typing.NDArray[np.void]) -> None: ...

    with pytest.raises(TypeError, match="annotated with its dtype"):
        signatures(kernel)


def test_kernels_can_be_built_with_what_the_build_declares() -> None:
    run = subprocess.run(
        [sys.executable, "-c", WITH_WHAT_BUILDING_NEEDS],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stderr
