"""``recrawl settings``: every knob, what it is now, and who said so."""

from typing import Annotated

import typer

from recrawl.cli.crawl_options import SHOWN_AS, SettingsFile, ShownAs
from recrawl.cli.options import check_choice


def settings(
    *,
    format_: ShownAs = "table",
    example: Annotated[
        bool,
        typer.Option("--example", help="Print a recrawl.toml with every setting, to begin with."),
    ] = False,
    file: SettingsFile = None,
) -> None:
    """List every setting of the crawler: what it is now, where that was set, and what it means.

    A flag of `recrawl run` comes first, then the environment, then the file. Examples:

        recrawl settings
        recrawl settings --example > recrawl.toml
        RECRAWL_BUDGET=5/min recrawl settings --format json
    """
    check_choice("--format", format_, SHOWN_AS)
    from recrawl.cli.render.settings import as_json, example_file, knobs_now, print_knobs

    if example:
        typer.echo(example_file(), nl=False)
        return
    knobs = knobs_now(file)
    if format_ == "json":
        typer.echo(as_json(knobs))
    else:
        print_knobs(knobs)
