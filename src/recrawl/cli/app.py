"""The command-line program: its commands, and how errors are reported.

Commands import what they need when they run, so that ``recrawl --help`` is fast.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

import typer
from typer import BadParameter

from recrawl.cli.commands.add import add
from recrawl.cli.commands.backup import backup
from recrawl.cli.commands.budget import budget
from recrawl.cli.commands.changes import changes
from recrawl.cli.commands.check import check
from recrawl.cli.commands.compact import compact
from recrawl.cli.commands.demo import demo
from recrawl.cli.commands.diff import diff
from recrawl.cli.commands.estimate import estimate
from recrawl.cli.commands.export import export
from recrawl.cli.commands.get import get
from recrawl.cli.commands.pages import pages
from recrawl.cli.commands.paper import paper
from recrawl.cli.commands.plan import plan
from recrawl.cli.commands.remove import remove
from recrawl.cli.commands.replay import replay
from recrawl.cli.commands.run import run
from recrawl.cli.commands.serve import serve
from recrawl.cli.commands.settings import settings
from recrawl.cli.commands.show import show
from recrawl.cli.commands.simulate import simulate
from recrawl.cli.commands.status import status
from recrawl.cli.commands.token import token
from recrawl.cli.commands.trace import trace
from recrawl.cli.commands.webhook import webhook
from recrawl.cli.help import Command, Group
from recrawl.cli.output import complain, discard_output, output_problem, say_as_is
from recrawl.errors import RecrawlError

#: The exit status if something given to the program cannot be used.
USAGE_ERROR = 2
#: The exit status if the reader of the output is gone.
FAILED = 1


#: What typer raises for a wrong command line; it has no public name.
UsageError: type[Any] = BadParameter.__mro__[1]


class Commands(Group):
    """Commands whose errors are one sentence on standard error, without a traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Refuse options that have a new name."""
        from recrawl.crawler.setting_sources import OLD_NAMES, option

        renamed = {option(old): option(new) for old, new in OLD_NAMES.items()}
        for name in (arg.partition("=")[0] for arg in args):
            if name in renamed:
                complain(f"{name} is now {renamed[name]}")
                raise typer.Exit(USAGE_ERROR)
        with one_sentence(), usage_errors(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - typer keeps the type to itself
        """Run the chosen command."""
        with one_sentence(), usage_errors(ctx):
            returned = super().invoke(ctx)
            sys.stdout.flush()
            return returned


@contextmanager
def one_sentence() -> Iterator[None]:
    """Turn errors into one sentence on standard error, and end the program."""
    try:
        yield
    except RecrawlError as error:
        complain(str(error))
    except BrokenPipeError:
        # The reader of our output has closed the pipe, which is no news to whoever closed it.
        discard_output()
        raise typer.Exit(FAILED) from None
    except OSError as error:
        if error.filename is None:
            discard_output()
        complain(output_problem(error))
    else:
        return
    raise typer.Exit(USAGE_ERROR)


@contextmanager
def usage_errors(ctx: Any) -> Iterator[None]:  # noqa: ANN401
    """Say in one sentence what is wrong with a command line, and end the program."""
    try:
        yield
    except UsageError as error:
        _explain_usage(error, ctx)
        raise typer.Exit(USAGE_ERROR) from None


def _explain_usage(error: Any, ctx: Any) -> None:  # noqa: ANN401
    """Say what is wrong with a command line; without any arguments, show the help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        say_as_is(error.format_message())
        return
    asked = ctx.invoked_subcommand
    path = (error.ctx or ctx).command_path
    if asked and path == ctx.command_path:
        path = f"{path} {asked}"
    # Whatever name the program was started by.
    path = " ".join(["recrawl", *path.split()[len(ctx.command_path.split()) :]])
    problem = " ".join(error.format_message().split()).rstrip(".")
    stop = "" if problem.endswith("?") else ";"
    complain(f"{problem}{stop} `{path} --help` shows how it is used")


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(cls=Command)(add)
app.command(cls=Command)(run)
app.command(cls=Command)(serve)
app.add_typer(token, name="token")
app.command(cls=Command)(status)
app.command(cls=Command)(pages)
app.command(cls=Command)(show)
app.command(cls=Command)(get)
app.command(cls=Command)(changes)
app.command(cls=Command)(diff)
app.add_typer(webhook, name="webhook")
app.add_typer(export, name="export")
app.command(cls=Command)(remove)
app.command(cls=Command)(backup)
app.command(cls=Command)(check)
app.command(cls=Command)(compact)
app.command(cls=Command)(settings)
app.command(cls=Command)(estimate)
app.command(cls=Command)(plan)
app.command(cls=Command)(budget)
app.command(cls=Command)(replay)
app.command(cls=Command)(simulate)
app.command(cls=Command)(paper)
app.add_typer(trace, name="trace")
app.command(cls=Command)(demo)


def _print_version(asked: bool) -> None:  # noqa: FBT001 - typer passes the option so
    if asked:
        from importlib.metadata import version

        say_as_is(f"recrawl {version('recrawl')}")
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
        code = end.code if isinstance(end.code, int) else 0
    try:
        # What help or a version left in the buffer; Python would end in a traceback.
        sys.stdout.flush()
    except OSError as error:
        discard_output()
        # A command that failed has said why.
        if not code and not isinstance(error, BrokenPipeError):
            complain(output_problem(error))
        code = code or (FAILED if isinstance(error, BrokenPipeError) else USAGE_ERROR)
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    if code:
        os._exit(code)
