"""Deliver messages to one webhook: in order for each page, with retries."""

import logging
import time
from asyncio import gather
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import final

from recrawl.errors import StoreError
from recrawl.hosts import host_of
from recrawl.notify.messages import Backoff, missed_message
from recrawl.notify.outbox import Outbox, Step, groups, present
from recrawl.notify.receiver import Answer, Receiver, SendLimits
from recrawl.store.changes import Cursor
from recrawl.store.webhooks import Message, MessageState, Progress, Undelivered, Webhook

LOGGER = logging.getLogger("recrawl.crawler")

#: Real seconds between two checks for something to send, and at most between two writes of
#: progress.
POLL, SAVE_EVERY = 0.5, 0.25
#: How long to wait after a receiver failed, and after it did not accept a message.
RECEIVER_BACKOFF = Backoff(1.0, 2.0, 300.0)
MESSAGE_BACKOFF = Backoff(5.0, 4.0, 21_600.0)
#: Why a webhook is disabled whose receiver answers 410.
GONE = "the receiver answered 410 Gone"


@final
@dataclass
class _Sent:
    """Results of messages since progress was last written."""

    cursor: Cursor
    received: list[Message] = field(default_factory=list)
    received_at: int | None = None
    undelivered: list[Undelivered] = field(default_factory=list)


@final
class Delivery:
    """Sends messages to one receiver.

    Args:
        outbox: The messages to send.
        hook: The webhook.
        receiver: Its client.
        limits: Limits on sending.
        jitter: Returns a number from 0 to 1, at random.
    """

    def __init__(
        self,
        outbox: Outbox,
        hook: Webhook,
        receiver: Receiver,
        limits: SendLimits,
        jitter: Callable[[], float],
    ) -> None:
        self.hook = hook
        self._outbox = outbox
        self._receiver = receiver
        self._limits = limits
        self._jitter = jitter
        self._failures = 0
        self._received_at = hook.received_at or 0
        self._sent = _Sent(hook.cursor)

    async def go_on(self) -> float | None:
        """Send some of the messages.

        Returns:
            How many seconds to wait, for more messages or after a failure; 0 if there may be more
            now; None if the webhook is disabled or removed.

        Raises:
            StoreError: The store cannot be used; what was not written is sent again.
        """
        known = await self._outbox.find(self.hook)
        if known is None or known.disabled is not None:
            return None
        if known.failing_since is None:
            # A user may have enabled it again.
            self._failures = 0
        self.hook, steps = await self._outbox.next_steps(known, self._failures)
        self._sent = _Sent(self.hook.cursor)
        if self.hook.missed:
            return await self._send_missed()
        return await self._send(steps) if steps else POLL

    async def _send_missed(self) -> float | None:
        answer = await self._receiver.send(missed_message(self.hook, present()))
        if answer.error is None:
            await self._outbox.clear_missed(self.hook)
            self._note_success()
        return await self._end_of_round([answer])

    async def _send(self, steps: Sequence[Step]) -> float | None:
        """Send messages up to the first failure."""
        saved = time.monotonic()
        answers: list[Answer] = []
        try:
            for group in groups(steps, self._limits.connections):
                answers = await self._send_group(group)
                if any(answer.error is not None for answer in answers):
                    break
                if time.monotonic() - saved > SAVE_EVERY:
                    await self._save()
                    saved = time.monotonic()
            return await self._end_of_round(answers)
        except BaseException:
            # Also if the crawl ends meanwhile: what was accepted is not sent again.
            with suppress(StoreError):
                await self._save()
            raise

    async def _send_group(self, group: Sequence[Step]) -> list[Answer]:
        chosen = [step for step in group if step.held is None]
        answers = await gather(*(self._receiver.send(step.message) for step in chosen))
        now = present()
        for step, answer in zip(chosen, answers, strict=True):
            if answer.error is None:
                self._sent.received.append(step.message)
                self._sent.received_at = now
        for step, answer in zip(chosen, answers, strict=True):
            if answer.error is not None:
                self._sent.undelivered.append(self._failed(step.message, answer, now))
        for step in group:
            if step.held is not None:
                tried = now if step.held is MessageState.FAILED else None
                message = replace(step.message, tried_at=tried)
                self._sent.undelivered.append(Undelivered(message, 0, step.held))
            if step.cursor is not None:
                self._sent.cursor = step.cursor
        if self._sent.received_at is not None:
            self._note_success()
        return list(answers)

    def _note_success(self) -> None:
        self._received_at = present()
        if self._failures:
            LOGGER.info("webhook %d: %s is working again", self.hook.number, host_of(self.hook.url))
        self._failures = 0
        self.hook = replace(self.hook, failing_since=None, error=None)

    def _failed(self, message: Message, answer: Answer, now: int) -> Undelivered:
        """Return the new state of a message that was not accepted."""
        if answer.is_gone:
            return Undelivered(replace(message, error=answer.error), 0)
        # While the receiver accepts nothing, no message is to blame.
        counts = message.tried_at is None or message.tried_at < self._received_at
        attempts = message.attempts + counts
        tried = replace(message, attempts=attempts, tried_at=now, error=answer.error)
        if attempts >= self._limits.attempts:
            LOGGER.warning(
                "webhook %d: gave up a message about %s after %d attempts: %s",
                self.hook.number,
                message.url,
                attempts,
                answer.error,
            )
            return Undelivered(tried, 0, MessageState.FAILED)
        wait = MESSAGE_BACKOFF.seconds(attempts, self._jitter())
        return Undelivered(tried, now + round(wait * 1e6))

    async def _end_of_round(self, answers: Sequence[Answer]) -> float | None:
        """Write progress; return how long to wait, None if the receiver wants no more messages."""
        errors = [answer for answer in answers if answer.error is not None]
        if not errors:
            await self._save()
            return 0.0
        self._failures += 1
        worst = errors[-1]
        since = self.hook.failing_since or present()
        self.hook = replace(self.hook, failing_since=since, error=worst.error)
        await self._save()
        where = host_of(self.hook.url)
        if any(answer.is_gone for answer in errors):
            LOGGER.warning(
                "webhook %d: %s wants no more messages (410 Gone)", self.hook.number, where
            )
            await self._outbox.disable(self.hook, GONE)
            return None
        if self._failures == 1:
            LOGGER.warning("webhook %d: %s: %s; retrying", self.hook.number, where, worst.error)
        wait = RECEIVER_BACKOFF.seconds(self._failures, self._jitter())
        asked = max(answer.retry_after for answer in errors)
        return max(wait, min(asked, RECEIVER_BACKOFF.maximum))

    async def _save(self) -> None:
        sent = self._sent
        progress = Progress(
            sent.cursor,
            sent.received,
            sent.received_at,
            sent.undelivered,
            self.hook.failing_since,
            self.hook.error,
        )
        await self._outbox.note(self.hook, progress)
        self._sent = _Sent(sent.cursor)
