"""``recrawl run``: keep the copies fresh until stopped."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli.crawl_options import SettingsFile, StoreFile, settings_of
from recrawl.cli.options import check_choice
from recrawl.errors import StoreError

if TYPE_CHECKING:
    from recrawl.crawler.settings import Settings

LOGGED_AS = ("text", "json")
#: What the shell is told when Ctrl-C was pressed twice.
INTERRUPTED = 130
#: Later than any sitemap was read.
EVER = 2**62


def run(
    *,
    budget: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Requests for pages: 2000/day, 500/h or 2/s."),
    ] = None,
    for_: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help="Stop after this time: 1h, say."),
    ] = None,
    contact: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="A URL or address that site owners can write to; they see it."
        ),
    ] = None,
    host_delay: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Rest between two requests to a host: 1s, say."),
    ] = None,
    connections: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Requests under way at once.")
    ] = None,
    follow: Annotated[
        bool | None,
        typer.Option("--follow/--no-follow", help="Take in pages that crawled pages link to."),
    ] = None,
    follow_hosts: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="With --follow: hosts to stay within, with commas between them."
        ),
    ] = None,
    max_depth: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="With --follow: links from a page asked for."),
    ] = None,
    fingerprint: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What counts as the page: bytes, text, main, selector."),
    ] = None,
    selector: Annotated[
        str | None,
        typer.Option(metavar="CSS", help="With --fingerprint selector: what counts."),
    ] = None,
    allow_private: Annotated[
        bool | None,
        typer.Option(
            "--allow-private/--no-allow-private",
            help="Crawl private and loopback addresses too, as in an intranet.",
        ),
    ] = None,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help=f"What to print where no terminal shows it live: {', '.join(LOGGED_AS)}.",
        ),
    ] = "text",
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Keep the copies fresh until stopped: visit, compare, learn, and spend the budget best.

    Ctrl-C ends it cleanly, pressed twice at once; nothing that was written is lost either way. What
    is not said by an option is said by the environment or the settings. Examples:

        recrawl run --budget 2000/day --contact https://example.org/bot
        recrawl run --budget 5/min --for 1h --follow
        recrawl run --settings recrawl.toml --format json
    """
    check_choice("--format", format_, LOGGED_AS)
    from recrawl.cli.comparison import days_of

    flags = {
        "budget": budget,
        "contact": contact,
        "host_delay": host_delay,
        "connections": connections,
        "follow": follow,
        "follow_hosts": follow_hosts,
        "max_depth": max_depth,
        "fingerprint": fingerprint,
        "selector": selector,
        "allow_private": allow_private,
    }
    known = settings_of(store, settings, flags)
    seconds = None if for_ is None else days_of("--for", for_) * 86_400.0
    _check_pages(known.store)
    if not known.contact and not known.user_agent:
        typer.echo(
            "recrawl: site owners cannot tell who crawls; --contact URL, or contact in "
            "recrawl.toml, tells them",
            err=True,
        )
    _crawl(known, seconds, as_json=format_ == "json")


def _check_pages(place: str) -> None:
    """Refuse to keep nothing fresh."""
    from recrawl.store.sqlite import SqliteStore

    with SqliteStore.open(place) as opened:
        totals = opened.totals()
        if totals.alive + totals.missing or opened.sitemaps(EVER):
            return
    what = "all pages in it are gone" if totals.gone else "there are no pages in it"
    raise StoreError(f"{place}: {what}; `recrawl add URL` adds one")


def _crawl(settings: "Settings", seconds: float | None, *, as_json: bool) -> None:
    import asyncio

    from rich.console import Console

    from recrawl.cli.render.run import log_watch, print_end, screen_watch
    from recrawl.crawler.build import run_crawl

    try:
        if sys.stdout.isatty() and not as_json:
            with screen_watch(Console(highlight=False), settings.store) as watch:
                view = run_crawl(settings, seconds=seconds, watch=watch)
        else:
            view = run_crawl(settings, seconds=seconds, watch=log_watch(as_json=as_json))
    except asyncio.CancelledError:
        # The second Ctrl-C: what was under way is dropped, what was written is safe.
        raise typer.Exit(INTERRUPTED) from None
    print_end(view, as_json=as_json)
