"""Webhooks: every change is received, in order for each page, whatever the receiver does."""

import asyncio
import logging
import random
import subprocess
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ports import silent_port
from store.made_up import HOUR, NOON, address, found, gone, new_pages
from webhook_server import Received, Receiver, receiving, verified

from recrawl.errors import ArgumentError
from recrawl.http.access import Proxy
from recrawl.notify import delivery as webhook_delivery
from recrawl.notify import webhooks as webhook_sender
from recrawl.notify.messages import Backoff, new_secret, signed
from recrawl.notify.outbox import Step, groups
from recrawl.notify.receiver import Receiver as Client
from recrawl.notify.receiver import SendLimits
from recrawl.notify.webhooks import WebhookSender
from recrawl.store.changes import Cursor
from recrawl.store.rows import Retention
from recrawl.store.sqlite import SqliteStore
from recrawl.store.webhooks import Message, MessageState, Webhook

#: Long enough for a busy machine, unless the test is about receivers that do not answer.
LIMITS = SendLimits(timeout=600.0)


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_delivery, "POLL", 0.001)
    for name in ("RECEIVER_BACKOFF", "MESSAGE_BACKOFF"):
        monkeypatch.setattr(webhook_delivery, name, Backoff(0.001, 2.0, 0.004))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore.open(tmp_path / "recrawl.db", create=True) as opened:
        opened.add(new_pages(4), at=NOON)
        yield opened
        assert opened.check() == []


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as one:
        yield one


def change(store: SqliteStore, hours: int, pages: int = 4) -> None:
    known = store.pages(range(pages)).values()
    store.record([found(page, b"%d" % hours, NOON + hours * HOUR) for page in known])


def add(store: SqliteStore, receiver: Receiver, path: str = "/a", *, private: bool = True) -> int:
    secret = receiver.secrets[path] = new_secret()
    url = f"{receiver.url}{path}"
    return store.webhooks.add(url, secret, Cursor(0), NOON, allow_private=private)


def known(store: SqliteStore, number: int) -> Webhook:
    hook = store.webhooks.find(number)
    assert hook is not None
    return hook


def send_until(
    store: SqliteStore,
    done: Callable[[], bool],
    limits: SendLimits = LIMITS,
    retention: Retention = Retention(),  # noqa: B008 - frozen
) -> None:
    """Send until something is so, however long that takes."""

    async def main() -> None:
        with SqliteStore.open(path_of(store)) as other:
            sender = WebhookSender(other, "recrawl/test", limits, retention=retention)
            async with sender.running():
                while not done():  # noqa: ASYNC110 - a thread knows no events
                    await asyncio.sleep(0.005)

    asyncio.run(main())


def path_of(store: SqliteStore) -> str:
    return store._database.path  # noqa: SLF001


def all_are_sent(store: SqliteStore) -> Callable[[], bool]:
    """Whether nothing is left to send to any webhook."""
    end = str(store.feed.end())

    def done() -> bool:
        hooks = store.webhooks.all()
        return all(str(hook.cursor) == end and not hook.waiting for hook in hooks)

    return done


def check_order(received: list[Received]) -> None:
    """Check that no message about a page overtook another."""
    by_page = defaultdict[str, list[int]](list)
    for one in received:
        if one.serial not in by_page[one.data["url"]]:
            by_page[one.data["url"]].append(one.serial)
    assert all(serials == sorted(serials) for serials in by_page.values())


def test_signatures_are_those_of_standard_webhooks() -> None:
    secret, name = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek"
    headers = signed(secret, name, 1614265330, b'{"test": 2432232314}')
    # The example of the specification's reference libraries.
    expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert headers["webhook-signature"] == expected
    assert headers["webhook-id"] == name
    assert headers["webhook-timestamp"] == "1614265330"


