"""SIGTERM before a command that runs until it is stopped handles it by itself."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ending_when_terminated() -> Iterator[None]:
    """Have SIGTERM end a command cleanly, also while it is still loading.

    A crawl, and a service, replace this by what stops them; whoever sent the signal sees the same.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
