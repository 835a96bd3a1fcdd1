"""``recrawl changes``: what became of pages, for indexes and other readers."""

from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli.crawl_options import (
    SettingsFile,
    StoreFile,
    settings_of,
    time_since,
)
from recrawl.cli.options import check_choice
from recrawl.cli.output import complain, wait_while_read
from recrawl.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.store.changes import ChangeFeed, Cursor, PageChange

FORMATS = ("table", "json", "jsonl")
#: Changes in a table, unless something else is asked for.
SHOWN = 20
#: Changes that are read in one go.
CHANGES_PER_BATCH = 1_000
#: Seconds between two looks for new changes.
POLL_SECONDS = 0.5
#: The cursor of a reader that knows nothing.
START = "start"


def changes(
    *,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="Begin after this cursor, at this time (2026-01-31 or 2h ago: 2h), or with all "
            "pages there are (start). Default: the first change that is kept; in a table, the last "
            f"{SHOWN}.",
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for further changes until stopped.")
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="End after this many changes. Without --since and --follow: the last so many.",
        ),
    ] = None,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help="Output format: table, or jsonl, an object per line; json is the same.",
        ),
    ] = "table",
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Print what became of pages, in order: new, changed, gone, back or removed.

    With --format jsonl, each line is an object with a cursor. Keep the cursor of the last line that
    you have dealt with, and begin after it next time: nothing is missed. It works with and without
    a run.

    Examples:
        recrawl changes --since 1d
        recrawl changes --since start --format jsonl
        recrawl changes --since 1042 --follow --format jsonl
    """
    check_choice("--format", format_, FORMATS)
    if limit is not None and limit < 1:
        raise ArgumentError(f"--limit: {limit} is not above 0; leave it out for all changes")
    path = settings_of(store, settings).store
    from contextlib import suppress

    from recrawl.cli.render.changes import PRINTERS, print_heading
    from recrawl.store.sqlite import SqliteStore

    show, is_table = PRINTERS[format_], format_ == "table"
    with SqliteStore.open(path) as opened, suppress(KeyboardInterrupt):
        if since is not None:
            cursor = cursor_of(opened.feed, since)
        elif (last := _last(limit, follow=follow, is_table=is_table)) is not None:
            oldest, end = opened.feed.oldest(), opened.feed.end()
            cursor = max(oldest, end._replace(serial=end.serial - last))
        else:
            cursor = opened.feed.oldest()
        for number, found in enumerate(_batches(opened.feed, cursor, limit, follow=follow)):
            if is_table and number == 0:
                print_heading()
            show(found)


def _last(limit: int | None, *, follow: bool, is_table: bool) -> int | None:
    """Return with how many of the last changes to begin, if nobody says where; None for all."""
    if limit is None:
        return SHOWN if is_table else None
    # A limit on what is yet to come says nothing about what was.
    return None if follow else limit


def _batches(
    feed: "ChangeFeed", cursor: "Cursor", limit: int | None, *, follow: bool
) -> "Iterator[list[PageChange]]":
    """Yield what follows a cursor."""
    left = limit
    while left is None or left > 0:
        size = CHANGES_PER_BATCH if left is None else min(left, CHANGES_PER_BATCH)
        found = feed.read(cursor, size)
        if found:
            yield found
            cursor = found[-1].cursor
            left = None if left is None else left - len(found)
        elif follow:
            wait_while_read(POLL_SECONDS)
        else:
            return


def cursor_of(feed: "ChangeFeed", since: str) -> "Cursor":
    """Return the cursor that an option means: a cursor, a time, or a time ago."""
    from recrawl.store.changes import Cursor

    if since.strip().lower() == START:
        return feed.start()
    try:
        return Cursor.parse(since)
    except ArgumentError:
        pass
    oldest = feed.oldest()
    cursor = feed.since(time_since("--since", since, "1042, start"))
    if cursor == oldest and oldest.serial > 0:
        complain("changes may have been dropped since then; the first one kept follows")
    return cursor