def test_a_signature_is_for_one_message_at_one_time() -> None:
    import time

    secret, now = new_secret(), int(time.time())
    headers = dict(signed(secret, "msg_1", now, b"{}"))
    assert verified(secret, headers, b"{}")
    assert not verified(secret, headers, b"{ }")
    assert not verified(new_secret(), headers, b"{}")
    assert not verified(secret, headers | {"webhook-id": "msg_2"}, b"{}")
    assert not verified(secret, headers | {"webhook-timestamp": str(now + 1)}, b"{}")
    with pytest.raises(ArgumentError, match="damaged"):
        signed("whsec_?", "msg_1", now, b"{}")


@pytest.mark.parametrize(
    ("backoff", "seconds"),
    [
        (webhook_delivery.RECEIVER_BACKOFF, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]),
        (webhook_delivery.MESSAGE_BACKOFF, [5, 20, 80, 320, 1_280, 5_120, 20_480, 21_600]),
    ],
)
def test_pauses_are_what_the_documentation_says(backoff: Backoff, seconds: list[float]) -> None:
    found = [backoff.seconds(failures, jitter=1.0) for failures in range(1, len(seconds) + 1)]
    assert found == seconds


@given(failures=st.integers(0, 10**6), jitter=st.floats(0, 1))
def test_pauses_grow_up_to_a_limit(failures: int, jitter: float) -> None:
    backoff = Backoff(1.0, 2.0, 300.0)
    usual = min(2.0 ** min(max(failures - 1, 0), 100), 300.0)
    assert usual / 2 <= backoff.seconds(failures, jitter) <= usual
    assert backoff.seconds(failures + 1, jitter) >= backoff.seconds(failures, jitter)


@given(urls=st.lists(st.tuples(st.sampled_from("abc"), st.booleans())), size=st.integers(1, 4))
def test_messages_that_are_sent_at_once_are_about_different_pages(
    urls: list[tuple[str, bool]], size: int
) -> None:
    steps = [
        Step(Message(Cursor(number), 0, url, "", b""), held=MessageState.WAITING if held else None)
        for number, (url, held) in enumerate(urls)
    ]
    found = list(groups(steps, size))
    assert [step for group in found for step in group] == steps
    for group in found:
        sent = [step.message.url for step in group if step.held is None]
        assert len(sent) == len(set(sent)) <= size
        assert group


def test_every_change_is_sent_in_order(store: SqliteStore, receiver: Receiver) -> None:
    number = add(store, receiver)
    change(store, 0)
    change(store, 1)
    store.record([gone(store.pages([2])[2], NOON + 2 * HOUR)])
    store.remove([address(1)], at=NOON + 3 * HOUR)
    send_until(store, all_are_sent(store))
    came = receiver.at("/a")
    assert [one.serial for one in came] == list(range(1, 11))
    kinds = [*["page.new"] * 4, *["page.changed"] * 4, "page.gone", "page.removed"]
    assert [one.type for one in came] == kinds
    assert came[9].data["url"] == address(1)
    assert len({one.id for one in came}) == 10
    hook = known(store, number)
    assert (hook.received, hook.waiting, hook.failed, hook.error) == (10, 0, 0, None)


def test_all_pages_there_are_can_come_first(store: SqliteStore, receiver: Receiver) -> None:
    change(store, 0)
    secret = receiver.secrets["/a"] = new_secret()
    cursor = store.feed.start()
    store.webhooks.add(f"{receiver.url}/a", secret, cursor, NOON, allow_private=True)
    change(store, 1)
    send_until(store, all_are_sent(store))
    came = receiver.at("/a")
    assert [one.data["cursor"] for one in came] == [*(f"4.{n}" for n in range(1, 5)), *"5678"]
    assert all("." not in one.id for one in came)


