"""``recrawl status``: how things stand."""

import typer

from recrawl.cli.crawl_options import (
    SHOWN_AS,
    SettingsFile,
    ShownAs,
    StoreFile,
    present,
    settings_of,
)
from recrawl.cli.options import check_choice


def status(
    *,
    format_: ShownAs = "table",
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Say how things stand: pages, visits, what was spent, how fresh the copies are, what is next.

    It can be asked while a run goes on, and when none does. Examples:

        recrawl status
        recrawl status --format json --store example.db
    """
    check_choice("--format", format_, SHOWN_AS)
    known = settings_of(store, settings)
    from recrawl.cli.render.progress import progress_bar
    from recrawl.cli.render.status import as_json, print_standing
    from recrawl.crawler.status import read_status
    from recrawl.store.sqlite import SqliteStore

    with SqliteStore.open(known.store) as opened, progress_bar("Reading"):
        standing = read_status(opened, known.store, known.budget, present())
    if format_ == "json":
        typer.echo(as_json(standing))
    else:
        print_standing(standing, known.store)
