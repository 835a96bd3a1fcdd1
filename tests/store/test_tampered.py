"""Stores that somebody else wrote to: `check` finds each kind of damage, and nothing is trusted."""

import os
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from store.made_up import found

from recrawl.errors import StoreError
from recrawl.records import digest_of
from recrawl.store.database import is_private
from recrawl.store.locking import only_run
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore

URLS = ("https://a.example/", "https://a.example/b")
HUGE = zlib.compress(b"\0" * 50_000_000)

#: What is written to the file, and what `check` says about it.
TAMPERED = {
    "a dropped index": ("DROP INDEX pages_trouble", "the index pages_trouble is missing"),
    "another index": ("CREATE INDEX mine ON pages (etag)", "the index mine does not belong"),
    "another table": ("CREATE TABLE mine (a)", "the table mine does not belong"),
    "a dropped trigger": ("DROP TRIGGER body_added", "the trigger body_added is missing"),
    "another column": ("ALTER TABLE pages ADD COLUMN mine", "the table pages is not defined as"),
    "another default": (
        (
            "PRAGMA writable_schema = ON;"
            "UPDATE sqlite_schema SET sql = replace(sql, 'state INTEGER NOT NULL DEFAULT 0',"
            " 'state INTEGER NOT NULL DEFAULT 2') WHERE name = 'pages'"
        ),
        "the table pages is not defined as",
    ),
    "a text for a number": (
        "UPDATE pages SET importance = 'x'",
        "of pages has an impossible value",
    ),
    "a number for a text": (
        "UPDATE copies SET url = x'00'",
        "of copies has an impossible value in url",
    ),
    "an infinite importance": ("UPDATE pages SET importance = 9e999", "value in importance"),
    "a negative time": ("UPDATE visits SET at = -at WHERE page = 0", "impossible value in at"),
    "an unknown state": ("UPDATE pages SET state = 17", "impossible value in state"),
    "an unknown outcome": ("UPDATE visits SET outcome = 17", "impossible value in outcome"),
    "an unknown kind of change": ("UPDATE changes SET kind = 17", "impossible value in kind"),
    "half a belief": ("UPDATE pages SET shape = 1.0, time = NULL", "impossible value in shape"),
    "an infinite belief": (
        "UPDATE pages SET shape = 1.0, time = 9e999",
        "impossible value in time",
    ),
    "a belief that is no number": (
        f"UPDATE pages SET octaves = x'{'00' * 2 + '007e' * 16}'",  # noqa: S608
        "what was learned about page 0 is damaged",
    ),
    "more changes than visits": ("UPDATE pages SET changes = 1000", "impossible value in changes"),
    "a dangling reference": (
        "PRAGMA foreign_keys = OFF; UPDATE pages SET host = 99",
        "refers to a row that is missing from hosts",
    ),
    "another body": (
        "UPDATE bodies SET deflated = (SELECT max(deflated) FROM bodies)",
        "does not match its digest",
    ),
    "a body cut off": (
        "UPDATE bodies SET deflated = substr(deflated, 1, 9), stored = 9",
        "does not match its digest",
    ),
    "a wrong size": ("UPDATE bodies SET size = size + 1", "recorded size"),
    "a body that becomes huge": (
        f"UPDATE bodies SET deflated = x'{HUGE.hex()}', stored = {len(HUGE)}",  # noqa: S608
        "does not match its digest, or its recorded size",
    ),
    "headers that become huge": (
        f"UPDATE copies SET headers = x'{HUGE.hex()}'",  # noqa: S608
        "the headers of a copy of page 0 are damaged",
    ),
    "headers of another form": (
        "UPDATE copies SET headers = CAST('[1]' AS BLOB)",
        "the headers of a copy of page 0 are damaged",
    ),
    "noise cut off": ("UPDATE pages SET ignored = x'00'", "the noise of page 0 is damaged"),
    "a number twice": ("UPDATE counters SET value = 0", "could be assigned again"),
    "a page twice": (
        "DROP INDEX pages_url; UPDATE pages SET url = 'https://a.example/'",
        "the index pages_url is missing",
    ),
    "a token of no kind": (
        "INSERT INTO tokens VALUES ('mine', x'00', 'root', 0)",
        "of tokens has an impossible value in access",
    ),
}


def filled(path: Path) -> None:
    with SqliteStore.open(path, create=True) as store:
        store.add([NewPage(url, "a.example") for url in URLS], 1)
        for at in (10, 20):
            pages = store.pages([0, 1]).values()
            store.record([found(page, b"%d %d" % (page.number, at), at) for page in pages])
        assert store.check() == []


def tamper(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


@pytest.mark.parametrize("name", TAMPERED)
def test_what_somebody_else_wrote_is_found(name: str, tmp_path: Path) -> None:
    script, sentence = TAMPERED[name]
    filled(tmp_path / "s.db")
    tamper(tmp_path / "s.db", script)
    with SqliteStore.open(tmp_path / "s.db") as store:
        assert any(sentence in problem for problem in store.check()), store.check()


@pytest.mark.parametrize(
    ("script", "what"),
    [
        (
            "CREATE TRIGGER mine AFTER INSERT ON visits BEGIN DELETE FROM pages; END",
            "the trigger mine",
        ),
        ("CREATE VIEW mine AS SELECT * FROM tokens", "the view mine"),
        ("DROP VIEW known_pages; CREATE VIEW known_pages AS SELECT * FROM pages", "the view known"),
        (
            (
                "DROP TRIGGER page_removed;"
                "CREATE TRIGGER page_removed AFTER DELETE ON pages BEGIN DELETE FROM hosts; END"
            ),
            "the trigger page_removed",
        ),
    ],
)
def test_a_store_with_triggers_or_views_of_others_is_not_opened(
    script: str, what: str, tmp_path: Path
) -> None:
    filled(tmp_path / "s.db")
    tamper(tmp_path / "s.db", script)
    with pytest.raises(StoreError, match=f"somebody else put {what}"):
        SqliteStore.open(tmp_path / "s.db")


def test_no_more_is_decompressed_than_was_recorded(tmp_path: Path) -> None:
    filled(tmp_path / "s.db")
    digest = digest_of(b"\0" * 50_000_000)
    tamper(
        tmp_path / "s.db",
        "PRAGMA foreign_keys = OFF;"  # noqa: S608
        f"INSERT INTO bodies VALUES (x'{digest.hex()}', 5, {len(HUGE)}, x'{HUGE.hex()}')",
    )
    with (
        SqliteStore.open(tmp_path / "s.db") as store,
        pytest.raises(StoreError, match="is damaged"),
    ):
        store.body(digest)


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_stores_and_backups_are_for_their_owner_alone(tmp_path: Path) -> None:
    path, backup = tmp_path / "s.db", tmp_path / "b.db"
    before = os.umask(0)
    try:
        with SqliteStore.open(path, create=True) as store, only_run(path):
            store.add([NewPage(URLS[0], "a.example")], 1)
            store.back_up(backup)
            made = {one.name: one.stat().st_mode & 0o777 for one in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert made.keys() >= {"s.db", "s.db-wal", "s.db-run", "b.db"}
    assert set(made.values()) == {0o600}
    assert is_private(str(path))
    path.chmod(0o640)
    assert not is_private(str(path))
    with SqliteStore.open(path) as store:
        assert len(store.pages([0])) == 1
    assert path.stat().st_mode & 0o777 == 0o640
