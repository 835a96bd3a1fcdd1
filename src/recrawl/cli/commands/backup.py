"""``recrawl backup``: copy a store while it is in use."""

from typing import Annotated

import typer

from recrawl.cli.crawl_options import SettingsFile, StoreFile, settings_of
from recrawl.cli.output import say


def backup(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The copy to write.")],
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Copy the store as a consistent snapshot; works during a run, too.

    The copy is written completely or not at all. To restore it, stop the run and move the copy
    to where the store was.

    Example:
        recrawl backup backups/2026-01-31.db
    """
    path = settings_of(store, settings).store
    from recrawl.cli.render.numbers import count
    from recrawl.cli.render.progress import progress_bar
    from recrawl.cli.render.units import size
    from recrawl.escaping import printable
    from recrawl.formats.tables import check_target
    from recrawl.store.sqlite import SqliteStore

    check_target(file)
    with SqliteStore.open(path) as opened, progress_bar("Copying"):
        written = opened.back_up(file, replace=force)
        pages = opened.totals().pages
    say(f"{printable(file)}: {count(pages, 'page')}, {size(written)}.")
