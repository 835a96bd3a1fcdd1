"""``recrawl show``: one page, its visits, and when and why it is visited next."""

from typing import Annotated

import typer

from recrawl.cli.crawl_options import (
    SHOWN_AS,
    PageUrl,
    SettingsFile,
    ShownAs,
    StoreFile,
    known_page,
    present,
    settings_of,
)
from recrawl.cli.options import check_choice
from recrawl.cli.output import say_as_is

#: Visits that are shown by default.
LAST_VISITS = 20
#: More than any page has.
ALL_VISITS = 10**9


def show(
    url: PageUrl,
    *,
    all_: Annotated[
        bool, typer.Option("--all", help=f"Show all visits, not just the last {LAST_VISITS}.")
    ] = False,
    format_: ShownAs = "table",
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Show a page: what visits found, how often it changes, and when and why it is visited next.

    It works with and without a run. Examples:

        recrawl show https://example.org/
        recrawl show https://example.org/ --all --format json
    """
    check_choice("--format", format_, SHOWN_AS)
    known = settings_of(store, settings)
    path = known.store
    from recrawl.cli.render.progress import progress_bar
    from recrawl.cli.render.show import as_json, print_page
    from recrawl.crawler.explain import explain
    from recrawl.crawler.status import price_of
    from recrawl.store.locking import runner_of
    from recrawl.store.sqlite import SqliteStore

    with SqliteStore.open(path) as opened, progress_bar("Reading"):
        page = known_page(opened, path, url)
        visits = opened.history(page.number, ALL_VISITS)
        price = price_of(opened, is_now=runner_of(path) is not None)
        limits = known.site_of(page.url).limits
        explanation = explain(page, opened.belief(page.number), price, present(), limits)
    shown = visits if all_ else visits[:LAST_VISITS]
    if format_ == "json":
        say_as_is(as_json(explanation, visits, shown))
    else:
        print_page(explanation, visits, shown)
