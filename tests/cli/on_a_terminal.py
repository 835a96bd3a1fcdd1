"""The program run as a person would: on a terminal."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Sequence

PROGRAM = [sys.executable, "-m", "recrawl"]
#: The program with all the time that a busy machine takes to start parse processes, and to stop.
_SCRIPT = """
import sys
from recrawl.parsing import pool as parse_pool, process as parse_process
from recrawl.crawler import stopping
from recrawl.fetching import worker
stopping.STOP_SECONDS = worker.GRACE = parse_process.MAX_WAIT = 600.0
parse_pool.NICENESS = 0
from recrawl.cli.app import main
sys.argv[0] = 'recrawl'
main()
"""
PATIENT = [sys.executable, "-c", _SCRIPT]
#: Seconds after which a program that does not end is taken to hang: far more than any takes.
HANGS = 600.0


def in_a_terminal(
    *arguments: str, until: Sequence[str] = (), columns: int = 100
) -> tuple[int, str]:
    """Run the program on a terminal of its own, and give its exit code and all it showed.

    Args:
        arguments: Its arguments.
        until: Press Ctrl-C once it has shown all of these.
        columns: How wide the terminal is.
    """
    terminal, end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns), "LINES": "40"}
    with subprocess.Popen(
        [*(PATIENT if until else PROGRAM), *arguments],
        stdin=end,
        stdout=end,
        stderr=end,
        env=environment,
    ) as process:
        os.close(end)
        shown = b""
        wanted = [text.encode() for text in until]
        try:
            while part := os.read(terminal, 65_536):
                shown += part
                if wanted and all(text in shown for text in wanted):
                    process.send_signal(signal.SIGINT)
                    wanted = []
        except OSError:
            # The other end was closed: how a terminal says that all was read.
            pass
    os.close(terminal)
    return process.returncode, shown.decode()


def without_notes(said: str) -> str:
    """Leave out that something takes a while, which is so on a busy machine."""
    lines = said.splitlines(keepends=True)
    return "".join(line for line in lines if " takes a while" not in line)
