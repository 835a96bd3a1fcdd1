"""``recrawl add``: pages to be kept fresh from now on."""

from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli.crawl_options import AddressFile, SettingsFile, StoreFile, present, settings_of
from recrawl.errors import ArgumentError, InputError

if TYPE_CHECKING:
    from recrawl.store.rows import Added, NewPage


def add(
    urls: Annotated[
        list[str] | None, typer.Argument(metavar="URL", help="Pages to be kept fresh.")
    ] = None,
    *,
    file: AddressFile = None,
    sitemap: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="A sitemap, which a run reads for pages and reads again now and then; may be "
            "given several times.",
        ),
    ] = None,
    importance: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="What the pages' freshness is worth, where a file does not say; 1 for new pages "
            "unless given.",
        ),
    ] = None,
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Add pages to be kept fresh, also while a run goes on.

    The store is made if there is none. A page that is known takes the importance that is given; one
    that was given up because it was not found is visited again. Examples:

        recrawl add https://example.org/ https://example.org/news
        recrawl add --file urls.csv
        recrawl add --sitemap https://example.org/sitemap.xml --store example.db
    """
    if not (urls or file or sitemap):
        raise ArgumentError("URL: name a page, as in `recrawl add https://example.org/`")
    place = settings_of(store, settings).store
    from recrawl.cli.render.progress import progress_bar
    from recrawl.store.sqlite import SqliteStore
    from recrawl.urls import canonical

    sitemaps = [canonical(url) for url in sitemap or []]
    pages = named_pages(urls or [], file, importance)
    with progress_bar("Adding"), SqliteStore.open(place, create=True) as opened:
        added = opened.add(pages, at=present())
        for url in sitemaps:
            opened.add_sitemap(url)
    _tell(added, len(sitemaps), place)


def named_pages(
    urls: list[str], file: str | None, importance: float | None = None
) -> "list[NewPage]":
    """Give the pages that are named, by the command and by a file; all of them, or none."""
    from recrawl.cli.render.progress import progress_bar
    from recrawl.crawler.seeds import (
        checked_importance,
        named_page,
        read_seeds,
        with_importance,
    )
    from recrawl.formats.source import source_name

    if importance is not None:
        try:
            checked_importance(importance)
        except ArgumentError as error:
            raise ArgumentError(f"--importance: {error}") from None
    pages = [named_page(url) for url in urls]
    if file is not None:
        with progress_bar("Reading") as advance:
            listed = read_seeds(file, advance)
        if not listed:
            raise InputError(source_name(file), "there are no pages in it")
        pages += listed
    return list(with_importance(pages, importance))


def _tell(added: "Added", sitemaps: int, place: str) -> None:
    from recrawl.cli.render.terminal import count, printable

    parts = []
    if added.new:
        parts.append(f"{count(added.new, 'new page')}")
    if added.known:
        parts.append(f"{count(added.known, 'page')} known already")
    if added.revived:
        parts.append(f"{count(added.revived, 'page')} to be visited again")
    if sitemaps:
        parts.append(f"{count(sitemaps, 'sitemap')} to be read")
    typer.echo(f"{printable(place)}: {', '.join(parts)}. `recrawl run` keeps them fresh.")
