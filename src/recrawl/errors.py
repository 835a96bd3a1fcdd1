"""Every exception recrawl raises on purpose.

::

    RecrawlError
    ├── ArgumentError (also a ValueError)   a value given in code
    ├── InputError                          a file or stream that cannot be used as it is
    │   └── CrawlLogError                   ... a crawl log, with its row and column
    ├── OutputError                         a result that cannot be written where it was asked for
    ├── StateError                          a saved state that does not fit
    └── ConformanceError (an AssertionError too)   a check_… suite found a broken promise

A page that fails to load is a row in a log, never an exception.
"""


class RecrawlError(Exception):
    """Anything recrawl raises on purpose; its text is one sentence for a person."""


class ArgumentError(RecrawlError, ValueError):
    """An argument has a value that cannot be used; the message names the argument."""


class InputError(RecrawlError):
    """A file or stream cannot be used as it is."""


class CrawlLogError(InputError):
    """A crawl log cannot be used as it is; the message names the file, the row and the column."""

    def __init__(
        self, source: str, problem: str, *, row: int | None = None, column: str | None = None
    ) -> None:
        self.source = source
        self.row = row
        self.column = column
        place = [source]
        if row is not None:
            place.append(f"row {row}")
        if column is not None:
            place.append(f"column '{column}'")
        super().__init__(f"{', '.join(place)}: {problem}")


class OutputError(RecrawlError):
    """A result cannot be written where it was asked for."""


class StateError(RecrawlError):
    """A saved state is damaged, newer than this version, or belongs to something else."""


class ConformanceError(RecrawlError, AssertionError):
    """An implementation breaks a promise that a conformance suite checks."""
