"""``recrawl webhook``: receivers of every change."""

from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli.commands.changes import cursor_of
from recrawl.cli.crawl_options import (
    SHOWN_AS,
    SettingsFile,
    ShownAs,
    StoreFile,
    present,
    settings_of,
)
from recrawl.cli.help import Command, Group
from recrawl.cli.options import check_choice
from recrawl.cli.output import complain, say
from recrawl.errors import ArgumentError, StoreError

if TYPE_CHECKING:
    from recrawl.config.settings import Settings
    from recrawl.notify.receiver import Answer
    from recrawl.store.sqlite import SqliteStore
    from recrawl.store.webhooks import Webhook

webhook = typer.Typer(cls=Group, no_args_is_help=True, add_completion=False, rich_markup_mode=None)

#: Maximum number of messages listed per webhook.
SHOWN = 100
#: The exit status if a test message is not accepted.
NOT_ACCEPTED = 1

Named = Annotated[str, typer.Argument(metavar="WEBHOOK", help="Its number, or its URL.")]
MaybeNamed = Annotated[
    str | None,
    typer.Argument(metavar="WEBHOOK", help="Its number, or its URL. Default: all webhooks."),
]


@webhook.callback()
def group() -> None:
    """Send every change to a URL, signed, until it is accepted."""


@webhook.command(cls=Command)
def add(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where to send changes.")],
    *,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="Start after this cursor, at this time (2026-01-31, or 2h for two hours ago), or "
            "with all current pages (start). Default: with what changes from now on.",
        ),
    ] = None,
    allow_private: Annotated[
        bool,
        typer.Option("--allow-private", help="Also send to a private or loopback address."),
    ] = False,
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Add a webhook and print its secret, which is never shown again.

    During a run, every change is sent as a POST request with a JSON body, at least once, and in
    order for each page. Messages are signed according to Standard Webhooks, so that libraries can
    verify them.

    Examples:
        recrawl webhook add https://example.org/changes
        recrawl webhook add http://localhost:8000/index --allow-private --since start
    """
    path = settings_of(store, settings).store
    from recrawl.hosts import host_of
    from recrawl.http.access import is_private_name
    from recrawl.notify.messages import new_secret
    from recrawl.store.sqlite import SqliteStore
    from recrawl.urls import redirected

    # As in a redirect, the query keeps its order.
    target = redirected(url, url)
    if not allow_private and is_private_name(target):
        raise ArgumentError(
            f"{host_of(target)} is a private address; --allow-private sends changes there"
        )
    secret = new_secret()
    with SqliteStore.open(path) as opened:
        end = opened.feed.end()
        cursor = end if since is None else cursor_of(opened.feed, since)
        if cursor.serial > end.serial:
            raise ArgumentError(f"--since: the last change of {path} is {end}, before {cursor}")
        number = opened.webhooks.add(target, secret, cursor, present(), allow_private=allow_private)
    say(f"Webhook {number} added: {target}")
    say(f"Its secret, shown only once: {secret}")
    say(f"Changes are sent during a run; `recrawl webhook test {number}` sends a test now.")


@webhook.command("list", cls=Command)
def list_(
    *,
    format_: ShownAs = "table",
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """List webhooks: how many messages were received, are waiting, or were given up.

    Example:
        recrawl webhook list
    """
    check_choice("--format", format_, SHOWN_AS)
    path = settings_of(store, settings).store
    from recrawl.cli.render.webhooks import LISTS
    from recrawl.store.sqlite import SqliteStore

    with SqliteStore.open(path) as opened:
        hooks = opened.webhooks.all()
        unread = {hook.number: opened.feed.count_after(hook.cursor) for hook in hooks}
    LISTS[format_](hooks, unread)


@webhook.command(cls=Command)
def remove(named: Named, *, store: StoreFile = None, settings: SettingsFile = None) -> None:
    """Remove a webhook and everything still to be sent to it.

    Example:
        recrawl webhook remove 1
    """
    path = settings_of(store, settings).store
    from recrawl.store.sqlite import SqliteStore

    with SqliteStore.open(path) as opened:
        hook = _known(opened, path, named)
        opened.webhooks.remove(hook.number)
    say(f"Webhook {hook.number} removed: {hook.url}")


@webhook.command("test", cls=Command)
def send_test(named: Named, *, store: StoreFile = None, settings: SettingsFile = None) -> None:
    """Send a test message now and report the result; works with and without a run.

    If the message is not accepted, the exit status is 1.

    Example:
        recrawl webhook test 1
    """
    known = settings_of(store, settings)
    import asyncio

    from recrawl.store.sqlite import SqliteStore

    with SqliteStore.open(known.store) as opened:
        hook = _known(opened, known.store, named)
    answer = asyncio.run(_sent_test(hook, known))
    if answer.error is not None:
        complain(f"webhook {hook.number}: the test was not accepted: {answer.error}")
        raise typer.Exit(NOT_ACCEPTED)
    say(f"Webhook {hook.number}: the test was accepted.")


@webhook.command(cls=Command)
def failed(
    named: MaybeNamed = None,
    *,
    format_: ShownAs = "table",
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """List messages that were given up and those held back behind them.

    Example:
        recrawl webhook failed 1
    """
    check_choice("--format", format_, SHOWN_AS)
    path = settings_of(store, settings).store
    from recrawl.cli.render.webhooks import FAILED_LISTS
    from recrawl.store.sqlite import SqliteStore

    with SqliteStore.open(path) as opened:
        hooks = opened.webhooks.all() if named is None else [_known(opened, path, named)]
        found = [(hook, opened.webhooks.failed(hook.number, SHOWN)) for hook in hooks]
    FAILED_LISTS[format_](found)


@webhook.command(cls=Command)
def resend(
    named: MaybeNamed = None,
    *,
    page: Annotated[
        str | None, typer.Option(metavar="URL", help="Only messages about this page.")
    ] = None,
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Send messages that were given up again, in order, during this run or the next.

    Example:
        recrawl webhook resend 1
    """
    path = settings_of(store, settings).store
    from recrawl.cli.render.numbers import count
    from recrawl.store.sqlite import SqliteStore

    with SqliteStore.open(path) as opened:
        hooks = opened.webhooks.all() if named is None else [_known(opened, path, named)]
        found = sum(opened.webhooks.resend(hook.number, page) for hook in hooks)
    say(f"{count(found, 'message')} to send again.")


