"""Killed at any time: what was acknowledged is there, once, and the store is intact."""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from store.made_up import NOON, new_pages

from recrawl.store.sqlite import SqliteStore

KILLS = 10
PAGES = 40

# Records batches for ever and acknowledges each; times start at the argument.
RECORD = """
import os, sys
from recrawl.store.sqlite import SqliteStore
from store.made_up import found
at = int(sys.argv[2])
with SqliteStore.open(sys.argv[1]) as store, store.lock():
    print("ready", flush=True)
    while True:
        pages = store.pages(range(at % 4, 40, 4)).values()
        visits = [found(page, os.urandom(3_000), at) for page in pages]
        store.record(visits, templates={"host": b"%d" % at})
        print(at, flush=True)
        at += 1
"""


def test_nothing_acknowledged_is_lost_or_counted_twice(tmp_path: Path) -> None:
    rng = random.Random(6)  # noqa: S311 - times, not secrets
    path = tmp_path / "recrawl.db"
    with SqliteStore.open(path, create=True) as store:
        store.add(new_pages(PAGES), at=NOON)
    acknowledged: list[int] = []
    at = NOON
    for _ in range(KILLS):
        acknowledged += _killed(path, at, rng.randint(1, 8), 0.02 * rng.random())
        with SqliteStore.open(path) as store:
            assert store.check() == []
            logged = Counter(time for batch in store.visits() for time in batch["at"].to_pylist())
            assert set(acknowledged) <= set(logged)
            # Batches are complete; at most the one in flight was written but not acknowledged.
            assert set(logged.values()) <= {PAGES // 4}
            # What is learned of a site is written with the visits that taught it.
            assert store.template("host") == b"%d" % max(logged)
            assert store.totals().visits == sum(logged.values())
            assert store.spent(0).requests == 2 * sum(logged.values())
            at = max(logged, default=NOON) + 1
    assert len(acknowledged) >= KILLS
    assert len(logged) <= len(acknowledged) + KILLS


def _killed(path: Path, at: int, batches: int, seconds: float) -> list[int]:
    """Kill a process some seconds after so many batches; return the times it acknowledged."""
    tests = str(Path(__file__).parents[1])
    found = os.environ.get("PYTHONPATH")
    with subprocess.Popen(
        [sys.executable, "-c", RECORD, path, str(at)],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": os.pathsep.join([tests, *filter(None, [found])])},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        printed = "".join(process.stdout.readline() for _ in range(batches))
        time.sleep(seconds)
        process.kill()
        # An unfinished line acknowledges nothing.
        printed += process.stdout.read()
    return [int(line) for line in printed.splitlines(keepends=True) if line.endswith("\n")]
