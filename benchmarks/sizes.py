"""How large a benchmark is: as it is measured, or the smallest at which all of it still runs.

The smallest size is for tests that everything runs. Nothing is judged, and nothing is written but
to a folder of its own.
"""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

#: An environment variable, as benchmarks start programs of their own: the folder to write to at the
#: smallest size; not set at the usual one.
VARIABLE = "RECRAWL_SMALLEST_BENCHMARKS"

Size = TypeVar("Size")


class AbsentError(Exception):
    """Something that a benchmark needs is not on this machine."""


def is_smallest() -> bool:
    """Whether benchmarks run at the smallest size."""
    return VARIABLE in os.environ


def sized(usual: Size, smallest: Size) -> Size:
    """Return one of two sizes."""
    return smallest if is_smallest() else usual


def output(path: Path) -> Path:
    """Return where to write a file."""
    return Path(os.environ[VARIABLE]) / path.name if is_smallest() else path


def is_left_out(peer: str) -> bool:
    """Whether a peer is not compared with, as its module is not installed.

    Raises:
        AbsentError: It has to be.
    """
    if find_spec(peer) is not None:
        return False
    if not is_smallest():
        raise AbsentError(f"{peer} is not installed; `make bench` installs it")
    return True
