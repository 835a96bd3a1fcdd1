"""Which tests to run for a fault: those that call its function, from a recorded run of them all.

What a run has found is kept in a file, by test file: only tests that have changed run again, or all
of them if the package has.
"""

import ast
import functools
import hashlib
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tools.faults import ROOT, Mutant
from tools.reaching import first_line

KEPT = ROOT / "build" / "reached.json"
CHILDREN = ROOT / "tools" / "in_children"
#: Tests elsewhere that a package's faults must get past as well.
MORE_TESTS = {
    "crawler": (
        *(f"tests/cli/test_{name}.py" for name in ("settings", "add", "show", "pages", "run")),
        *(f"tests/cli/test_{name}.py" for name in ("status", "webhook")),
        "tests/acceptance/test_processes.py",
    ),
    "store": tuple(
        f"tests/cli/test_{name}.py"
        for name in ("export", "remove", "backup", "changes", "get", "diff")
    ),
    "kernels": ("tests/estimation", "tests/allocation"),
}
#: Files that run only in processes that do not note anything, and who starts those.
STARTED_BY = {"src/recrawl/parsing/worker.py": "src/recrawl/parsing/process.py"}
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider")
SOME_FAILED = 1


@dataclass
class Reached:
    """What a test file's tests call: functions as ``path:line``; and the CPU seconds they take."""

    content: str
    seconds: dict[str, float] = field(default_factory=dict)
    calls: dict[str, list[str]] = field(default_factory=dict)


@functools.cache
def imports(path: Path) -> frozenset[Path]:
    """Return the files of the repository that a file imports."""
    found = set[Path]()
    for node in ast.walk(ast.parse((ROOT / path).read_bytes())):
        if isinstance(node, ast.Import):
            found.update(*(_files_of(one.name) for one in node.names))
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(*(_files_of(node.module, one.name) for one in node.names))
    return frozenset(found)


@functools.cache
def _files_of(module: str, name: str = "") -> frozenset[Path]:
    """Return the files of a module, and of what is imported from it by name: where it comes from.

    A package's public names stand in its ``__init__``, or in a stub, if they are imported late.
    """
    found = set[Path]()
    for folder in (Path(at, *module.split(".")) for at in ("src", "tests")):
        files = (folder.with_suffix(".py"), folder / f"{name}.py")
        found |= {file for file in files if (ROOT / file).is_file()}
        for init in (ROOT / folder / "__init__.pyi", ROOT / folder / "__init__.py"):
            for node in ast.parse(init.read_bytes()).body if name and init.is_file() else ():
                if isinstance(node, ast.ImportFrom) and name in {one.name for one in node.names}:
                    found |= _files_of(node.module or "", name)
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


def files_for(package: str) -> list[Path]:
    """Return the test files of a package."""
    folders = [f"tests/{package}", *MORE_TESTS.get(package, ())]
    return [
        test.relative_to(ROOT)
        for folder in folders
        for test in (sorted((ROOT / folder).rglob("test_*.py")) or [ROOT / folder])
        if test.exists()
    ]


def near_and_other(mutant: Mutant) -> tuple[list[str], list[str]]:
    """Return the test files nearest to a fault, those of its module first; and the others."""
    files = files_for(mutant.package)
    own = f"test_{mutant.path.name}"
    far = {file: distance(file, mutant.path) for file in files}
    size = {file: (ROOT / file).stat().st_size for file in files}
    files.sort(key=lambda file: (file.name != own, far[file], size[file]))
    nearest = min(far.values(), default=0)
    near = [str(file) for file in files if file.name == own or far[file] <= nearest]
    return [str(mutant.path), *near], [str(file) for file in files if str(file) not in near]


