"""Signals to a command that runs until it is stopped, and how it ends when it gets one."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: The exit status after a second Ctrl-C.
INTERRUPTED = 130


def has_terminal() -> bool:
    """Whether there is a terminal that could be closed, even if the output goes elsewhere."""
    try:
        os.close(os.open(os.ctermid(), os.O_RDONLY | os.O_NOCTTY))
    except (AttributeError, OSError):
        return False
    return True


@contextmanager
def ending_when_terminated() -> Iterator[None]:
    """Let SIGTERM end a command cleanly, even while it is still loading.

    A crawl and a service install their own handlers later, with the same visible effect.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
