"""How long-running functions report their progress."""

from collections.abc import Callable

#: Called with the amount done so far and the total, which is None where it is unknown.
Progress = Callable[[int, int | None], object]


def no_progress(_done: int, _total: int | None) -> None:
    """Ignore a report."""