def recorded(packages: Iterable[str], jobs: int) -> dict[str, Reached]:
    """Return what the tests of packages call, by test file; run those not known yet."""
    sources = {path for package in packages for path in sorted_sources(package)}
    wanted = {*(str(path) for package in packages for path in files_for(package)), *sources}
    code = _digest(*sorted(ROOT.glob("src/recrawl/**/*.py")))
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    known = {
        name: Reached(**found)
        for name, found in (kept["files"] if kept.get("code") == code else {}).items()
    }
    unknown = [
        name
        for name in sorted(wanted)
        if name not in known or known[name].content != _digest(ROOT / name)
    ]
    # Folder by folder, so that a run that is interrupted does not begin anew.
    for folder, files in itertools.groupby(unknown, lambda name: Path(name).parent):
        print(f"Recording which functions the tests in {folder} call", flush=True)
        known |= _record(list(files), jobs)
        found = {name: vars(one) for name, one in known.items()}
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps({"code": code, "files": found}))
    return {name: known[name] for name in wanted}


def sorted_sources(package: str) -> list[str]:
    """Return the files of a package, whose doctests are tests."""
    return [
        str(path.relative_to(ROOT)) for path in sorted(ROOT.glob(f"src/recrawl/{package}/**/*.py"))
    ]


def _digest(*paths: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def _record(files: list[str], jobs: int) -> dict[str, Reached]:
    known = {name: Reached(_digest(ROOT / name)) for name in files}
    with tempfile.NamedTemporaryFile() as notes:
        path = os.pathsep.join(map(str, (ROOT, CHILDREN, ROOT / "src")))
        run = subprocess.run(
            [*PYTEST, "-p", "tools.pytest_reaching", f"-n{jobs}", "--dist=loadfile", *files],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": path, "RECRAWL_REACHING": notes.name},
            stdout=subprocess.DEVNULL,
            check=False,
        )
        lines = Path(notes.name).read_text().splitlines()
    if run.returncode not in {0, SOME_FAILED}:
        raise RuntimeError(f"pytest ended with {run.returncode}: {' '.join(files)}")
    calls, uses = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for kind, who, what in (line.split("\t") for line in lines):
        if kind == "takes":
            known[who.partition("::")[0]].seconds[who] = float(what.split()[0])
        else:
            (calls if kind == "calls" else uses)[who].add(what)
    for file in files:
        for test in known[file].seconds:
            own = set().union(calls[test], *(calls[fixture] for fixture in uses[test]))
            known[file].calls[test] = sorted(own)
    return known


def tests_calling(mutant: Mutant, reached: dict[str, Reached]) -> list[str]:
    """Return the tests that call what a fault is in; those of files that are done soonest first.

    What is outside functions concerns all of its file and of those that import it, and the tests
    that import it: some only look at a constant.
    """
    own = _function_around(mutant)
    is_called = set(_functions_with(mutant)) if own is None else {own}
    found = [
        [
            test
            for test, calls in file.calls.items()
            if not is_called.isdisjoint(calls)
            or (own is None and mutant.path in imports(Path(name)))
        ]
        for name, file in reached.items()
    ]
    seconds = {test: time for file in reached.values() for test, time in file.seconds.items()}
    found.sort(key=lambda tests: sum(seconds[test] for test in tests))
    return [test for tests in found for test in tests]


def _function_around(mutant: Mutant) -> str | None:
    """Return the function that a fault is in, if calls of it are noted."""
    if str(mutant.path) in STARTED_BY:
        return None
    around = [
        first_line(node)
        for node in _functions_in(mutant.path)
        if first_line(node) <= mutant.line <= (node.end_lineno or 0)
    ]
    # The innermost is the last to begin.
    return f"{mutant.path}:{max(around)}" if around else None


def _functions_with(mutant: Mutant) -> Iterator[str]:
    """Return all functions of a fault's file, and of those that import it."""
    path = Path(STARTED_BY.get(str(mutant.path), mutant.path))
    for file in (path, *(other for other in _sources() if mutant.path in imports(other))):
        for node in _functions_in(file):
            yield f"{file}:{first_line(node)}"


def _functions_in(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [
        node
        for node in ast.walk(ast.parse((ROOT / path).read_bytes()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


@functools.cache
def _sources() -> tuple[Path, ...]:
    return tuple(path.relative_to(ROOT) for path in sorted(ROOT.glob("src/recrawl/**/*.py")))
