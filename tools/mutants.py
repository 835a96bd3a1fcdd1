"""Plant small faults in the code, one at a time, and count how many the tests find.

    python -m tools.mutants                       # a seeded sample, as `make mutants` takes it
    python -m tools.mutants http --sample 10      # ten faults in one package
    python -m tools.mutants --again earlier.log   # those that survived an earlier run, again

A fault is a changed comparison, operator, number or condition, or a statement left out. Each is
planted in a copy of the repository. It meets the doctests of its module, the test file of the same
name, the package's test files nearest to the module, which import it or what imports it, and then
all others of the package, unless `--near` leaves them out. The first test that fails has killed it.
In the end all tests that killed something run once more, without a fault: one that fails then has
killed nothing. Faults in compiled kernels are a sample of their own, since each costs a
compilation.
"""

import argparse
import contextlib
import functools
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.faults import ROOT, Mutant, mutants_of

PACKAGES = ("crawler", "store", "http", "content")
COPIED = ("src", "tests", "docs", "pyproject.toml")
#: Tests elsewhere that a package's faults must get past as well.
MORE_TESTS = {
    "crawler": tuple(f"tests/cli/test_{name}.py" for name in ("settings", "add", "show", "run")),
    "store": ("tests/cli/test_export.py", "tests/cli/test_remove.py"),
    "kernels": ("tests/estimation", "tests/allocation"),
}
PYTEST = (sys.executable, "-m", "pytest", "-qx", "-p", "no:randomly", "-p", "no:cacheprovider")
#: A test that hangs is given up after so many seconds; compiling kernels is part of a test's time.
HANGS, HANGS_COMPILING = 60, 300
#: A run of tests is given up after so many seconds.
MAX_SECONDS = 1800
IMPORT = re.compile(r"^\s*(?:from|import) ([.\w]+)(?: import ([\w, ]+|\())?", re.MULTILINE)
FAILURE = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
NO_TESTS_RAN = 5


@functools.cache
def imports(path: Path) -> frozenset[Path]:
    """Return the files of the repository that a file imports."""
    found = set[Path]()
    for module, names in IMPORT.findall((ROOT / path).read_text()):
        for name in ("", *names.strip("(").split(", ")):
            file = Path(*module.split("."), *filter(None, [name.strip()])).with_suffix(".py")
            found |= {Path(at) / file for at in ("src", "tests") if (ROOT / at / file).is_file()}
    return frozenset(found)


def distance(test: Path, module: Path) -> float:
    """Return over how many imports a test file reaches a module."""
    seen, reached, steps = {test}, {test}, 0
    while reached:
        if module in reached:
            return steps
        reached = {other for path in reached for other in imports(path)} - seen
        seen |= reached
        steps += 1
    return math.inf


def tests_for(mutant: Mutant) -> tuple[list[str], list[str]]:
    """Return the tests nearest to a fault, those of its module first; and the other tests."""
    folders = [f"tests/{mutant.package}", *MORE_TESTS.get(mutant.package, ())]
    files = [
        test.relative_to(ROOT)
        for folder in folders
        for test in (sorted((ROOT / folder).rglob("test_*.py")) or [ROOT / folder])
        if test.exists()
    ]
    own = f"test_{mutant.path.name}"
    far = {file: distance(file, mutant.path) for file in files}
    size = {file: (ROOT / file).stat().st_size for file in files}
    files.sort(key=lambda file: (file.name != own, far[file], size[file]))
    nearest = min(far.values(), default=0)
    near = [str(file) for file in files if file.name == own or far[file] <= nearest]
    return [str(mutant.path), *near], [str(file) for file in files if str(file) not in near]


