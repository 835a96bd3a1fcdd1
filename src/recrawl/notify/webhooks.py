"""Send every change to webhooks, alongside the crawl and without delaying it."""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import final

from recrawl.errors import StoreError
from recrawl.http.access import Proxy
from recrawl.notify import delivery as webhook_delivery
from recrawl.notify.delivery import Delivery
from recrawl.notify.outbox import Outbox
from recrawl.notify.receiver import Receiver, SendLimits
from recrawl.store.rows import Retention
from recrawl.store.sqlite import SqliteStore
from recrawl.store.webhooks import Webhook

LOGGER = logging.getLogger("recrawl.crawler")

#: Real seconds to wait when the crawl ends, and between two cleanups of expired messages.
GRACE, CLEAN_EVERY = 1.0, 60.0


@final
class WebhookSender:
    """Sends the feed of changes to every webhook, each at its own pace.

    ::

        for each webhook, independently
          messages to retry, then the feed after the cursor
          a page with an undelivered message: hold back later ones about it
          send, some concurrently, each about a different page
          accepted: advance the cursor     failed: store the message, wait, longer each time
          410: disable                     failed too often while others are accepted: give up

    Every change is sent at least once, and those about a page in order. Messages whose delivery was
    not written when the process was killed are sent again. Only one process may send: hold the
    store's lock.

    Args:
        store: A connection to the store that nobody else uses.
        agent: The User-Agent.
        limits: Limits on sending.
        retention: How long messages that failed for good are kept.
        proxy: Returns the proxy for a URL; None to connect directly.
        jitter: Returns a number from 0 to 1, at random.
    """

    def __init__(
        self,
        store: SqliteStore,
        agent: str,
        limits: SendLimits = SendLimits(),  # noqa: B008 - frozen
        *,
        retention: Retention = Retention(),  # noqa: B008 - frozen
        proxy: Callable[[str], Proxy | None] = lambda _: None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._outbox = Outbox(store, retention)
        self._agent = agent
        self._limits = limits
        self._proxy = proxy
        self._jitter = jitter
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._idle: dict[int, asyncio.Event] = {}
        self._cleaned = 0.0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Send while the block runs, and finish within `GRACE` seconds after it."""
        task = asyncio.create_task(self._run())
        try:
            yield
            await self._catch_up()
        finally:
            started = (task, *self._tasks.values())
            for each in started:
                each.cancel()
            await asyncio.gather(*started, return_exceptions=True)
            self._outbox.close()

    async def _run(self) -> None:
        """Keep a task for every enabled webhook, including those added meanwhile."""
        while True:
            try:
                for hook in await self._outbox.all():
                    self._start(hook)
                await self._clean()
            except StoreError as error:
                LOGGER.warning("webhooks: %s", error)
            await asyncio.sleep(webhook_delivery.POLL)

    def _start(self, hook: Webhook) -> None:
        task = self._tasks.get(hook.number)
        if hook.disabled is None and (task is None or task.done()):
            self._idle[hook.number] = asyncio.Event()
            self._tasks[hook.number] = asyncio.create_task(self._serve(hook))

    async def _clean(self) -> None:
        now = time.monotonic()
        if now - self._cleaned >= CLEAN_EVERY:
            self._cleaned = now
            for hook in await self._outbox.all():
                if hook.failed:
                    await self._outbox.drop_failed(hook)

    async def _catch_up(self) -> None:
        """Wait, for at most `GRACE` seconds, until only failing receivers have pending messages."""
        idle = [self._idle[number] for number, task in self._tasks.items() if not task.done()]
        for event in idle:
            event.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await asyncio.gather(*(event.wait() for event in idle))

    async def _serve(self, hook: Webhook) -> None:
        """Send to one webhook until it is disabled or removed."""
        receiver = Receiver(hook, self._agent, self._limits, self._proxy(hook.url))
        delivery = Delivery(self._outbox, hook, receiver, self._limits, self._jitter)
        try:
            wait: float | None = 0.0
            while wait is not None:
                try:
                    wait = await delivery.go_on()
                    if wait:
                        await self._pause(delivery.hook, wait)
                except StoreError as error:
                    LOGGER.warning("webhook %d: %s", hook.number, error)
                    await asyncio.sleep(webhook_delivery.POLL)
        finally:
            await receiver.close()

    async def _pause(self, hook: Webhook, seconds: float) -> None:
        """Wait, or until a user changes the webhook."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._idle[hook.number].set()
            await asyncio.sleep(min(left, webhook_delivery.POLL))
            known = await self._outbox.find(hook)
            if known is None or known.disabled is not None:
                return
            if hook.failing_since is not None and known.failing_since is None:
                return
