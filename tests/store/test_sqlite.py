"""The store as a file: opened, brought up to date, and refused in sentences."""

import os
import re
import resource
import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from store.made_up import NOON, address, found, new_pages

from recrawl.errors import StoreError
from recrawl.records import Outcome, Page, Visit
from recrawl.store import database
from recrawl.store.queries import migrations, queries, read_queries
from recrawl.store.sqlite import SqliteStore

SOURCE = Path(database.__file__).parent


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Make a store with ten pages, all with a copy."""
    path = tmp_path / "recrawl.db"
    with SqliteStore.open(path, create=True) as store:
        store.add(new_pages(10), at=NOON)
        store.record([_first(store.pages([i])[i]) for i in range(10)])
    return path


def _first(page: Page, size: int = 2_000) -> Visit:
    return found(page, os.urandom(size), NOON, Outcome.FIRST)


def test_a_missing_store_is_not_made_unless_that_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "recrawl.db"
    with pytest.raises(StoreError, match=r"db: there is no store here; `recrawl add URL` makes"):
        SqliteStore.open(path)
    assert not path.exists()
    path.touch()
    with pytest.raises(StoreError, match="there is no store here"):
        SqliteStore.open(path)
    SqliteStore.open(path, create=True).close()
    SqliteStore.open(path).close()


def test_a_closed_store_is_one_file_that_has_everything(place: Path, tmp_path: Path) -> None:
    assert [file.name for file in tmp_path.iterdir()] == ["recrawl.db"]
    with SqliteStore.open(place) as store:
        assert store.totals().with_copy == 10
        assert store.check() == []


def test_a_store_may_be_closed_twice_but_not_used_then(place: Path) -> None:
    store = SqliteStore.open(place)
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.page(address(0))


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda path: path.write_bytes(b"hello, this is no store" * 99), "not a recrawl store"),
        (lambda path: path.unlink() or path.mkdir(), "this is a folder, not a store"),
        (lambda path: _run(path, "PRAGMA application_id = 7"), "SQLite file of something else"),
        (
            lambda path: _run(path, "PRAGMA user_version = 99"),
            r"newer recrawl \(version 99, this one reads up to 3\); install that one",
        ),
    ],
)
def test_what_is_no_store_is_refused_in_a_sentence(
    place: Path, spoil: Callable[[Path], None], told: str
) -> None:
    spoil(place)
    with pytest.raises(StoreError, match=told) as error:
        SqliteStore.open(place, create=True)
    assert str(error.value).startswith(f"{place}: ")


def test_a_store_in_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no folder"):
        SqliteStore.open(tmp_path / "nowhere" / "recrawl.db", create=True)
    with pytest.raises(StoreError, match="there is no store here"):
        SqliteStore.open(tmp_path / "nowhere" / "recrawl.db")


def _run(path: Path, *commands: str) -> None:
    connection = sqlite3.connect(path)
    for command in commands:
        connection.execute(command)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("version", range(1, len(migrations())))
def test_an_older_store_is_brought_up_to_date_with_all_that_is_in_it(
    tmp_path: Path, version: int
) -> None:
    path = tmp_path / "recrawl.db"
    _run(
        path,
        *(command for script in migrations()[:version] for command in script),
        "INSERT INTO hosts (number, name) VALUES (1, 'host1.example')",
        "INSERT INTO pages (number, url, host, importance, depth, source, added_at)"
        " VALUES (0, 'https://host1.example/page/1', 1, 2.0, 0, 'user', 0)",
        "UPDATE counters SET value = 1",
    )
    with SqliteStore.open(path) as store:
        assert store.page(address(1)) == Page(0, address(1), "host1.example", 2.0)
        store.record([_first(store.pages([0])[0])])
        assert store.check() == []


def test_each_migration_makes_the_version_of_its_number() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for version, script in enumerate(migrations(), 1):
        connection.execute("BEGIN")
        for command in script:
            connection.execute(command)
        connection.execute("COMMIT")
        assert connection.execute("PRAGMA user_version").fetchone() == (version,)
    connection.close()


def test_a_migration_that_fails_leaves_the_store_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, *_ = migrations()
    broken = (first, (*second[:1], "CREATE TABLE hosts (number)"))
    monkeypatch.setattr("recrawl.store.migrating.migrations", lambda: broken)
    path = tmp_path / "recrawl.db"
    with pytest.raises(StoreError, match="table hosts already exists"):
        SqliteStore.open(path, create=True)
    monkeypatch.undo()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    connection.close()
    with SqliteStore.open(path) as store:
        assert store.check() == []


def test_every_statement_is_explained_and_used() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in SOURCE.glob("*.py"))
    for name, query in queries().items():
        assert re.fullmatch(r"[A-Z].*[.]", query.why), name
        assert query.sql.endswith(";"), name
        assert f'"{name}"' in code, name
    with pytest.raises(ValueError, match="two statements are named a"):
        read_queries("-- name: a\nSELECT 1;\n-- name: a\nSELECT 2;")


def test_python_builds_no_sql() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in SOURCE.glob("*.py"))
    assert not re.findall(r"(?:SELECT|INSERT|UPDATE|DELETE) .*(?:FROM|INTO|SET)", code)


def test_the_connection_is_as_careful_as_is_promised(place: Path) -> None:
    with SqliteStore.open(place) as store:
        connection = store._database._connection  # noqa: SLF001 - a setting has no other sign
        settings = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
        settings |= {"busy_timeout": 5_000, "application_id": int.from_bytes(b"rcrl", "big")}
        for name, value in settings.items():
            assert connection.execute(f"PRAGMA {name}").fetchone() == (value,)


def test_a_writer_that_does_not_end_is_waited_for_and_then_told(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE_SECONDS", 0.05)
    other = sqlite3.connect(place, isolation_level=None)
    with SqliteStore.open(place) as store:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process is writing to the store; try again"):
            store.record([found(store.pages([0])[0], b"new", NOON + 1)])
        with pytest.raises(StoreError, match="another process is writing"):
            store.add(new_pages(20), at=NOON)
        assert store.totals().visits == 10
        other.execute("ROLLBACK")
        store.record([found(store.pages([0])[0], b"new", NOON + 1)])
        assert store.add(new_pages(20), at=NOON).new == 10
        assert store.check() == []
    other.close()


def test_readers_are_not_kept_waiting(place: Path) -> None:
    with SqliteStore.open(place) as reader, SqliteStore.open(place) as writer:
        log = reader.visits(batch=2)
        assert next(log).num_rows == 2
        copies = reader.copies()
        next(copies)
        writer.record([found(writer.pages([9])[9], b"new", NOON + 1)])
        writer.remove([address(5)])
        assert sum(batch.num_rows for batch in log) == 8
        assert reader.totals().pages == 9


def test_a_full_disk_is_told_and_nothing_is_damaged(place: Path) -> None:
    with SqliteStore.open(place) as store:
        connection = store._database._connection  # noqa: SLF001 - no disk is full on demand
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="the disk is full; free some space and try again"):
            store.record([_later(store, i) for i in range(10)])
        with pytest.raises(StoreError, match="the disk is full"):
            store.add(new_pages(5_000), at=NOON)
        assert (store.totals().visits, store.totals().pages) == (10, 10)
        assert store.check() == []
        connection.execute("PRAGMA max_page_count = 1000000")
        store.record([_later(store, i) for i in range(10)])
        assert store.totals().visits == 20
        assert store.check() == []


def _later(store: SqliteStore, number: int, size: int = 40_000) -> Visit:
    return found(store.pages([number])[number], os.urandom(size), NOON + 1)


def test_a_file_that_may_not_grow_is_told_and_nothing_is_damaged(place: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with SqliteStore.open(place) as store:
        resource.setrlimit(resource.RLIMIT_FSIZE, (place.stat().st_size + 50_000, limits[1]))
        try:
            with pytest.raises(StoreError, match="disk"):
                store.record([_later(store, i) for i in range(10)])
            assert store.totals().visits == 10
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        store.record([_later(store, i) for i in range(10)])
        assert store.check() == []
    with SqliteStore.open(place) as store:
        assert store.totals().visits == 20
        assert store.check() == []


def test_a_store_that_may_not_be_written_is_told(place: Path) -> None:
    with SqliteStore.open(place) as store:
        store._database._connection.execute("PRAGMA query_only = ON")  # noqa: SLF001
        with pytest.raises(StoreError, match="the store cannot be written; see to its permissions"):
            store.record([_later(store, 0)])
        assert store.totals().visits == 10


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_a_file_without_permission_is_told(place: Path) -> None:
    place.chmod(stat.S_IRUSR)
    place.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with pytest.raises(StoreError, match="permissions"):
            SqliteStore.open(place).set_meta("a", "b")
    finally:
        place.parent.chmod(stat.S_IRWXU)


def test_damage_is_found(place: Path, tmp_path: Path) -> None:
    damages = {
        "UPDATE bodies SET deflated = x'00' WHERE rowid = 1": "not what its digest says",
        "UPDATE bodies SET size = size + 1 WHERE rowid = 1": "another size than is noted",
        "DELETE FROM bodies WHERE rowid = 1": "refers to something that is not in bodies",
        "INSERT INTO bodies VALUES (x'01', 0, 8, x'789c030000000001')": "is no page's copy",
        "DELETE FROM copies WHERE page = 4": "page 4 has a content without its headers",
        "DELETE FROM visits WHERE page = 4": "10 visits are counted and 9 logged",
        "UPDATE visits SET requests = 7 WHERE page = 4": "visits are counted",
        "UPDATE stock SET bodies = 11": "11 contents are counted and 10 stored",
        "UPDATE counters SET value = 9": "page 9 has a number that could be given again",
        "DELETE FROM pages WHERE number = 3": "refers to something that is not in pages",
    }
    for number, (damage, told) in enumerate(damages.items()):
        path = tmp_path / f"{number}.db"
        shutil.copy(place, path)
        _run(path, damage)
        with SqliteStore.open(path) as store:
            problems = store.check()
            assert any(told in problem for problem in problems), (damage, problems)


def test_a_damaged_content_is_not_given_out(place: Path) -> None:
    _run(place, "UPDATE bodies SET deflated = x'789c030000000001'")
    with SqliteStore.open(place) as store:
        with pytest.raises(StoreError, match=r"the content [0-9a-f]{32} is damaged"):
            store.copy(address(0))
        with pytest.raises(StoreError, match="is damaged"):
            list(store.copies())


def test_a_damaged_file_is_told(place: Path) -> None:
    whole = place.read_bytes()
    # The header says it is a store; all behind the first page is noise.
    place.write_bytes(whole[:4096] + b"\x55" * (len(whole) - 4096))
    with pytest.raises(StoreError, match="the store is damaged; put a copy"):
        SqliteStore.open(place)
    # The last pages of the file hold contents.
    place.write_bytes(whole[:-8192] + b"\x55" * 8192)
    with SqliteStore.open(place) as store:
        assert "is damaged" in store.check()[0]
        with pytest.raises(StoreError, match="damaged"):
            list(store.copies())


def test_a_hundred_thousand_pages_are_added_within_seconds(tmp_path: Path) -> None:
    with SqliteStore.open(tmp_path / "recrawl.db", create=True) as store:
        assert store.add(new_pages(100_000), at=NOON).new == 100_000
        assert store.add(new_pages(100_000), at=NOON).known == 100_000
