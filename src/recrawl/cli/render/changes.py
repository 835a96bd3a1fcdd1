"""The feed of changes as lines of a table and as JSON lines, written while it is read."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from recrawl.cli.output import json_text, say_as_is
from recrawl.cli.render.terminal import percent
from recrawl.cli.render.units import iso, second
from recrawl.escaping import printable
from recrawl.store.changes import PageChange


def as_object(change: PageChange) -> dict[str, Any]:
    """Return a change as an object for JSON."""
    return {
        "cursor": str(change.cursor),
        "url": change.url,
        "kind": change.kind.name.lower(),
        "at": iso(change.at),
        "previous": iso(change.previous),
        "digest_before": None if change.before is None else change.before.hex(),
        "digest": None if change.after is None else change.after.hex(),
        "share": change.share,
    }


def print_json_lines(changes: Sequence[PageChange]) -> None:
    """Print changes as JSON objects, one per line, for a reader who waits for them."""
    say_as_is("\n".join(json_text(as_object(change), indent=None) for change in changes))
    sys.stdout.flush()


def print_rows(changes: Sequence[PageChange]) -> None:
    """Print changes as lines in columns."""
    for change in changes:
        share = "" if change.share is None else percent(change.share)
        say_as_is(
            f"{second(change.at)}  {change.kind.name.lower():<7}  {share:>7}  "
            f"{printable(change.url)}"
        )
    sys.stdout.flush()


PRINTERS: dict[str, Callable[[Sequence[PageChange]], None]] = {
    "table": print_rows,
    "json": print_json_lines,
}
