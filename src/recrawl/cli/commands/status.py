"""``recrawl status``: an overview of the store and of what is next."""

from functools import partial

from recrawl.cli.crawl_options import (
    SHOWN_AS,
    SettingsFile,
    ShownAs,
    StoreFile,
    present,
    settings_of,
)
from recrawl.cli.options import check_choice
from recrawl.cli.output import say_as_is


def status(
    *,
    format_: ShownAs = "table",
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Show pages, visits, requests, the expected freshness of the copies, and what is next.

    Works with and without a run. With more than 200,000 pages, freshness is estimated from a sample
    of 20,000.

    Examples:
        recrawl status
        recrawl status --format json --store example.db
    """
    check_choice("--format", format_, SHOWN_AS)
    known = settings_of(store, settings)
    from recrawl.cli.render.progress import progress_bar
    from recrawl.cli.render.status import as_json, print_status
    from recrawl.config.intervals import stored_intervals, with_intervals_of_run
    from recrawl.inspect.status import read_status
    from recrawl.store.locking import runner_of
    from recrawl.store.sqlite import SqliteStore

    with SqliteStore.open(known.store) as opened, progress_bar("Reading"):
        is_now = runner_of(known.store) is not None
        limits = partial(stored_intervals, with_intervals_of_run(known, opened, is_now=is_now))
        found = read_status(opened, known.store, known.budget, present(), limits)
    if format_ == "json":
        say_as_is(as_json(found))
    else:
        print_status(found, known.store)
