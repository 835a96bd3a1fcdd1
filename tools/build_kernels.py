"""Compile the kernels for the package: ``python -m tools.build_kernels``.

Every kernel is compiled by numba for each level of processor, given an entry point that takes its
arguments from an array, and linked with `native.c` into the package's only extension module,
`recrawl.kernels._native`. This needs numba and a C compiler. Modules whose sources have not changed
since are not compiled again.
"""

import argparse
import hashlib
import importlib.metadata
import itertools
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import itemgetter
from pathlib import Path

from recrawl.kernels.built import source_hash

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
HERE = SOURCE / "recrawl/kernels"
LIBRARY = HERE / "_native.abi3.so"
#: Where object files are kept between builds.
OBJECTS = ROOT / "build/kernels"
TOOLS = ("kernel_objects.py", "kernel_types.py")
#: Kernels are defined in modules with such a line.
DEFINES = re.compile(r"^@compiled(_sum)?$", re.MULTILINE)
#: What machine code is compiled for: any processor of the architecture, and a recent one.
LEVELS = {"x86_64": ("x86-64-v2", "x86-64-v3")}


def main() -> int:
    """Build what is missing or has changed; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fast", action="store_true", help="only for recent processors")
    given = parser.parse_args()
    build(all_levels()[-1:] if given.fast and _is_recent() else all_levels())
    return 0


def all_levels() -> Sequence[str]:
    """Return the levels of this machine's architecture, the highest last."""
    return LEVELS.get(platform.machine(), ("generic",))


def build(levels: Sequence[str]) -> Path:
    """Build the extension module for some levels; return its file."""
    folders = {
        (level, module): OBJECTS / level / f"{module}-{_hash(module)[:16]}"
        for level, module in itertools.product(levels, modules())
    }
    missing = [key for key, folder in folders.items() if not (folder / "kernels.json").exists()]
    if missing:
        _compile(missing, folders)
    _link(folders)
    return LIBRARY


def modules() -> list[str]:
    """Return the modules that define kernels."""
    files = sorted((SOURCE / "recrawl").rglob("*.py"))
    return [
        ".".join(file.relative_to(SOURCE).with_suffix("").parts)
        for file in files
        if DEFINES.search(file.read_text(encoding="utf-8"))
    ]


def _hash(module: str) -> str:
    """Hash all that a module's machine code depends on."""
    parts = [source_hash(_file(module)), importlib.metadata.version("numba")]
    parts += [(ROOT / "tools" / tool).read_text(encoding="utf-8") for tool in TOOLS]
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def _file(module: str) -> str:
    return f"{SOURCE / module.replace('.', os.sep)}.py"


def _compile(missing: list[tuple[str, str]], folders: dict[tuple[str, str], Path]) -> None:
    """Compile modules for levels, in as many processes as there are cores.

    Each takes the next module when it is done with one, those with the longest sources first.
    """
    began = time.monotonic()
    LIBRARY.unlink(missing_ok=True)
    done = itertools.count(1)

    def say(module: str) -> None:
        seconds = time.monotonic() - began
        print(f"{next(done)} of {len(missing)} after {seconds:.0f} s: {module}", flush=True)

    print(f"Compiling the kernels of {len(missing)} modules (once)", flush=True)
    for level, keys in itertools.groupby(sorted(missing), key=itemgetter(0)):
        longest = sorted(keys, key=lambda key: -Path(_file(key[1])).stat().st_size)
        waiting = deque((module, folders[level, module]) for _, module in longest)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            workers = [
                pool.submit(_compile_waiting, level, waiting, say)
                for _ in range(min(os.cpu_count() or 1, len(waiting)))
            ]
        for worker in workers:
            worker.result()


def _compile_waiting(
    level: str, waiting: deque[tuple[str, Path]], say: Callable[[str], None]
) -> None:
    """Compile modules into folders in one process, which imports numba once."""
    # An empty list of features: those of the level, and not those of this machine.
    variables = {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": ""}
    # A builder may have put numba on the path, rather than into an environment.
    path = filter(None, [str(SOURCE), os.environ.get("PYTHONPATH")])
    variables["PYTHONPATH"] = os.pathsep.join(path)
    with subprocess.Popen(
        [sys.executable, "-m", "tools.kernel_objects", level],
        cwd=ROOT,
        env=os.environ | variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        while waiting:
            module, folder = waiting.popleft()
            for old in folder.parent.glob(f"{module}-*"):
                shutil.rmtree(old)
            print(module, folder, sep="\t", file=process.stdin, flush=True)
            if not process.stdout.readline():
                raise SystemExit(f"the kernels of {module} were not compiled")
            say(f"{module}, {level}")


def _link(folders: dict[tuple[str, str], Path]) -> None:
    """Link object files and `native.c` into the extension module."""
    import numpy as np

    entries: dict[tuple[str, str, str, str], dict[str, str]] = {}
    objects = []
    for (level, module), folder in folders.items():
        for name, symbol, arguments, result in json.loads((folder / "kernels.json").read_text()):
            key = name, source_hash(_file(module)), arguments, result
            entries.setdefault(key, {})[level] = symbol
            objects.append(str(folder / f"{symbol}.o"))
    (OBJECTS / "table.h").write_text(_table(entries), encoding="utf-8")
    link = shlex.split(os.environ.get("LDSHARED") or sysconfig.get_config_var("LDSHARED"))
    command = [*link, "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-s"]
    for headers in (sysconfig.get_path("include"), np.get_include(), str(OBJECTS)):
        command += ["-I", headers]
    new = LIBRARY.with_suffix(".new")
    command += [str(HERE / "native.c"), *objects, "-lm", "-o", str(new)]
    try:
        subprocess.run(command, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"building the kernels needs a C compiler: {error}") from None
    # Finds what a kernel takes from numba's runtime, and `native.c` does not have.
    load = f"import ctypes, os; ctypes.PyDLL({str(new)!r}, os.RTLD_NOW)"
    subprocess.run([sys.executable, "-c", load], check=True)
    # In one step: a process that runs the old one keeps it.
    new.replace(LIBRARY)


def _table(entries: dict[tuple[str, str, str, str], dict[str, str]]) -> str:
    """Return the rows of kernels that `native.c` includes."""
    symbols = sorted(symbol for found in entries.values() for symbol in found.values())
    lines = [f"int32_t {symbol}(Slot *, Slot *);" for symbol in symbols]
    lines.append("static const Row ROWS[] = {")
    for key, found in entries.items():
        texts = ", ".join(f'"{text}"' for text in key)
        calls = ", ".join(found.get(level, "NULL") for level in all_levels())
        lines.append(f"    {{{texts}, {{{calls}}}}},")
    return "\n".join([*lines, "};", ""])


def _is_recent() -> bool:
    """Return whether this machine's processor has the highest level."""
    try:
        return {"avx2", "fma", "bmi1", "bmi2"} <= set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
