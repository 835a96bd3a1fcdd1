"""The program: what ``recrawl`` and ``python -m recrawl`` do."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the program. Ctrl-C while it is still being loaded ends it without a traceback."""
    try:
        from recrawl.cli.app import main as run
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run()


if __name__ == "__main__":
    main()
