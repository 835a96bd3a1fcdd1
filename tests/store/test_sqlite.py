"""The store as a file: opening, migrations, and errors in clear sentences."""

import os
import re
import resource
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from store.made_up import NOON, address, found, new_pages

from recrawl.errors import StoreError
from recrawl.records import Outcome, Page, RobotsText, Visit
from recrawl.store import database
from recrawl.store.queries import migrations, queries, read_queries
from recrawl.store.rows import Added
from recrawl.store.sqlite import SqliteStore

SOURCE = Path(database.__file__).parent


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Make a store with ten pages, all with a copy."""
    file = tmp_path / "recrawl.db"
    with SqliteStore.open(file, create=True) as store:
        store.add(new_pages(10), at=NOON)
        store.record([_first(store.pages([i])[i]) for i in range(10)])
    return file


def _first(page: Page, size: int = 2_000) -> Visit:
    return found(page, os.urandom(size), NOON, Outcome.FIRST)


def test_a_missing_store_is_created_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "recrawl.db"
    with pytest.raises(StoreError, match=r"db: there is no store here; `recrawl add URL` creates"):
        SqliteStore.open(path)
    assert not path.exists()
    path.touch()
    with pytest.raises(StoreError, match="there is no store here"):
        SqliteStore.open(path)
    SqliteStore.open(path, create=True).close()
    SqliteStore.open(path).close()


def test_a_backup_is_on_disk_before_it_has_its_name(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, synced, sync = path.with_name("backup.db"), list[int](), os.fsync

    def fsync(file: int) -> None:
        assert not target.exists()
        synced.append(os.fstat(file).st_ino)
        sync(file)

    with SqliteStore.open(path) as store:
        monkeypatch.setattr(os, "fsync", fsync)
        assert store.back_up(target) == target.stat().st_size
    assert target.stat().st_ino in synced
    assert sorted(path.parent.iterdir()) == sorted([target, path])


def test_a_damaged_robots_txt_counts_as_none(path: Path) -> None:
    origin = "https://host0.example"
    with SqliteStore.open(path) as store:
        store.remember_robots(RobotsText(origin, 200, "User-agent: *", NOON))
    with closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE robots SET deflated = x'00'")
        file.commit()
    with SqliteStore.open(path) as store:
        assert store.robots(origin) is None


def test_a_closed_store_is_a_single_file(path: Path, tmp_path: Path) -> None:
    assert [file.name for file in tmp_path.iterdir()] == ["recrawl.db"]
    with SqliteStore.open(path) as store:
        assert store.totals().with_copy == 10
        assert store.check() == []


def test_a_store_may_be_closed_twice_but_not_used_then(path: Path) -> None:
    store = SqliteStore.open(path)
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.page(address(0))


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda path: path.write_bytes(b"hello, this is no store" * 99), "not a recrawl store"),
        (lambda path: path.unlink() or path.mkdir(), "this is a folder, not a store"),
        (lambda path: _run(path, "PRAGMA application_id = 7"), "another program's SQLite file"),
        (lambda path: _run_anew(path, "CREATE TABLE theirs (a)"), "another program's SQLite file"),
        (
            lambda path: _run(path, f"PRAGMA user_version = {len(migrations()) + 1}"),
            "newer recrawl",
        ),
        (
            lambda path: _run(path, "PRAGMA user_version = 99"),
            rf"newer recrawl \(version 99; this one reads up to {len(migrations())}\); upgrade",
        ),
    ],
)
def test_other_files_are_refused_with_a_sentence(
    path: Path, spoil: Callable[[Path], None], sentence: str
) -> None:
    spoil(path)
    with pytest.raises(StoreError, match=sentence) as error:
        SqliteStore.open(path, create=True)
    assert str(error.value).startswith(f"{path}: ")


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


def _run_anew(path: Path, *commands: str) -> None:
    path.unlink()
    _run(path, *commands)


COUNTED_BY_HOST = 14


@pytest.mark.parametrize("version", range(1, len(migrations())))
def test_an_older_store_is_migrated_without_loss(tmp_path: Path, version: int) -> None:
    path = tmp_path / "recrawl.db"
    _run(
        path,
        *(command for script in migrations()[:version] for command in script),
        "INSERT INTO hosts (number, name) VALUES (1, 'host1.example')",
        "INSERT INTO pages (number, url, host, importance, depth, source, added_at)"
        " VALUES (0, 'https://host1.example/page/1', 1, 2.0, 0, 'user', 0)",
        "UPDATE counters SET value = 1",
        # Since then whoever adds pages counts them.
        *(["INSERT INTO host_pages VALUES (1, 1, 1)"] if version >= COUNTED_BY_HOST else []),
    )
    with SqliteStore.open(path) as store:
        assert store.page(address(1)) == Page(0, address(1), "host1.example", 2.0)
        store.record([_first(store.pages([0])[0])])
        assert store.check() == []


def test_pages_keep_all_they_have_where_their_table_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "recrawl.db"
    names = (
        "number, url, host, importance, depth, source, added_at, state, last_visit, etag, "
        "last_modified, fingerprint_kind, fingerprint, ignored, body, visits, changes, streak, "
        "not_modified, failures, shape, time, missing_since, retry_at, reason, suspects, "
        "feed_state, octaves"
    )
    first = (
        "0, 'https://a.example/', 1, 2.5, 3, 'link', 4, 1, 5, 'e', 'm', 'text', x'06', x'07', "
        "x'08', 9, 10, 11, 12, 13, 14.5, 15.5, 16, 17, 'why', x'18', 1, x'19'"
    )
    _run(
        path,
        *(command for script in migrations()[:13] for command in script),
        "INSERT INTO hosts (number, name) VALUES (1, 'a.example'), (2, 'b.example')",
        "INSERT INTO bodies VALUES (x'08', 1, 1, x'00')",
        f"INSERT INTO pages ({names}) VALUES ({first})",  # noqa: S608
        "INSERT INTO pages (number, url, host, importance, depth, source, added_at)"
        " VALUES (2, 'https://a.example/2', 1, 1.0, 0, 'user', 0)",
        "INSERT INTO copies VALUES (0, 'https://a.example/', 200, 5, x'', 0)",
        "INSERT INTO visits (page, at, outcome, status, bytes, ms, requests, truncated)"
        " VALUES (0, 5, 0, 200, 1, 1, 1, 0)",
        "UPDATE counters SET value = 3",
    )
    before = _rows(path, f"SELECT {names} FROM pages ORDER BY number")  # noqa: S608
    SqliteStore.open(path).close()
    assert _rows(path, f"SELECT {names} FROM pages ORDER BY number") == before  # noqa: S608
    assert _rows(path, "SELECT * FROM host_pages") == [(1, 2, 1)]
    assert _rows(path, "SELECT page FROM copies UNION ALL SELECT page FROM visits") == [(0,), (0,)]
    assert _rows(path, "PRAGMA foreign_key_check") == []
    # References and URLs are checked as before.
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
            connection.execute("DELETE FROM pages WHERE number = 0")
        with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
            connection.execute("UPDATE pages SET url = 'https://a.example/2' WHERE number = 0")


def test_pages_that_rest_are_left_out_when_an_older_store_is_migrated(tmp_path: Path) -> None:
    """Until version 15 they were counted with the others that were never visited."""
    path = tmp_path / "recrawl.db"
    _run(
        path,
        *(command for script in migrations()[:15] for command in script),
        "INSERT INTO hosts (number, name) VALUES (1, 'a.example'), (2, 'b.example')",
        "INSERT INTO pages (number, url, host, importance, depth, source, added_at, state)"
        " VALUES (0, 'a', 1, 1, 0, '', 0, 0), (1, 'b', 1, 1, 0, '', 0, 2),"
        " (2, 'c', 1, 1, 0, '', 0, 1), (3, 'd', 2, 1, 0, '', 0, 3)",
        "UPDATE counters SET value = 4",
        "INSERT INTO host_pages VALUES (1, 3, 3), (2, 1, 1)",
    )
    with SqliteStore.open(path) as store:
        assert [(one.pages, one.unvisited) for one in store.host_counts()] == [(3, 2), (1, 0)]
        assert store.totals().unvisited == 2
        assert store.check() == []


def _rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def test_very_many_pages_are_added_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index of URLs is then built anew, and must be as it was."""
    with SqliteStore.open(":memory:") as few, SqliteStore.open(":memory:") as many:
        few.add(new_pages(9), at=1)
        monkeypatch.setattr("recrawl.store.editing.MANY", 4)
        assert many.add(new_pages(4), at=1).new == 4
        assert many.add(new_pages(9), at=1) == Added(new=5, known=4, revived=0)
        assert many.pages(range(9)) == few.pages(range(9))
        assert many.page(address(7)) == few.page(address(7))
        assert many.host_counts() == few.host_counts()
        assert many.changes_since(0).added == few.changes_since(0).added
        assert many.check() == []


