"""Write files atomically."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_file(target: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing; the target is replaced once everything is on disk, or left alone.

    A new file gets default permissions, a replaced one keeps its own. A device or a pipe cannot be
    replaced and is written to directly.
    """
    path = Path(target).resolve()
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    part = path.with_name(f".recrawl-{secrets.token_hex(8)}")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
        try:
            yield file
            file.flush()
            with suppress(FileNotFoundError):
                os.fchmod(file.fileno(), path.stat().st_mode & 0o7777)
            os.fsync(file.fileno())
            part.replace(path)
        except BaseException:
            part.unlink()
            raise
