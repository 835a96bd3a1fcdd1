"""WebSub subscriber: hubs announce when the feeds that we read have changed.

https://www.w3.org/TR/websub/. A feed that is read names its hub. We ask the hub to send messages
to a URL of ours that nobody can guess, confirms that with a challenge, and signs each message with
a secret of the subscription. A message is the feed itself, or its new entries: what it says of the
pages of the feed's own site is passed on, and nothing else.
"""

import asyncio
import hmac
import logging
import secrets
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from http import HTTPStatus
from typing import final

from recrawl.clock import Clock
from recrawl.content.html.feed_links import hub_links
from recrawl.content.sitemaps.packed import read_packed
from recrawl.engine.protocols import Parsing
from recrawl.errors import RecrawlError, StoreError
from recrawl.hosts import host_of, is_same_site
from recrawl.parsing.pool import TooExpensiveError, log_parse_error
from recrawl.records import Response
from recrawl.service.auth.guard import WEBSUB_FOLDER
from recrawl.service.auth.rate_limits import RateLimit, check_wait
from recrawl.service.problems import ProblemError
from recrawl.service.push.hubs import Hubs
from recrawl.service.push.pushes import Pushes
from recrawl.service.store_reader import StoreReader
from recrawl.store.sqlite import SqliteStore
from recrawl.store.subscriptions import Subscription

LOGGER = logging.getLogger("recrawl.service")

RANDOM_BYTES = 24
#: Subscriptions, and how many hubs are asked in a round, each once: feeds say where they are.
MAX_SUBSCRIPTIONS, PER_ROUND = 10_000, 10
#: Real seconds between two rounds.
ROUND = 5.0
#: Messages per minute about one feed.
MESSAGES, MINUTE = 60, 60.0
#: The share of a lease after which it is renewed, and the seconds that one lasts at least and most.
RENEW_AFTER, MIN_LEASE, MAX_LEASE = 0.8, 300, 90 * 86_400
#: Seconds within which a hub has to confirm; and to wait after a failure, twice as long each time.
CONFIRM_WITHIN, FIRST_BACKOFF, MAX_BACKOFF = 3_600.0, 60.0, 86_400.0
MAX_DOUBLINGS = 11
MAX_CHALLENGE = 1_000
#: The algorithms that hubs may sign with.
METHODS = frozenset({"sha1", "sha256", "sha384", "sha512"})
SUBSCRIBE, DENIED = "subscribe", "denied"
#: The results of messages.
USED, FORGED, UNREADABLE = BECAME = "used", "forged", "unreadable"


