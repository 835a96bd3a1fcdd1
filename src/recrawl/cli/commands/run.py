"""``recrawl run``: crawl until stopped."""

import logging
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli.commands.add import WHOLE_SITE
from recrawl.cli.commands.serve import Listen, announce, check_extra
from recrawl.cli.crawl_options import SettingsFile, StoreFile, settings_of
from recrawl.cli.logs import LogFormat, LogLevel, check_logs, logging_to_stderr, remark
from recrawl.cli.options import check_choice, parse_days
from recrawl.cli.output import Lasting
from recrawl.cli.terminating import INTERRUPTED, ending_when_terminated, has_terminal
from recrawl.errors import StoreError
from recrawl.units import SECONDS_A_DAY

if TYPE_CHECKING:
    from recrawl.config.reload import Reload
    from recrawl.config.settings import Settings
    from recrawl.crawler.running import Beside

#: With the latter two, a line is an object; ``jsonl`` is what other commands call that.
LOGGED_AS = ("text", "json", "jsonl")


def run(
    *,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Maximum rate of requests for pages: 2000/day, 500/h or 2/s. Default: as set, or "
            "1000/day.",
        ),
    ] = None,
    for_: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help="Stop after this time, such as 1h."),
    ] = None,
    contact: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="URL or email address at which site owners can reach you."
        ),
    ] = None,
    host_delay: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Minimum delay between two requests to a host, such as 2s. Default: as set, or "
            "1s.",
        ),
    ] = None,
    min_interval: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Minimum time between two visits to a page, such as 1h. Default: as set, or 10m.",
        ),
    ] = None,
    connections: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Maximum number of concurrent requests. Default: as set, or 64.",
        ),
    ] = None,
    processes: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Number of processes that fetch pages. Default: as set, or 1.",
        ),
    ] = None,
    follow: Annotated[
        bool | None,
        typer.Option("--follow/--no-follow", help="Add the pages that crawled pages link to."),
    ] = None,
    follow_hosts: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="With --follow: hosts to stay within, separated by commas."
        ),
    ] = None,
    max_depth: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="With --follow: maximum number of links away from a page you added. Default: as "
            "set, or 3.",
        ),
    ] = None,
    fingerprint: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What is compared to detect changes: bytes, text, main or selector. Default: as "
            "set, or text.",
        ),
    ] = None,
    selector: Annotated[
        str | None,
        typer.Option(metavar="CSS", help="With --fingerprint selector: elements to compare."),
    ] = None,
    allow_private: Annotated[
        bool | None,
        typer.Option(
            "--allow-private/--no-allow-private",
            help="Also crawl private and loopback addresses (intranets).",
        ),
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Also serve the HTTP API and the dashboard.")
    ] = False,
    listen: Listen = None,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help=f"Format of log lines, where there is no terminal: {', '.join(LOGGED_AS)}; the "
            "latter two are the same, an object per line.",
        ),
    ] = "text",
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but warnings and errors.")
    ] = False,
    log_format: LogFormat = "text",
    log_level: LogLevel = None,
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Keep the copies fresh until stopped: visit, compare, learn, and make the most of the budget.

    Ctrl-C stops the run cleanly, and a second Ctrl-C stops it immediately; either way, nothing that
    was written is lost. Settings without an option come from the environment or a file.

    Examples:
        recrawl run --budget 2000/day --contact https://example.org/bot
        recrawl run --budget 5/min --for 1h --follow
        recrawl run --settings recrawl.toml --format json
        recrawl run --quiet --log-format json

    Without a terminal, as under a supervisor, SIGHUP reloads the settings.
    """
    check_choice("--format", format_, LOGGED_AS)
    check_logs(log_format, log_level)
    options = {
        "budget": budget,
        "contact": contact,
        "host_delay": host_delay,
        "min_interval": min_interval,
        "connections": connections,
        "processes": processes,
        "follow": follow,
        "follow_hosts": follow_hosts,
        "max_depth": max_depth,
        "fingerprint": fingerprint,
        "selector": selector,
        "allow_private": allow_private,
        "listen": listen,
    }
    with ending_when_terminated():
        known = settings_of(store, settings, options)
        import asyncio

        from recrawl.config.reload import Reload

        seconds = None if for_ is None else parse_days("--for", for_) * SECONDS_A_DAY
        is_one_page = _is_one_page(known)
        reload = None
        if not has_terminal():
            reload = Reload(lambda: settings_of(store, settings, options), known.store)
        try:
            with logging_to_stderr(log_format, log_level):
                _say_who_crawls(known)
                _crawl(known, seconds, reload, as_json=format_ != "text", quiet=quiet, serve=serve)
                if is_one_page and not quiet:
                    remark(f"there was one page to keep fresh. {WHOLE_SITE}", logging.INFO)
        except asyncio.CancelledError:
            # The second Ctrl-C: requests in flight are dropped; what was written is safe.
            raise typer.Exit(INTERRUPTED) from None


def _say_who_crawls(settings: "Settings") -> None:
    if not settings.contact and not settings.user_agent:
        remark(
            "site owners cannot see who is crawling; set --contact URL, or contact in recrawl.toml"
        )


def _is_one_page(settings: "Settings") -> bool:
    """Return whether a run would keep a single page fresh, and never find another.

    Raises:
        StoreError: There is not even one.
    """
    from recrawl.store.sqlite import SqliteStore

    with SqliteStore.open(settings.store) as opened:
        pages, has_sitemaps = opened.totals().pages, bool(opened.sitemaps.all())
    if not pages and not has_sitemaps:
        raise StoreError(f"{settings.store}: it has no pages; `recrawl add URL` adds one")
    return pages == 1 and not (has_sitemaps or settings.follow or settings.robots_sitemaps)


def _crawl(
    settings: "Settings",
    seconds: float | None,
    reload: "Reload | None",
    *,
    as_json: bool,
    quiet: bool,
    serve: bool,
) -> None:
    """Crawl, and restart when the settings have been reloaded."""
    from rich.console import Console

    from recrawl.cli.render.run import log_watch, print_end, screen_watch
    from recrawl.crawler.running import run_crawl

    lasting = Lasting()
    end = None if seconds is None else time.monotonic() + seconds
    going_on: Settings | None = settings
    while going_on is not None:
        settings = going_on
        left = None if end is None else max(end - time.monotonic(), 0.0)
        beside = _answering(settings) if serve else None
        if quiet:
            stats = run_crawl(settings, seconds=left, reload=reload, beside=beside)
        elif sys.stdout.isatty() and not as_json:
            with screen_watch(Console(highlight=False), settings.store) as watch:
                stats = run_crawl(settings, seconds=left, watch=watch, reload=reload, beside=beside)
        else:
            watch = log_watch(settings.store, lasting, as_json=as_json)
            stats = run_crawl(settings, seconds=left, watch=watch, reload=reload, beside=beside)
        going_on = None if reload is None else reload.take()
    if not quiet:
        differs = settings.sites.sets("min_interval", "max_interval")
        min_interval = None if differs else settings.min_interval
        lasting.write(lambda: print_end(stats, min_interval, as_json=as_json))


def _answering(settings: "Settings") -> "Beside":
    """Return what serves requests during the crawl."""
    check_extra()
    from recrawl.service.serving import serving_crawl

    return serving_crawl(settings, on_start=announce)
