"""The command-line program: its commands, and how errors are reported.

Commands import what they need when they run, so that ``recrawl --help`` is fast.
"""

import io
import os
import sys
from contextlib import suppress
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from recrawl.cli.commands.add import add
from recrawl.cli.commands.budget import budget
from recrawl.cli.commands.demo import demo
from recrawl.cli.commands.estimate import estimate
from recrawl.cli.commands.export import export
from recrawl.cli.commands.get import get
from recrawl.cli.commands.paper import paper
from recrawl.cli.commands.plan import plan
from recrawl.cli.commands.remove import remove
from recrawl.cli.commands.replay import replay
from recrawl.cli.commands.run import run
from recrawl.cli.commands.settings import settings
from recrawl.cli.commands.show import show
from recrawl.cli.commands.simulate import simulate
from recrawl.cli.commands.status import status
from recrawl.cli.commands.trace import trace
from recrawl.errors import RecrawlError

#: The exit status if something given to the program cannot be used.
USAGE_ERROR = 2


class Commands(TyperGroup):
    """Commands whose errors are one sentence on standard error, without a traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Refuse options that have a new name."""
        from recrawl.crawler.settings import OLD_NAMES, option

        renamed = {option(old): option(new) for old, new in OLD_NAMES.items()}
        for name in (arg.partition("=")[0] for arg in args):
            if name in renamed:
                typer.echo(f"recrawl: {name} is now {renamed[name]}", err=True)
                raise typer.Exit(USAGE_ERROR)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - typer keeps the type to itself
        """Run the chosen command."""
        try:
            returned = super().invoke(ctx)
            sys.stdout.flush()
        except RecrawlError as error:
            problem = str(error)
        except BrokenPipeError:
            # The reader of our output has closed the pipe; typer exits quietly.
            raise
        except OSError as error:
            problem = f"{error.filename or 'standard output'}: {error.strerror or error}"
        else:
            return returned
        typer.echo(f"recrawl: {problem}", err=True)
        raise typer.Exit(USAGE_ERROR)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(add)
app.command()(run)
app.command()(status)
app.command()(show)
app.command()(get)
app.add_typer(export, name="export")
app.command()(remove)
app.command()(settings)
app.command()(estimate)
app.command()(plan)
app.command()(budget)
app.command()(replay)
app.command()(simulate)
app.command()(paper)
app.add_typer(trace, name="trace")
app.command()(demo)


def _print_version(asked: bool) -> None:  # noqa: FBT001 - typer passes the option so
    if asked:
        from importlib.metadata import version

        typer.echo(f"recrawl {version('recrawl')}")
        raise typer.Exit


@app.callback()
def recrawl(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Keep a copy of the web fresh on a budget.

    recrawl visits pages, learns how often each one changes just from whether it had changed at each
    visit, and spends every visit where it gains the most freshness:

        recrawl add https://example.org/
        recrawl run --budget 1000/day

    With a crawler of your own, start with its log:

        recrawl estimate crawl.csv
        recrawl plan crawl.csv --budget 1000/day
    """


def main() -> None:
    """Run the program.

    An error ends the process immediately: a thread may still be waiting for a pipe that nobody
    writes to, and Python would wait for that thread.
    """
    for stream in (sys.stdout, sys.stderr):
        # On a terminal that only knows ASCII, print a ? for a dash rather than fail.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app(prog_name="recrawl")
    except SystemExit as end:
        if not isinstance(end.code, int) or not end.code:
            raise
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        os._exit(end.code)
