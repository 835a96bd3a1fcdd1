"""Warnings that anybody can cause are logged once in a while, with how many there were."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import final

#: Seconds between two lines about the same.
EVERY = 60.0


@final
class Seldom(logging.Filter):
    """Lets a warning through once a minute, and counts the others.

    Args:
        now: Returns seconds that never go back.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        #: By message, without its arguments: when it was logged last, and how often not since.
        self._logged: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log something; errors are, always."""
        if record.levelno != logging.WARNING:
            return True
        kind, now = str(record.msg), self._now()
        at, left_out = self._logged.get(kind, (-EVERY, 0))
        if now - at < EVERY:
            self._logged[kind] = at, left_out + 1
            return False
        self._logged[kind] = now, 0
        if left_out:
            record.msg = f"{record.getMessage()} ({left_out:,} more since the last such line)"
            record.args = None
        return True


@contextmanager
def logged_seldom(*loggers: logging.Logger) -> Iterator[None]:
    """Log warnings of some loggers once in a while."""
    seldom = Seldom()
    for logger in loggers:
        logger.addFilter(seldom)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(seldom)
