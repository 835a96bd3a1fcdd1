"""``recrawl remove``: remove pages and sitemaps."""

from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli.crawl_options import SettingsFile, StoreFile, UrlFile, settings_of
from recrawl.cli.output import say
from recrawl.errors import ArgumentError

if TYPE_CHECKING:
    from recrawl.store.sqlite import SqliteStore


def remove(
    urls: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="URL", help="Pages to remove, or patterns in which * stands for anything."
        ),
    ] = None,
    *,
    file: UrlFile = None,
    sitemap: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="Sitemap or feed to stop reading, along with any that it lists; its pages stay. "
            "May be repeated.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list what would be removed.")
    ] = False,
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Remove pages with their visits and copies; works during a run, too.

    Sitemaps and links do not bring them back; `recrawl add URL` does. Their past requests still
    count.

    Examples:
        recrawl remove https://example.org/old
        recrawl remove --dry-run 'https://example.org/old/*'
        recrawl remove --file unwanted.txt
        recrawl remove --sitemap https://example.org/sitemap.xml
    """
    if not (urls or file or sitemap):
        raise ArgumentError("URL: give a page, as in `recrawl remove https://example.org/old`")
    path = settings_of(store, settings).store
    from recrawl.cli.commands.add import named_pages
    from recrawl.cli.render.progress import progress_bar
    from recrawl.store.sqlite import SqliteStore
    from recrawl.urls import canonical, pattern_of

    sitemaps = list(dict.fromkeys(canonical(url) for url in sitemap or []))
    patterns = [pattern_of(url) for url in urls or [] if "*" in url]
    pages = named_pages([url for url in urls or [] if "*" not in url], file)
    with SqliteStore.open(path) as opened, progress_bar("Removing"):
        found = [url for pattern in patterns for url in _matching(opened, path, pattern)]
        wanted = list(dict.fromkeys([*(page.url for page in pages), *found]))
        if dry_run:
            lines = _would_remove(opened, path, wanted, sitemaps)
        else:
            numbers = opened.remove(wanted) if wanted else []
            counts = len(numbers), opened.sitemaps.remove(sitemaps)
            lines = [
                _summary(path, counts, len(wanted), len(sitemaps), is_pages=bool(urls or file))
            ]
    if patterns and not dry_run:
        lines.append("New pages like these may still be found; the setting exclude keeps them out.")
    for line in lines:
        say(line)


def _matching(store: "SqliteStore", path: str, pattern: str) -> list[str]:
    """Return the pages that match a pattern; a pattern without matches is taken for a typo."""
    found = list(store.matching(pattern))
    if not found:
        raise ArgumentError(f"URL: no page in {path} matches {pattern}")
    return found


def _would_remove(
    store: "SqliteStore", path: str, wanted: list[str], sitemaps: list[str]
) -> list[str]:
    """Return what would be removed, one URL per line, and a count."""
    from recrawl.cli.render.numbers import count
    from recrawl.escaping import printable

    known = store.pages_at(wanted)
    pages = [url for url in wanted if url in known]
    read = {one.url for one in store.sitemaps.all()}
    named = [url for url in sitemaps if url in read]
    parts = [count(len(pages), "page")] + ([count(len(named), "sitemap")] if sitemaps else [])
    unknown = len(wanted) + len(sitemaps) - len(pages) - len(named)
    rest = f", {unknown:,} not in the store." if unknown else "."
    summary = f"{path}: {' and '.join(parts)} would be removed{rest}"
    return [printable(line) for line in (*pages, *named, summary)]


def _summary(
    path: str, removed: tuple[int, int], pages: int, sitemaps: int, *, is_pages: bool
) -> str:
    """Return how many pages and sitemaps were removed, and how many were not in the store."""
    from recrawl.cli.render.numbers import count
    from recrawl.escaping import printable

    parts = [count(removed[0], "page")] if is_pages else []
    parts += [count(removed[1], "sitemap")] if sitemaps else []
    unknown = pages + sitemaps - sum(removed)
    line = f"{printable(path)}: {' and '.join(parts)} removed"
    return f"{line}, {unknown:,} not in the store." if unknown else f"{line}."
