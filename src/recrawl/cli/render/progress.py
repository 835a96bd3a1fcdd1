"""A progress bar on terminals; files and pipes do not get one."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from recrawl.progress import Progress, no_progress


@contextmanager
def progress_bar(task: str) -> Iterator[Progress]:
    """Show the progress of the block on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield no_progress
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        number = bar.add_task(task, total=None)
        yield lambda done, total: bar.update(number, completed=done, total=total)
