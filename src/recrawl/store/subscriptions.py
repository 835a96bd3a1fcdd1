"""WebSub subscriptions to feeds, in the store."""

from dataclasses import dataclass
from typing import final

from recrawl.store.database import Database
from recrawl.store.encoding import write_legible


@final
@dataclass(frozen=True, slots=True)
class Subscription:
    """A feed, and the hub that notifies us of its changes.

    Attributes:
        feed: The URL that the feed is read from.
        hub: The hub's URL.
        topic: The feed's own URL, by which the hub knows it.
        callback: The end of the callback URL; random.
        secret: What the hub signs messages with; random, never printed.
        next_at: When to contact the hub next, in microseconds.
        lease_until: Until when the hub has promised to send messages, in microseconds; None if it
            has not confirmed that.
        received_at: When the last message arrived; None if there was none.
        failures: How often in a row the hub could not be reached, or did not confirm.
        error: Why; None if all is well.
    """

    feed: str
    hub: str
    topic: str
    callback: str
    secret: str
    next_at: int
    lease_until: int | None = None
    received_at: int | None = None
    failures: int = 0
    error: str | None = None


@final
class Subscriptions:
    """The subscriptions of a store; those to feeds that are no longer read do not count.

    Args:
        database: The store's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[Subscription]:
        """Return all subscriptions in order of feed."""
        return [Subscription(*row) for row in self._database.rows("subscriptions")]

    def keep(self, subscription: Subscription) -> None:
        """Write a subscription in its current state."""
        self._database.execute(
            "keep_subscription",
            subscription.feed,
            subscription.hub,
            subscription.topic,
            subscription.callback,
            subscription.secret,
            subscription.next_at,
            subscription.lease_until,
            subscription.received_at,
            subscription.failures,
            write_legible(subscription.error),
        )

    def drop_unread(self) -> None:
        """Forget subscriptions to feeds that are no longer read."""
        self._database.execute("drop_subscriptions")
