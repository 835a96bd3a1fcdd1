"""Estimator states in files: written whole or not at all, and recognised when read."""

import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from recrawl.errors import StateError
from recrawl.estimation.estimator import Estimator, S

HEADER = "header"


def save_state(path: str | os.PathLike[str], estimator: Estimator[S], state: S) -> None:
    """Write a state to a file; what was there before stays until the new file is whole.

    >>> from recrawl import LLN
    >>> folder = Path(tempfile.mkdtemp())
    >>> save_state(folder / "rates.npz", LLN(), LLN().start(3))
    >>> load_state(folder / "rates.npz", LLN()).visits
    array([0, 0, 0])
    """
    target = Path(path)
    header = {"estimator": type(estimator).__name__, "version": estimator.state_version}
    columns: dict[str, Any] = dict(zip(_fields(state), state, strict=True))  # type: ignore[call-overload]
    columns[HEADER] = np.array(json.dumps(header))
    try:
        with tempfile.NamedTemporaryFile(
            dir=target.parent, prefix=target.name, suffix=".part", delete=False
        ) as part:
            try:
                np.savez(part, allow_pickle=False, **columns)
                part.flush()
                os.fsync(part.fileno())
                Path(part.name).replace(target)
            except BaseException:
                Path(part.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise StateError(f"{target}: the state cannot be written: {error.strerror}") from error


def load_state(path: str | os.PathLike[str], estimator: Estimator[S]) -> S:
    """Read a state that `save_state` wrote, for the same kind of estimator."""
    source = Path(path)
    try:
        with source.open("rb") as handle, np.load(handle, allow_pickle=False) as file:
            columns = {name: file[name] for name in file.files}
        header = json.loads(str(columns.pop(HEADER)))
        name, version = header["estimator"], header["version"]
    except FileNotFoundError as error:
        raise StateError(f"{source}: there is no such file") from error
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise StateError(f"{source}: not an estimator's state, or damaged") from error
    wanted = type(estimator).__name__
    if name != wanted:
        raise StateError(f"{source}: the state of {name}, not of {wanted}")
    if version != estimator.state_version:
        raise StateError(
            f"{source}: state version {version}; this recrawl reads version "
            f"{estimator.state_version} of {wanted}"
        )
    empty = estimator.start(0)
    if set(columns) != set(_fields(empty)):
        raise StateError(f"{source}: not an estimator's state, or damaged")
    return type(empty)(**columns)


def _fields(state: Any) -> tuple[str, ...]:  # noqa: ANN401
    fields: tuple[str, ...] = state._fields
    return fields
