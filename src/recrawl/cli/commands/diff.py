"""``recrawl diff``: what changed in a page."""

from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli.crawl_options import (
    PageUrl,
    SettingsFile,
    StoreFile,
    check_text,
    known_page,
    settings_of,
    version_of,
)
from recrawl.errors import StoreError

if TYPE_CHECKING:
    from recrawl.records import Page
    from recrawl.store.sqlite import SqliteStore


def diff(
    url: PageUrl,
    *,
    from_: Annotated[
        int,
        typer.Option(
            "--from", metavar="NUMBER", help="The older copy: 1 is the one before the last change."
        ),
    ] = 1,
    to: Annotated[
        int, typer.Option(metavar="NUMBER", help="The newer copy: 0 is the current one.")
    ] = 0,
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Show what changed in a page: the lines of its own text that were added and removed.

    The setting keep_versions decides how many older copies there are.

    Examples:
        recrawl diff https://example.org/
        recrawl diff https://example.org/ --from 2 --to 1
    """
    known = settings_of(store, settings)
    from recrawl.cli.render.diff import print_diff
    from recrawl.content.html.text_diff import unified_diff
    from recrawl.inspect.text import CopyParser, TextReader
    from recrawl.parsing.pool import ParsePool
    from recrawl.store.sqlite import SqliteStore

    with SqliteStore.open(known.store) as opened:
        page = known_page(opened, known.store, url)
        if (from_, to) == (1, 0):
            _check_changed(opened, page)
        copies = (
            version_of(opened, page, from_, "--from"),
            version_of(opened, page, to, "--to"),
        )
        for copy in copies:
            check_text(copy)
        reader = TextReader(opened, known)
        before, after = (reader.source(copy) for copy in copies)
    with CopyParser(ParsePool(1)) as parser:
        lines = parser.call(page.url, unified_diff, before, after)
    print_diff(page.url, [copy.response.at for copy in copies], lines)


def _check_changed(store: "SqliteStore", page: "Page") -> None:
    """Refuse a page that has no copy from before its last change."""
    if len(store.versions(page)) != 1:
        return
    if page.changes:
        raise StoreError(f"{page.url}: no older copy is kept; keep_versions says how many are")
    raise StoreError(f"{page.url}: the page has not changed yet")
