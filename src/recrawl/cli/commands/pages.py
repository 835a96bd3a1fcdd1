"""``recrawl pages``: list pages, filtered and sorted."""

from functools import partial
from typing import Annotated

import typer

from recrawl.cli.crawl_options import SettingsFile, StoreFile, present, settings_of
from recrawl.cli.options import check_choice, parse_days, visits_a_day
from recrawl.errors import ArgumentError

LISTED_AS = ("table", "csv", "json", "jsonl")
#: Pages in a table by default.
SHOWN = 20


def pages(
    *,
    state: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only pages in this state, such as alive or gone; may be repeated.",
        ),
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only pages of this host; may be repeated."),
    ] = None,
    failing: Annotated[
        bool, typer.Option("--failing", help="Only pages whose last visit failed.")
    ] = False,
    error: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Only pages whose error contains this, such as 404 or robots.txt."
        ),
    ] = None,
    min_rate: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Only pages that change at least this often: 1/day."),
    ] = None,
    max_rate: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Only pages that change at most this often: 1/week."),
    ] = None,
    due: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Only pages whose next visit is within this time: 1h."),
    ] = None,
    sort: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Order: added, url, host, state, importance, rate, last-visit, next-visit, "
            "failures or error.",
        ),
    ] = "added",
    reverse: Annotated[bool, typer.Option("--reverse", help="Reverse the order.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help=f"Maximum number of pages. Default: {SHOWN} in a table, otherwise all.",
        ),
    ] = None,
    format_: Annotated[
        str,
        typer.Option("--format", metavar="NAME", help=f"Output format: {', '.join(LISTED_AS)}."),
    ] = "table",
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """List pages: their state, how often they change, when they are visited next, and errors.

    Works with and without a run. When sorted by rate, importance or failures, the largest come
    first.

    Examples:
        recrawl pages --failing --sort error
        recrawl pages --state gone --format csv > gone.csv
        recrawl pages --host example.org --sort rate --limit 50
        recrawl pages --due 1h --format jsonl
    """
    check_choice("--format", format_, LISTED_AS)
    if limit is not None and limit < 1:
        raise ArgumentError(
            f"--limit: {limit} is not above 0; without it, a table shows {SHOWN} pages, "
            "and other formats show all"
        )
    known = settings_of(store, settings)
    path = known.store
    from recrawl.cli.render.pages import WRITERS, print_pages
    from recrawl.cli.render.progress import progress_bar
    from recrawl.config.intervals import stored_intervals, with_intervals_of_run
    from recrawl.inspect.pages import ORDERS, STATES, Wanted, list_pages
    from recrawl.inspect.status import price_of
    from recrawl.store.locking import runner_of
    from recrawl.store.sqlite import SqliteStore

    check_choice("--sort", sort, ORDERS)
    for name in state or ():
        check_choice("--state", name, tuple(STATES))
    wanted = Wanted(
        states=[STATES[name] for name in state or ()],
        hosts=[name.lower() for name in host or ()],
        error=error,
        failing=failing,
        min_rate=None if min_rate is None else visits_a_day("--min-rate", min_rate),
        max_rate=None if max_rate is None else visits_a_day("--max-rate", max_rate),
        due_within=None if due is None else parse_days("--due", due),
        order=sort,
        reverse=reverse,
        limit=SHOWN if limit is None and format_ == "table" else limit,
    )
    with SqliteStore.open(path) as opened:
        with progress_bar("Reading"):
            is_now = runner_of(path) is not None
            price = price_of(opened, is_now=is_now)
            now = present()
            running = with_intervals_of_run(known, opened, is_now=is_now)
            limits = partial(stored_intervals, running)
            found = list_pages(opened, wanted, price, now, limits)
        if format_ == "table":
            print_pages(found, now)
        else:
            WRITERS[format_](found.rows)
