"""Note which functions of the package are called, in a test's own process and those it starts.

Each function gets a call of `reached` as its first statement when its module is imported; tracing
every call of every library instead would take several times as long.

The test stands in an environment variable, which the processes that it starts inherit. Each line of
the notes has a kind, a test or fixture, and what is noted about it, separated by tabs.
"""

import ast
import os
import re
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

NOTES, WHO = "RECRAWL_REACHING", "RECRAWL_REACHED_BY"
PACKAGE = "/src/recrawl/"
#: Where functions are compiled nothing can be noted: files with this text are left alone.
COMPILED = re.compile(rb"^ *@(compiled|inlined|step|small_step)|\bnumba\b", re.MULTILINE)
PROBE = "__reached__"

#: What this test has called so far.
_called = set[str]()


def start() -> None:
    """Begin to note, if asked to: in modules that are not imported yet."""
    if NOTES in os.environ:
        sys.meta_path.insert(0, _Finder())


def reached(function: str) -> None:
    """Note that a test calls a function, once."""
    if function not in _called and WHO in os.environ:
        _called.add(function)
        note("calls", os.environ[WHO], function)


def note(kind: str, who: str, what: str) -> None:
    """Add a line to the notes."""
    # In one write, so that lines of several processes do not mix, and none is lost by a kill.
    with open(os.environ[NOTES], "ab", buffering=0) as notes:  # noqa: PTH123 - starts quickly
        notes.write(f"{kind}\t{who}\t{what}\n".encode())


def note_for(who: str | None) -> None:
    """Note calls for a test or fixture from now on; None for nobody."""
    _called.clear()
    if who is None:
        os.environ.pop(WHO, None)
    else:
        os.environ[WHO] = who


def with_probes(source: bytes, path: str) -> ast.Module:
    """Return a file's code in which each function says first that it was reached."""
    tree = ast.parse(source, path)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            call = ast.parse(f"{PROBE}('{path}:{first_line(node)}')").body[0]
            has_docstring = ast.get_docstring(node, clean=False) is not None
            node.body.insert(int(has_docstring), call)
    return tree


def first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the line that a function begins in, its decorators included."""
    return min(node.lineno, *(one.lineno for one in node.decorator_list), node.lineno)


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        source = self.get_data(path)
        _, package, inside = path.rpartition(PACKAGE)
        if not package or COMPILED.search(source):
            return compile(source, path, "exec", dont_inherit=True)
        return compile(with_probes(source, f"src/recrawl/{inside}"), path, "exec")

    def exec_module(self, module: ModuleType) -> None:
        vars(module)[PROBE] = reached
        super().exec_module(module)


class _Finder(MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        found = PathFinder.find_spec(name, path, target) if name.startswith("recrawl") else None
        if found is not None and type(found.loader) is SourceFileLoader:
            found.loader = _Loader(name, found.loader.path)
        return found
