"""SIGTERM for a command that runs until stopped, until the command handles it by itself."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


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
