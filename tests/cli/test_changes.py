"""What ``recrawl changes`` prints, and readers of it that are killed."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from acceptance import program
from cli.crawling_site import move_to, run
from cli.refusing import refused
from store.made_up import HOUR, NOON, address, failed, found, gone, new_pages, unchanged

from recrawl.records import Change, ChangeKind, Outcome, Page, State, Visit, digest_of
from recrawl.store.rows import Retention
from recrawl.store.sqlite import SqliteStore


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_to(tmp_path, monkeypatch)


def lines(*arguments: str) -> list[dict[str, Any]]:
    printed = run("changes", "--format", "json", *arguments).stdout
    return [json.loads(line) for line in printed.splitlines()]


def fill() -> None:
    with SqliteStore.open("recrawl.db", create=True) as store:
        store.add(new_pages(3), at=NOON)
        pages = store.pages(range(3))
        store.record([found(pages[n], b"first", NOON, Outcome.FIRST) for n in range(2)])
        page = store.pages([0])[0]
        store.record([found(page, b"second", NOON + HOUR)])
        store.remove([address(1), address(2)], at=NOON + 2 * HOUR)


def test_each_line_has_a_cursor_what_became_of_the_page_and_when() -> None:
    fill()
    first, second = digest_of(b"first").hex(), digest_of(b"second").hex()
    found = lines()
    assert [line["cursor"] for line in found] == ["1", "2", "3", "4"]
    assert found[2] == {
        "cursor": "3",
        "url": address(0),
        "kind": "changed",
        "at": "2026-01-01T13:00:00.000000Z",
        "previous": "2026-01-01T12:00:00.000000Z",
        "digest_before": first,
        "digest": second,
        "share": 0.25,
        "reason": None,
    }
    assert [(line["kind"], line["digest"]) for line in found] == [
        ("new", first),
        ("new", first),
        ("changed", second),
        ("removed", None),
    ]
    assert found[3]["url"] == address(1)


def test_reading_begins_after_a_cursor_or_at_a_time() -> None:
    fill()
    assert lines("--since", "2") == lines()[2:]
    assert lines("--since", "2026-01-01T13:00Z") == lines()[2:]
    assert lines("--since", "2026-01-01T15:00Z") == []
    assert lines("--since", "4") == []
    assert lines("--since", "2", "--limit", "1") == lines()[2:3]
    assert lines("--since", "1000000d") == lines()


def test_the_start_is_all_pages_that_are_there() -> None:
    fill()
    (listed,) = lines("--since", "start")
    assert (listed["cursor"], listed["url"], listed["kind"]) == ("4.1", address(0), "new")
    assert listed["digest"] == digest_of(b"second").hex()
    assert lines("--since", "4.1") == []


def test_a_table_has_the_latest_changes() -> None:
    fill()
    heading, *shown = run("changes").stdout.splitlines()
    assert heading.split() == ["time", "(UTC)", "kind", "share", "page"]
    assert heading.index("page") == shown[0].index("http")
    assert len(shown) == 4
    assert shown[2] == f"2026-01-01 13:00:00  changed   25.0 %  {address(0)}"
    with SqliteStore.open("recrawl.db") as store:
        for hours in range(2, 40):
            page = store.pages([0])[0]
            store.record([found(page, b"%d" % hours, NOON + hours * HOUR)])
    assert len(run("changes").stdout.splitlines()) == 1 + 20
    assert len(run("changes", "--limit", "99").stdout.splitlines()) == 1 + 42


def test_a_limit_alone_is_on_the_last_changes() -> None:
    fill()
    every = run("changes").stdout.splitlines()[1:]
    assert run("changes", "--limit", "3").stdout.splitlines()[1:] == every[-3:]
    assert lines("--limit", "3") == lines()[-3:]
    assert lines("--limit", "3", "--since", "0") == lines()[:3]
    assert lines("--limit", "3", "--follow") == lines()[:3]


def test_following_ends_when_nobody_reads_any_more() -> None:
    """As in ``recrawl changes --follow | head -1``, though nothing changes after that."""
    fill()
    arguments = ("changes", "--follow", "--format", "json")
    with program.start(*arguments) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["cursor"] == "1"
        process.stdout.close()
        assert process.wait(program.HANGS) == 1
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_following_ends_at_the_limit() -> None:
    fill()
    assert lines("--follow", "--limit", "4") == lines()


def test_a_cursor_that_is_too_old_is_refused_in_a_sentence() -> None:
    fill()
    with SqliteStore.open("recrawl.db", retention=Retention(changes=2)) as store:
        page = store.pages([0])[0]
        store.record([found(page, b"third", NOON + 3 * HOUR)])
    assert refused("changes", "--since", "2") == (
        "recrawl.db: the cursor 2 is older than the changes that are kept, which start after 3; "
        "rebuild the index from `recrawl changes --since start`"
    )
    assert [line["cursor"] for line in lines()] == ["4", "5"]
    assert "not from this store" in refused("changes", "--since", "6")
    late = run("changes", "--since", "2026-01-01", "--format", "json")
    assert "changes since then may have been dropped" in late.stderr


def test_refusals() -> None:
    fill()
    assert refused("changes", "--since", "yesterday") == (
        "--since: 'yesterday' is not a time or a cursor; write for example 2026-01-31, 1042, start "
        "or 2h"
    )
    assert "--limit: 0 is not above 0" in refused("changes", "--limit", "0")


class KilledError(Exception):
    """The reader was killed."""


class World:
    """A store that goes on changing, and what a reader of its feed should know in the end."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.now = NOON
        self.contents: dict[str, str] = {}
        with SqliteStore.open("recrawl.db", create=True) as store:
            store.add(new_pages(12), at=NOON)

    def go_on(self) -> None:
        """Make a few visits, remove a page, add one again."""
        with SqliteStore.open("recrawl.db") as store:
            for _ in range(self.rng.randrange(6)):
                self.now += HOUR
                known = list(store.pages(range(1_000)).values())
                chosen = self.rng.sample(known, min(3, len(known)))
                store.record([self._visit(page) for page in chosen])
            if self.rng.random() < 0.4:
                url = address(self.rng.randrange(12))
                store.remove([url], at=self.now)
                self.contents.pop(url, None)
            if self.rng.random() < 0.4:
                store.add(new_pages(12), at=self.now)

    def _visit(self, page: Page) -> Visit:
        choice = self.rng.random()
        if choice < 0.5:
            content = b"%d" % self.rng.randrange(5)
            self.contents[page.url] = digest_of(content).hex()
            return found(page, content, self.now)
        if choice < 0.7:
            self.contents.pop(page.url, None)
            return gone(page, self.now)
        if choice < 0.8 and page.body and page.state is State.ALIVE:
            return unchanged(page, self.now)
        return failed(page, self.now)


