"""Everything the program says, on standard output and standard error.

Only this module decides what happens to characters that could act on a terminal, and to output that
cannot be written:

- On standard output a failure ends the command: quietly if the reader closed the pipe, otherwise
  with one sentence.
- A long run continues without a reader and says so once on standard error: see `Lasting`.
- A failure of standard error is ignored: nobody could be told.
"""

import errno
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, final

import typer

from recrawl.escaping import json_printable, printable

#: The reader of a pipe, or the terminal, is gone: it will not come back.
GONE = (errno.EPIPE, errno.EIO, errno.EBADF)


def say(text: str = "", *, err: bool = False, indent: int = 0) -> None:
    """Print lines, escaping what could act on a terminal; on a terminal, wrap between words.

    Args:
        text: One or more lines.
        err: Whether to print to standard error, whose failures are ignored.
        indent: The indent of continuation lines.
    """
    written = printable(text, lines=True)
    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        width = shutil.get_terminal_size().columns
        written = "\n".join(wrapped(line, width, indent) for line in written.split("\n"))
    say_as_is(written, err=err)


def say_as_is(written: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text that is already escaped, or our own, without wrapping it."""
    if not err:
        typer.echo(written, nl=nl)
        return
    # On a stream that is closed, Python raises ValueError.
    with suppress(OSError, ValueError):
        typer.echo(written, err=True, nl=nl)


def wrapped(line: str, width: int, indent: int = 0) -> str:
    """Wrap a line between words; a word that is too long, such as a URL, stays whole.

    >>> print(wrapped("state  not found at the last visit", 24, indent=7))
    state  not found at the
           last visit
    """
    if len(line) <= width:
        return line
    return textwrap.fill(
        line,
        max(width, indent + 20),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def complain(problem: str) -> None:
    """Say on standard error what is wrong, as one line."""
    say(f"recrawl: {printable(problem)}", err=True)


def json_text(found: object, *, indent: int | None = 2) -> str:
    """Return an object as JSON, legible and without characters that could act on a terminal."""
    import json

    return json_printable(json.dumps(found, ensure_ascii=False, indent=indent))


def say_json(found: object, *, indent: int | None = 2) -> None:
    """Print an object as JSON."""
    say_as_is(json_text(found, indent=indent))


def output_problem(error: OSError) -> str:
    """Return one sentence about output, or a file, that failed."""
    named = "standard output" if error.filename is None else os.fsdecode(error.filename)
    return f"{named}: {error.strerror or error}"


@final
class Lasting:
    """Output of a run that continues when nobody reads it any more.

    A full disk may have space again later, so later lines are tried; a closed pipe is given up.
    Either is reported once on standard error.
    """

    def __init__(self) -> None:
        self._silent = False
        self._failing = False

    def write(self, show: Callable[..., object], *args: Any) -> None:  # noqa: ANN401 - anything
        """Call a function that prints, unless nobody is there to read it."""
        with self.guard():
            if not self._silent:
                show(*args)
                sys.stdout.flush()
                self._failing = False

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Survive output that fails in the block."""
        try:
            yield
        except OSError as error:
            if error.filename is not None:
                raise
            self._note(error)

    def _note(self, error: OSError) -> None:
        closed = error.errno in GONE
        if not (self._failing or self._silent):
            what = "nobody is reading it any more" if closed else error.strerror or str(error)
            complain(f"standard output: {what}; the run continues without it")
        self._failing = True
        if closed:
            self._silent = True
            discard_output()


def wait_while_read(seconds: float) -> None:
    """Wait, unless nobody reads standard output any more, for example after ``| head -1``.

    Raises:
        BrokenPipeError: The reader has closed the pipe.
    """
    import select
    import time

    # A pipe without a reader polls as an error even if no event is requested; if the output cannot
    # be polled, as in a test, just wait.
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
    except (AttributeError, OSError, ValueError):
        time.sleep(seconds)
        return
    if poll.poll(seconds * 1_000):
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def discard_output() -> None:
    """Discard what is still buffered for standard output, so that it does not fail again."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
