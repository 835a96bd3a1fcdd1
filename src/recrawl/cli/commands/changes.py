"""``recrawl changes``: what happened to pages, for indexes and other readers."""

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
#: Changes in a table by default.
SHOWN = 20
#: Changes that are read at a time.
CHANGES_PER_BATCH = 1_000
#: Seconds between two checks for new changes.
POLL_SECONDS = 0.5
#: The cursor of a reader that knows nothing yet.
START = "start"


def changes(
    *,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="Start after this cursor, at this time (2026-01-31, or 2h for two hours ago), or "
            "with all current pages (start). Default: the oldest change that is kept; in a table, "
            f"the last {SHOWN}.",
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for further changes until stopped.")
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Maximum number of changes; without --since and --follow, the last ones.",
        ),
    ] = None,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help="Output format: table, or jsonl for one object per line; json is the same.",
        ),
    ] = "table",
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Print what happened to pages, in order: new, changed, gone, refused, back or removed.

    With --format jsonl, each line is an object with a cursor. Keep the cursor of the last line you
    processed and start after it next time, and you miss nothing. Works with and without a run.

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
    """Return how many of the last changes to show without ``--since``; None for all."""
    if limit is None:
        return SHOWN if is_table else None
    # With --follow, the limit is for changes that are yet to come.
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
        complain("changes since then may have been dropped; this starts with the oldest one kept")
    return cursor
