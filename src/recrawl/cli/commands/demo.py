"""``recrawl demo``: a little web is crawled for a minute, and the truth is told."""

import asyncio
import sys
import tempfile
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.errors import ArgumentError, OutputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from recrawl.demo.run import DemoResult, Snapshot

STORE, PICTURE = "recrawl.db", "freshness.png"
#: What the shell is told when Ctrl-C was pressed before there was anything to tell.
INTERRUPTED = 130


def demo(
    *,
    seconds: Annotated[
        float, typer.Option(min=2.0, max=3600.0, metavar="SECONDS", help="How long to crawl.")
    ] = 60.0,
    pages: Annotated[
        int, typer.Option(min=20, max=2_000, metavar="NUMBER", help="How many pages there are.")
    ] = 300,
    seed: Annotated[
        int, typer.Option(min=0, metavar="NUMBER", help="Another number, other pages and lives.")
    ] = 1,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Keep the store and a picture there; unless given, nothing is left behind.",
        ),
    ] = None,
) -> None:
    """Crawl a little web on this machine for a minute, and see how fresh the copy really is.

    Five sites are served on loopback, over real HTTP and without a network. Their pages change at
    rates that the crawler does not know, but the demo does: it shows the true freshness beside that
    of uniform crawling and of the best possible, on the same history with as many requests. Where
    no terminal shows it live, only the end is printed. Examples:

        recrawl demo
        recrawl demo --seconds 20 --seed 7
        recrawl demo --keep demo
    """
    folder = None if keep is None else _new_folder(keep)
    with _place(folder) as place:
        played = _play(pages, seconds, seed, place / STORE)
        if folder is not None:
            from recrawl.demo.picture import draw_demo

            draw_demo(folder / PICTURE, played.final)
    _tell(played, folder)


def _new_folder(keep: str) -> Path:
    """Make the folder, unless it holds a store already."""
    folder = Path(keep)
    if (folder / STORE).exists():
        raise ArgumentError(f"--keep: there is a store in {folder} already; choose another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"--keep: {folder}: {error.strerror or error}") from None
    return folder


def _place(folder: Path | None) -> "AbstractContextManager[Path]":
    return _for_now() if folder is None else nullcontext(folder)


@contextmanager
def _for_now() -> "Iterator[Path]":
    with tempfile.TemporaryDirectory(prefix="recrawl-demo-") as folder:
        yield Path(folder)


def _play(pages: int, seconds: float, seed: int, store: Path) -> "DemoResult":
    """Play the demo, live on a terminal."""
    try:
        with _screen(pages) as watch:
            from recrawl.demo.run import run_demo
            from recrawl.demo.scenario import draw_scenario

            return run_demo(draw_scenario(pages, seconds, seed), store, watch)
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _screen(pages: int) -> "Iterator[Callable[[Snapshot], object] | None]":
    """Give what shows the demo on a terminal until it ends; None where there is no terminal."""
    if not sys.stdout.isatty():
        yield None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    waiting = Text(
        f"Starting a little web and copying its {pages:,} pages, before they begin to change.\n"
        "The first time, kernels are compiled: some seconds, once."
    )
    console = Console(highlight=False)
    with Live(waiting, console=console, auto_refresh=False, transient=True) as live:
        live.refresh()
        from recrawl.cli.render.demo import picture

        yield lambda sight: live.update(picture(sight), refresh=True)


def _tell(played: "DemoResult", folder: Path | None) -> None:
    """Print what came of it, and what to type next."""
    from rich.console import Console

    from recrawl.cli.render.demo import curves, findings, results
    from recrawl.cli.render.terminal import printable, show

    if sys.stdout.isatty():
        Console(highlight=False).print(curves(played.final))
    show(results(played.final))
    typer.echo(findings(played))
    if folder is None:
        typer.echo("Next: `recrawl demo --keep demo` keeps the store and a picture; with pages of")
        typer.echo("your own, `recrawl add URL` and then `recrawl run --budget 1000/day`.")
        return
    store, said = printable(str(folder / STORE)), printable(str(folder / PICTURE))
    busiest = played.urls[int(played.visits.argmax())]
    typer.echo(f"The picture is {said}. Next:")
    typer.echo(f"  recrawl status --store {store}")
    typer.echo(f"  recrawl show {busiest} --store {store}")
    typer.echo("and with pages of your own, recrawl add URL and recrawl run --budget 1000/day")
