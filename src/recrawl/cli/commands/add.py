"""``recrawl add``: add pages to keep fresh."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli.crawl_options import SettingsFile, StoreFile, UrlFile, present, settings_of
from recrawl.cli.output import complain, say
from recrawl.errors import ArgumentError, InputError

if TYPE_CHECKING:
    from recrawl.engine.discovery.seeds import Skipped
    from recrawl.store.rows import Added, NewPage

#: What to do if one page of a site was added, and the whole site was meant.
WHOLE_SITE = (
    "For more pages of a site, `recrawl run --follow` follows links, and "
    "`recrawl add --sitemap URL` reads a sitemap or feed."
)


def add(
    urls: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="URL", help="Pages to keep fresh; example.org stands for https://example.org/."
        ),
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
    skip_invalid: Annotated[
        bool,
        typer.Option(
            "--skip-invalid",
            help="Skip rows of the file that cannot be used, and say which and why, instead of "
            "adding nothing.",
        ),
    ] = False,
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Add pages to keep fresh; works during a run, too.

    The store is created if it does not exist. A known page gets the given importance. A page that
    was given up because it was not found is visited again, and a removed page comes back.

    Examples:
        recrawl add https://example.org/ https://example.org/news
        recrawl add --file urls.csv --skip-invalid
        recrawl add --sitemap https://example.org/sitemap.xml --store example.db
    """
    if not (urls or file or sitemap):
        raise ArgumentError("URL: give a page, as in `recrawl add https://example.org/`")
    known = settings_of(store, settings)
    path = known.store
    from recrawl.cli.render.progress import progress_bar
    from recrawl.engine.discovery.seeds import (
        Skipped,
        no_collecting,
        typed_url,
        with_initial_importance,
    )
    from recrawl.store.sqlite import SqliteStore
    from recrawl.urls import canonical

    sitemaps = [canonical(typed_url(url)) for url in sitemap or []]
    skipped = Skipped() if skip_invalid else None
    pages = named_pages(urls or [], file, importance, skipped)
    with (
        progress_bar("Adding"),
        no_collecting(),
        SqliteStore.open(path, create=True) as opened,
    ):
        added = opened.add(with_initial_importance(pages, known), at=present())
        for url in sitemaps:
            opened.sitemaps.add(url)
    _print_summary(added, len(sitemaps), path)
    if skipped is not None:
        _print_skipped(skipped)
    for url in urls or []:
        if typed_url(url) != url:
            say(f"{url} is taken for {canonical(typed_url(url))}.")
    finds_more = file or sitemaps or known.follow or known.robots_sitemaps
    if not finds_more and all(map(_is_root, pages)):
        say(WHOLE_SITE)


def named_pages(
    urls: list[str],
    file: str | None,
    importance: float | None = None,
    skipped: "Skipped | None" = None,
) -> "list[NewPage]":
    """Return the pages given as arguments and in a file.

    A single bad page is an error, unless it is in the file and bad rows are to be skipped.
    """
    from recrawl.cli.render.progress import progress_bar
    from recrawl.engine.discovery.seeds import (
        checked_importance,
        named_page,
        read_seeds,
        typed_url,
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
    pages = [named_page(typed_url(url)) for url in urls]
    if file is not None:
        with progress_bar("Reading") as progress:
            listed = read_seeds(file, progress, skipped)
        if not listed:
            if skipped is not None and skipped.first:
                raise skipped.first[0]
            raise InputError(source_name(file), "there are no pages in it")
        pages += listed
    return pages if importance is None else list(with_importance(pages, importance))


def _is_root(page: "NewPage") -> bool:
    from recrawl.urls import origin_of

    return page.url == f"{origin_of(page.url)}/"


def _print_skipped(skipped: "Skipped") -> None:
    """Say on standard error which rows were skipped, and why."""
    from recrawl.cli.render.numbers import count

    for error in sorted(skipped.first, key=lambda error: error.row or 0):
        complain(str(error))
    if skipped.rows > len(skipped.first):
        complain(f"and {skipped.rows - len(skipped.first):,} more")
    if skipped.rows:
        complain(f"{count(skipped.rows, 'row')} skipped")


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
