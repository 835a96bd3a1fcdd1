"""The program run as a person would: on a terminal."""

import os
import pty
import subprocess
import sys

PROGRAM = [sys.executable, "-m", "recrawl"]


def in_a_terminal(*arguments: str) -> tuple[int, str]:
    """Run the program on a terminal of its own, and give its exit code and all it showed."""
    terminal, end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    with subprocess.Popen(
        [*PROGRAM, *arguments], stdin=end, stdout=end, stderr=end, env=environment
    ) as process:
        os.close(end)
        shown = b""
        try:
            while part := os.read(terminal, 65_536):
                shown += part
        except OSError:
            # The other end was closed: how a terminal says that all was read.
            pass
    os.close(terminal)
    return process.returncode, shown.decode()
