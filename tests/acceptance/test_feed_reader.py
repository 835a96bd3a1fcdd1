"""A reader of the feed that is killed again and again ends with exactly what the store has."""

import json
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from store.made_up import HOUR, NOON, address, failed, found, gone, new_pages, unchanged

from recrawl.records import Page, State, Visit, digest_of
from recrawl.store.sqlite import SqliteStore

PAGES, KILLS = 12, 20

#: An index of pages by the feed, with the cursor beside it, as the how-to has it. It writes a
#: letter at every step, so that it can be killed after any of them.
READER = """\
import sqlite3, sys
from recrawl.store.sqlite import SqliteStore

index = sqlite3.connect(sys.argv[2], isolation_level=None)
index.execute("CREATE TABLE IF NOT EXISTS pages (url TEXT PRIMARY KEY, digest TEXT)")
index.execute("CREATE TABLE IF NOT EXISTS progress (cursor TEXT)")

def step(letter):
    sys.stdout.write(letter)
    sys.stdout.flush()

with SqliteStore.open(sys.argv[1]) as store:
    row = index.execute("SELECT cursor FROM progress").fetchone()
    cursor = store.feed.start() if row is None else store.feed.cursor(row[0])
    while changes := store.feed.read(cursor, limit=3):
        index.execute("BEGIN")
        step("b")
        for change in changes:
            index.execute("DELETE FROM pages WHERE url = ?", [change.url])
            step("d")
            if change.after is not None:
                row = [change.url, change.after.hex()]
                index.execute("INSERT INTO pages VALUES (?, ?)", row)
                step("i")
        cursor = changes[-1].cursor
        index.execute("DELETE FROM progress")
        index.execute("INSERT INTO progress VALUES (?)", [str(cursor)])
        step("p")
        index.execute("COMMIT")
        step("c")
step("e")
"""


class World:
    """A store that goes on changing, and the digests of the pages that are there."""

    def __init__(self, path: Path, rng: random.Random) -> None:
        self.path = path
        self.rng = rng
        self.now = NOON
        self.there: dict[str, str] = {}
        with SqliteStore.open(path, create=True) as store:
            store.add(new_pages(PAGES), at=NOON)

    def go_on(self) -> None:
        """Make visits, remove a page, add it again."""
        with SqliteStore.open(self.path) as store:
            for _ in range(self.rng.randrange(2, 8)):
                self.now += HOUR // 60
                known = list(store.pages(range(10**4)).values())
                chosen = self.rng.sample(known, min(4, len(known)))
                store.record([self._visit(page) for page in chosen])
            if self.rng.random() < 0.5:
                url = address(self.rng.randrange(PAGES))
                store.remove([url], at=self.now)
                self.there.pop(url, None)
            if self.rng.random() < 0.5:
                store.add(new_pages(PAGES), at=self.now)

    def _visit(self, page: Page) -> Visit:
        choice = self.rng.random()
        if choice < 0.6:
            content = b"%d" % self.rng.randrange(5)
            self.there[page.url] = digest_of(content).hex()
            return found(page, content, self.now)
        if choice < 0.75:
            self.there.pop(page.url, None)
            return gone(page, self.now)
        if choice < 0.9 and page.body and page.state is State.ALIVE:
            return unchanged(page, self.now)
        return failed(page, self.now)


@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")
def test_a_reader_that_is_killed_at_random_ends_with_what_the_store_has(tmp_path: Path) -> None:
    rng = random.Random(17)  # noqa: S311 - not for secrets
    world, index = World(tmp_path / "recrawl.db", rng), tmp_path / "index.db"
    killed, steps = 0, ""
    while killed < KILLS:
        world.go_on()
        with _reader(world.path, index) as process:
            assert process.stdout is not None
            steps = process.stdout.read(rng.randrange(1, 30))
            is_done = steps.endswith("e")
            killed += not is_done
            process.wait() if is_done else process.kill()
    with _reader(world.path, index) as process:
        output, _ = process.communicate(timeout=600)
    assert output.endswith("e")
    with sqlite3.connect(index) as opened:
        found_there = dict(opened.execute("SELECT url, digest FROM pages").fetchall())
    opened.close()
    assert found_there == world.there
    assert found_there
    with SqliteStore.open(world.path) as store:
        assert store.check() == []


@pytest.mark.skipif(sys.platform == "win32", reason="closes pipes as POSIX does")
def test_following_ends_when_nobody_reads_any_more(tmp_path: Path) -> None:
    world = World(tmp_path / "recrawl.db", random.Random(1))  # noqa: S311
    world.go_on()
    arguments = ["changes", "--follow", "--format", "json", "--store", str(world.path)]
    with subprocess.Popen(
        [sys.executable, "-m", "recrawl", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["cursor"] == "1"
        # As `head -1` does; nothing is written to the store from here on.
        process.stdout.close()
        assert process.wait(600) == 1
        assert process.stderr.read() == ""


def _reader(store: Path, index: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", READER, str(store), str(index)], stdout=subprocess.PIPE, text=True
    )
