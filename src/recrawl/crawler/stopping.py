"""Stop on a signal, cleanly and in time."""

import asyncio
import logging
import os
import signal
import sys
import threading
from typing import Any, Protocol

from recrawl.config.reload import Reload

LOGGER = logging.getLogger("recrawl.crawler")

#: Seconds after a signal at which the process exits, whatever it is doing: supervisors kill after
#: some ten. Visits in flight get `recrawl.fetching.worker.GRACE` of them.
STOP_SECONDS = 5.5


class Stopping(Protocol):
    """What a signal stops."""

    @property
    def stopping(self) -> bool:
        """Whether `stop` was called."""

    def stop(self) -> None:
        """Stop soon."""


def stop_on_signals(crawl: Stopping, reload: Reload | None = None) -> None:
    """Stop on the first signal, within `STOP_SECONDS`; a second one cancels the crawl."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()

    def hang_up() -> None:
        if reload is None:
            stop()
        elif not crawl.stopping and reload():
            crawl.stop()

    def stop() -> None:
        # A crawl that was about to restart should end instead.
        is_reloading = reload is not None and reload.take() is not None
        if crawl.stopping and not is_reloading:
            if task is not None:
                task.cancel()
        else:
            _end_in_time(task)
            crawl.stop()

    in_main_thread = threading.current_thread() is threading.main_thread()
    if sys.platform != "win32" and in_main_thread:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Under nohup, the closing of the terminal is ignored, and stays so.
            if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, hang_up if number is signal.SIGHUP else stop)


def _end_in_time(task: "asyncio.Task[Any] | None") -> None:
    """Exit the process if a task is not done in time."""
    timer = threading.Timer(STOP_SECONDS, _end_at_once)
    timer.daemon = True
    timer.start()
    if task is not None:
        task.add_done_callback(lambda _: timer.cancel())


def _end_at_once() -> None:
    """Exit the process: a write or a DNS lookup takes too long. The store survives it."""
    LOGGER.error("stopping took more than %g s; what was in flight is lost", STOP_SECONDS)
    logging.shutdown()
    os._exit(1)
