"""The public names are a promise."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import recrawl


def test_every_public_name_is_there() -> None:
    for name in recrawl.__all__:
        assert getattr(recrawl, name) is not None


def test_names_are_sorted_and_listed_alike() -> None:
    assert recrawl.__all__ == sorted(recrawl.__all__, key=isort_key)
    homes = [name for names in recrawl._HOMES.values() for name in names]  # noqa: SLF001
    assert sorted(homes) == sorted(recrawl.__all__)
    tree = ast.parse(Path(inspect.getfile(recrawl)).read_text("utf-8"))
    typed = [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("recrawl.")
        for alias in node.names
    ]
    assert sorted(typed) == sorted(recrawl.__all__)


def isort_key(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(recrawl, "no_such_name")


def test_importing_recrawl_loads_nothing_heavy() -> None:
    code = "import sys, recrawl; sys.exit(any(m in sys.modules for m in ('numpy', 'numba')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