@final
class WebSub:
    """Subscribes to the hubs of feeds and passes on what they announce.

    Args:
        pushes: Where the pages of feeds go.
        hubs: Asks hubs.
        store: Where subscriptions are kept: few rows, which need not wait for the crawl's.
        parse_pool: Where feeds are parsed.
        clock: The clock of the crawl.
        public_url: Where hubs reach this service.

    Attributes:
        messages: How many messages came, by what became of them.
    """

    def __init__(
        self,
        pushes: Pushes,
        hubs: Hubs,
        store: StoreReader,
        parse_pool: Parsing,
        clock: Clock,
        public_url: str,
    ) -> None:
        self._pushes = pushes
        self._hubs = hubs
        self._store = store
        self._parse_pool = parse_pool
        self._clock = clock
        self._base = public_url.rstrip("/") + WEBSUB_FOLDER
        self._by_feed: dict[str, Subscription] = {}
        self._by_callback: dict[str, str] = {}
        self._rate = RateLimit(MESSAGES, MINUTE)
        self._unwritten: dict[str, Subscription] = {}
        self.messages: Counter[str] = Counter()

    # Feeds

    def note_feed(self, feed: str, response: Response) -> None:
        """Note the hub that a feed names, if any; it is asked soon."""
        headers = [value for name, value in response.headers if name.lower() == "link"]
        links = hub_links(response.url, headers, response.body or b"")
        known = self._by_feed.get(feed)
        if links is None or (known is None and len(self._by_feed) >= MAX_SUBSCRIPTIONS):
            return
        if known is not None and (known.hub, known.topic) == links:
            return
        callback, secret = (secrets.token_urlsafe(RANDOM_BYTES) for _ in range(2))
        self._set(Subscription(feed, *links, callback, secret, self._clock.now()))

    def _set(self, subscription: Subscription) -> None:
        """Remember a subscription as it is now, and have it written."""
        before = self._by_feed.get(subscription.feed)
        if before is not None:
            self._by_callback.pop(before.callback, None)
        self._by_feed[subscription.feed] = subscription
        self._by_callback[subscription.callback] = subscription.feed
        self._unwritten[subscription.feed] = subscription

    def _forget(self, subscription: Subscription) -> None:
        self._by_feed.pop(subscription.feed, None)
        self._by_callback.pop(subscription.callback, None)
        self._unwritten.pop(subscription.feed, None)

    def _at(self, callback: str) -> Subscription | None:
        feed = self._by_callback.get(callback)
        return None if feed is None else self._by_feed[feed]

    # Hubs

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Subscribe to hubs while the block runs, and renew subscriptions in time."""
        await self._store.call(lambda store: store.subscriptions.drop_unread())
        for known in await self._store.call(_subscriptions):
            self._by_feed[known.feed] = known
            self._by_callback[known.callback] = known.feed
        task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            with suppress(StoreError):
                await self._write()
            await self._hubs.close()

    async def _run(self) -> None:
        while True:
            try:
                await self._write()
                await self._ask_hubs(self._clock.now())
            except StoreError as error:
                LOGGER.warning("WebSub: %s", error)
            await asyncio.sleep(ROUND)

    async def _write(self) -> None:
        while self._unwritten:
            feed, subscription = next(iter(self._unwritten.items()))
            await self._store.call(_keep, subscription)
            if self._unwritten.get(feed) is subscription:
                del self._unwritten[feed]

    async def _ask_hubs(self, now: int) -> None:
        """Ask for subscriptions that are new or about to end, if their feed is still read."""
        due = [one for one in self._by_feed.values() if one.next_at <= now]
        if not due:
            return
        read = {one.feed for one in await self._store.call(_subscriptions)}
        first: dict[str, Subscription] = {}
        for one in sorted(due, key=lambda one: one.next_at):
            first.setdefault(host_of(one.hub), one)
        for subscription in list(first.values())[:PER_ROUND]:
            if subscription.feed in read:
                await self._subscribe(subscription, now)
            else:
                self._forget(subscription)

    async def _subscribe(self, wanted: Subscription, now: int) -> None:
        """Ask a hub for a subscription, which it confirms by itself, maybe before it answers."""
        asked = replace(
            wanted,
            next_at=now + round(CONFIRM_WITHIN * 1e6),
            failures=wanted.failures + 1,
            error="the hub has not confirmed the subscription",
        )
        self._set(asked)
        # Before the hub learns the callback, which must still be known after a restart.
        await self._write()
        error = await self._hubs.subscribe(wanted, self._base + wanted.callback)
        if error is not None and self._by_feed.get(wanted.feed) is asked:
            LOGGER.info("WebSub: cannot subscribe to %s: %s", wanted.feed, error)
            self._set(_failed(wanted, now, error))

    def confirm(
        self, callback: str, mode: str, topic: str, challenge: str, lease: int | None
    ) -> bool:
        """Return whether to confirm what a hub asks about a subscription.

        Args:
            callback: The end of the URL at which it asks.
            mode: What it is about.
            topic: The feed, as the hub knows it.
            challenge: What it wants to hear.
            lease: For how many seconds it is going to send messages.
        """
        known, now = self._at(callback), self._clock.now()
        if known is None or topic != known.topic:
            return False
        if mode == DENIED:
            LOGGER.info("WebSub: the hub of %s denied the subscription", known.feed)
            self._set(_failed(known, now, "the hub denied the subscription"))
            return True
        if mode != SUBSCRIBE or lease is None or not 0 < len(challenge) <= MAX_CHALLENGE:
            return False
        seconds = min(max(lease, MIN_LEASE), MAX_LEASE)
        self._set(
            replace(
                known,
                next_at=now + round(RENEW_AFTER * seconds * 1e6),
                lease_until=now + seconds * 1_000_000,
                failures=0,
                error=None,
            )
        )
        return True

    # Messages

    def admit(self, callback: str) -> None:
        """Admit a message from a hub, before any of it is read.

        Raises:
            ProblemError: There is no subscription, or there are too many messages.
        """
        if callback not in self._by_callback:
            raise ProblemError(HTTPStatus.GONE, "this subscription no longer exists")
        check_wait(self._rate.spend(callback))

    async def receive(self, callback: str, signature: str, body: bytes) -> None:
        """Use a message, unless its signature is wrong."""
        known, now = self._at(callback), self._clock.now()
        if known is None:
            return
        if not is_signed(body, known.secret, signature):
            LOGGER.info("WebSub: ignored a message about %s with a wrong signature", known.feed)
            self.messages[FORGED] += 1
            return
        if not await self._store.call(_is_read, known.feed):
            # The feed was removed: from now on the hub is told that nobody listens.
            self._forget(known)
            return
        try:
            packed = await self._parse_pool.run(read_packed, body)
        except TooExpensiveError:
            self.messages[UNREADABLE] += 1
            return
        except RecrawlError:
            raise
        except Exception as error:  # noqa: BLE001 - no message may end the service
            log_parse_error(known.feed, error)
            self.messages[UNREADABLE] += 1
            return
        own = host_of(known.feed)
        modified = {
            url: at for url, at in packed.unpacked().entries if is_same_site(host_of(url), own)
        }
        await self._pushes.take(modified, now)
        # The feed may be one of the pages itself.
        await self._pushes.take({known.feed: now}, now, add=False)
        self.messages[USED] += 1
        latest = self._by_feed.get(known.feed)
        if latest is not None:
            self._set(replace(latest, received_at=now))


def _subscriptions(store: SqliteStore) -> list[Subscription]:
    return store.subscriptions.all()


def _is_read(store: SqliteStore, feed: str) -> bool:
    return store.sitemaps.has(feed)


def _keep(store: SqliteStore, subscription: Subscription) -> None:
    store.subscriptions.keep(subscription)


def _failed(known: Subscription, now: int, error: str) -> Subscription:
    """Return a subscription with an error, to be tried again later."""
    wait = min(FIRST_BACKOFF * 2.0 ** min(known.failures, MAX_DOUBLINGS), MAX_BACKOFF)
    at = now + round(wait * 1e6)
    return replace(known, next_at=at, failures=known.failures + 1, error=error)


def is_signed(body: bytes, secret: str, signature: str) -> bool:
    """Whether a message has the signature that its subscription's secret gives it.

    >>> digest = hmac.digest(b"secret", b"news", "sha256").hex()
    >>> is_signed(b"news", "secret", f"sha256={digest}"), is_signed(b"news", "secret", "")
    (True, False)
    """
    method, _, given = signature.strip().partition("=")
    if method.lower() not in METHODS:
        return False
    expected = hmac.digest(secret.encode(), body, method.lower()).hex()
    return hmac.compare_digest(expected.encode(), given.strip().lower().encode())
