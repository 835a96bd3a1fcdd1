"""Progress reports of long-running functions."""

from collections.abc import Callable

#: Called with the amount done so far and the total, None if unknown.
Progress = Callable[[int, int | None], object]


def no_progress(_done: int, _total: int | None) -> None:
    """Ignore a report."""
