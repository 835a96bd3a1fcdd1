"""``recrawl demo``: crawl a small simulated web and compare with the truth."""

import sys
import tempfile
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli.commands.serve import Listen, check_extra
from recrawl.cli.output import complain, say
from recrawl.errors import ArgumentError, OutputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from recrawl.config.settings import Settings
    from recrawl.crawler.running import Beside
    from recrawl.demo.run import DemoResult, Snapshot
    from recrawl.service.serving import Started

    Serve = Callable[[Settings], Beside]

STORE, PICTURE = "recrawl.db", "freshness.png"
#: How long to crawl, and how long if somebody watches in a browser.
SECONDS, SERVED_SECONDS = 60.0, 600.0
#: Where the demo listens, so that it does not get in the way of a service.
ANY_PORT = "127.0.0.1:0"
#: The exit status after Ctrl-C, if there is nothing to show yet.
INTERRUPTED = 130


def demo(
    *,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=2.0,
            max=3600.0,
            metavar="SECONDS",
            help="How long to crawl. Default: 60, and 600 with --serve.",
        ),
    ] = None,
    pages: Annotated[
        int, typer.Option(min=20, max=2_000, metavar="NUMBER", help="Number of pages.")
    ] = 300,
    seed: Annotated[
        int, typer.Option(min=0, metavar="NUMBER", help="Seed of the pages and their changes.")
    ] = 1,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Save the store and a figure in this folder. Default: nothing is saved.",
        ),
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Show the crawl in a browser as well; Ctrl-C ends it.")
    ] = False,
    listen: Listen = None,
) -> None:
    """Crawl a small web on this machine for a minute and see how fresh the copy really is.

    Five sites are served on loopback, over real HTTP and without a network. Their pages change at
    rates that the demo knows but the crawler does not. The demo shows the true freshness next to
    that of uniform crawling and the best possible, for the same changes and the same number of
    requests. Without a terminal, only the result is printed.

    Examples:
        recrawl demo
        recrawl demo --seconds 20 --seed 7
        recrawl demo --keep demo
        recrawl demo --serve
    """
    if serve:
        check_extra()
    seconds = seconds or (SERVED_SECONDS if serve else SECONDS)
    folder = None if keep is None else _new_folder(keep)
    with _work_folder(folder) as work:
        beside = _served(listen or ANY_PORT) if serve else None
        played = _play(pages, seconds, seed, work / STORE, beside)
        if folder is not None:
            from recrawl.demo.picture import draw_demo

            draw_demo(folder / PICTURE, played.final)
    _print_result(played, folder)


def _new_folder(keep: str) -> Path:
    """Create the folder, unless it already has a store."""
    folder = Path(keep)
    if (folder / STORE).exists():
        raise ArgumentError(f"--keep: {folder} already has a store; choose another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"--keep: {folder}: {error.strerror or error}") from None
    return folder


def _work_folder(folder: Path | None) -> "AbstractContextManager[Path]":
    return _temporary_folder() if folder is None else nullcontext(folder)


@contextmanager
def _temporary_folder() -> "Iterator[Path]":
    with tempfile.TemporaryDirectory(prefix="recrawl-demo-") as folder:
        yield Path(folder)


def _served(listen: str) -> "Serve":
    """Return what shows a crawl in a browser."""
    from dataclasses import replace

    from recrawl.service.serving import serving_crawl

    return lambda settings: serving_crawl(replace(settings, listen=listen), on_start=_announce)


def _announce(started: "Started") -> None:
    """Say where the crawl can be watched."""
    say(f"Watch it in a browser with this link, which works once: {started.link}")
    say("Ctrl-C ends the demo.")
    sys.stdout.flush()


def _play(
    pages: int, seconds: float, seed: int, store: Path, serve: "Serve | None"
) -> "DemoResult":
    """Run the demo, shown live on a terminal."""
    from asyncio import CancelledError

    try:
        with _screen(pages) as watch:
            from recrawl.demo.run import run_demo
            from recrawl.demo.scenario import draw_scenario

            return run_demo(draw_scenario(pages, seconds, seed), store, watch, serve)
    except (CancelledError, KeyboardInterrupt):
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _screen(pages: int) -> "Iterator[Callable[[Snapshot], object] | None]":
    """Yield a function that shows the demo live; None where there is no terminal."""
    if not sys.stdout.isatty():
        complain(f"starting a small web of {pages:,} pages, and crawling it; this takes a while")
        yield None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    waiting = Text(
        f"Starting a small web and copying its {pages:,} pages before they begin to change."
    )
    console = Console(highlight=False)
    with Live(waiting, console=console, auto_refresh=False, transient=True) as live:
        live.refresh()
        from recrawl.cli.render.demo import picture

        yield lambda sight: live.update(picture(sight), refresh=True)


def _print_result(played: "DemoResult", folder: Path | None) -> None:
    """Print the result, and what to try next."""
    from rich.console import Console

    from recrawl.cli.render.demo import curves, findings, results
    from recrawl.cli.render.terminal import show
    from recrawl.escaping import printable

    if sys.stdout.isatty():
        Console(highlight=False).print(curves(played.final))
    show(results(played.final))
    say(findings(played))
    if folder is None:
        say("Next: `recrawl demo --serve` shows the same crawl in a browser, and")
        say("`recrawl demo --keep demo` saves the store and a figure. With your own pages:")
        say("`recrawl add URL`, and then `recrawl run --budget 1000/day`.")
        return
    store, picture = printable(str(folder / STORE)), printable(str(folder / PICTURE))
    busiest = played.urls[int(played.visits.argmax())]
    say(f"The figure is {picture}. Next:")
    say(f"  recrawl status --store {store}")
    say(f"  recrawl show {busiest} --store {store}")
    say("With your own pages: recrawl add URL, and then recrawl run --budget 1000/day")
