"""The command-line program: its commands, and how errors are reported.

Only the requested command is imported, and it imports what it needs when it runs, so that a command
with little to do responds at once.
"""

import io
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Annotated, Any, final

import typer
from typer import BadParameter
from typer.main import get_command

from recrawl.cli.help import Command, Group
from recrawl.cli.output import complain, discard_output, output_problem, say_as_is
from recrawl.errors import RecrawlError

#: The exit status for invalid arguments or input.
USAGE_ERROR = 2
#: The exit status if the reader of the output is gone.
FAILED = 1
#: The commands in the order of the help. Each is the function or the group of commands with the
#: name of its module.
NAMES = (
    "add",
    "run",
    "serve",
    "status",
    "pages",
    "show",
    "get",
    "changes",
    "diff",
    "remove",
    "backup",
    "check",
    "compact",
    "settings",
    "estimate",
    "plan",
    "budget",
    "replay",
    "simulate",
    "paper",
    "demo",
    "token",
    "webhook",
    "export",
    "trace",
)


#: What typer raises for an invalid command line; it has no public name.
UsageError: type[Any] = BadParameter.__mro__[1]


@final
class LazyCommands(Mapping[str, Any]):
    """Commands by name; each is imported when it is looked up."""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - typer keeps the type to itself
        if name not in NAMES:
            raise KeyError(name)
        command = getattr(import_module(f"recrawl.cli.commands.{name}"), name)
        if isinstance(command, typer.Typer):
            return get_command(command)
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(name, cls=Command)(command)
        return get_command(alone)

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


class Commands(Group):
    """Commands whose errors are one sentence on standard error, without a traceback."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(**settings)
        self.commands = LazyCommands()  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002
        """Return the names, without importing any command."""
        return list(self.commands)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Parse what comes before the command."""
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
    """Turn errors into one sentence on standard error and end the program."""
    try:
        yield
    except RecrawlError as error:
        complain(str(error))
    except BrokenPipeError:
        # The reader of our output has closed the pipe and knows it.
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
    """Say in one sentence what is wrong with a command line and end the program."""
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
    from recrawl.config.sources import OLD_NAMES, option

    renamed = {option(old): option(new) for old, new in OLD_NAMES.items()}
    name = getattr(error, "option_name", None)
    if name in renamed:
        complain(f"{name} is now {renamed[name]}")
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
    visit, and spends every visit where it buys the most freshness:

        recrawl add https://example.org/
        recrawl run --budget 1000/day

    If you have your own crawler, start with its log:

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
        # Help or a version may still be in the buffer; Python would end in a traceback.
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