def test_a_receiver_that_is_away_gets_everything_when_it_is_back(
    store: SqliteStore, receiver: Receiver
) -> None:
    number = add(store, receiver)
    change(store, 0)
    change(store, 1)
    # More failures than a message may have: a receiver's outage is no message's fault.
    fails = iter([500] * 20 + [503] * 20)
    receiver.plans["/a"] = lambda _: next(fails, 200)
    send_until(store, all_are_sent(store), replace(LIMITS, attempts=3))
    accepted = receiver.accepted("/a")
    assert sorted({one.serial for one in accepted}) == list(range(1, 9))
    check_order(accepted)
    assert known(store, number).failed == 0
    # The id is the same at every attempt.
    assert len({one.id for one in receiver.at("/a")}) == 8
    assert len(receiver.at("/a")) == 48


def test_a_message_that_is_not_accepted_is_given_up_and_those_behind_it_wait(
    store: SqliteStore, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    number = add(store, receiver)
    change(store, 0)
    receiver.plans["/a"] = lambda message: 422 if message["data"]["url"] == address(1) else 200

    hours = iter(range(1, 1_000))

    def given_up() -> bool:
        hook = known(store, number)
        if not hook.failed and hook.cursor == store.feed.end():
            # A message counts as bad only while others are accepted.
            change(store, next(hours))
        return hook.failed > 0

    with caplog.at_level(logging.WARNING, "recrawl.crawler"):
        send_until(store, given_up, replace(LIMITS, attempts=3))
    assert f"gave up a message about {address(1)} after 3 attempts" in caplog.text
    change(store, next(hours))
    send_until(store, all_are_sent(store), replace(LIMITS, attempts=3))
    serials = [change.cursor.serial for change in store.feed.read(Cursor(0), 10**6)]
    others = {one.serial for one in receiver.accepted("/a")}
    failed = store.webhooks.failed(number, 10**6)
    assert {one.url for one in failed} == {address(1)}
    assert sorted([*others, *(one.cursor.serial for one in failed)]) == serials
    assert failed[0].error == "the receiver answered 422"
    assert failed[0].attempts == 3
    assert [one.serial for one in receiver.at("/a") if one.status == 422] == [2, 2, 2]
    # Sent again, they come in order.
    del receiver.plans["/a"]
    assert store.webhooks.resend(number) == len(failed)
    send_until(store, all_are_sent(store))
    assert {one.serial for one in receiver.accepted("/a")} == set(serials)
    check_order(receiver.accepted("/a"))


def test_a_receiver_that_is_gone_gets_nothing_more(store: SqliteStore, receiver: Receiver) -> None:
    number = add(store, receiver)
    change(store, 0)
    receiver.plans["/a"] = lambda message: 410 if message["data"]["cursor"] == "3" else 200
    send_until(store, lambda: known(store, number).disabled is not None)
    assert known(store, number).disabled == "the receiver answered 410 Gone"
    change(store, 1)
    other = add(store, receiver, "/b")
    send_until(store, lambda: known(store, other).received == 8)
    assert [one.serial for one in receiver.at("/a")] == [1, 2, 3]
    # Enabled, it goes on where it was.
    del receiver.plans["/a"]
    store.webhooks.enable(number)
    send_until(store, all_are_sent(store))
    assert [one.serial for one in receiver.accepted("/a")] == list(range(1, 9))


def test_a_receiver_learns_how_many_changes_it_missed(
    tmp_path: Path, receiver: Receiver, store: SqliteStore
) -> None:
    number = add(store, receiver)
    with SqliteStore.open(tmp_path / "recrawl.db", retention=Retention(changes=3)) as other:
        change(other, 0)
        change(other, 1)
    fails = iter([500, 500])
    receiver.plans["/a"] = lambda _: next(fails, 200)
    send_until(store, all_are_sent(store))
    accepted = receiver.accepted("/a")
    assert accepted[0].type == "changes.missed"
    assert accepted[0].data == {"missed": 5, "cursor": "5"}
    assert [one.serial for one in accepted[1:]] == [6, 7, 8]
    assert known(store, number).missed == 0


def test_messages_that_failed_long_ago_are_dropped_and_counted_as_missed(
    store: SqliteStore, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = add(store, receiver)
    change(store, 0)
    receiver.plans["/a"] = lambda message: 422 if message["data"]["url"] == address(1) else 200
    send_until(store, lambda: known(store, number).failed > 0, replace(LIMITS, attempts=1))
    monkeypatch.setattr(webhook_sender, "CLEAN_EVERY", 0.0)
    del receiver.plans["/a"]
    missed = lambda: receiver.at("/a")[-1].type == "changes.missed"  # noqa: E731
    send_until(store, missed, retention=Retention(time=0))
    assert receiver.at("/a")[-1].data["missed"] == 1
    assert known(store, number).failed == 0


def test_a_slow_receiver_holds_up_no_other(store: SqliteStore, receiver: Receiver) -> None:
    slow, fast = add(store, receiver, "/slow"), add(store, receiver, "/fast")
    receiver.plans["/slow"] = lambda _: None
    change(store, 0)
    send_until(store, lambda: bool(receiver.at("/slow")) and known(store, fast).received == 4)
    assert known(store, slow).received == 0
    assert [one.serial for one in receiver.at("/slow")] == [1]


def test_a_receiver_that_does_not_answer_is_tried_again(
    store: SqliteStore, receiver: Receiver
) -> None:
    number = add(store, receiver)
    change(store, 0)
    hangs = iter([200, None])
    receiver.plans["/a"] = lambda _: next(hangs, 200)
    send_until(store, all_are_sent(store), SendLimits(timeout=1.0, attempts=10**6))
    assert {one.serial for one in receiver.accepted("/a")} == {1, 2, 3, 4}
    assert known(store, number).failed == 0


def test_some_are_sent_at_once_if_allowed(store: SqliteStore, receiver: Receiver) -> None:
    add(store, receiver)
    change(store, 0)
    change(store, 1)
    # Four requests are answered only when all of them are there.
    together = threading.Barrier(4)
    receiver.before = lambda: together.wait(600.0)
    send_until(store, all_are_sent(store), replace(LIMITS, connections=4))
    assert {one.serial for one in receiver.at("/a")} == set(range(1, 9))
    check_order(receiver.at("/a"))


def test_webhooks_may_be_added_and_removed_meanwhile(
    store: SqliteStore, receiver: Receiver
) -> None:
    first = add(store, receiver, "/a")
    change(store, 0)
    state = {"added": False}

    def done() -> bool:
        if len(receiver.at("/a")) == 4 and not state["added"]:
            store.webhooks.remove(first)
            change(store, 1)
            add(store, receiver, "/b")
            state["added"] = True
        return len(receiver.at("/b")) == 8

    send_until(store, done)
    assert len(receiver.at("/a")) <= 8
    assert [hook.url for hook in store.webhooks.all()] == [f"{receiver.url}/b"]


@pytest.mark.parametrize("is_proxied", [False, True])
def test_private_addresses_are_not_sent_to_unless_allowed(
    store: SqliteStore, receiver: Receiver, *, is_proxied: bool
) -> None:
    hook = known(store, add(store, receiver, private=False))
    proxy = Proxy(receiver.url) if is_proxied else None

    async def send() -> str | None:
        client = Client(hook, "recrawl/test", LIMITS, proxy)
        try:
            return (await client.send(Message(Cursor(1), 0, "", "msg_1", b"{}"))).error
        finally:
            await client.close()

    assert asyncio.run(send()) == (
        f"127.0.0.1:{receiver.port} is a private address; "
        "`recrawl webhook add --allow-private` allows it"
    )
    assert receiver.received == []


def test_redirects_are_not_followed(store: SqliteStore, receiver: Receiver) -> None:
    number = add(store, receiver)
    change(store, 0)
    receiver.location = f"{receiver.url}/b"
    receiver.plans["/a"] = lambda _: 307
    send_until(store, lambda: known(store, number).error is not None)
    answered = "the receiver answered 307, a redirect, which is not followed"
    assert known(store, number).error == answered
    assert receiver.at("/b") == []


def test_a_receiver_may_ask_for_time(
    store: SqliteStore, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    number = add(store, receiver)
    change(store, 0)

    async def pause(_sender: WebhookSender, _hook: Webhook, seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    monkeypatch.setattr(webhook_delivery, "RECEIVER_BACKOFF", Backoff(1.0, 2.0, 300.0))
    monkeypatch.setattr(WebhookSender, "_pause", pause)
    fails = iter([503, 429])
    receiver.plans["/a"] = lambda _: next(fails, 200)
    monkeypatch.setattr(webhook_delivery, "POLL", 0.0005)
    with monkeypatch.context() as patch:
        from recrawl.notify import receiver as webhook_receiver

        patch.setattr(webhook_receiver, "retry_after", lambda *_: 120.0)
        send_until(store, lambda: known(store, number).received == 4)
    assert [pause for pause in pauses if pause > 0.001] == [120.0, 120.0]


def test_secrets_are_not_shown(
    store: SqliteStore, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    number = add(store, receiver, "/path-of-a-secret")
    change(store, 0)
    fails = iter([500])
    receiver.plans["/path-of-a-secret"] = lambda _: next(fails, 200)
    with caplog.at_level(logging.DEBUG):
        send_until(store, all_are_sent(store))
    secret = known(store, number).secret
    assert len(caplog.records) > 4
    assert secret not in caplog.text
    assert "path-of-a-secret" not in caplog.text
    assert secret not in repr(known(store, number))


def test_openssl_finds_the_same_signature(tmp_path: Path) -> None:
    import base64
    import shutil

    if (openssl := shutil.which("openssl")) is None:
        pytest.skip("there is no openssl")
    secret = new_secret()
    key = base64.b64decode(secret.removeprefix("whsec_")).hex()
    content = tmp_path / "content"
    content.write_bytes(b'msg_1.17.{"a": "\xc3\xa9"}')
    command = [openssl, "dgst", "-sha256", "-mac", "HMAC", "-macopt", f"hexkey:{key}", "-binary"]
    digest = subprocess.run([*command, str(content)], capture_output=True, check=True).stdout
    headers = signed(secret, "msg_1", 17, '{"a": "é"}'.encode())
    assert headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"


def test_nothing_listens(store: SqliteStore, receiver: Receiver) -> None:
    with silent_port() as port:
        url = f"http://127.0.0.1:{port}/"
        number = store.webhooks.add(url, new_secret(), Cursor(0), NOON, allow_private=True)
        change(store, 0)
        send_until(store, lambda: known(store, number).error is not None)
    hook = known(store, number)
    assert hook.error == "no connection: refused"
    assert hook.failing_since is not None
    assert receiver.received == []


@pytest.mark.parametrize("seed", range(4))
def test_whatever_fails_every_change_comes_in_order(
    store: SqliteStore, receiver: Receiver, seed: int
) -> None:
    """Several at once, pages that fail for a while, messages given up and sent again."""
    rng = random.Random(seed)  # noqa: S311 - a test
    number = add(store, receiver)
    limits = SendLimits(connections=3, timeout=600.0, attempts=2)
    is_well = threading.Event()

    def plan(_message: dict[str, Any]) -> int:
        return 200 if is_well.is_set() else rng.choice([200, 200, 200, 422, 503])

    receiver.plans["/a"] = plan
    for hours in range(8):
        change(store, hours)
        enough = len(receiver.received) + rng.randrange(1, 8)
        # With another sender each time, as after a restart.
        send_until(
            store,
            lambda enough=enough: len(receiver.received) >= enough or all_are_sent(store)(),  # type: ignore[misc]
            limits,
        )
        store.webhooks.resend(number)
    is_well.set()

    def done() -> bool:
        store.webhooks.resend(number)
        hook = known(store, number)
        return all_are_sent(store)() and not hook.failed

    send_until(store, done, limits)
    accepted = receiver.accepted("/a")
    assert {one.serial for one in accepted} == set(range(1, 33))
    check_order(accepted)