@pytest.mark.parametrize("pages", [9, 10, 23])
def test_pages_added_together_are_as_if_added_one_by_one(pages: int) -> None:
    """Ten of them go into one statement."""
    with SqliteStore.open(":memory:") as alone, SqliteStore.open(":memory:") as together:
        for page in new_pages(pages):
            alone.add([page], at=1)
        assert together.add(new_pages(pages), at=1).new == pages
        assert together.pages(range(pages)) == alone.pages(range(pages))
        assert together.changes_since(0).added == alone.changes_since(0).added
        assert together.check() == []


def test_a_host_whose_pages_are_counted_wrongly_is_found(tmp_path: Path) -> None:
    path = tmp_path / "recrawl.db"
    with SqliteStore.open(path, create=True) as store:
        store.add(new_pages(3), at=1)
        store.record([_first(store.pages([0])[0])])
        store.remove([address(2)])
        assert store.check() == []
    _run(path, "UPDATE host_pages SET unvisited = unvisited + 1 WHERE host = 1")
    with SqliteStore.open(path) as store:
        (problem,) = store.check()
    assert problem == "1 pages of host0.example are counted but 1 are stored, or visits differ"


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
    monkeypatch.setattr("recrawl.store.database.migrations", lambda: broken)
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


def test_the_connection_has_the_documented_settings(path: Path) -> None:
    with SqliteStore.open(path) as store:
        connection = store._database._connection  # noqa: SLF001 - no disk is full on demand
        settings = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
        settings |= {"busy_timeout": 5_000, "application_id": int.from_bytes(b"rcrl", "big")}
        for name, value in settings.items():
            assert connection.execute(f"PRAGMA {name}").fetchone() == (value,)
        with store.lock():
            assert connection.execute("PRAGMA busy_timeout").fetchone() == (60_000,)


