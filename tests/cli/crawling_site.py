"""The program run in a folder of its own, as a new user would."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from recrawl.cli.app import app
from recrawl.engine.engine import Engine
from recrawl.engine.stats import Stats
from recrawl.parsing import pool as parse_pool
from recrawl.parsing import process as parse_process
from recrawl.store.sqlite import SqliteStore


def run(*arguments: str, given: str | None = None) -> Result:
    """Run the program and see that it succeeds."""
    result = CliRunner().invoke(app, arguments, input=given)
    assert result.exit_code == 0, result.output
    return result


def run_until(done: Callable[[SqliteStore], bool], *arguments: str) -> Result:
    """Crawl until the store in this folder shows something, however long that takes."""
    crawl_for = Engine.run

    async def crawl(self: Engine, seconds: float | None = None) -> Stats:
        async def watch() -> None:
            with SqliteStore.open("recrawl.db") as store:
                while not done(store):  # noqa: ASYNC110 - a file knows no events
                    await asyncio.sleep(0.05)
            self.stop()

        watching = asyncio.create_task(watch())
        stats = await crawl_for(self, seconds)
        if not watching.cancel():
            watching.result()
        return stats

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "run", crawl)
        patch.setattr(parse_process, "MAX_WAIT", 600.0)
        patch.setattr(parse_pool, "NICENESS", 0)
        return run("run", *arguments, "--for", "10m")


def has_copies(copies: int) -> Callable[[SqliteStore], bool]:
    """Whether a store has so many copies."""
    return lambda store: store.totals().with_copy == copies


def move_to(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder without settings from outside."""
    monkeypatch.chdir(folder)
    for name in [name for name in os.environ if name.startswith("RECRAWL_")]:
        monkeypatch.delenv(name)
