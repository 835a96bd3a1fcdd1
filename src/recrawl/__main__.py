"""The program: what ``recrawl`` and ``python -m recrawl`` do."""

import os
import sys

INTERRUPTED = 130


def main() -> None:
    """Run the program. Ctrl-C during startup ends it without a traceback."""
    open_output()
    try:
        from recrawl.cli.app import main as run
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run()


def open_output() -> None:
    """Discard output whose stream was closed (``>&-``), which Python leaves undefined."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115


if __name__ == "__main__":
    main()
