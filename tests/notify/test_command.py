"""A command that is run for every change: in order, again when it fails, never in the way."""

import asyncio
import json
import logging
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from store.made_up import HOUR, NOON, address, found, gone, new_pages
from virtual_time import run as run_virtual

from recrawl.config.sources import load_settings
from recrawl.errors import SettingsError
from recrawl.notify import command as change_hook
from recrawl.notify.command import CURSOR, ChangeHook
from recrawl.store.changes import Cursor
from recrawl.store.rows import Retention
from recrawl.store.sqlite import SqliteStore

#: Appends its standard input to a file, after failing as often as another file has lines.
COMMAND = """\
folder=$1
if [ -s "$folder/failures" ]; then
    tail -n +2 "$folder/failures" > "$folder/left"
    mv "$folder/left" "$folder/failures"
    exit 3
fi
cat >> "$folder/lines"
"""


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POLL", "FIRST_RETRY", "MAX_RETRY"):
        monkeypatch.setattr(change_hook, name, 0.001)
    monkeypatch.setattr(change_hook, "MAX_RUN", 600.0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore.open(tmp_path / "recrawl.db", create=True) as opened:
        opened.add(new_pages(4), at=NOON)
        yield opened


def command(folder: Path) -> str:
    script = folder / "hook.sh"
    script.write_text(COMMAND)
    return shlex.join(["sh", str(script), str(folder)])


def lines(folder: Path) -> list[dict[str, Any]]:
    written = folder / "lines"
    return list(map(json.loads, written.read_text().splitlines())) if written.exists() else []


def change(store: SqliteStore, hours: int) -> None:
    pages = store.pages(range(4)).values()
    store.record([found(page, b"%d" % hours, NOON + hours * HOUR) for page in pages])


def run_until(done: Callable[[], bool], hook: ChangeHook) -> None:
    """Let the hook run until something is so, however long that takes."""

    async def main() -> None:
        async with hook.running():
            while not done():  # noqa: ASYNC110 - a file knows no events
                await asyncio.sleep(0.01)

    asyncio.run(main())


def test_the_command_gets_every_change_in_order(tmp_path: Path, store: SqliteStore) -> None:
    store.set_meta(CURSOR, "0")
    change(store, 0)
    change(store, 1)
    store.record([gone(store.pages([2])[2], NOON + 2 * HOUR)])
    store.remove([address(1)], at=NOON + 3 * HOUR)
    with SqliteStore.open(tmp_path / "recrawl.db") as other:
        run_until(lambda: len(lines(tmp_path)) == 10, ChangeHook(command(tmp_path), other))
    assert [line["cursor"] for line in lines(tmp_path)] == [f"{n}" for n in range(1, 11)]
    assert [line["kind"] for line in lines(tmp_path)] == [
        *["new"] * 4,
        *["changed"] * 4,
        "gone",
        "removed",
    ]
    assert lines(tmp_path)[9]["url"] == address(1)
    assert store.meta(CURSOR) in ("9", "10")


def test_a_command_that_fails_is_run_again(
    tmp_path: Path, store: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.set_meta(CURSOR, "0")
    change(store, 0)
    (tmp_path / "failures").write_text("\n" * 5)
    with (
        caplog.at_level(logging.WARNING, "recrawl.crawler"),
        SqliteStore.open(tmp_path / "recrawl.db") as other,
    ):
        run_until(lambda: len(lines(tmp_path)) == 4, ChangeHook(command(tmp_path), other))
    assert [line["cursor"] for line in lines(tmp_path)] == ["1", "2", "3", "4"]
    assert len(caplog.records) == 5
    assert f"ended with status 3 for {address(0)}" in caplog.text


def test_a_hook_that_is_stopped_goes_on_where_it_was(tmp_path: Path, store: SqliteStore) -> None:
    store.set_meta(CURSOR, "0")
    change(store, 0)
    for seen in (1, 3):
        with SqliteStore.open(tmp_path / "recrawl.db") as other:
            hook = ChangeHook(command(tmp_path), other)
            run_until(lambda seen=seen: len(lines(tmp_path)) >= seen, hook)  # type: ignore[misc]
    with SqliteStore.open(tmp_path / "recrawl.db") as other:
        hook = ChangeHook(command(tmp_path), other)
        run_until(lambda: store.meta(CURSOR) == "4", hook)
    cursors = [line["cursor"] for line in lines(tmp_path)]
    assert sorted(set(cursors)) == ["1", "2", "3", "4"]
    assert cursors == sorted(cursors)


def test_a_new_hook_begins_with_what_changes_from_then_on(
    tmp_path: Path, store: SqliteStore
) -> None:
    change(store, 0)
    with SqliteStore.open(tmp_path / "recrawl.db") as other:
        run_until(lambda: store.meta(CURSOR) == "4", ChangeHook(command(tmp_path), other))
        change(store, 1)
        run_until(lambda: store.meta(CURSOR) == "8", ChangeHook(command(tmp_path), other))
    assert [line["cursor"] for line in lines(tmp_path)] == ["5", "6", "7", "8"]


def test_changes_that_were_dropped_are_passed_over(tmp_path: Path, store: SqliteStore) -> None:
    store.set_meta(CURSOR, "0")
    with SqliteStore.open(tmp_path / "recrawl.db", retention=Retention(changes=3)) as other:
        change(other, 0)
        hook = ChangeHook(command(tmp_path), other)
        run_until(lambda: len(lines(tmp_path)) == 3, hook)
    assert [line["cursor"] for line in lines(tmp_path)] == ["2", "3", "4"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["/no/such/program"], "cannot be run (No such file or directory)"),
        ([sys.executable, "-c", "import time; time.sleep(600)"], "took more than 0.01 s"),
    ],
)
def test_a_command_that_cannot_be_run_or_hangs_is_logged(
    tmp_path: Path,
    store: SqliteStore,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    problem: str,
) -> None:
    monkeypatch.setattr(change_hook, "MAX_RUN", 0.01)
    monkeypatch.setattr(change_hook, "GRACE", 0.01)
    store.set_meta(CURSOR, "0")
    change(store, 0)
    with (
        caplog.at_level(logging.WARNING, "recrawl.crawler"),
        SqliteStore.open(tmp_path / "recrawl.db") as other,
    ):
        run_until(lambda: len(caplog.records) > 1, ChangeHook(shlex.join(arguments), other))
    assert problem in caplog.text
    assert store.meta(CURSOR) == "0"


def test_pauses_between_attempts_double_up_to_a_limit(
    store: SqliteStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # In virtual time there is no hurry.
    change(store, 0)
    hook = ChangeHook("/no/such/program", store)

    async def main() -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(1_112.0):
                await hook._deliver(store.feed.read(Cursor(0), 1)[0])  # noqa: SLF001

    with caplog.at_level(logging.WARNING, "recrawl.crawler"):
        run_virtual(main())
    pauses = re.findall(r"retrying in (\d+) s", caplog.text)
    assert pauses == [f"{min(2**n, 300)}" for n in range(12)]


def test_a_command_must_be_well_formed() -> None:
    with pytest.raises(
        SettingsError, match="on_change: a quotation mark is missing in 'echo ••••'"
    ):
        load_settings({"on_change": 'echo "'}, environ={}, file="/dev/null")
