"""A crawl that is killed many times, beside a server that remembers all it served."""

import hashlib
import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from acceptance import program
from site_server import Site, page_about, serving

from recrawl.engine.record import BATCH
from recrawl.store.sqlite import SqliteStore

PAGES, CONNECTIONS = 60, 8
#: Requests per second.
BUDGET = 100
#: Requests that a kill may lose: pages in flight, each fetched twice perhaps, and visits that wait
#: to be written.
MAX_LOST = 2 * CONNECTIONS + BATCH
SETTINGS = {
    "allow_private": "true",
    "budget": f"{BUDGET}/s",
    "host_delay": "0s",
    "first_fill": "budget",
    "host_connections": str(CONNECTIONS),
    "connections": str(CONNECTIONS),
    "contact": "https://example.org/bot",
}


@dataclass
class Run:
    """What came of one run up to its end.

    Attributes:
        reported: Visits that it had reported.
        logged: Visits that it left in the log.
        requests: What those cost.
        served: Requests for pages that the server saw.
        seconds: How long it crawled.
    """

    reported: int
    logged: int
    requests: int
    served: int
    seconds: float

    @property
    def allowed(self) -> float:
        """Requests that the budget allowed."""
        return BUDGET * self.seconds

    @property
    def lost(self) -> int:
        """Requests that the log does not know about."""
        return self.served - self.requests


@dataclass
class Crawled:
    """What came of all runs.

    Attributes:
        runs: One after another; the last was not killed.
        problems: What is wrong with the log or the store, if anything.
    """

    runs: list[Run] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class Unique(dict[str, str]):
    """Pages of which no two answers have the same bytes; some change in what they say, too."""

    def __init__(self) -> None:
        self.served: dict[bytes, str] = {}
        self._numbers = itertools.count()

    def get(self, path: str, default: str | None = None) -> str | None:  # type: ignore[override]
        """Write a page, and remember having done so."""
        if path == "/robots.txt":
            return default
        number, now = next(self._numbers), int(time.monotonic() * 2)
        # A third of the pages changes twice a second, by a word of its own each time.
        word = hashlib.sha256(f"{path} {now}".encode()).hexdigest() if int(path[1:]) % 3 else ""
        letters = word.translate(str.maketrans("0123456789", "ghijklmnop"))
        body = page_about(f"This is page {path}.", letters) + f"<!-- answer {number} -->"
        self.served[hashlib.sha1(body.encode(), usedforsecurity=False).digest()] = path
        return body


@contextmanager
def unique_site() -> Iterator[tuple[Site, Unique]]:
    """Serve pages that are never the same."""
    pages = Unique()
    with serving(Site(pages)) as site:
        yield site, pages


def crawl_and_kill(store: Path, kills: Sequence[int]) -> Crawled:
    """Crawl, be killed after this many requests, crawl on; the last run ends by itself.

    Requests and not seconds, so that a busy machine does the same more slowly.
    """
    crawled = Crawled()
    with unique_site() as (site, pages):
        program.add(store, (f"{site.url}/{n}" for n in range(PAGES)))
        before = (0, 0)
        for kill in (*kills, None):
            known = len(site.requests)
            reported, began, ended = _run(store, site, kill)
            served = sum(request.path != "/robots.txt" for request in site.requests[known:])
            after = _logged(store)
            crawled.runs.append(
                Run(
                    reported=reported,
                    logged=after[0] - before[0],
                    requests=after[1] - before[1],
                    served=served,
                    seconds=ended - began,
                )
            )
            before = after
            crawled.problems += _problems(store, pages, site.url)
    return crawled


def _run(store: Path, site: Site, kill: int | None) -> tuple[int, float, float]:
    """Run, and return how many visits were reported, when the crawl began and when it ended."""
    arguments = ["run", "--store", str(store), "--format", "json"]
    arguments += ["--for", "0.5s"] if kill is None else []
    with program.start(*arguments, settings=SETTINGS, often=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        if kill is not None:
            enough = len(site.requests) + kill

            def wait_and_kill() -> None:
                program.wait_until(lambda: len(site.requests) >= enough, process)
                process.kill()

            threading.Thread(target=wait_and_kill).start()
        # A line that is not ended was not reported.
        lines = [line for line in (first, *process.stdout) if line.endswith("\n")]
        process.wait()
        ended = time.time()
        errors = process.stderr.read()
    assert lines, errors
    last = json.loads(lines[-1])
    return last["visits"], datetime.fromisoformat(last["began"]).timestamp(), ended


def _logged(store: Path) -> tuple[int, int]:
    with SqliteStore.open(store) as opened:
        return opened.totals().visits, opened.spent(0).requests


def _problems(store: Path, pages: Unique, url: str) -> list[str]:
    """Find what is wrong: with the store itself, and with it beside what the server served."""
    with SqliteStore.open(store) as opened:
        problems = list(opened.check())
        rows = [row for batch in opened.visits() for row in batch.to_pylist()]
        copies = {copy.page.url: copy.response.body or b"" for copy in opened.copies()}
    twice = Counter((row["url"], row["at"]) for row in rows)
    problems += [f"visit {visit} is logged twice" for visit, times in twice.items() if times > 1]
    digests = Counter(row["sha1"] for row in rows if row["sha1"] is not None)
    problems += [f"answer {one!r} is logged twice" for one, times in digests.items() if times > 1]
    problems += [f"answer {one!r} was never served" for one in digests if one not in pages.served]
    for address, body in copies.items():
        digest = hashlib.sha1(body, usedforsecurity=False).digest()
        if pages.served.get(digest) != address.removeprefix(url):
            problems.append(f"the copy of {address} was never served")
    return problems
