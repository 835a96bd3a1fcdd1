"""Find the kernels that were compiled when the package was built."""

import functools
import hashlib
import importlib
import os
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

PACKAGE = str(Path(__file__).parents[1])
IMPORT = re.compile(rb"^[ \t]*(?:from|import) recrawl([.\w]*)(?: import| as|$)", re.MULTILINE)


def kernel_name(function: Callable[..., Any]) -> str:
    """Return the name under which a kernel is built.

    >>> kernel_name(kernel_name)
    'recrawl.kernels.built:kernel_name'
    """
    return f"{function.__module__}:{function.__qualname__}"


def find(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return the machine code of a function, or None if it was not built from these sources."""
    rows = _rows().get(kernel_name(function), [])
    if not rows or not _is_built_from(function.__code__.co_filename, {row[0] for row in rows}):
        return None
    calls = [levels[-1] for _, levels in rows]
    call = calls[0] if len(calls) == 1 else functools.partial(_first_fitting, calls)
    made = getattr(function.__annotations__.get("return"), "_make", None)
    return (lambda *arguments: made(call(*arguments))) if made else call


def _is_built_from(file: str, hashed: set[str]) -> bool:
    try:
        return hashed == {source_hash(file)}
    except FileNotFoundError:
        # Installed without sources: they cannot have changed.
        return True


@functools.cache
def _rows() -> dict[str, list[tuple[str, list[Callable[..., Any]]]]]:
    """Return the hash of each kernel's sources and its machine code, by name, the best last."""
    try:
        native = importlib.import_module("recrawl.kernels._native")
    except ModuleNotFoundError:
        return {}
    rows: dict[str, list[tuple[str, list[Callable[..., Any]]]]] = defaultdict(list)
    for name, hashed, levels in native.kernels():
        if levels:
            rows[name].append((hashed, levels))
    return rows


def _first_fitting(calls: list[Callable[..., Any]], *arguments: Any) -> Any:  # noqa: ANN401
    """Call a kernel that was built for tuples of several lengths, 1, 2, 3 and so on."""
    length = next(len(argument) for argument in arguments if isinstance(argument, tuple))
    return calls[length - 1](*arguments)


@functools.cache
def source_hash(file: str) -> str:
    """Hash a source file together with the files of this package that it imports, at any depth."""
    hashes: dict[str, bytes] = {}
    unread = [file]
    while unread:
        path = unread.pop()
        if path not in hashes:
            hashes[path], imported = _read_source(path)
            unread += imported
    return hashlib.sha256(b"".join(sorted(hashes.values()))).hexdigest()


@functools.cache
def _read_source(path: str) -> tuple[bytes, list[str]]:
    """Return the hash of a source file, and the files of this package that it imports."""
    source = Path(path).read_bytes()
    imported: list[str] = []
    for name in set(IMPORT.findall(source)):
        target = Path(PACKAGE + name.decode().replace(".", os.sep))
        # Names imported from a package may be its modules: take all of them.
        imported += map(str, target.glob("*.py")) if target.is_dir() else [f"{target}.py"]
    return hashlib.sha256(source).digest(), imported
