"""Webhooks and their messages as tables and JSON; their secrets are in neither."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from recrawl.cli.output import say, say_json
from recrawl.cli.render.numbers import count
from recrawl.cli.render.terminal import Table, show
from recrawl.cli.render.units import iso, second
from recrawl.store.webhooks import Message, Webhook

Failed = Sequence[tuple[Webhook, Sequence[Message]]]


def print_webhooks(hooks: Sequence[Webhook], unread: Mapping[int, int]) -> None:
    """Print webhooks as a table.

    Args:
        hooks: The webhooks.
        unread: What follows in the feed, by the number of the webhook.
    """
    if not hooks:
        say("There are no webhooks; `recrawl webhook add URL` adds one.")
        return
    table = Table()
    for name in ("webhook", "received", "to send", "failed"):
        table.add_column(name, justify="right")
    table.add_column("state")
    table.add_column("URL", overflow="fold")
    for hook in hooks:
        numbers = (hook.number, hook.received, to_send(hook, unread), hook.failed)
        cells = [f"{number:,}" for number in numbers]
        table.add_row(*cells, state_of(hook), hook.url)
    show(table)


def to_send(hook: Webhook, unread: Mapping[int, int]) -> int:
    """Return how many messages are to be sent: those that wait, and what follows in the feed."""
    return unread[hook.number] + hook.waiting


def state_of(hook: Webhook) -> str:
    """Return the state of a webhook in words."""
    if hook.disabled is not None:
        return f"disabled: {hook.disabled}"
    if hook.failing_since is not None:
        return f"failing since {second(hook.failing_since)}: {hook.error}"
    missed = f"; {count(hook.missed, 'change')} missed" if hook.missed else ""
    if hook.received_at is None:
        return f"nothing sent yet{missed}"
    return f"last received {second(hook.received_at)}{missed}"


def print_webhooks_as_json(hooks: Sequence[Webhook], unread: Mapping[int, int]) -> None:
    """Print webhooks as JSON."""
    say_json([webhook_object(hook, unread) for hook in hooks])


def webhook_object(hook: Webhook, unread: Mapping[int, int]) -> dict[str, Any]:
    """Return a webhook as an object for JSON."""
    return {
        "webhook": hook.number,
        "url": hook.url,
        "enabled": hook.disabled is None,
        "disabled": hook.disabled,
        "allow_private": hook.allow_private,
        "added": iso(hook.added_at),
        "cursor": str(hook.cursor),
        "received": hook.received,
        "last_received": iso(hook.received_at),
        "to_send": to_send(hook, unread),
        "failed": hook.failed,
        "missed": hook.missed,
        "failing_since": iso(hook.failing_since),
        "error": hook.error,
    }


def print_failed(found: Failed) -> None:
    """Print messages that were given up as a table."""
    total = sum(hook.failed for hook, _ in found)
    if not total:
        say("No message was given up.")
        return
    table = Table()
    table.add_column("webhook", justify="right")
    for name in ("last tried", "kind", "error"):
        table.add_column(name)
    table.add_column("page", overflow="fold")
    for hook, messages in found:
        for one in messages:
            tried = "" if one.tried_at is None else second(one.tried_at)
            why = one.error or "held back behind another message"
            table.add_row(str(hook.number), tried, kind_of(one), why, one.url)
    show(table)
    shown = sum(len(messages) for _, messages in found)
    if shown < total:
        say(f"{count(total - shown, 'more message')} not shown.")
    say("`recrawl webhook resend` sends them again.")


def print_failed_as_json(found: Failed) -> None:
    """Print messages that were given up as JSON."""
    say_json([message_object(hook, message) for hook, messages in found for message in messages])


def message_object(hook: Webhook, message: Message) -> dict[str, Any]:
    """Return a message as an object for JSON."""
    return {
        "webhook": hook.number,
        "id": message.id,
        "url": message.url,
        "attempts": message.attempts,
        "last_tried": iso(message.tried_at),
        "error": message.error,
        "message": json.loads(message.body),
    }


def kind_of(message: Message) -> str:
    """Return what a message says."""
    return str(json.loads(message.body)["type"])


LISTS: dict[str, Callable[[Sequence[Webhook], Mapping[int, int]], None]] = {
    "table": print_webhooks,
    "json": print_webhooks_as_json,
}
FAILED_LISTS: dict[str, Callable[[Failed], None]] = {
    "table": print_failed,
    "json": print_failed_as_json,
}
