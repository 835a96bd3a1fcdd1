"""``recrawl show``: one page, its visits, and when it is visited next and why."""

from typing import Annotated

import typer

from recrawl.cli.crawl_options import (
    SHOWN_AS,
    PageAddress,
    SettingsFile,
    ShownAs,
    StoreFile,
    known_page,
    present,
    settings_of,
)
from recrawl.cli.options import check_choice

#: Visits that are shown unless all are wanted.
LAST_VISITS = 20
#: More than any page has.
ALL_VISITS = 10**9


def show(
    url: PageAddress,
    *,
    all_: Annotated[
        bool, typer.Option("--all", help=f"Show all visits, not only the last {LAST_VISITS}.")
    ] = False,
    format_: ShownAs = "table",
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Show a page: what visits found, how often it changes, when it is visited next, and why.

    It can be asked while a run goes on, and when none does. Examples:

        recrawl show https://example.org/
        recrawl show https://example.org/ --all --format json
    """
    check_choice("--format", format_, SHOWN_AS)
    place = settings_of(store, settings).store
    from recrawl.cli.render.progress import progress_bar
    from recrawl.cli.render.show import as_json, print_page
    from recrawl.crawler.explain import explain
    from recrawl.crawler.status import price_of
    from recrawl.store.locking import runner_of
    from recrawl.store.sqlite import SqliteStore

    with SqliteStore.open(place) as opened, progress_bar("Reading"):
        page = known_page(opened, place, url)
        visits = opened.history(page.number, ALL_VISITS)
        price = price_of(opened, is_now=runner_of(place) is not None)
        told = explain(page, opened.belief(page.number), price, present())
    shown = visits if all_ else visits[:LAST_VISITS]
    if format_ == "json":
        typer.echo(as_json(told, visits, shown))
    else:
        print_page(told, visits, shown)
