"""A store on a file system that is mounted read-only, as a snapshot or an archive is."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from acceptance.program import environ
from store.made_up import NOON, found, new_pages

from recrawl.store.sqlite import SqliteStore

#: Mounts a folder read-only, in a namespace of its own, and runs a program there.
_FROZEN = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'


def frozen(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the program while a folder is mounted read-only."""
    shell = ["unshare", "-rm", "sh", "-c", _FROZEN, "sh", str(folder)]
    return subprocess.run(
        [*shell, sys.executable, "-m", "recrawl", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder.parent,
        env=environ({}),
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "frozen"
    folder.mkdir()
    tried = ["unshare", "-rm", "sh", "-c", _FROZEN, "sh", str(folder), "true"]
    if shutil.which("unshare") is None or subprocess.run(tried, check=False).returncode:
        pytest.skip("this needs a file system that can be mounted read-only")
    with SqliteStore.open(folder / "recrawl.db", create=True) as store:
        store.add(new_pages(3), at=NOON)
        store.record([found(page, b"one", NOON) for page in store.pages(range(3)).values()])
    return folder / "recrawl.db"


@pytest.mark.parametrize("command", ["status", "pages", "changes", "check"])
def test_a_store_can_be_read(path: Path, command: str) -> None:
    store = ["--store", str(path)]
    result = frozen(path.parent, command, *store)
    assert (result.returncode, result.stderr) == (0, "")
    assert list(path.parent.iterdir()) == [path]


def test_a_store_cannot_be_written(path: Path) -> None:
    result = frozen(path.parent, "add", "https://a.example/", "--store", str(path))
    assert result.returncode == 2
    assert result.stderr.endswith("the store cannot be written; check its permissions\n")


def test_what_is_not_in_the_file_yet_is_not_passed_over(path: Path) -> None:
    path.with_name("recrawl.db-wal").write_bytes(b"visits")
    result = frozen(path.parent, "status", "--store", str(path))
    assert result.returncode == 2
    assert "recrawl.db-wal has what was written last; copy both files" in result.stderr
