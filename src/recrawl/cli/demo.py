"""``recrawl demo``: estimators learn a dozen change rates while you watch."""

import sys
import time
from typing import TYPE_CHECKING, Annotated, cast

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from recrawl.cli.demo_pages import Frame, Lives
    from recrawl.formats.tables import Format

FRAMES_A_SECOND = 12
#: How many points the errors' history has where only the end is shown.
FRAMES_UNSEEN = 30
#: What the name of the crawl log may end in.
LOG_FORMATS = ("csv", "parquet")


def demo(
    seconds: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=600.0,
            metavar="SECONDS",
            help="How long to play; 0, or no terminal, shows only the end.",
        ),
    ] = 10.0,
    seed: Annotated[
        int, typer.Option(min=0, metavar="NUMBER", help="Another number, other random lives.")
    ] = 1,
    log: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write the visits as a crawl log too, to .csv or .parquet."
        ),
    ] = None,
) -> None:
    """Watch estimators learn how often a dozen pages change, from one bit a visit."""
    from rich.console import Console

    kind = None if log is None else _check_log(log)
    console = Console(highlight=False)
    live = console.is_interactive and sys.stdout.isatty()
    lives, end = play(console, seconds if live else 0.0, seed)
    if log is not None and kind is not None:
        from recrawl.formats.tables import write_table

        write_table(lives.crawl_log(), kind, log)
    console.print(closing(end, log), soft_wrap=True)


def play(console: "Console", seconds: float, seed: int) -> "tuple[Lives, Frame]":
    """Show the pages' lives in so many seconds, or only how they end; give both."""
    frames = round(seconds * FRAMES_A_SECOND)
    with console.status("Loading. The first time, kernels are compiled: some seconds, once."):
        from rich.live import Live

        from recrawl.cli.demo_pages import draw_lives, learn
        from recrawl.cli.demo_screen import picture

        lives = draw_lives(seed)
        history = list(learn(lives, FRAMES_UNSEEN))
    if frames < 1:
        console.print(picture(history, console.width))
        return lives, history[-1]
    history.clear()
    start = time.monotonic()
    with Live(console=console, auto_refresh=False) as screen:
        for number, frame in enumerate(learn(lives, frames), start=1):
            history.append(frame)
            screen.update(picture(history, console.width), refresh=True)
            time.sleep(max(0.0, start + seconds * number / frames - time.monotonic()))
    return lives, history[-1]


def closing(end: "Frame", log: str | None) -> str:
    """Say what was seen, and what to type next."""
    from rich.markup import escape

    from recrawl.cli.demo_pages import PAGES

    rates = PAGES.values()
    seen = (
        f"Rates {max(rates) / min(rates):,.0f} times apart, from yes and no; "
        f"{end.held} of {len(rates)} intervals hold the truth.\n"
        f"MLE kept all {end.visits.sum():,} observations; "
        "Gamma and LLN keep a few numbers a page.\n"
    )
    if log is not None:
        return f"{seen}The visits are in {escape(log)}. Next: [bold]recrawl estimate {escape(log)}"
    return (
        f"{seen}Next: [bold]recrawl estimate LOG[/bold] does this with a crawl log of your own;\n"
        "[bold]recrawl demo --log visits.csv[/bold] writes one to try it on."
    )


def _check_log(log: str) -> "Format":
    """Give the format that the file's name tells, or say what is wrong with it."""
    from recrawl.errors import ArgumentError
    from recrawl.formats.tables import check_target

    ending = log.rpartition(".")[2].lower()
    if ending not in LOG_FORMATS:
        raise ArgumentError(f"--log: '{log}' does not end in .{' or .'.join(LOG_FORMATS)}")
    check_target(log)
    return cast("Format", ending)