def test_a_writer_that_does_not_finish_is_reported_after_a_wait(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_SECONDS", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    with SqliteStore.open(path) as store:
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


def test_readers_do_not_wait_for_writers(path: Path) -> None:
    with SqliteStore.open(path) as reader, SqliteStore.open(path) as writer:
        log = reader.visits(batch=2)
        assert next(log).num_rows == 2
        copies = reader.copies()
        next(copies)
        writer.record([found(writer.pages([9])[9], b"new", NOON + 1)])
        writer.remove([address(5)])
        assert sum(batch.num_rows for batch in log) == 8
        assert reader.totals().pages == 9


def test_a_full_disk_is_reported_and_damages_nothing(path: Path) -> None:
    with SqliteStore.open(path) as store:
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


def test_a_file_size_limit_is_reported_and_damages_nothing(path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with SqliteStore.open(path) as store:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 50_000, limits[1]))
        try:
            with pytest.raises(StoreError, match="disk"):
                store.record([_later(store, i) for i in range(10)])
            assert store.totals().visits == 10
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        store.record([_later(store, i) for i in range(10)])
        assert store.check() == []
    with SqliteStore.open(path) as store:
        assert store.totals().visits == 20
        assert store.check() == []


def test_a_read_only_store_is_reported(path: Path) -> None:
    with SqliteStore.open(path) as store:
        store._database._connection.execute("PRAGMA query_only = ON")  # noqa: SLF001
        with pytest.raises(StoreError, match="the store cannot be written; check its permissions"):
            store.record([_later(store, 0)])
        assert store.totals().visits == 10


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_that_is_removed_or_replaced_in_use_is_noticed(
    path: Path, monkeypatch: pytest.MonkeyPatch, *, is_replaced: bool
) -> None:
    monkeypatch.chdir(path.parent)
    with SqliteStore.open(path.name) as store:
        monkeypatch.chdir("/")
        store.check_not_moved()
        path.rename(path.with_name("elsewhere.db"))
        if is_replaced:
            path.write_bytes(b"")
        with pytest.raises(StoreError, match="removed or replaced while it was in use"):
            store.check_not_moved()
        path.with_name("elsewhere.db").replace(path)
        store.check_not_moved()
    with SqliteStore.open(":memory:") as memory:
        memory.check_not_moved()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_missing_permissions_are_reported(path: Path) -> None:
    path.chmod(stat.S_IRUSR)
    path.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with pytest.raises(StoreError, match="permissions"):
            SqliteStore.open(path).set_meta("a", "b")
    finally:
        path.parent.chmod(stat.S_IRWXU)


