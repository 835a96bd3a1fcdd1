"""The program in a process of its own, as people use it, and the store it leaves behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from recrawl.hosts import host_of
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore

#: Seconds after which a program that does not end is taken to hang: far more than any takes.
HANGS = 300.0
#: The program, with all the time that a busy machine takes to start parse processes, and to stop.
_PATIENT = (
    "import sys;"
    "from recrawl.parsing import pool as parse_pool, process as parse_process;"
    "from recrawl.crawler import stopping;"
    "from recrawl.fetching import worker;"
    "stopping.STOP_SECONDS = worker.GRACE = parse_process.MAX_WAIT = 600.0;"
    "parse_pool.NICENESS = 0;"
    "sys.argv[0] = 'recrawl';"
    "from recrawl.cli.app import main; main()"
)
#: The same, reporting its stats twenty times per second.
_OFTEN = (
    "import recrawl.cli.render.run as screen, recrawl.engine.engine as crawl;"
    "screen.LOG_EVERY, crawl.WATCH_EVERY = 0, 0.05;"
) + _PATIENT


def environ(settings: dict[str, str]) -> dict[str, str]:
    """Return an environment with these settings, in which pages may be visited often."""
    usual = {name: value for name, value in os.environ.items() if not name.startswith("RECRAWL_")}
    often = {"RECRAWL_MIN_INTERVAL": "0s", "RECRAWL_SPEND": "all"}
    return usual | often | {f"RECRAWL_{name.upper()}": value for name, value in settings.items()}


def start(
    *arguments: str,
    settings: dict[str, str] | None = None,
    often: bool = False,
    before: str = "",
) -> "subprocess.Popen[str]":
    """Start the program; ``before`` is Python that is run first."""
    program = ["-c", before + (_OFTEN if often else _PATIENT)]
    return subprocess.Popen(
        [sys.executable, *program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environ(settings or {}),
    )


def complaints(errors: str) -> str:
    """Return error output without the line that a run is loading."""
    lines = errors.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("recrawl: loading "))


def run(*arguments: str, settings: dict[str, str] | None = None) -> tuple[int, str, str]:
    """Run the program to its end; return its status, output and error output."""
    with start(*arguments, settings=settings) as process:
        output, errors = process.communicate(timeout=HANGS)
    return process.returncode, output, complaints(errors)


def run_until(
    done: Callable[[], bool], *arguments: str, settings: dict[str, str] | None = None
) -> tuple[int, str, str]:
    """Run the program until something has happened, then stop it cleanly, as Ctrl-C does."""
    with start(*arguments, settings=settings) as process:
        wait_until(done, process)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=HANGS)
    return process.returncode, output, complaints(errors)


def wait_until(done: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    """Wait for something to happen, or for the program to end."""
    end = time.monotonic() + HANGS
    while not done() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)


def add(store: Path, urls: Iterable[str]) -> None:
    """Add pages to a store, which is created if there is none."""
    with SqliteStore.open(store, create=True) as opened:
        opened.add([NewPage(url, host_of(url)) for url in urls], at=0)


def check(store: Path) -> None:
    """Check that a store is whole."""
    with SqliteStore.open(store) as opened:
        assert opened.check() == []


def max_memory(process: int) -> int:
    """Return the most memory a process has had so far, in bytes; 0 if it has ended.

    `getrusage` of a child counts the memory of the parent that it was forked from.
    """
    try:
        status = Path(f"/proc/{process}/status").read_text("ascii")
    except OSError:
        return 0
    lines = [line.split() for line in status.splitlines() if line.startswith("VmHWM")]
    return 1024 * int(lines[0][1]) if lines else 0
