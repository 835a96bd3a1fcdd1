"""Log lines on standard error: as text for people, or as JSON for programs."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated, final

import typer

from recrawl.cli.options import check_choice
from recrawl.cli.output import complain, json_text, say, say_as_is

LOGGED_AS = ("text", "json")
LEVELS = ("debug", "info", "warning", "error")

LogFormat = Annotated[
    str,
    typer.Option(
        "--log-format",
        metavar="NAME",
        help=f"Format of messages on standard error: {', '.join(LOGGED_AS)}.",
    ),
]
LogLevel = Annotated[
    str | None,
    typer.Option(
        "--log-level",
        metavar="NAME",
        help=f"Lowest level of messages to log: {', '.join(LEVELS)}. Default: warning; with "
        "--log-format json, info.",
    ),
]


@final
class Logs(logging.Handler):
    """Writes log records to standard error.

    Args:
        as_json: Whether a line is an object.
        is_dated: Whether a line of text starts with time and level.
    """

    def __init__(self, *, as_json: bool, is_dated: bool) -> None:
        super().__init__()
        self.as_json = as_json
        self._is_dated = is_dated

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        at = datetime.fromtimestamp(record.created, UTC)
        level, message = record.levelname.lower(), record.getMessage()
        if record.exc_info:
            # One line, whatever happened.
            message = f"{message}: {record.exc_info[1]!r}"
        if self.as_json:
            line = {
                "time": f"{at:%Y-%m-%dT%H:%M:%S.%fZ}",
                "level": level,
                "logger": record.name,
                "message": message,
                **getattr(record, "fields", {}),
            }
            say_as_is(json_text(line, indent=None), err=True)
        else:
            say(
                f"{at:%Y-%m-%d %H:%M:%S} {level}: {message}" if self._is_dated else message,
                err=True,
            )


def check_logs(format_: str, level: str | None) -> None:
    """Refuse options that are not among `LOGGED_AS` and `LEVELS`.

    Raises:
        ArgumentError: There is no such format or level.
    """
    check_choice("--log-format", format_, LOGGED_AS)
    if level is not None:
        check_choice("--log-level", level, LEVELS)


@contextmanager
def logging_to_stderr(format_: str, level: str | None) -> Iterator[None]:
    """Log to standard error during the block.

    Args:
        format_: One of `LOGGED_AS`.
        level: One of `LEVELS`; None for what suits the format.
    """
    as_json = format_ == "json"
    logger = logging.getLogger("recrawl")
    handler, before = Logs(as_json=as_json, is_dated=level is not None), logger.level
    logger.addHandler(handler)
    logger.setLevel((level or ("info" if as_json else "warning")).upper())
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)


def remark(text: str, level: int = logging.WARNING) -> None:
    """Print a message of the program on standard error; with JSON, log it."""
    logger = logging.getLogger("recrawl")
    if any(isinstance(handler, Logs) and handler.as_json for handler in logger.handlers):
        logger.log(level, "%s", text)
    else:
        complain(text)
