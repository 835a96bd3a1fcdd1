"""Webhooks in the store: their URLs, their positions in the feed, and undelivered messages.

The queue of messages is the feed itself, which is written with each visit: a webhook has only a
cursor in it. Individual messages are stored only if they could not be delivered.
"""

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import final

from recrawl.errors import StoreError
from recrawl.store.changes import ChangeFeed, Cursor
from recrawl.store.database import Database, Row
from recrawl.store.encoding import write_legible
from recrawl.store.rows import Retention

#: Messages of a webhook that are kept after they failed for good, and that are dropped at a time.
MAX_FAILED = 10_000
DROPPED_PER_BATCH = 1_000
#: Messages of a webhook that may wait; above that, changes stay in the feed.
MAX_WAITING = 10_000


class MessageState(IntEnum):
    """The state of an undelivered message, as stored in the table ``webhook_messages``."""

    WAITING = 0
    FAILED = 1


@final
@dataclass(frozen=True, slots=True)
class Webhook:
    """A URL that is sent every change.

    Attributes:
        number: Its id on the command line; never reused.
        url: Where messages are sent.
        key: Makes the ids of its messages unique.
        secret: What they are signed with; never printed.
        allow_private: Whether the URL may lead to a private address.
        added_at: When it was added, in microseconds.
        cursor: How far the feed has been sent, or stored as messages.
        missed: Changes that were dropped before they could be sent, and not yet reported.
        received: Messages that the receiver accepted.
        received_at: When it accepted the last one; None if never.
        failing_since: When its present series of failures began; None if it is not failing.
        error: What went wrong at the last failure; None if it is not failing.
        disabled: Why nothing is sent; None if it is enabled.
        waiting: Messages to be retried, and those behind them.
        failed: Messages that failed for good, and those behind them.
    """

    number: int
    url: str
    key: str = field(repr=False)
    secret: str = field(repr=False)
    allow_private: bool
    added_at: int
    cursor: Cursor
    missed: int = 0
    received: int = 0
    received_at: int | None = None
    failing_since: int | None = None
    error: str | None = None
    disabled: str | None = None
    waiting: int = 0
    failed: int = 0


@final
@dataclass(frozen=True, slots=True)
class Message:
    """A message about one change.

    Attributes:
        cursor: The change.
        page: The number of its page.
        url: The URL of its page.
        id: The same at every attempt.
        body: What is sent.
        attempts: Failed attempts so far, those during an outage of the receiver counted once.
        tried_at: When it was last tried, in microseconds; None if never.
        error: What was wrong then.
    """

    cursor: Cursor
    page: int
    url: str
    id: str
    body: bytes
    attempts: int = 0
    tried_at: int | None = None
    error: str | None = None


@final
@dataclass(frozen=True, slots=True)
class Undelivered:
    """A message that was not delivered.

    Attributes:
        message: The message, with its latest result.
        next_at: When to retry, in microseconds.
        state: Whether to retry.
    """

    message: Message
    next_at: int
    state: MessageState = MessageState.WAITING


@final
@dataclass(frozen=True, slots=True)
class Progress:
    """The results of sending messages to a webhook.

    Attributes:
        cursor: How far the feed has been processed.
        received: Messages that the receiver accepted.
        received_at: When it accepted the last one; None if it accepted none.
        undelivered: Messages to store.
        failing_since: As for `Webhook`.
        error: The same.
    """

    cursor: Cursor
    received: Sequence[Message] = ()
    received_at: int | None = None
    undelivered: Sequence[Undelivered] = ()
    failing_since: int | None = None
    error: str | None = None


