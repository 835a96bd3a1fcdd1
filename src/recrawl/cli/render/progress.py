"""A progress bar for people; files and other programs do not get one."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Called with what is done and what there is to do, None where nobody knows.
Advance = Callable[[int, int | None], object]


@contextmanager
def progress_bar(task: str) -> Iterator[Advance]:
    """Show how far a task is, on standard error if that is a terminal, until it ends."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        number = bar.add_task(task, total=None)
        yield lambda done, total: bar.update(number, completed=done, total=total)
