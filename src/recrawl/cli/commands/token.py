"""``recrawl token``: who may use the service."""

from typing import Annotated

import typer

from recrawl.cli.crawl_options import (
    SHOWN_AS,
    SettingsFile,
    ShownAs,
    StoreFile,
    present,
    settings_of,
)
from recrawl.cli.help import Command, Group
from recrawl.cli.options import check_choice, option_errors
from recrawl.cli.output import say, say_as_is
from recrawl.errors import ArgumentError

token = typer.Typer(cls=Group, no_args_is_help=True, add_completion=False, rich_markup_mode=None)

TokenName = Annotated[str, typer.Argument(metavar="NAME", help="The token's name.")]


@token.callback()
def group() -> None:
    """Add, list and revoke tokens, which every client of the service needs."""


@token.command(cls=Command)
def add(
    name: TokenName,
    *,
    access: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What it allows: read (look), crawl (lease, report, add pages) or admin "
            "(everything). Each includes the previous ones.",
        ),
    ] = "read",
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Create a token and print it; only a digest is kept, so it cannot be shown again.

    A running service accepts it within a second.

    Examples:
        recrawl token add grafana
        recrawl token add crawler-1 --access crawl
    """
    path = settings_of(store, settings).store
    from recrawl.service.auth.tokens import Access, add_token
    from recrawl.store.sqlite import SqliteStore

    with option_errors({}, "--access: "):
        allowed = Access.named(access)
    with SqliteStore.open(path, create=True) as opened:
        say_as_is(add_token(opened.service, name, allowed, present()))


@token.command("list", cls=Command)
def list_(
    *,
    format_: ShownAs = "table",
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """List the tokens: their names, what they allow, and when they were created.

    Example:
        recrawl token list
    """
    check_choice("--format", format_, SHOWN_AS)
    path = settings_of(store, settings).store
    from recrawl.cli.output import json_text
    from recrawl.cli.render.units import second
    from recrawl.escaping import printable
    from recrawl.store.sqlite import SqliteStore
    from recrawl.units import format_time

    with SqliteStore.open(path) as opened:
        tokens = opened.service.tokens()
    if format_ == "json":
        rows = [
            {"name": one.name, "access": one.access, "created": format_time(one.created_at)}
            for one in tokens
        ]
        say_as_is(json_text(rows))
        return
    if not tokens:
        say("There are no tokens; `recrawl token add NAME` creates one.")
        return
    say_as_is(f"{'made (UTC)':<19}  {'access':<6}  name")
    for one in tokens:
        say_as_is(f"{second(one.created_at)}  {one.access:<6}  {printable(one.name)}")


@token.command(cls=Command)
def revoke(
    name: TokenName,
    *,
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Revoke a token.

    A running service refuses it within a second.

    Example:
        recrawl token revoke crawler-1
    """
    path = settings_of(store, settings).store
    from recrawl.escaping import printable
    from recrawl.store.sqlite import SqliteStore
    from recrawl.units import quoted

    with SqliteStore.open(path) as opened:
        if not opened.service.revoke_token(name):
            raise ArgumentError(
                f"there is no token {quoted(name)}; `recrawl token list` lists them"
            )
    say(f"{printable(name)} is revoked.")