@final
class Webhooks:
    """The webhooks of a store.

    Args:
        database: The store's database.
        feed: The store's feed.
    """

    def __init__(self, database: Database, feed: ChangeFeed) -> None:
        self._database = database
        self._feed = feed

    def add(self, url: str, secret: str, cursor: Cursor, at: int, *, allow_private: bool) -> int:
        """Add a webhook; return its number.

        Args:
            url: Where to send messages.
            secret: What to sign them with.
            cursor: Where to start in the feed.
            at: When, in microseconds.
            allow_private: Whether the URL may lead to a private address.

        Raises:
            StoreError: This URL is already a webhook.
        """
        key = secrets.token_hex(8)
        values = (url, key, secret, allow_private, at, str(cursor))
        if not self._database.execute("add_webhook", *values):
            raise StoreError(f"{self._database.path}: {url} is already a webhook")
        return next(hook.number for hook in self.all() if hook.url == url)

    def all(self) -> list[Webhook]:
        """Return all webhooks in order of number."""
        return [_webhook(row) for row in self._database.rows("webhooks")]

    def find(self, number: int) -> Webhook | None:
        """Return a webhook, or None."""
        return next((hook for hook in self.all() if hook.number == number), None)

    def remove(self, number: int) -> None:
        """Remove a webhook with its messages."""
        with self._database.transaction():
            self._database.execute("drop_webhook_messages_of", number)
            self._database.execute("drop_webhook", number)

    def disable(self, number: int, reason: str) -> None:
        """Stop sending to a webhook; its position in the feed is kept."""
        self._database.execute("set_webhook_disabled", write_legible(reason), number)

    def enable(self, number: int) -> None:
        """Resume sending to a webhook, at once, where it stopped."""
        self._database.execute("set_webhook_disabled", None, number)

    def pass_over_dropped(self, hook: Webhook) -> Webhook:
        """Skip and count changes that were dropped before they were sent; return the new state."""
        oldest = self._feed.oldest()
        dropped = oldest.serial - hook.cursor.serial
        if dropped <= 0:
            return hook
        self._database.execute("move_webhook", str(oldest), dropped, hook.number)
        return self.find(hook.number) or hook

    def clear_missed(self, hook: Webhook) -> None:
        """Reset the count of missed changes, now that it has been reported."""
        self._database.execute("clear_missed", hook.missed, hook.number)

    def due(self, number: int, now: int, limit: int) -> list[Message]:
        """Return messages to retry now, at most one per page, the longest overdue first."""
        return [_message(row) for row in self._database.rows("due_messages", number, now, limit)]

    def waiting(self, number: int, urls: Iterable[str]) -> Mapping[str, MessageState]:
        """Return which pages have undelivered messages, and the state of those.

        Later messages about these pages have to wait, to stay in order.
        """
        rows = self._database.rows("waiting_urls", number, json.dumps(list(urls)))
        return {url: MessageState(state) for url, state in rows}

    def note(self, number: int, progress: Progress) -> None:
        """Write the results of sending messages, in one transaction."""
        database = self._database
        with database.transaction():
            for message in progress.received:
                database.execute("drop_message", number, message.cursor.serial, message.page)
            for one in progress.undelivered:
                database.execute("keep_message", number, *_values(one))
                if one.state is MessageState.FAILED:
                    database.execute("give_up_page", number, one.message.url)
            database.execute(
                "note_webhook",
                str(progress.cursor),
                len(progress.received),
                progress.received_at,
                progress.failing_since,
                write_legible(progress.error),
                number,
            )

    def failed(self, number: int, limit: int) -> list[Message]:
        """Return messages that failed for good, and those behind them, the oldest first."""
        return [_message(row) for row in self._database.rows("failed_messages", number, limit)]

    def resend(self, number: int, url: str | None = None) -> int:
        """Schedule messages that failed for good to be sent again, in order; return how many.

        Args:
            number: The webhook.
            url: Only those about this page.
        """
        with self._database.transaction():
            found = self._database.execute("resend_messages", number, url)
            hook = self.find(number)
            if found and hook is not None and hook.disabled is None:
                self._database.execute("set_webhook_disabled", None, number)
        return found

    def drop_failed(self, hook: Webhook, retention: Retention, now: int) -> None:
        """Drop messages that failed for good and are too old or too many; count them as missed."""
        oldest = 0 if retention.time is None else now - retention.time
        with self._database.transaction():
            values = hook.number, oldest, MAX_FAILED, DROPPED_PER_BATCH
            found = self._database.rows("messages_to_drop", *values)
            for serial, page in found:
                self._database.execute("drop_message", hook.number, serial, page)
            if found:
                self._database.execute("clear_missed", -len(found), hook.number)


def _webhook(row: Row) -> Webhook:
    number, url, key, secret, allow_private, added_at, cursor, *rest = row
    return Webhook(
        number, url, key, secret, bool(allow_private), added_at, Cursor.parse(cursor), *rest
    )


def _message(row: Row) -> Message:
    serial, page, url, name, body, attempts, tried_at, error = row
    return Message(Cursor(serial), page, url, name, bytes(body), attempts, tried_at, error)


def _values(one: Undelivered) -> Row:
    message = one.message
    return (
        message.cursor.serial,
        message.page,
        message.url,
        message.id,
        message.body,
        one.state,
        message.attempts,
        message.tried_at,
        one.next_at,
        write_legible(message.error),
    )
