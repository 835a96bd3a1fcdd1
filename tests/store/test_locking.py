"""One run at a time, across processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from store.made_up import NOON, new_pages

from recrawl.errors import StoreError
from recrawl.store.locking import runner_of
from recrawl.store.sqlite import SqliteStore

HOLD = """
import sys
from recrawl.store.sqlite import SqliteStore
with SqliteStore.open(sys.argv[1]) as store, store.lock():
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_a_second_run_learns_which_process_holds_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "recrawl.db"
    with (
        SqliteStore.open(path, create=True) as store,
        subprocess.Popen(
            [sys.executable, "-c", HOLD, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as holder,
    ):
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        sentence = rf"recrawl\.db: another recrawl \(process {holder.pid}\) is using this store$"
        with pytest.raises(StoreError, match=sentence), store.lock():
            pass
        assert store.add(new_pages(2), at=NOON).new == 2
        assert store.remove([new_pages(1)[0].url]) == [0]
        holder.kill()
        holder.wait()
        with store.lock():
            assert (tmp_path / "recrawl.db-run").read_text() == f"{os.getpid()}\n"
        assert (tmp_path / "recrawl.db-run").read_text() == ""


def test_an_unknown_holder_is_not_named(tmp_path: Path) -> None:
    path = tmp_path / "recrawl.db"
    with SqliteStore.open(path, create=True) as store, store.lock():
        (tmp_path / "recrawl.db-run").write_text("")
        with (
            pytest.raises(StoreError, match="another recrawl is using this store"),
            store.lock(),
        ):
            pass


def test_a_lock_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "recrawl.db-run").mkdir()
    with (
        SqliteStore.open(tmp_path / "recrawl.db", create=True) as store,
        pytest.raises(StoreError, match=r"recrawl\.db-run: it cannot be written: Is a directory"),
        store.lock(),
    ):
        pass


def test_the_process_of_the_run_is_known_while_it_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "recrawl.db"
    lock = tmp_path / "recrawl.db-run"
    with SqliteStore.open(path, create=True) as store:
        assert runner_of(path) is None
        with store.lock():
            assert runner_of(path) == os.getpid()
            # Another user's process may not be signalled, but it is alive.
            monkeypatch.setattr(os, "kill", _refuse)
            assert runner_of(path) == os.getpid()
            monkeypatch.undo()
            # The process of a killed run, while a new one acquires the lock.
            with subprocess.Popen([sys.executable, "-c", ""]) as ended:
                pass
            lock.write_text(f"{ended.pid}\n")
            assert runner_of(path) is None
        # The process that a killed run left behind is another program's by now.
        lock.write_text(f"{os.getpid()}\n")
        assert runner_of(path) is None


def _refuse(_process: int, _signal: int) -> None:
    raise PermissionError