class Reader:
    """Keeps an index by the feed, in two files, and is killed now and then."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.index = Path("index.json")
        self.cursor = Path("cursor")

    def read_on(self, *, deadly: bool) -> None:
        """Deal with some changes; if deadly, be killed at some moment."""
        since = self.cursor.read_text() if self.cursor.exists() else "start"
        known = json.loads(self.index.read_text()) if self.index.exists() else {}
        limit = self.rng.randrange(1, 6) if deadly else 1_000
        left = self.rng.randrange(12) if deadly else 10**9
        for line in lines("--since", since, "--limit", str(limit)):
            if line["kind"] in ("gone", "removed"):
                known.pop(line["url"], None)
            else:
                known[line["url"]] = line["digest"]
            for keep in self._steps(known, line["cursor"]):
                left -= 1
                if left < 0:
                    raise KilledError
                keep()

    def _steps(self, known: dict[str, str], cursor: str) -> list[Callable[[], object]]:
        return [
            lambda: self.index.write_text(json.dumps(known)),
            lambda: self.cursor.write_text(cursor),
        ]


@pytest.mark.parametrize("seed", range(3))
def test_a_reader_that_is_killed_20_times_ends_with_what_the_store_has(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - a test
    world, reader = World(rng), Reader(rng)
    killed = 0
    while killed < 20:
        world.go_on()
        try:
            reader.read_on(deadly=True)
        except KilledError:
            killed += 1
    reader.read_on(deadly=False)
    assert json.loads(reader.index.read_text()) == world.contents
    with SqliteStore.open("recrawl.db") as store:
        there = {
            page.url: page.body.hex()
            for page in store.pages(range(1_000)).values()
            if page.body is not None and page.url in world.contents
        }
        assert there == world.contents
        assert store.check() == []


def test_what_is_no_change_is_not_in_the_feed() -> None:
    fill()
    with SqliteStore.open("recrawl.db") as store:
        page = store.pages([0])[0]
        visit = found(page, b"second, with another menu", NOON + 3 * HOUR, Outcome.UNCHANGED)
        store.record([replace(visit, change=Change(ChangeKind.FURNITURE))])
    assert len(lines()) == 4
