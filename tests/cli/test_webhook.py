"""`recrawl webhook`: who is sent every change."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.crawling_site import move_to, run
from cli.refusing import refused
from store.made_up import HOUR, NOON, address, found, new_pages
from typer.testing import CliRunner
from webhook_server import Receiver, receiving

from recrawl.cli.app import app
from recrawl.store.changes import Cursor
from recrawl.store.sqlite import SqliteStore
from recrawl.store.webhooks import Message, MessageState, Progress, Undelivered


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_to(tmp_path, monkeypatch)
    with SqliteStore.open("recrawl.db", create=True) as store:
        store.add(new_pages(2), at=NOON)
        pages = store.pages(range(2)).values()
        store.record([found(page, b"one", NOON + HOUR) for page in pages])


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as one:
        yield one


def secret_in(output: str) -> str:
    secret = re.search(r"whsec_\S+", output)
    assert secret is not None
    return secret[0]


def give_up(number: int) -> None:
    """Have a message fail for good, and one behind it."""
    with SqliteStore.open("recrawl.db") as store:
        body = json.dumps({"type": "page.new", "data": {"url": address(0)}}).encode()
        first = Message(
            Cursor(1), 0, address(0), "msg_1", body, 8, NOON, "the receiver answered 500"
        )
        second = Message(Cursor(2), 1, address(0), "msg_2", body)
        undelivered = [Undelivered(second, 0), Undelivered(first, 0, MessageState.FAILED)]
        store.webhooks.note(number, Progress(Cursor(2), undelivered=undelivered))


def test_the_secret_is_shown_once() -> None:
    added = run("webhook", "add", "https://Example.org/changes?b=2&a=1")
    assert added.stdout.startswith("Webhook 1 added: https://example.org/changes?b=2&a=1\n")
    secret = secret_in(added.stdout)
    listed = [run("webhook", "list").output, run("webhook", "list", "--format", "json").output]
    assert all("https://example.org/changes?b=2&a=1" in text for text in listed)
    assert not any(secret in text for text in listed)
    with SqliteStore.open("recrawl.db") as store:
        (hook,) = store.webhooks.all()
    assert hook.secret == secret
    assert not hook.allow_private
    assert hook.cursor == Cursor(2)


@pytest.mark.parametrize(
    ("since", "cursor"), [("1", Cursor(1)), ("start", Cursor(2, 0)), ("2026-01-01", Cursor(0))]
)
def test_it_may_begin_earlier(since: str, cursor: Cursor) -> None:
    run("webhook", "add", "https://example.org/", "--since", since)
    with SqliteStore.open("recrawl.db") as store:
        assert store.webhooks.all()[0].cursor == cursor


def test_a_list_says_how_webhooks_are() -> None:
    assert run("webhook", "list").output.startswith("There are no webhooks;")
    run("webhook", "add", "https://example.org/a", "--since", "0")
    run("webhook", "add", "https://example.org/b")
    with SqliteStore.open("recrawl.db") as store:
        store.webhooks.disable(2, "the receiver answered 410 Gone")
    give_up(1)
    (first, second) = json.loads(run("webhook", "list", "--format", "json").stdout)
    assert (first["webhook"], first["enabled"], first["failed"], first["to_send"]) == (
        1,
        True,
        2,
        0,
    )
    assert (second["enabled"], second["disabled"]) == (False, "the receiver answered 410 Gone")
    assert "disabled: the receiver answered 410 Gone" in run("webhook", "list").stdout
    run("webhook", "enable", "https://example.org/b")
    assert "disabled" not in run("webhook", "list").stdout
    run("webhook", "remove", "1")
    assert "https://example.org/a" not in run("webhook", "list").stdout


def test_pages_that_are_listed_first_are_to_be_sent_too() -> None:
    run("webhook", "add", "https://example.org/", "--since", "start")
    with SqliteStore.open("recrawl.db") as store:
        pages = store.feed.read(store.feed.start(), 1_000)
        assert pages
        (first,) = json.loads(run("webhook", "list", "--format", "json").stdout)
        assert first["to_send"] == len(pages) == store.feed.count_after(store.feed.start())
        assert store.feed.count_after(pages[0].cursor) == len(pages) - 1
        assert (
            store.feed.count_after(pages[-1].cursor)
            == store.feed.count_after(store.feed.end())
            == 0
        )


def test_messages_that_were_given_up_are_listed_and_sent_again() -> None:
    assert run("webhook", "failed").stdout == "No message was given up.\n"
    run("webhook", "add", "https://example.org/a")
    give_up(1)
    table = run("webhook", "failed", "1").stdout
    assert "the receiver answered 500" in table
    assert "held back behind another message" in table
    listed = json.loads(run("webhook", "failed", "--format", "json").stdout)
    assert [one["id"] for one in listed] == ["msg_1", "msg_2"]
    assert listed[0]["message"]["type"] == "page.new"
    assert run("webhook", "resend", "--page", address(1)).stdout == "0 messages to send again.\n"
    assert run("webhook", "resend", "--page", address(0)).stdout == "2 messages to send again.\n"
    with SqliteStore.open("recrawl.db") as store:
        (hook,) = store.webhooks.all()
        assert (hook.failed, hook.waiting) == (0, 2)
        # Only the first: the other one waits behind it.
        (due,) = store.webhooks.due(1, NOON, 10)
    assert due.id == "msg_1"


def test_a_test_says_what_came_of_it(receiver: Receiver) -> None:
    url = f"{receiver.url}/a"
    secret = secret_in(run("webhook", "add", url, "--allow-private").stdout)
    receiver.secrets["/a"] = secret
    assert run("webhook", "test", url).stdout == "Webhook 1: the test was accepted.\n"
    assert [one.type for one in receiver.received] == ["webhook.test"]
    receiver.plans["/a"] = lambda _: 404
    failed = CliRunner().invoke(app, ["webhook", "test", "1"])
    assert failed.exit_code == 1
    assert failed.stderr == (
        "recrawl: webhook 1: the test was not accepted: the receiver answered 404\n"
    )
    assert "is a private address; --allow-private" in refused("webhook", "add", f"{receiver.url}/b")


def test_refusals() -> None:
    assert "no webhook 7" in refused("webhook", "remove", "7")
    assert "neither a number nor a URL" in refused("webhook", "test", "seven")
    assert "ftp is not supported" in refused("webhook", "add", "ftp://example.org/")
    beyond = refused("webhook", "add", "https://example.org/", "--since", "9999")
    assert "the last change of recrawl.db is" in beyond
    run("webhook", "add", "https://example.org/")
    assert "is already a webhook" in refused("webhook", "add", "https://example.org")
