"""How kernels are compiled, and when their machine code is compiled anew."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import pytest

from recrawl.kernels import compiling, jit

#: A package like this one: a kernel, a kernel that it calls, and a constant which that one uses.
FILES = {
    "__init__.py": "",
    "caller.py": """
from recrawl.kernels.jit import compiled
from recrawl.formulas.callee import scaled

@compiled
def total(number):
    return scaled(number) + 1.0
""",
    "formulas/__init__.py": "",
    "formulas/callee.py": """
from recrawl.constants import SCALE
from recrawl.kernels.jit import step

@step
def scaled(number):
    return SCALE * number
""",
    "constants.py": "SCALE = 2.0",
    "unrelated.py": "SCALE = 2.0",
}
RUN = """
from recrawl.caller import total
result = total(10.0)
from recrawl.kernels import compiling, jit
dispatcher = compiling.dispatcher(jit.SOURCES[total])
print(result, sum(dispatcher.stats.cache_hits.values()))
"""


def package_in(folder: Path) -> Path:
    """Write the package of `FILES`, whose kernels are not built."""
    package = folder / "recrawl"
    for name in ("jit.py", "built.py", "compiling.py"):
        (package / "kernels").mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(jit.__file__).with_name(name), package / "kernels" / name)
    for name in ("errors.py", "escaping.py"):
        shutil.copy(Path(jit.__file__).parents[1] / name, package / name)
    for name, text in FILES.items():
        (package / name).parent.mkdir(exist_ok=True)
        (package / name).write_text(text)
    return package


def run_in(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new process that has the package in a folder."""
    env = os.environ | {"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")}
    # Python's own cache of byte code goes by a file's time and size, which an edit here keeps.
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=env, check=True, capture_output=True, text=True)


def test_it_is_said_once_that_kernels_are_not_of_these_sources(tmp_path: Path) -> None:
    package_in(tmp_path)
    calls = "from recrawl.caller import total\ntotal(1.0)\ntotal(2.0)\n"
    (line,) = run_in(tmp_path, calls).stderr.splitlines()
    assert "compiled kernels are out of date" in line
    assert "`make kernels`" in line
    own = "from recrawl.kernels.jit import compiled\nprint(compiled(lambda one: one)(1.0))\n"
    ended = run_in(tmp_path, own)
    assert (ended.stdout, ended.stderr) == ("1.0\n", "")


def test_a_kernel_is_compiled_anew_when_what_it_calls_changes(tmp_path: Path) -> None:
    package = package_in(tmp_path)

    def run() -> str:
        """Run the kernel in a new process; return its result and the number of cache hits."""
        return run_in(tmp_path, RUN).stdout

    def edit(name: str, old: str, new: str) -> None:
        """Replace text by one of the same length, and keep the file's time."""
        file = package / name
        times = file.stat().st_atime_ns, file.stat().st_mtime_ns
        file.write_text(file.read_text().replace(old, new))
        os.utime(file, ns=times)

    assert run().split() == ["21.0", "0"]
    edit("unrelated.py", "2.0", "3.0")
    assert run().split() == ["21.0", "1"]
    edit("constants.py", "2.0", "3.0")
    assert run().split() == ["31.0", "0"]
    edit("formulas/callee.py", "SCALE *", "SCALE +")
    assert run().split() == ["14.0", "0"]


def test_machine_code_for_a_type_that_was_renamed_is_ignored(tmp_path: Path) -> None:
    module = ModuleType("renamed")
    exec("class Pages: pass", module.__dict__)  # noqa: S102
    make: Any = compiling.CacheFile  # numba has no annotations
    file = make(str(tmp_path), "kernel", "hash")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "renamed", module)
        file.save(module.Pages, b"machine code")
        assert file.load(module.Pages) == b"machine code"
    assert file.load(module.Pages) is None


def test_a_kernel_works_where_machine_code_cannot_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    njit = numba.njit

    def nowhere_to_keep_it(*given: Any, cache: bool = False, **flags: Any) -> Any:  # noqa: ANN401
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*given, **flags)

    monkeypatch.setattr(numba, "njit", nowhere_to_keep_it)

    @jit.compiled
    def doubled(number: float) -> float:
        return 2.0 * number

    assert doubled(1.5) == 3.0


def test_work_is_done_on_every_span() -> None:
    spans = [(0, 3), (3, 3), (3, 10)]
    assert jit.in_parallel(lambda first, last: last - first, spans) == [3, 0, 7]
