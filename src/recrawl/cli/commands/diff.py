"""``recrawl diff``: what changed in a page."""

from typing import Annotated

import typer

from recrawl.cli.crawl_options import (
    PageUrl,
    SettingsFile,
    StoreFile,
    known_page,
    settings_of,
    version_of,
)


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
    """Show what changed in a page: the lines of its own text that are new, and those that are gone.

    How many older copies there are is a setting, keep_versions.

    Examples:
        recrawl diff https://example.org/
        recrawl diff https://example.org/ --from 2 --to 1
    """
    known = settings_of(store, settings)
    from recrawl.cli.render.diff import print_diff
    from recrawl.crawler.page_text import TextReader
    from recrawl.store.sqlite import SqliteStore

    with SqliteStore.open(known.store) as opened:
        page = known_page(opened, known.store, url)
        copies = (
            version_of(opened, page, from_, "--from"),
            version_of(opened, page, to, "--to"),
        )
        reader = TextReader(opened, known)
        texts = [[line.text for line in reader.lines(copy)] for copy in copies]
    print_diff(page.url, [copy.response.at for copy in copies], texts)
