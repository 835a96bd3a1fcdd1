"""How-tos whose steps are run as they are written."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from cli.crawling_site import move_to, run

from recrawl.store.sqlite import SqliteStore

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_to(tmp_path, monkeypatch)
    program = tmp_path / "bin" / "recrawl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m recrawl "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


def steps(page: str) -> list[str]:
    """Return the commands of a how-to, one text per step."""
    text = (HOW_TO / page).read_text(encoding="utf-8")
    return re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def follow(commands: str) -> str:
    """Run a step in a shell; everything in it must succeed."""
    shell = shutil.which("sh")
    assert shell is not None
    ended = subprocess.run([shell, "-euc", commands], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_backup_is_restored_as_the_how_to_says() -> None:
    """Even over a store that was killed, whose last changes are in a second file."""
    run("add", "https://a.example/x")
    back_up, move_aside, put_back = steps("restore-a-backup.md")
    follow(back_up)
    run("add", "https://b.example/x")
    with closing(sqlite3.connect("recrawl.db")) as store:
        store.execute("PRAGMA wal_autocheckpoint = 0")
        with store:
            store.execute("UPDATE pages SET importance = 7")
        shutil.copyfile("recrawl.db-wal", "killed-wal")
    Path("killed-wal").rename("recrawl.db-wal")
    follow(move_aside)
    assert not list(Path().glob("recrawl.db*"))
    assert Path("old", "recrawl.db-wal").exists()
    assert "no problems" in follow(put_back)
    with SqliteStore.open("recrawl.db") as store:
        assert store.totals().pages == 1
        kept = store.page("https://a.example/x")
    assert kept is not None
    assert kept.importance == 1.0


def test_an_upgrade_goes_as_the_how_to_says() -> None:
    run("add", "https://a.example/x")
    back_up, check = steps("upgrade.md")
    assert "1 page" in follow(back_up)
    assert "no problems" in follow(check)
