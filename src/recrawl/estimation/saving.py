"""Save estimator states to files, atomically, and check them when they are loaded."""

import json
import os
import tokenize
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from recrawl.errors import StateError
from recrawl.estimation.estimator import Estimator, S
from recrawl.files import atomic_file

HEADER = "header"
#: What NumPy and zipfile raise for files that are damaged or of another kind.
UNREADABLE = (
    EOFError,
    KeyError,
    MemoryError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    tokenize.TokenError,
    zipfile.BadZipFile,
)


def save_state(path: str | os.PathLike[str], estimator: Estimator[S], state: S) -> None:
    """Write a state to a file, atomically: an old file stays until the new one is complete.

    >>> from recrawl import LLN
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> save_state(folder / "rates.npz", LLN(), LLN().start(3))
    >>> load_state(folder / "rates.npz", LLN()).visits
    array([0, 0, 0])
    """
    header = {"estimator": type(estimator).__name__, "version": estimator.state_version}
    columns: dict[str, Any] = dict(zip(_fields(state), state, strict=True))  # type: ignore[call-overload]
    write_columns(path, header, columns)


def write_columns(
    path: str | os.PathLike[str], header: dict[str, Any], columns: dict[str, Any]
) -> None:
    """Write arrays and a header to a file, atomically."""
    target = Path(path)
    named = {HEADER: np.array(json.dumps(header))}
    try:
        with atomic_file(target) as file:
            np.savez(file, allow_pickle=False, **columns, **named)
    except OSError as error:
        raise StateError(f"{target}: the state cannot be written: {error.strerror}") from error


def load_state(path: str | os.PathLike[str], estimator: Estimator[S]) -> S:
    """Read a state that `save_state` wrote for the same kind of estimator."""
    source = Path(path)
    header, columns = read_columns(source, "an estimator's state")
    name, version = header.get("estimator"), header.get("version")
    wanted = type(estimator).__name__
    if name != wanted:
        raise StateError(f"{source}: the state of {name or 'something else'}, not of {wanted}")
    if version != estimator.state_version:
        raise StateError(
            f"{source}: state version {version}; this recrawl reads version "
            f"{estimator.state_version} of {wanted}"
        )
    empty = estimator.start(0)
    if set(columns) != set(_fields(empty)):
        raise StateError(f"{source}: not an estimator's state, or damaged")
    return type(empty)(**columns)


def read_columns(source: Path, what: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read a file that `write_columns` wrote; return the header and the arrays."""
    try:
        with source.open("rb") as handle, np.load(handle, allow_pickle=False) as file:
            columns = {name: file[name] for name in file.files}
        header = dict(json.loads(str(columns.pop(HEADER))))
    except FileNotFoundError as error:
        raise StateError(f"{source}: there is no such file") from error
    except UNREADABLE as error:
        raise StateError(f"{source}: not {what}, or damaged") from error
    return header, columns


def _fields(state: Any) -> tuple[str, ...]:  # noqa: ANN401
    fields: tuple[str, ...] = state._fields
    return fields
