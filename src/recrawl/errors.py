"""Every exception recrawl raises on purpose.

::

    RecrawlError
    ├── ArgumentError (also a ValueError)   a value given in code
    ├── InputError                          a file that cannot be used, with its row and column
    │   └── CrawlLogError                   ... a crawl log
    ├── OutputError                         a result that cannot be written where it was asked for
    ├── StateError                          a saved state that does not fit
    ├── AddressError (also a ValueError)    a URL that cannot be crawled
    ├── SettingsError                       a setting that cannot be used
    ├── StoreError                          a store that cannot be opened, read or written
    └── ConformanceError (an AssertionError too)   a check_… suite found a broken promise

A page that fails to load is a row in a log, never an exception.
"""


class RecrawlError(Exception):
    """Anything recrawl raises on purpose; its text is one sentence for a person."""


class ArgumentError(RecrawlError, ValueError):
    """An argument has a value that cannot be used; the message names the argument."""


class InputError(RecrawlError):
    """A file cannot be used as it is; the message names it, and the row and column if there is one.

    Attributes:
        source: What the file is called.
        row: The row's number, as a text editor counts, or None.
        column: The column's name, or None.
    """

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


class CrawlLogError(InputError):
    """A crawl log cannot be used as it is."""


class OutputError(RecrawlError):
    """A result cannot be written where it was asked for."""


class StateError(RecrawlError):
    """A saved state is damaged, newer than this version, or belongs to something else."""


class AddressError(RecrawlError, ValueError):
    """An address is not one of a page that can be crawled."""


class SettingsError(RecrawlError):
    """A setting has a value that cannot be used; the message says which, and where it was set."""


class StoreError(RecrawlError):
    """The store cannot be opened, read or written; nothing in it is damaged by that."""


class ConformanceError(RecrawlError, AssertionError):
    """An implementation breaks a promise that a conformance suite checks."""