def test_damage_is_found(path: Path, tmp_path: Path) -> None:
    damages = {
        "UPDATE bodies SET deflated = x'00' WHERE rowid = 1": "does not match its digest",
        "UPDATE bodies SET size = size + 1 WHERE rowid = 1": "does not have its recorded size",
        "UPDATE bodies SET stored = stored + 1 WHERE rowid = 1": "does not have its recorded size",
        "DELETE FROM bodies WHERE rowid = 1": "refers to a row that is missing from bodies",
        "INSERT INTO bodies VALUES (x'01', 0, 8, x'789c030000000001')": "belongs to no page",
        "DELETE FROM copies WHERE page = 4": "page 4 has a body without headers",
        "DELETE FROM visits WHERE page = 4": "10 visits are counted but 9 are logged",
        "UPDATE visits SET requests = 7 WHERE page = 4": "visits are counted",
        "UPDATE stock SET bodies = 11": "11 bodies are counted but 10 are stored",
        "UPDATE counters SET value = 9": "the number of page 9 could be assigned again",
        "DELETE FROM pages WHERE number = 3": "refers to a row that is missing from pages",
    }
    for number, (damage, sentence) in enumerate(damages.items()):
        copy = tmp_path / f"{number}.db"
        shutil.copy(path, copy)
        _run(copy, damage)
        with SqliteStore.open(copy) as store:
            problems = store.check()
            assert any(sentence in problem for problem in problems), (damage, problems)
            assert len(problems) == len(set(problems))


def test_a_damaged_body_is_not_returned(path: Path) -> None:
    _run(path, "UPDATE bodies SET deflated = x'789c030000000001'")
    with SqliteStore.open(path) as store:
        with pytest.raises(StoreError, match=r"the body [0-9a-f]{32} is damaged"):
            store.copy(address(0))
        with pytest.raises(StoreError, match="is damaged"):
            list(store.copies())


def test_a_damaged_file_is_reported(path: Path) -> None:
    whole = path.read_bytes()
    # The header is a store's; everything after the first page is garbage.
    path.write_bytes(whole[:4096] + b"\x55" * (len(whole) - 4096))
    with pytest.raises(StoreError, match="the store is damaged; restore"):
        SqliteStore.open(path)
    # The last pages of the file hold bodies.
    path.write_bytes(whole[:-8192] + b"\x55" * 8192)
    with SqliteStore.open(path) as store:
        assert "is damaged" in store.check()[0]
        with pytest.raises(StoreError, match="damaged"):
            list(store.copies())


def test_a_hundred_thousand_pages_can_be_added_twice(tmp_path: Path) -> None:
    with SqliteStore.open(tmp_path / "recrawl.db", create=True) as store:
        assert store.add(new_pages(100_000), at=NOON).new == 100_000
        assert store.add(new_pages(100_000), at=NOON).known == 100_000


def test_extended_error_codes_have_the_sentence_of_their_primary_code() -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
    assert "the disk failed or is full" in str(database.store_error("my.db", error))


def test_space_that_is_not_used_is_given_back(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with SqliteStore.open(path, create=True) as store:
        store.add(new_pages(300), at=NOON)
        rng = np.random.default_rng(1)
        pages = store.pages(range(300)).values()
        store.record([found(page, rng.bytes(5_000), NOON) for page in pages])
        assert store.unused() == 0
        store.remove([address(number) for number in range(290)])
        unused = store.unused()
        assert unused > 1_000_000
        before, after = store.compact()
        assert before - after >= unused * 0.9
        assert store.unused() == 0
        assert path.stat().st_size == after
        assert len(list(store.copies())) == 10
        assert store.check() == []
