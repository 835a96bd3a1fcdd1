"""Webhooks beside a crawl that is killed: every change is received, in order, none after a 410."""

import random
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acceptance import program
from site_server import Site, page_about, serving
from webhook_server import Received, Receiver, receiving

from recrawl.notify.messages import new_secret
from recrawl.store.changes import Cursor, FeedKind
from recrawl.store.sqlite import SqliteStore

PAGES, KILLS = 12, 3
SETTINGS = {
    "allow_private": "true",
    "budget": "100/s",
    "host_delay": "0s",
    "gone_after": "1",
    "gone_after_time": "0s",
    "contact": "https://example.org/bot",
    "webhook_timeout": "1s",
    "webhook_attempts": "1000000",
}
#: Real pauses would have the test take hours.
HASTY = (
    "from recrawl.notify import delivery as webhook_delivery, messages as webhook_messages;"
    "webhook_delivery.POLL = 0.01;"
    "webhook_delivery.RECEIVER_BACKOFF = webhook_delivery.MESSAGE_BACKOFF ="
    "webhook_messages.Backoff(0.01, 2.0, 0.1);"
)


class World:
    """A site that is edited all the time, until it rests."""

    def __init__(self, site: Site, rng: random.Random) -> None:
        self.site = site
        self.rng = rng
        self.edits = 0
        for number in range(PAGES):
            self._write(number)

    def edit(self) -> None:
        """Change a page."""
        number = self.rng.randrange(PAGES)
        if f"/{number}" in self.site.pages:
            self._write(number)

    def _write(self, number: int) -> None:
        self.edits += 1
        words = " ".join(self.rng.choices(("leek", "pea", "carrot", "onion", "mint"), k=12))
        self.site.pages[f"/{number}"] = page_about(f"{words} {chr(97 + self.edits % 26)}.")


class Moody:
    """A receiver that accepts most messages, refuses some, and hangs now and then."""

    def __init__(self) -> None:
        self.asked = 0
        self.is_well = False

    def __call__(self, _message: dict[str, Any]) -> int | None:
        """Return what to answer."""
        self.asked += 1
        if self.is_well:
            return 200
        if self.asked % 25 == 8:
            return None
        return (200, 500, 200, 200, 400, 200, 200, 429, 503, 200, 200)[self.asked % 11]


@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")
def test_every_change_is_received_though_crawl_and_receiver_are_killed(tmp_path: Path) -> None:
    rng = random.Random(4)  # noqa: S311 - not for secrets
    store = tmp_path / "recrawl.db"
    with serving(Site({})) as site, receiving() as receiver:
        world, mood = World(site, rng), Moody()
        program.add(store, (f"{site.url}/{n}" for n in range(PAGES)))
        receiver.plans = {"/moody": mood, "/gone": Gone(5)}
        for path in ("/moody", "/well", "/gone"):
            _add(store, receiver, path)

        # The receiver at /gone says so, and is not asked again.
        _run(store, world, lambda: _disabled(store) == [f"{receiver.url}/gone"], kill=True)
        for number in range(KILLS):
            del site.pages[f"/{number}"]
            enough = mood.asked + rng.randrange(10, 40)
            _run(store, world, lambda enough=enough: mood.asked >= enough, kill=True)  # type: ignore[misc]
            receiver.stop()
            _run(store, world, _requests(site, 20), kill=number % 2 == 0)
            receiver.start()
        # The world rests, and everybody is well.
        mood.is_well = True
        _run(store, None, lambda: _is_settled(store), kill=False)

        with SqliteStore.open(store) as opened:
            changes = opened.feed.read(Cursor(0), 10**6)
            assert opened.check() == []
            assert all(not hook.failed and not hook.missed for hook in opened.webhooks.all())
        there = {change.url: change.after for change in changes}
        index = {url: digest.hex() for url, digest in there.items() if digest is not None}
        assert len(changes) > 50
        assert {change.kind for change in changes} >= {FeedKind.CHANGED, FeedKind.GONE}
        for path in ("/moody", "/well"):
            accepted = receiver.accepted(path)
            assert {one.serial for one in accepted} == {c.cursor.serial for c in changes}
            check_order(accepted)
            assert index_of(accepted) == index
        statuses = [one.status for one in receiver.at("/gone")]
        assert statuses.index(410) == len(statuses) - 1
        assert {one.status for one in receiver.at("/moody")} >= {200, None, 500}


class Gone:
    """A receiver that accepts a few messages, and then wants no more."""

    def __init__(self, accepts: int) -> None:
        self.left = accepts

    def __call__(self, _message: dict[str, Any]) -> int:
        """Return what to answer."""
        self.left -= 1
        return 200 if self.left >= 0 else 410


def check_order(accepted: list[Received]) -> None:
    """Check that messages about a page first came in the order of its changes."""
    first = defaultdict[str, list[int]](list)
    for one in accepted:
        if one.serial not in first[one.data["url"]]:
            first[one.data["url"]].append(one.serial)
    assert all(serials == sorted(serials) for serials in first.values())


def index_of(accepted: list[Received]) -> dict[str, str]:
    """Return the index of a consumer that passes over what it knows already, deletions included."""
    index: dict[str, str | None] = {}
    newest = defaultdict[str, int](int)
    for one in accepted:
        url = one.data["url"]
        if one.serial > newest[url]:
            newest[url] = one.serial
            index[url] = one.data["digest"]
    return {url: digest for url, digest in index.items() if digest is not None}


def _add(store: Path, receiver: Receiver, path: str) -> None:
    secret = receiver.secrets[path] = new_secret()
    with SqliteStore.open(store) as opened:
        url = f"{receiver.url}{path}"
        opened.webhooks.add(url, secret, Cursor(0), 0, allow_private=True)


def _run(store: Path, world: World | None, done: Callable[[], bool], *, kill: bool) -> None:
    """Crawl until something is so, and edit the site meanwhile; then kill the crawl, or stop it."""
    arguments = ["run", "--store", str(store), "--format", "json"]
    with program.start(*arguments, settings=SETTINGS, before=HASTY) as process:

        def step() -> bool:
            if world is not None:
                world.edit()
            return done()

        program.wait_until(step, process)
        assert process.poll() is None, process.communicate()
        process.kill() if kill else process.terminate()
        process.communicate(timeout=program.HANGS)
    assert kill or process.returncode == 0


def _disabled(store: Path) -> list[str]:
    with SqliteStore.open(store) as opened:
        return [hook.url for hook in opened.webhooks.all() if hook.disabled is not None]


def _requests(site: Site, more: int) -> Callable[[], bool]:
    enough = len(site.requests) + more
    return lambda: len(site.requests) >= enough


def _is_settled(store: Path) -> bool:
    with SqliteStore.open(store) as opened:
        if opened.trouble().gone < KILLS:
            return False
        end = opened.feed.end()
        hooks = [hook for hook in opened.webhooks.all() if hook.disabled is None]
        return all(hook.cursor == end and not hook.waiting for hook in hooks)