@webhook.command(cls=Command)
def enable(named: Named, *, store: StoreFile = None, settings: SettingsFile = None) -> None:
    """Enable a webhook that was disabled, or retry a failing one at once.

    A webhook is disabled if its receiver responds with 410. What has changed since then is sent.

    Example:
        recrawl webhook enable 1
    """
    path = settings_of(store, settings).store
    from recrawl.store.sqlite import SqliteStore

    with SqliteStore.open(path) as opened:
        hook = _known(opened, path, named)
        opened.webhooks.enable(hook.number)
    say(f"Webhook {hook.number} enabled: {hook.url}")


def _known(store: "SqliteStore", path: str, named: str) -> "Webhook":
    """Return the webhook with a number or URL."""
    from recrawl.units import quoted

    for hook in store.webhooks.all():
        if named.strip() in (str(hook.number), hook.url):
            return hook
    if named.strip().isdigit() or "://" in named:
        raise StoreError(f"{path}: there is no webhook {named}; `recrawl webhook list` lists them")
    raise ArgumentError(f"WEBHOOK: {quoted(named)} is neither a number nor a URL")


async def _sent_test(hook: "Webhook", settings: "Settings") -> "Answer":
    from recrawl.config.access import site_access
    from recrawl.config.settings import agent_of
    from recrawl.crawler.build import send_limits_of
    from recrawl.notify.messages import trial_message
    from recrawl.notify.receiver import Receiver

    proxy = site_access(settings)(hook.url).proxy
    receiver = Receiver(hook, agent_of(settings), send_limits_of(settings), proxy)
    try:
        return await receiver.send(trial_message(hook, present()))
    finally:
        await receiver.close()
