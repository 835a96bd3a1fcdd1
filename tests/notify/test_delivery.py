"""Delivering to one webhook: how long it waits after failures, and what becomes of messages."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from recrawl.errors import StoreError
from recrawl.notify import delivery as webhook_delivery
from recrawl.notify.delivery import GONE, Delivery
from recrawl.notify.messages import Backoff
from recrawl.notify.outbox import Step, groups
from recrawl.notify.receiver import Answer, SendLimits
from recrawl.store.changes import Cursor
from recrawl.store.webhooks import Message, MessageState, Progress, Webhook

if TYPE_CHECKING:
    from recrawl.notify.outbox import Outbox
    from recrawl.notify.receiver import Receiver

SECOND = 1_000_000
NOW = 1_000_000 * SECOND
HOOK = Webhook(7, "https://r.example/in", "key", "secret", False, 0, Cursor(0))  # noqa: FBT003
OK, BUSY = Answer(), Answer("busy")


def message(number: int, **changed: Any) -> Message:  # noqa: ANN401
    plain = Message(Cursor(number), number, f"https://a.example/{number}", f"m{number}", b"{}")
    return replace(plain, **changed)


def new(number: int) -> Step:
    """Make a message about a change that follows in the feed."""
    return Step(message(number), Cursor(number))


class FakeOutbox:
    """The outbox, without a store: each round has its steps."""

    def __init__(self, *rounds: Sequence[Step], hook: Webhook = HOOK) -> None:
        self.rounds = list(rounds)
        self.hook: Webhook | None = hook
        self.noted = list[Progress]()
        self.failures = list[int]()
        self.disabled = list[str]()
        self.is_broken = False

    async def find(self, _hook: Webhook) -> Webhook | None:
        return self.hook

    async def next_steps(self, hook: Webhook, failures: int) -> tuple[Webhook, list[Step]]:
        self.failures.append(failures)
        return hook, [] if hook.missed else list(self.rounds.pop(0))

    async def note(self, _hook: Webhook, progress: Progress) -> None:
        if self.is_broken:
            raise StoreError("no disk")
        assert self.hook is not None
        self.noted.append(progress)
        self.hook = replace(self.hook, failing_since=progress.failing_since, error=progress.error)

    async def clear_missed(self, hook: Webhook) -> None:
        self.hook = replace(hook, missed=0)

    async def disable(self, _hook: Webhook, reason: str) -> None:
        self.disabled.append(reason)


class FakeReceiver:
    """A receiver that gives answers in order, the last of them for ever."""

    def __init__(self, *answers: Answer | BaseException) -> None:
        self.answers = list(answers)
        self.sent = list[Message]()

    async def send(self, one: Message) -> Answer:
        self.sent.append(one)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.fixture(autouse=True)
def _time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_delivery, "present", lambda: NOW)


def delivery_of(
    outbox: FakeOutbox,
    receiver: FakeReceiver,
    limits: SendLimits = SendLimits(),  # noqa: B008
) -> Delivery:
    """Make a delivery without luck: it waits for as long as it may."""
    assert outbox.hook is not None
    made = cast("Outbox", outbox), outbox.hook, cast("Receiver", receiver)
    return Delivery(*made, limits, lambda: 1.0)


def waits_of(delivery: Delivery, rounds: int) -> list[float | None]:
    async def main() -> list[float | None]:
        return [await delivery.go_on() for _ in range(rounds)]

    return asyncio.run(main())


def test_messages_that_are_accepted_are_noted_and_there_may_be_more() -> None:
    outbox, receiver = FakeOutbox([new(1), new(2)], []), FakeReceiver(OK)
    assert waits_of(delivery_of(outbox, receiver), 2) == [0.0, 0.5]
    assert [one.id for one in receiver.sent] == ["m1", "m2"]
    (noted,) = outbox.noted
    assert noted == Progress(Cursor(2), [message(1), message(2)], NOW, [], None, None)


def test_a_receiver_that_fails_is_left_alone_twice_as_long_each_time_up_to_five_minutes() -> None:
    outbox = FakeOutbox(*([new(1)] for _ in range(12)))
    waits = waits_of(delivery_of(outbox, FakeReceiver(BUSY)), 12)
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]
    assert outbox.failures == [*range(12)]
    assert {(one.failing_since, one.error) for one in outbox.noted} == {(NOW, "busy")}


@pytest.mark.parametrize(("asked", "wait"), [(0.5, 1.0), (30.0, 30.0), (9_000.0, 300.0)])
def test_a_receiver_may_ask_for_a_longer_wait(asked: float, wait: float) -> None:
    outbox = FakeOutbox([new(1), new(2)])
    receiver = FakeReceiver(BUSY, Answer("later", asked), OK)
    limits = SendLimits(connections=2)
    assert waits_of(delivery_of(outbox, receiver, limits), 1) == [wait]


def test_a_receiver_that_works_again_is_not_failing() -> None:
    outbox, receiver = FakeOutbox([new(1)], [new(1)], [new(2)]), FakeReceiver(BUSY, OK, BUSY)
    assert waits_of(delivery_of(outbox, receiver), 3) == [1.0, 0.0, 1.0]
    assert outbox.failures == [0, 1, 0]
    assert [one.failing_since for one in outbox.noted] == [NOW, None, NOW]


def test_a_webhook_that_a_user_enabled_again_starts_anew() -> None:
    outbox = FakeOutbox([new(1)], [new(1)], [new(1)])
    delivery = delivery_of(outbox, FakeReceiver(BUSY))
    assert waits_of(delivery, 2) == [1.0, 2.0]
    outbox.hook = HOOK
    assert waits_of(delivery, 1) == [1.0]


def test_failures_are_since_the_first_of_them() -> None:
    outbox = FakeOutbox([new(1)], hook=replace(HOOK, failing_since=NOW - 5, error="before"))
    waits_of(delivery_of(outbox, FakeReceiver(BUSY)), 1)
    assert (outbox.noted[0].failing_since, outbox.noted[0].error) == (NOW - 5, "busy")


def test_a_webhook_that_was_removed_or_disabled_is_not_served() -> None:
    receiver = FakeReceiver(OK)
    outbox = FakeOutbox(hook=replace(HOOK, disabled="by hand"))
    assert waits_of(delivery_of(outbox, receiver), 1) == [None]
    removed = FakeOutbox()
    delivery = delivery_of(removed, receiver)
    removed.hook = None
    assert waits_of(delivery, 1) == [None]
    assert receiver.sent == []


def test_a_receiver_that_is_gone_gets_nothing_more_and_the_message_waits() -> None:
    outbox, receiver = FakeOutbox([new(1), new(2)]), FakeReceiver(Answer("410", is_gone=True))
    assert waits_of(delivery_of(outbox, receiver), 1) == [None]
    assert outbox.disabled == [GONE]
    assert len(receiver.sent) == 1
    ((undelivered,),) = [one.undelivered for one in outbox.noted]
    assert undelivered.message == message(1, error="410")
    assert (undelivered.next_at, undelivered.state) == (0, MessageState.WAITING)


def test_nothing_is_sent_after_a_failure() -> None:
    outbox, receiver = FakeOutbox([new(1), new(2), new(3)]), FakeReceiver(OK, BUSY, OK)
    waits_of(delivery_of(outbox, receiver), 1)
    assert [one.id for one in receiver.sent] == ["m1", "m2"]
    assert (outbox.noted[0].cursor, outbox.noted[0].received) == (Cursor(2), [message(1)])


def retried(attempts: int, tried_at: int | None, hook: Webhook = HOOK) -> tuple[int, float, bool]:
    """Let a message fail; return its attempts, when it is retried, and whether it is given up."""
    step = Step(message(1, attempts=attempts, tried_at=tried_at))
    outbox = FakeOutbox([step], hook=hook)
    waits_of(delivery_of(outbox, FakeReceiver(BUSY)), 1)
    ((found,),) = [one.undelivered for one in outbox.noted]
    assert (found.message.tried_at, found.message.error) == (NOW, "busy")
    after = (found.next_at - NOW) / SECOND
    return found.message.attempts, after, found.state is MessageState.FAILED


def test_a_message_is_retried_later_and_later_and_then_given_up() -> None:
    hook = replace(HOOK, received_at=NOW - 1)
    found = [retried(attempts, NOW - 2, hook) for attempts in range(7)]
    assert [attempts for attempts, _, _ in found] == [*range(1, 8)]
    # Up to six hours.
    assert [after for _, after, _ in found] == [5, 20, 80, 320, 1_280, 5_120, 20_480]
    assert not any(is_given_up for _, _, is_given_up in found)
    attempts, _, is_given_up = retried(7, NOW - 2, hook)
    assert (attempts, is_given_up) == (8, True)


def test_while_a_receiver_accepts_nothing_no_message_is_to_blame() -> None:
    hook = replace(HOOK, received_at=NOW - 5)
    assert retried(3, NOW - 4, hook)[0] == 3
    assert retried(3, NOW - 5, hook)[0] == 3
    assert retried(3, NOW - 6, hook)[0] == 4
    # The first attempt always counts, and none after it if nothing was ever accepted.
    assert retried(0, None)[0] == 1
    assert retried(1, 1)[0] == 1


def test_a_message_is_to_blame_if_another_was_accepted_at_the_same_time() -> None:
    steps = [Step(message(1, attempts=2, tried_at=NOW - 1)), Step(message(2))]
    outbox = FakeOutbox(steps)
    limits = SendLimits(connections=2)
    waits_of(delivery_of(outbox, FakeReceiver(BUSY, OK), limits), 1)
    (noted,) = outbox.noted
    assert [one.message.attempts for one in noted.undelivered] == [2]
    # From then on.
    outbox.rounds = [[Step(message(1, attempts=2, tried_at=NOW - 1))]]
    delivery = delivery_of(FakeOutbox([new(2)], steps[:1]), FakeReceiver(OK, BUSY))
    waits_of(delivery, 2)
    assert cast("FakeOutbox", delivery._outbox).noted[1].undelivered[0].message.attempts == 3  # noqa: SLF001


def test_messages_behind_one_that_waits_are_stored_and_not_sent() -> None:
    held = [new(n)._replace(held=state) for n, state in zip((2, 3), MessageState, strict=True)]
    outbox, receiver = FakeOutbox([new(1), *held]), FakeReceiver(OK)
    assert waits_of(delivery_of(outbox, receiver), 1) == [0.0]
    assert [one.id for one in receiver.sent] == ["m1"]
    (noted,) = outbox.noted
    assert noted.cursor == Cursor(3)
    waiting, failed = noted.undelivered
    assert (waiting.message.tried_at, waiting.next_at, waiting.state) == (None, 0, held[0].held)
    # One that will not be tried counts as failed now, from when it is kept for a while.
    assert (failed.message.tried_at, failed.next_at, failed.state) == (NOW, 0, held[1].held)


def test_a_receiver_is_told_first_what_it_has_missed() -> None:
    outbox, receiver = FakeOutbox([new(1)], hook=replace(HOOK, missed=3)), FakeReceiver(BUSY, OK)
    assert waits_of(delivery_of(outbox, receiver), 2) == [1.0, 0.0]
    assert outbox.hook is not None
    assert (outbox.hook.missed, outbox.failures) == (0, [0, 1])
    assert b'"missed": 3' in receiver.sent[1].body
    assert outbox.noted[1].failing_since is None


@pytest.mark.parametrize("is_broken", [False, True])
def test_what_was_accepted_is_noted_even_if_the_crawl_ends_meanwhile(is_broken: bool) -> None:
    outbox = FakeOutbox([new(1), new(2)])
    outbox.is_broken = is_broken
    delivery = delivery_of(outbox, FakeReceiver(OK, asyncio.CancelledError()))
    with pytest.raises(asyncio.CancelledError):
        waits_of(delivery, 1)
    assert [one.received for one in outbox.noted] == ([] if is_broken else [[message(1)]])


def test_progress_is_written_four_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 10.25, 10.26, 10.3, 10.5, 10.55])
    monkeypatch.setattr(webhook_delivery, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    outbox = FakeOutbox([new(number) for number in range(1, 5)])
    waits_of(delivery_of(outbox, FakeReceiver(OK)), 1)
    # After the second, and at the end.
    assert [len(one.received) for one in outbox.noted] == [2, 2]
    assert [one.cursor for one in outbox.noted] == [Cursor(2), Cursor(4)]


@pytest.mark.parametrize(
    ("failures", "jitter", "seconds"),
    [(0, 1.0, 3.0), (1, 1.0, 3.0), (2, 1.0, 6.0), (3, 0.0, 6.0), (3, 0.5, 9.0), (9_999, 0.0, 50.0)],
)
def test_a_wait_is_between_half_of_the_usual_one_and_all_of_it(
    failures: int, jitter: float, seconds: float
) -> None:
    assert Backoff(3.0, 2.0, 100.0).seconds(failures, jitter) == seconds


def test_groups_are_of_different_pages_and_as_large_as_there_are_connections() -> None:
    again = Step(message(9, url=message(2).url))
    held = new(4)._replace(held=MessageState.WAITING)
    steps = [new(1), new(2), again, held, new(5), new(6)]
    assert list(groups(steps, 2)) == [steps[:2], steps[2:5], steps[5:]]
    assert list(groups(steps[:2], 1)) == [steps[:1], steps[1:2]]
    assert list(groups([], 1)) == []
