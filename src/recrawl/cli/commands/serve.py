"""``recrawl serve``: serve the API and lease pages to other crawlers."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli.crawl_options import SettingsFile, StoreFile, settings_of
from recrawl.cli.logs import LogFormat, LogLevel, check_logs, logging_to_stderr
from recrawl.cli.output import Lasting, say
from recrawl.cli.terminating import INTERRUPTED, ending_when_terminated, has_terminal
from recrawl.errors import RecrawlError

if TYPE_CHECKING:
    from recrawl.config.reload import Reload
    from recrawl.config.settings import Settings
    from recrawl.service.serving import Started

Listen = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Address and port to listen at. Default: as set, or 127.0.0.1:8321.",
    ),
]


def serve(
    *,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Maximum rate of visits: 2000/day, 500/h or 2/s. Default: as set, or 1000/day.",
        ),
    ] = None,
    listen: Listen = None,
    log_format: LogFormat = "text",
    log_level: LogLevel = None,
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Serve the HTTP API and lease pages to other crawlers until stopped, without fetching any.

    Every request needs a token. The first start creates one and shows it, and every start shows a
    link that logs a browser in, once. Under a supervisor, without a terminal, SIGHUP reloads the
    settings.

    Examples:
        recrawl serve
        recrawl serve --budget 5/s --listen 127.0.0.1:9000
        recrawl run --serve
    """
    check_logs(log_format, log_level)
    with ending_when_terminated():
        options = {"budget": budget, "listen": listen}
        known = settings_of(store, settings, options)
        check_extra()
        import asyncio

        from recrawl.config.reload import Reload
        from recrawl.store.sqlite import SqliteStore

        with SqliteStore.open(known.store, create=True):
            pass
        reload = None
        if not has_terminal():
            reload = Reload(lambda: settings_of(store, settings, options), known.store)
        try:
            with logging_to_stderr(log_format, log_level):
                _serve(known, reload)
        except asyncio.CancelledError:
            # The second Ctrl-C: whoever waits for an answer gets none, what was written is safe.
            raise typer.Exit(INTERRUPTED) from None


def _serve(settings: "Settings", reload: "Reload | None") -> None:
    """Serve, and start anew when the settings have been read again."""
    from recrawl.service.serving import serve as serve_until_stopped

    going_on: Settings | None = settings
    while going_on is not None:
        serve_until_stopped(going_on, on_start=announce, reload=reload)
        going_on = None if reload is None else reload.take()


def check_extra() -> None:
    """Refuse to serve without the packages that it needs."""
    from importlib.util import find_spec

    if any(
        find_spec(name) is None for name in ("fastapi", "jinja2", "uvicorn", "python_multipart")
    ):
        raise RecrawlError(
            "serving needs more packages, the extra 'serve'; in a checkout of recrawl: "
            "pip install '.[serve]'"
        )


def announce(started: "Started") -> None:
    """Say where the service is, and how to log in."""
    lasting = Lasting()

    def write() -> None:
        say(f"Listening at {started.url}")
        if started.token is not None:
            say(f"First token, shown only once: {started.token}")
        say(f"Log in with a browser (works once, within 15 minutes): {started.link}")
        sys.stdout.flush()

    lasting.write(write)
