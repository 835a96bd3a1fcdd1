"""``recrawl remove``: pages that are no longer wanted."""

from typing import Annotated

import typer

from recrawl.cli.crawl_options import AddressFile, SettingsFile, StoreFile, settings_of
from recrawl.errors import ArgumentError


def remove(
    urls: Annotated[
        list[str] | None, typer.Argument(metavar="URL", help="Pages that are no longer wanted.")
    ] = None,
    *,
    file: AddressFile = None,
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Remove pages, with their visits and copies; also while a run goes on.

    What they have cost stays counted. Examples:

        recrawl remove https://example.org/old
        recrawl remove --file unwanted.txt
    """
    if not (urls or file):
        raise ArgumentError("URL: name a page, as in `recrawl remove https://example.org/old`")
    place = settings_of(store, settings).store
    from recrawl.cli.commands.add import named_pages
    from recrawl.cli.render.progress import progress_bar
    from recrawl.cli.render.terminal import count, printable
    from recrawl.store.sqlite import SqliteStore

    wanted = list(dict.fromkeys(page.url for page in named_pages(urls or [], file)))
    with SqliteStore.open(place) as opened, progress_bar("Removing"):
        removed = len(opened.remove(wanted))
    line = f"{printable(place)}: {count(removed, 'page')} removed"
    unknown = len(wanted) - removed
    typer.echo(f"{line}, {unknown:,} not in the store." if unknown else f"{line}.")
