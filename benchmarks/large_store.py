"""A store of a million pages: adding them, and how long the commands take that look at it.

Each command runs as a process of its own, as people start it; its CPU time counts, with the start
of Python. What visits would have written is made up, of the sizes that it has in a crawl.
"""

import os
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.report import Figure, load_note, markdown, write_section
from benchmarks.sizes import sized
from recrawl.inspect.explain import PRICE
from recrawl.records import MICROSECONDS_A_DAY
from recrawl.scheduling.value import days_until_due
from recrawl.store.sqlite import SqliteStore

PAGE = "reference/store.md"
PAGES, HOSTS, BODIES, REPEAT = sized((1_000_000, 5_000, 1_000, 3), (200, 10, 10, 1))
#: What a visit is worth, and the days after which a page is visited in any case.
PAGE_PRICE, MAX_INTERVAL = 1.0, 30.0
MAX_ADDING = 10.0
MAX_LOOKING = 1.0
ASKED = f"https://site{7}.example/7/7.html"
COMMANDS = {
    "recrawl status": "status",
    "recrawl pages": "pages",
    "recrawl pages --host site7.example": "pages --host site7.example",
    "recrawl pages --failing --sort error": "pages --failing --sort error",
    "recrawl pages --sort url": "pages --sort url",
    "recrawl pages --due 1h --sort next-visit": "pages --due 1h --sort next-visit",
    "recrawl pages --min-rate 1/day --sort rate": "pages --min-rate 1/day --sort rate",
    "recrawl show URL": f"show {ASKED}",
    "recrawl changes": "changes",
}
#: What visits write: most pages are well, a few fail, are gone or refused.
FILL = (
    """
    UPDATE pages SET
        state = CASE WHEN number % 97 = 0 THEN 2 WHEN number % 89 = 0 THEN 3 ELSE 0 END,
        failures = number % 101 = 0, reason = CASE WHEN number % 89 = 0 THEN 'robots.txt' END,
        etag = hex(randomblob(12)),
        last_modified = 'Tue, 17 Nov 2026 00:00:00 GMT', fingerprint_kind = 'text',
        fingerprint = randomblob(64), visits = 9, changes = 3, streak = 1, feed_state = 1,
        shape = 0.5 + abs(random() % 1000) / 250.0, time = 1.0 + abs(random() % 1000) / 10.0,
        octaves = randomblob(34),
        body = (SELECT digest FROM bodies WHERE rowid = number % :bodies + 1)
    WHERE number % 50 <> 0
    """,
    # As a crawl leaves them that keeps up: none is overdue.
    """
    UPDATE pages SET last_visit = :now - visited_before(importance, shape, time)
    WHERE number % 50 <> 0
    """,
    """
    INSERT INTO visits (page, at, outcome, previous, status, bytes, ms, requests, truncated, error)
    SELECT number, last_visit, 1, NULL, 200, 5000, 50, 1, 0,
        CASE WHEN failures > 0 THEN 'the server did not respond within 30 s' END
    FROM pages WHERE last_visit IS NOT NULL
    """,
    """
    INSERT INTO copies (page, url, status, at, headers, truncated)
    SELECT number, url, 200, last_visit, x'', 0 FROM pages WHERE body IS NOT NULL
    """,
    """
    INSERT INTO changes (page, url, kind, at, share)
    SELECT number, url, 1, last_visit, 0.5 FROM pages WHERE body IS NOT NULL ORDER BY last_visit
    """,
)


def run() -> list[Figure]:
    """Add a million pages, and look at them."""
    with tempfile.TemporaryDirectory() as name:
        return measure(Path(name))


def measure(folder: Path) -> list[Figure]:
    """Make the store in a folder, unless it is there, and write the table."""
    store, urls = folder / "recrawl.db", folder / "urls.txt"
    numbers = list(range(PAGES))
    # In no order, as links are found.
    random.Random(1).shuffle(numbers)  # noqa: S311 - to be repeated
    lines = (f"https://site{n % HOSTS}.example/{n % 50}/{n}.html\n" for n in numbers)
    urls.write_text("".join(lines), encoding="ascii")
    adding = f"recrawl add --file urls.txt, {PAGES:,} pages"
    seconds = {adding: _cpu(folder, f"add --file {urls}")}
    _fill(store)
    for title, command in COMMANDS.items():
        seconds[title] = min(_cpu(folder, command) for _ in range(REPEAT))
    rows = [[title, f"{used:.2f} s"] for title, used in seconds.items()]
    table = markdown(["command", "CPU time"], rows)
    text = f"With a million pages on {HOSTS:,} hosts:\n\n{table}\n\n{load_note()}"
    write_section(PAGE, "large-store", text)
    return [
        Figure(title, used, MAX_ADDING if title == adding else MAX_LOOKING, unit=" s")
        for title, used in seconds.items()
    ]


def _fill(store: Path) -> None:
    """Write what visits would have written."""
    with SqliteStore.open(store) as opened:
        opened.set_meta(PRICE, repr(PAGE_PRICE))
    database = sqlite3.connect(store)
    with database:
        bodies = ((b"%016d" % n, 5_000, 8, b"made up!") for n in range(BODIES))
        database.executemany("INSERT INTO bodies VALUES (?, ?, ?, ?)", bodies)
        database.create_function("visited_before", 3, partial(_visited_before, random.Random(1)))  # noqa: S311
        for statement in FILL:
            database.execute(statement, {"now": time.time_ns() // 1_000, "bodies": BODIES})
    database.close()


def _visited_before(rng: random.Random, importance: float, shape: float, days: float) -> int:
    """Return how many microseconds ago a page was last visited, if it is not due yet."""
    due = min(days_until_due(importance, shape, days, PAGE_PRICE), MAX_INTERVAL)
    return round(rng.random() * due * MICROSECONDS_A_DAY)


def _cpu(folder: Path, command: str) -> float:
    """Return the CPU seconds that a command takes, once Python has compiled its modules."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(
        [sys.executable, "-m", "recrawl", *command.split()],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        env=env | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")},
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
