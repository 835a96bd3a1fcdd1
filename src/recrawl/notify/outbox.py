"""The outbox of webhooks in the store: what to send next, and what has been delivered."""

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple, final

from recrawl.notify.messages import change_message
from recrawl.store.changes import Cursor
from recrawl.store.rows import Retention
from recrawl.store.sqlite import SqliteStore
from recrawl.store.thread import StoreThread
from recrawl.store.webhooks import MAX_WAITING, Message, MessageState, Progress, Webhook

#: Changes read at a time.
CHANGES_PER_BATCH = 100


class Step(NamedTuple):
    """A message to send, or to hold back behind one about the same page.

    Attributes:
        message: The message.
        cursor: The position in the feed afterwards; None for a message tried before.
        held: The state of a message that is held back; None for one to send.
    """

    message: Message
    cursor: Cursor | None = None
    held: MessageState | None = None


@final
class Outbox:
    """The webhooks of a store and their pending messages.

    Args:
        store: A connection to the store that nobody else uses.
        retention: How long messages that failed for good are kept.
    """

    def __init__(self, store: SqliteStore, retention: Retention) -> None:
        self._store = store
        self._thread = StoreThread(store)
        self._retention = retention

    def close(self) -> None:
        """Finish writing."""
        self._thread.close()

    async def all(self) -> list[Webhook]:
        """Return all webhooks."""
        return await self._thread.call(self._store.webhooks.all)

    async def find(self, hook: Webhook) -> Webhook | None:
        """Return a webhook as it is now; None if it was removed."""
        return await self._thread.call(self._store.webhooks.find, hook.number)

    async def next_steps(self, hook: Webhook, failures: int) -> tuple[Webhook, list[Step]]:
        """Return what to send next, and the webhook as it is now.

        If the receiver has missed changes, it must be told so before anything else is sent.

        Args:
            hook: The webhook.
            failures: The receiver's failures in a row.
        """
        return await self._thread.call(self._next_steps, hook, failures)

    async def note(self, hook: Webhook, progress: Progress) -> None:
        """Write the results of messages."""
        await self._thread.call(self._store.webhooks.note, hook.number, progress)

    async def clear_missed(self, hook: Webhook) -> None:
        """Note that the receiver has been told how many changes it missed."""
        await self._thread.call(self._store.webhooks.clear_missed, hook)

    async def disable(self, hook: Webhook, reason: str) -> None:
        """Stop sending to a webhook."""
        await self._thread.call(self._store.webhooks.disable, hook.number, reason)

    async def drop_failed(self, hook: Webhook) -> None:
        """Drop messages that failed for good too long ago."""
        drop = self._store.webhooks.drop_failed
        await self._thread.call(drop, hook, self._retention, present())

    def _next_steps(self, hook: Webhook, failures: int) -> tuple[Webhook, list[Step]]:
        hook = self._store.webhooks.pass_over_dropped(hook)
        if hook.missed:
            return hook, []
        # A receiver that failed is tried with one message, every other time a new one: the message
        # itself may have been at fault.
        limit = CHANGES_PER_BATCH if failures == 0 else 1
        found = self._store.webhooks.due(hook.number, present(), limit)
        due = [Step(message) for message in found]
        prefers_new = not due or failures % 2 == 1
        if not prefers_new or hook.waiting >= MAX_WAITING:
            return hook, due
        return hook, self._new_steps(hook, limit) or due

    def _new_steps(self, hook: Webhook, limit: int) -> list[Step]:
        """Return messages about the next changes in the feed, up to a limit.

        If a message about a page is undelivered, later ones about it are held back.
        """
        changes = self._store.feed.read(hook.cursor, CHANGES_PER_BATCH)
        waiting = self._store.webhooks.waiting(hook.number, {change.url for change in changes})
        steps: list[Step] = []
        left = limit
        for change in changes:
            held = waiting.get(change.url)
            steps.append(Step(change_message(hook, change), change.cursor, held))
            left -= held is None
            if left == 0:
                break
        return steps


def groups(steps: Sequence[Step], size: int) -> Iterator[list[Step]]:
    """Yield messages to send concurrently: groups of limited size, each about different pages."""
    group: list[Step] = []
    urls: set[str] = set()
    for step in steps:
        if step.held is None:
            if len(urls) == size or step.message.url in urls:
                yield group
                group, urls = [], set()
            urls.add(step.message.url)
        group.append(step)
    if group:
        yield group


def present() -> int:
    """Return the system's time in microseconds: receivers do not follow the crawl's clock."""
    return time.time_ns() // 1_000
