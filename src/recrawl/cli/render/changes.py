"""The feed of changes as lines of a table or as JSON lines, written while it is read."""

import sys
from collections.abc import Callable, Sequence

from recrawl.cli.output import json_text, say_as_is
from recrawl.cli.render.numbers import percent
from recrawl.cli.render.units import second
from recrawl.escaping import printable
from recrawl.store.changes import PageChange, change_object


def print_json_lines(changes: Sequence[PageChange]) -> None:
    """Print changes as JSON objects, one per line, and flush them for a waiting reader."""
    say_as_is("\n".join(json_text(change_object(change), indent=None) for change in changes))
    sys.stdout.flush()


def print_heading() -> None:
    """Print the column headings."""
    say_as_is(f"{'time (UTC)':<19}  {'kind':<7}  {'share':>7}  page")


def print_rows(changes: Sequence[PageChange]) -> None:
    """Print changes as lines in columns."""
    for change in changes:
        share = "" if change.share is None else percent(change.share)
        why = "" if change.reason is None else f"  ({printable(change.reason)})"
        say_as_is(
            f"{second(change.at)}  {change.kind.name.lower():<7}  {share:>7}  "
            f"{printable(change.url)}{why}"
        )
    sys.stdout.flush()


PRINTERS: dict[str, Callable[[Sequence[PageChange]], None]] = {
    "table": print_rows,
    "json": print_json_lines,
    "jsonl": print_json_lines,
}
