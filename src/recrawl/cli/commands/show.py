"""``recrawl show``: one page, its visits, and when and why it is visited next."""

from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli.crawl_options import (
    SHOWN_AS,
    PageUrl,
    SettingsFile,
    ShownAs,
    StoreFile,
    check_text,
    known_page,
    no_copy,
    present,
    settings_of,
)
from recrawl.cli.options import check_choice
from recrawl.cli.output import say_as_is

if TYPE_CHECKING:
    from recrawl.config.settings import Settings

#: Visits shown by default.
LAST_VISITS = 20
#: More than any page has.
ALL_VISITS = 10**9


def show(
    url: PageUrl,
    *,
    all_: Annotated[
        bool, typer.Option("--all", help=f"Show all visits, not just the last {LAST_VISITS}.")
    ] = False,
    blocks: Annotated[
        bool,
        typer.Option(
            "--blocks",
            help="Show the blocks of the copy instead: its own text, furniture (boilerplate), "
            "template, noise.",
        ),
    ] = False,
    format_: ShownAs = "table",
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Show a page: what visits found, how often it changes, and when and why it is visited next.

    Works with and without a run.

    Examples:
        recrawl show https://example.org/
        recrawl show https://example.org/ --all --format json
        recrawl show https://example.org/ --blocks
    """
    check_choice("--format", format_, SHOWN_AS)
    known = settings_of(store, settings)
    if blocks:
        _show_blocks(url, known, as_json=format_ == "json")
        return
    path = known.store
    from recrawl.cli.render.progress import progress_bar
    from recrawl.cli.render.show import as_json, print_page
    from recrawl.config.intervals import with_intervals_of_run
    from recrawl.engine.retries import earliest_retry
    from recrawl.inspect.explain import explain
    from recrawl.inspect.status import price_of
    from recrawl.store.kept.host_memory import closed_hosts
    from recrawl.store.locking import runner_of
    from recrawl.store.sqlite import SqliteStore

    with SqliteStore.open(path) as opened, progress_bar("Reading"):
        page = known_page(opened, path, url)
        visits = opened.history(page.number, ALL_VISITS)
        is_now = runner_of(path) is not None
        price = price_of(opened, is_now=is_now)
        running = with_intervals_of_run(known, opened, is_now=is_now)
        limits = running.site_of(page.url).limits
        retry_at = earliest_retry(page, next(iter(visits), None), known)
        belief = opened.belief(page.number)
        now = present()
        closed_until = closed_hosts(opened.kept, now).get(page.host)
        error = visits[0].error if visits else None
        explanation = explain(page, belief, price, now, limits, retry_at, closed_until, error)
        no_text = opened.has_no_text(page.number)
    shown = visits if all_ else visits[:LAST_VISITS]
    if format_ == "json":
        say_as_is(as_json(explanation, visits, shown, no_text=no_text))
    else:
        print_page(explanation, visits, shown, no_text=no_text)


def _show_blocks(url: str, settings: "Settings", *, as_json: bool) -> None:
    """Show which blocks of a copy count as the page's own."""
    from recrawl.cli.render.blocks import blocks_as_json, print_blocks
    from recrawl.content.html.copy_text import blocks_of
    from recrawl.inspect.text import CopyParser, TextReader
    from recrawl.parsing.pool import ParsePool
    from recrawl.store.sqlite import SqliteStore

    with SqliteStore.open(settings.store) as opened:
        page = known_page(opened, settings.store, url)
        copy = opened.copy(page.url)
        if copy is None:
            raise no_copy(page)
        check_text(copy)
        source = TextReader(opened, settings).source(copy, exact=True)
    with CopyParser(ParsePool(1)) as parser:
        found = parser.call(page.url, blocks_of, source)
    if as_json:
        say_as_is(blocks_as_json(copy, found))
    else:
        print_blocks(copy, found)
