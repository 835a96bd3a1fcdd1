"""``recrawl check``: whether settings and store are in order."""

import typer

from recrawl.cli.crawl_options import SettingsFile, StoreFile, settings_of
from recrawl.cli.output import complain, say

#: The exit status if something is wrong with the store.
DAMAGED = 1


def check(
    *,
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Check the settings, and the store from beginning to end; it works during a run too.

    Every copy is read and compared with its digest, so that a large store takes a while. If
    something is wrong, each problem is a line on standard error, and the exit status is 1. Example:

        recrawl check
    """
    known = settings_of(store, settings)
    from recrawl.cli.render.progress import progress_bar
    from recrawl.cli.render.terminal import count, printable
    from recrawl.cli.render.units import size
    from recrawl.crawler.site_access import site_access
    from recrawl.crawler.site_readers import site_readers
    from recrawl.store.locking import runner_of
    from recrawl.store.sqlite import SqliteStore

    # Selectors, logins and proxies of sites are looked at only when they are used.
    site_access(known)
    site_readers(known)
    path = known.store
    with SqliteStore.open(path) as opened, progress_bar("Checking"):
        problems = opened.check()
        totals, unused = opened.totals(), opened.unused()
    for problem in problems:
        complain(f"{path}: {problem}")
    if problems:
        raise typer.Exit(DAMAGED)
    runner = runner_of(path)
    held = [
        count(totals.pages, "page"),
        count(totals.visits, "visit"),
        f"{totals.bodies:,} {'body' if totals.bodies == 1 else 'bodies'}",
    ]
    say(f"{printable(path)}: settings and store are in order: {', '.join(held)}.")
    say("A run is using it." if runner is not None else "No run is using it.")
    if unused > 0:
        say(f"{size(unused)} are not used; `recrawl compact` gives them back.")
