"""Every exception recrawl raises on purpose.

::

    RecrawlError
    ├── ArgumentError (also a ValueError)   a value given in code
    ├── InputError                          a file that cannot be used, with its row and column
    │   └── CrawlLogError                   ... a crawl log
    ├── OutputError                         a result that cannot be written
    ├── StateError                          a saved state that does not fit
    ├── AddressError (also a ValueError)    a URL that cannot be crawled
    ├── SettingsError                       an invalid setting
    ├── StoreError                          a store that cannot be opened, read or written
    └── ConformanceError (also an AssertionError)   a check_… suite found a broken promise

A page that fails to load is a row in a log, never an exception. Messages quote what came from
outside, so their text is escaped here, in one place.
"""

from functools import partial
from typing import Any

from recrawl.escaping import printable


class RecrawlError(Exception):
    """Base of all errors that recrawl raises on purpose; the message is one sentence."""

    def __str__(self) -> str:
        """Return the message, with control characters escaped."""
        return printable(super().__str__())


class ArgumentError(RecrawlError, ValueError):
    """An argument is invalid; the message names it."""


class InputError(RecrawlError):
    """A file is invalid; the message names it, and the row and column if there is one.

    Attributes:
        source: The name of the file.
        row: The number of the row, as a text editor counts, or None.
        column: The name of the column, or None.
    """

    def __init__(
        self, source: str, problem: str, *, row: int | None = None, column: str | None = None
    ) -> None:
        self.source = source
        self.row = row
        self.column = column
        self._problem = problem
        location = [source]
        if row is not None:
            location.append(f"row {row}")
        if column is not None:
            location.append(f"column '{column}'")
        super().__init__(f"{', '.join(location)}: {problem}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Make it picklable, for pools of processes."""
        made = partial(type(self), row=self.row, column=self.column)
        return made, (self.source, self._problem)


class CrawlLogError(InputError):
    """A crawl log is invalid."""


class OutputError(RecrawlError):
    """A result cannot be written to the given file."""


class StateError(RecrawlError):
    """A saved state is damaged, newer than this version, or belongs to something else."""


class AddressError(RecrawlError, ValueError):
    """A URL cannot be crawled."""


class SettingsError(RecrawlError):
    """A setting is invalid; the message names it, and where it was set."""


class StoreError(RecrawlError):
    """The store cannot be opened, read or written; its contents are not damaged by that."""


class ConformanceError(RecrawlError, AssertionError):
    """An implementation breaks a promise that a conformance suite checks."""
