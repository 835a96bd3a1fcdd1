"""The program in a process of its own, as it is used, and the store it leaves behind."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore
from recrawl.urls import host_of

#: The program, telling how it goes as often as it looks, twenty times a second.
_OFTEN = (
    "import recrawl.cli.render.run as screen, recrawl.crawler.loop as crawl;"
    "screen.LOG_EVERY, crawl.WATCH_EVERY = 0, 0.05;"
    "from recrawl.cli.app import main; main()"
)


def environ(settings: dict[str, str]) -> dict[str, str]:
    """Give an environment with these settings, and none from outside."""
    usual = {name: value for name, value in os.environ.items() if not name.startswith("RECRAWL_")}
    return usual | {f"RECRAWL_{name.upper()}": value for name, value in settings.items()}


def start(
    *arguments: str, settings: dict[str, str] | None = None, often: bool = False
) -> "subprocess.Popen[str]":
    """Start the program."""
    program = ["-c", _OFTEN] if often else ["-m", "recrawl"]
    return subprocess.Popen(
        [sys.executable, *program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environ(settings or {}),
    )


def run(*arguments: str, settings: dict[str, str] | None = None) -> tuple[int, str, str]:
    """Run the program to its end: its status, and what it said and complained about."""
    with start(*arguments, settings=settings) as process:
        said, complained = process.communicate(timeout=60.0)
    return process.returncode, said, complained


def add(store: Path, urls: Iterable[str]) -> None:
    """Add pages to a store, made if there is none."""
    with SqliteStore.open(store, create=True) as opened:
        opened.add([NewPage(url, host_of(url)) for url in urls], at=0)


def check(store: Path) -> None:
    """See that a store is whole."""
    with SqliteStore.open(store) as opened:
        assert opened.check() == []


def max_memory(process: int) -> int:
    """Give the most memory a process has had so far, in bytes; 0 if it has ended.

    What `getrusage` tells of a child counts the memory of the parent that it was forked from.
    """
    try:
        status = Path(f"/proc/{process}/status").read_text("ascii")
    except OSError:
        return 0
    lines = [line.split() for line in status.splitlines() if line.startswith("VmHWM")]
    return 1024 * int(lines[0][1]) if lines else 0
