"""``recrawl add``: add pages to keep fresh."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli.crawl_options import SettingsFile, StoreFile, UrlFile, present, settings_of
from recrawl.cli.output import say
from recrawl.errors import ArgumentError, InputError

if TYPE_CHECKING:
    from recrawl.store.rows import Added, NewPage


def add(
    urls: Annotated[
        list[str] | None, typer.Argument(metavar="URL", help="Pages to keep fresh.")
    ] = None,
    *,
    file: UrlFile = None,
    sitemap: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="Sitemap or feed (RSS, Atom) that runs read regularly to find pages; may be "
            "repeated.",
        ),
    ] = None,
    importance: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="How much the pages' freshness counts, unless the file says so. Default: 1 for "
            "new pages.",
        ),
    ] = None,
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Add pages to keep fresh; works during a run, too.

    The store is created if it does not exist. A known page gets the given importance. A page that
    was given up because it was not found is visited again, and a removed page comes back.

    Examples:
        recrawl add https://example.org/ https://example.org/news
        recrawl add --file urls.csv
        recrawl add --sitemap https://example.org/sitemap.xml --store example.db
    """
    if not (urls or file or sitemap):
        raise ArgumentError("URL: give a page, as in `recrawl add https://example.org/`")
    known = settings_of(store, settings)
    path = known.store
    from recrawl.cli.render.progress import progress_bar
    from recrawl.crawler.seeds import no_collecting, with_initial_importance
    from recrawl.store.sqlite import SqliteStore
    from recrawl.urls import canonical

    sitemaps = [canonical(url) for url in sitemap or []]
    pages = named_pages(urls or [], file, importance)
    with (
        progress_bar("Adding"),
        no_collecting(),
        SqliteStore.open(path, create=True) as opened,
    ):
        added = opened.add(with_initial_importance(pages, known), at=present())
        for url in sitemaps:
            opened.sitemaps.add(url)
    _print_summary(added, len(sitemaps), path)


def named_pages(
    urls: list[str], file: str | None, importance: float | None = None
) -> "list[NewPage]":
    """Return the pages given as arguments and in a file; a single bad page is an error."""
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
    for url in urls:
        if "://" not in url and os.path.isfile(url):  # noqa: PTH113 - any text may be asked about
            raise ArgumentError(f"{url}: this is a file; --file reads the URLs in it")
    pages = [named_page(url) for url in urls]
    if file is not None:
        with progress_bar("Reading") as progress:
            listed = read_seeds(file, progress)
        if not listed:
            raise InputError(source_name(file), "there are no pages in it")
        pages += listed
    return pages if importance is None else list(with_importance(pages, importance))


def _print_summary(added: "Added", sitemaps: int, path: str) -> None:
    from recrawl.cli.render.numbers import count
    from recrawl.escaping import printable

    parts = []
    if added.new:
        parts.append(f"{count(added.new, 'new page')}")
    if added.known:
        parts.append(f"{count(added.known, 'page')} already known")
    if added.importance:
        parts.append(f"the importance of {count(added.importance, 'page')} changed")
    if added.revived:
        parts.append(f"{count(added.revived, 'page')} to be visited again")
    if sitemaps:
        parts.append(f"{count(sitemaps, 'sitemap')} to be read")
    pages = added.new + added.known + added.revived
    them = "it" if pages == 1 and not sitemaps else "them"
    say(f"{printable(path)}: {', '.join(parts)}. `recrawl run` keeps {them} fresh.")
