"""``recrawl remove``: remove pages."""

from typing import Annotated

import typer

from recrawl.cli.crawl_options import SettingsFile, StoreFile, UrlFile, settings_of
from recrawl.errors import ArgumentError


def remove(
    urls: Annotated[
        list[str] | None, typer.Argument(metavar="URL", help="Pages to remove.")
    ] = None,
    *,
    file: UrlFile = None,
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Remove pages with their visits and copies, also during a run.

    Their requests stay counted. Examples:

        recrawl remove https://example.org/old
        recrawl remove --file unwanted.txt
    """
    if not (urls or file):
        raise ArgumentError("URL: give a page, as in `recrawl remove https://example.org/old`")
    path = settings_of(store, settings).store
    from recrawl.cli.commands.add import named_pages
    from recrawl.cli.render.progress import progress_bar
    from recrawl.cli.render.terminal import count, printable
    from recrawl.store.sqlite import SqliteStore

    wanted = list(dict.fromkeys(page.url for page in named_pages(urls or [], file)))
    with SqliteStore.open(path) as opened, progress_bar("Removing"):
        removed = len(opened.remove(wanted))
    line = f"{printable(path)}: {count(removed, 'page')} removed"
    unknown = len(wanted) - removed
    typer.echo(f"{line}, {unknown:,} not in the store." if unknown else f"{line}.")
