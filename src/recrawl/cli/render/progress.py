"""A progress bar on terminals; elsewhere a line about what takes a while."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

from recrawl.cli.output import complain
from recrawl.progress import Progress, no_progress

#: Seconds of silence, without a terminal, before a line says what is going on.
PATIENCE = 10.0

#: The stages that count rows.
COUNT_ROWS = ("Reading rows", "Folding", "Estimating")


@contextmanager
def progress_bar(task: str) -> Iterator[Progress]:
    """Show the progress of the block on standard error; without a terminal, only if it is slow."""
    if not sys.stderr.isatty():
        with note_if_long(task):
            yield no_progress
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        number = bar.add_task(task, total=None, speed="")

        def advance(done: int, total: int | None) -> None:
            speed = bar.tasks[number].speed if task in COUNT_ROWS else None
            shown = "" if speed is None else f"{speed:,.0f} rows/s"
            bar.update(number, completed=done, total=total, speed=shown)

        yield advance


@contextmanager
def note_if_long(task: str) -> Iterator[None]:
    """Say once what is going on if the block has not ended after some seconds."""
    note = Timer(PATIENCE, complain, [f"{task} takes a while"])
    note.daemon = True
    note.start()
    try:
        yield
    finally:
        note.cancel()
