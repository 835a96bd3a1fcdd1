"""``recrawl settings``: every setting, its value, and where that was set."""

from typing import Annotated

import typer

from recrawl.cli.crawl_options import SHOWN_AS, SettingsFile, ShownAs
from recrawl.cli.options import check_choice
from recrawl.cli.output import say, say_as_is


def settings(
    *,
    format_: ShownAs = "table",
    example: Annotated[
        bool,
        typer.Option("--example", help="Print an example recrawl.toml with every setting."),
    ] = False,
    for_: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="URL",
            help="Show what applies to a URL, including the settings for its site.",
        ),
    ] = None,
    file: SettingsFile = None,
) -> None:
    """List the crawler's settings: their values, where they were set, and what they mean.

    Options of `recrawl run` override the environment, which overrides the file. In the file, tables
    for URLs override those for hosts, which override the rest. Secrets are masked.

    Examples:
        recrawl settings
        recrawl settings --for https://example.org/news/today
        recrawl settings --example > recrawl.toml
        RECRAWL_BUDGET=5/min recrawl settings --format json
    """
    check_choice("--format", format_, SHOWN_AS)
    from recrawl.cli.render.settings import (
        as_json,
        current_settings,
        example_file,
        print_for_url,
        print_settings,
        settings_for,
        tables_line,
    )

    if example:
        say_as_is(example_file(), nl=False)
        return
    current = current_settings(file) if for_ is None else settings_for(for_, file)
    if format_ == "json":
        say_as_is(as_json(current))
    elif for_ is not None:
        print_for_url(current)
    else:
        print_settings(current)
        if line := tables_line(file):
            say(line)
