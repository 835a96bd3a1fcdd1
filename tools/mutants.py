"""Plant small faults in the code, one at a time, and count how many the tests find.

    python -m tools.mutants                    # a seeded sample, as `make mutants` takes it
    python -m tools.mutants http --sample 10   # ten faults in one package

A fault is a changed comparison, operator, number or condition, or a statement left out. Each is
planted in a copy of the repository and meets the tests of its package, those of its module first.
Faults in compiled kernels are a sample of their own, since each costs a compilation.
"""

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tools.faults import ROOT, Mutant, mutants_of

PACKAGES = ("crawler", "store", "http", "content")
COPIED = ("src", "tests", "pyproject.toml")
#: Tests elsewhere that a package's faults must get past as well.
MORE_TESTS = {
    "crawler": ("tests/cli/test_run.py", "tests/cli/test_show.py", "tests/cli/test_add.py"),
    "store": ("tests/cli/test_export.py", "tests/cli/test_remove.py"),
    "kernels": ("tests/estimation", "tests/allocation"),
}


def tests_for(mutant: Mutant) -> list[str]:
    """Return the test files for a fault: the module's own first, then the rest of its package's."""
    folders = [f"tests/{mutant.package}", *MORE_TESTS.get(mutant.package, ())]
    found = [
        test
        for folder in folders
        for test in (sorted((ROOT / folder).rglob("test_*.py")) or [ROOT / folder])
        if test.exists()
    ]
    found.sort(key=lambda test: test.stem != f"test_{mutant.path.stem}")
    return [str(test.relative_to(ROOT)) for test in found] + [str(mutant.path)]


def passes(copy: Path, tests: list[str], timeout: float | None, **environment: str) -> bool:
    """Run tests in a copy, and whatever they start; a run that takes too long has failed."""
    command = (sys.executable, "-m", "pytest", "-qx", "-p", "no:randomly", "-p", "no:cacheprovider")
    with subprocess.Popen(
        [*command, *tests],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": "src"} | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as run:
        try:
            return run.wait(timeout) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)


def is_killed(mutant: Mutant, copy: Path, timeout: float) -> bool:
    """Plant a fault, run the tests, and mend it."""
    path = copy / mutant.path
    source, stat = path.read_bytes(), path.stat()
    path.write_bytes(source[: mutant.start] + mutant.instead.encode() + source[mutant.end :])
    try:
        with tempfile.TemporaryDirectory() as machine_code:
            # Kernels that call a changed one would be found compiled, as they were.
            fresh = {"NUMBA_CACHE_DIR": machine_code} if mutant.in_kernel else {}
            tests = tests_for(mutant)
            return not passes(copy, tests, timeout, PYTHONDONTWRITEBYTECODE="1", **fresh)
    finally:
        path.write_bytes(source)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # what was compiled is valid again


def seconds_without_faults(one: Mutant, copy: Path) -> float:
    """Return how long the tests take for a fault like this one, where none is planted."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as machine_code:
        fresh = {"NUMBA_CACHE_DIR": machine_code} if one.in_kernel else {}
        if not passes(copy, tests_for(one), None, **fresh):
            sys.exit(f"These tests fail without any fault: {' '.join(tests_for(one))}")
    seconds = time.monotonic() - began
    print(f"The tests of {one.package} take {seconds:.0f} s", flush=True)
    return seconds


def run(mutants: list[Mutant], folder: Path, jobs: int) -> dict[Mutant, bool]:
    """Try every mutant, and return which were killed."""
    first = folder / "0"
    first.mkdir()
    for source in (ROOT / name for name in COPIED):
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, first / source.name)
    kinds = {(mutant.package, mutant.in_kernel): mutant for mutant in mutants}
    with ThreadPoolExecutor(jobs) as pool:
        seconds = pool.map(lambda one: seconds_without_faults(one, first), kinds.values())
        patience = {kind: 30 + 3 * taken for kind, taken in zip(kinds, seconds, strict=True)}
    copies = SimpleQueue[Path]()
    for job in range(jobs):
        copies.put(shutil.copytree(first, folder / str(job)) if job else first)

    def attempt(mutant: Mutant) -> bool:
        copy = copies.get()
        try:
            killed = is_killed(mutant, copy, patience[mutant.package, mutant.in_kernel])
        finally:
            copies.put(copy)
        print(f"{'killed  ' if killed else 'SURVIVED'}  {mutant}", flush=True)
        return killed

    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip(mutants, pool.map(attempt, mutants), strict=True))


def print_table(results: dict[Mutant, bool]) -> float:
    """Print how many were killed in each package, and return the share of all."""
    for package in sorted({mutant.package for mutant in results}):
        killed = [found for mutant, found in results.items() if mutant.package == package]
        print(f"{package:12} {sum(killed):4} of {len(killed):4}  {sum(killed) / len(killed):6.1%}")
    share = sum(results.values()) / len(results)
    print(f"{'all':12} {sum(results.values()):4} of {len(results):4}  {share:6.1%}")
    return share


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    add = parser.add_argument
    add(
        "packages", nargs="*", default=PACKAGES, help=f"packages; {' '.join(PACKAGES)} unless given"
    )
    add("--sample", type=int, default=120, help="faults in these packages (120)")
    add("--kernels", type=int, default=20, help="faults in compiled kernels, of all packages (20)")
    add("--seed", type=int, default=11, help="which sample is drawn (11)")
    add("--floor", type=float, default=0.85, help="share of each sample to be killed (0.85)")
    add("--jobs", type=int, default=2, help="how many at a time (2)")
    return parser.parse_args()


def main() -> None:
    """Draw both samples, try them, and fail below the floor."""
    wanted = options()
    paths = sorted(path.relative_to(ROOT) for path in ROOT.glob("src/recrawl/**/*.py"))
    found = [mutant for path in paths for mutant in mutants_of(path)]
    pools = (
        (wanted.sample, [m for m in found if m.package in wanted.packages and not m.in_kernel]),
        (wanted.kernels, [m for m in found if m.in_kernel]),
    )
    draw = random.Random(wanted.seed)  # noqa: S311 - a sample, not a secret
    shares = []
    for size, pool in pools:
        sample = draw.sample(pool, min(size, len(pool)))
        if sample:
            print(f"{len(sample)} of {len(pool)} faults, seed {wanted.seed}", flush=True)
            with tempfile.TemporaryDirectory() as folder:
                shares.append(print_table(run(sample, Path(folder), wanted.jobs)))
    if min(shares, default=1.0) < wanted.floor:
        sys.exit(f"Fewer than {wanted.floor:.0%} were killed; each that survived wants a test.")


if __name__ == "__main__":
    main()
