"""Note which functions of the package are called, in a test's own process and those it starts.

The test stands in an environment variable, which the processes that it starts inherit. Each line of
the notes has a kind, a test or fixture, and what is noted about it, separated by tabs.
"""

import os
import sys
import threading
from types import CodeType, FrameType

NOTES, WHO = "RECRAWL_REACHING", "RECRAWL_REACHED_BY"
PACKAGE = "/src/recrawl/"

#: Functions by their identity, which no other has while they are kept: those that count, and were
#: called by this test; and those that never count.
_called: dict[int, CodeType] = {}
_others: dict[int, CodeType] = {}


def start() -> None:
    """Begin to note, if asked to."""
    if NOTES in os.environ:
        threading.settrace(_trace)
        sys.settrace(_trace)


def _trace(frame: FrameType, _event: str, _arg: object) -> None:
    code = frame.f_code
    number = id(code)
    if number in _called or number in _others:
        return
    _, package, path = code.co_filename.rpartition(PACKAGE)
    if not package:
        _others[number] = code
    elif WHO in os.environ:
        _called[number] = code
        note("calls", os.environ[WHO], f"src/recrawl/{path}:{code.co_firstlineno}")


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
