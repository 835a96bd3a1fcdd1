"""Find the files of a log: files, folders, patterns and Hive partitions."""

import glob
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from recrawl.errors import InputError
from recrawl.formats.source import STANDARD

#: One file, folder or pattern, or several of them; "-" is standard input.
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

#: What Hive writes for a partition without a value.
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Input:
    """A file of a log.

    Attributes:
        path: The file, or "-" for standard input.
        partition: The columns in the names of its folders, as in ``crawl=2026-10/subset=warc``.
    """

    path: str
    partition: Mapping[str, str] = field(default_factory=dict)


def find_inputs(given: Paths, error_type: type[InputError]) -> list[Input]:
    """Return the files that paths, folders and patterns stand for, in order of name.

    Raises:
        InputError: Of the given type: there are none.
    """
    paths = [given] if isinstance(given, str | os.PathLike) else list(given)
    found = [one for path in paths for one in _files(os.fspath(path), error_type)]
    if not found:
        raise error_type("crawl log", "no file was given")
    if sum(one.path == STANDARD for one in found) > 1:
        raise error_type("standard input", "it can be read only once")
    return found


def inputs_name(inputs: list[Input]) -> str:
    """Return what messages call several files together."""
    first = "standard input" if inputs[0].path == STANDARD else inputs[0].path
    return first if len(inputs) == 1 else f"{first} and {len(inputs) - 1} more"


def _files(path: str, error_type: type[InputError]) -> list[Input]:
    if path == STANDARD:
        return [Input(path)]
    if Path(path).is_dir():
        folder = Path(path)
        inside = sorted(str(one) for one in folder.rglob("*") if _is_data(one, folder))
        if not inside:
            raise error_type(path, "there are no files in this folder")
        return [_input(name) for name in inside]
    if not os.path.lexists(path) and glob.has_magic(path):
        matching = sorted(glob.iglob(path, recursive=True))  # noqa: PTH207 - also absolute patterns
        if not matching:
            raise error_type(path, "no file matches this pattern")
        return [one for name in matching for one in _files(name, error_type)]
    return [_input(path)]


def _is_data(path: Path, folder: Path) -> bool:
    """Return whether a file below a folder is data.

    Markers such as ``_SUCCESS`` are not, nor are files in folders such as ``_temporary``; but a
    Hive partition may be named ``_day=1``.
    """
    *folders, name = path.relative_to(folder).parts
    is_hidden = any(
        one.startswith(".") or (one.startswith("_") and "=" not in one) for one in folders
    )
    return path.is_file() and not is_hidden and not name.startswith(("_", "."))


def _input(path: str) -> Input:
    """Return a file with the columns in the names of its folders."""
    pairs = (part.partition("=") for part in Path(path).parts[:-1] if "=" in part)
    values = {name: unquote(value) for name, _, value in pairs}
    return Input(path, {name: value for name, value in values.items() if value != NO_VALUE})