def failure(copy: Path, tests: list[str], hangs: int) -> str | None:
    """Run tests in a copy, and end whatever they started; return the first that fails, or hangs."""
    limits = ("-o", f"faulthandler_timeout={hangs}", "-o", "faulthandler_exit_on_timeout=1")
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(
            [*PYTEST, *limits, *tests],
            cwd=copy,
            env=os.environ | {"PYTHONPATH": "src", "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as run,
    ):
        try:
            passed = run.wait(MAX_SECONDS) in {0, NO_TESTS_RAN}
        except subprocess.TimeoutExpired:
            passed = False
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
        output.seek(0)
        failed = FAILURE.search(output.read().decode(errors="replace"))
    return None if passed else failed[1] if failed else "a test that hangs"


def killer_of(mutant: Mutant, clean: Path, folder: Path, *, only_near: bool) -> str | None:
    """Plant a fault in a copy, and run its tests there; return which failed, if one did."""
    # A copy for each fault: what is compiled with it is not found by the next. Its files are links:
    # what changes, machine code included, is a new file.
    copy = Path(tempfile.mkdtemp(dir=folder))
    shutil.copytree(clean, copy, copy_function=os.link, dirs_exist_ok=True)
    source = (clean / mutant.path).read_bytes()
    planted = source[: mutant.start] + mutant.instead.encode() + source[mutant.end :]
    (copy / mutant.path).unlink()
    (copy / mutant.path).write_bytes(planted)
    near, others = tests_for(mutant)
    hangs = HANGS_COMPILING if mutant.in_kernel else HANGS
    try:
        found = failure(copy, near, hangs)
        return found or (failure(copy, others, hangs) if others and not only_near else None)
    finally:
        shutil.rmtree(copy)


def unreliable(killers: set[str], clean: Path) -> set[str]:
    """Return the tests that fail without a fault as well."""
    found = set[str]()
    tests = sorted(killer for killer in killers if "::" in killer)
    while tests and (failed := failure(clean, tests, HANGS_COMPILING)):
        if failed not in tests:
            print(f"Whether they pass without a fault is not known: {failed} among {tests}")
            return found
        tests.remove(failed)
        found.add(failed)
    return found


def run(mutants: list[Mutant], jobs: int, *, only_near: bool) -> dict[Mutant, bool]:
    """Try every mutant, and return which were killed."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        clean = Path(folder, "clean")
        clean.mkdir()
        for source in (ROOT / name for name in COPIED):
            (shutil.copytree if source.is_dir() else shutil.copy2)(source, clean / source.name)

        def attempt(mutant: Mutant) -> str | None:
            killer = killer_of(mutant, clean, Path(folder), only_near=only_near)
            verdict = f"killed    {mutant}  by {killer}" if killer else f"SURVIVED  {mutant}"
            print(verdict, flush=True)
            return killer

        killers = dict(zip(mutants, pool.map(attempt, mutants), strict=True))
        no_killers = {None, *unreliable({name for name in killers.values() if name}, clean)}
    for mutant, killer in killers.items():
        if killer and killer in no_killers:
            print(f"SURVIVED  {mutant}\n          as {killer} fails without it", flush=True)
    return {mutant: killer not in no_killers for mutant, killer in killers.items()}


def print_table(results: dict[Mutant, bool]) -> float:
    """Print how many were killed in each package, and return the share of all."""
    for package in sorted({mutant.package for mutant in results}):
        killed = [found for mutant, found in results.items() if mutant.package == package]
        print(f"{package:12} {sum(killed):4} of {len(killed):4}  {sum(killed) / len(killed):6.1%}")
    share = sum(results.values()) / len(results)
    print(f"{'all':12} {sum(results.values()):4} of {len(results):4}  {share:6.1%}", flush=True)
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
    add("--again", type=Path, help="try those that SURVIVED in this output of an earlier run")
    add("--near", action="store_true", help="run only the test files nearest to each fault")
    return parser.parse_args()


def samples(wanted: argparse.Namespace) -> list[list[Mutant]]:
    """Draw both samples, or find those that survived an earlier run."""
    paths = sorted(path.relative_to(ROOT) for path in ROOT.glob("src/recrawl/**/*.py"))
    if wanted.again:
        lines = wanted.again.read_text().splitlines()
        survivors = {line.split(maxsplit=1)[1] for line in lines if line.startswith("SURVIVED")}
        named = {Path(survivor.partition(":")[0]) for survivor in survivors}
        again = [m for path in paths if path in named for m in mutants_of(path)]
        again = [mutant for mutant in again if str(mutant) in survivors]
        for gone in sorted(survivors - set(map(str, again))):
            print(f"no longer there: {gone}")
        return [[m for m in again if m.in_kernel is in_kernel] for in_kernel in (False, True)]
    found = [mutant for path in paths for mutant in mutants_of(path)]
    pools = (
        (wanted.sample, [m for m in found if m.package in wanted.packages and not m.in_kernel]),
        (wanted.kernels, [m for m in found if m.in_kernel]),
    )
    draw = random.Random(wanted.seed)  # noqa: S311 - a sample, not a secret
    print(f"Seed {wanted.seed}; faults to draw from: {len(pools[0][1])}, {len(pools[1][1])}")
    return [draw.sample(pool, min(size, len(pool))) for size, pool in pools]


def main() -> None:
    """Try both samples, and fail below the floor."""
    wanted = options()
    shares = [
        print_table(run(sample, wanted.jobs, only_near=wanted.near))
        for sample in samples(wanted)
        if sample
    ]
    if min(shares, default=1.0) < wanted.floor:
        sys.exit(f"Fewer than {wanted.floor:.0%} were killed; each that survived wants a test.")


if __name__ == "__main__":
    main()
