"""A hostile web beside a good one: the crawl goes on, in little memory, and nobody is slowed.

A second crawl, of good hosts only, runs at the same time, for comparison. Whatever else the machine
does slows the first one more, as it has to parse hostile pages; so the time that it waits for a
processor is taken into account.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from acceptance import program
from site_server import Site, page_about, serving

from recrawl.records import Outcome
from recrawl.store.sqlite import SqliteStore

#: How long to compare, at least, and the deadline for all the rest.
SECONDS, DEADLINE = 10.0, 600.0
#: The share of visits that good hosts must get beside hostile ones; it is nine tenths when idle.
MIN_SHARE = 0.6
MAX_MEMORY = 500_000_000
GOOD_HOSTS, GOOD_PAGES, BAD_PAGES = 3, 20, 10
COPIES = 1
#: Timeouts that a test can wait for, and a budget that is not the limit.
SETTINGS = {
    "allow_private": "true",
    "budget": "400/s",
    "host_delay": "0.1s",
    "connect_timeout": "2s",
    "read_timeout": "2s",
    "total_timeout": "4s",
    "follow": "true",
    "contact": "https://example.org/bot",
}


@contextmanager
def hostile_hosts(copies: int) -> Iterator[list[str]]:
    """Serve a hostile web; yields its addresses."""
    server = Path(__file__).with_name("hostile_server.py")
    with subprocess.Popen(
        [sys.executable, server, str(copies)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
        process.kill()


@contextmanager
def crawling(store: Path, hostile: Sequence[str]) -> Iterator[tuple[Site, "subprocess.Popen[str]"]]:
    """Crawl good hosts beside hostile ones; yields the good site and the process."""
    pages = {f"/{n}": page_about(f"This is page {n}.") for n in range(GOOD_PAGES)}
    with serving(Site(pages), GOOD_HOSTS) as site:
        program.add(store, (f"{url}/{n}" for url in site.urls for n in range(GOOD_PAGES)))
        program.add(store, (f"{url}/{n}" for url in hostile for n in range(BAD_PAGES)))
        with program.start("run", "--store", str(store), settings=SETTINGS) as process:
            yield site, process
            process.send_signal(signal.SIGINT)
            output, complained = process.communicate(timeout=DEADLINE)
    assert (process.returncode, complained) == (0, "")
    assert "Ran for" in output


def visits(site: Site) -> int:
    return sum(request.path != "/robots.txt" for request in site.requests)


def scheduled(process: int) -> tuple[float, float]:
    """Return the seconds that a process has run, and has waited for a processor."""
    tasks = Path(f"/proc/{process}/task")
    stats = [path.read_text("ascii").split() for path in tasks.glob("*/schedstat")]
    return sum(int(one[0]) for one in stats) / 1e9, sum(int(one[1]) for one in stats) / 1e9


def wait_until(is_done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not is_done():
        assert time.monotonic() < deadline
        time.sleep(0.2)


@pytest.mark.skipif(sys.platform != "linux", reason="hosts are 127.0.1.x, memory is in /proc")
def test_good_hosts_are_crawled_as_ever_beside_hostile_ones(tmp_path: Path) -> None:
    store = tmp_path / "beside.db"
    with (
        hostile_hosts(COPIES) as hostile,
        crawling(store, hostile) as (beside, process),
        crawling(tmp_path / "alone.db", ()) as (alone, _),
    ):

        def is_done() -> bool:
            good = {(one.host, one.path) for one in beside.requests if one.path != "/robots.txt"}
            with SqliteStore.open(store) as opened:
                failed = opened.spent(0).outcomes[Outcome.FAILED]
            # Every hostile host was tried, and most of what they did led to nothing.
            return len(good) == GOOD_HOSTS * GOOD_PAGES and failed > len(hostile)

        wait_until(lambda: visits(beside) > 0 and visits(alone) > 0)
        before, start = (visits(beside), visits(alone)), scheduled(process.pid)
        time.sleep(SECONDS)
        after, end = (visits(beside), visits(alone)), scheduled(process.pid)
        wait_until(is_done)
        assert program.max_memory(process.pid) < MAX_MEMORY
    ran, waited = end[0] - start[0], end[1] - start[1]
    share = (after[0] - before[0]) / (after[1] - before[1])
    assert share >= MIN_SHARE * ran / (ran + waited)
    with SqliteStore.open(store) as opened:
        assert opened.check() == []
        for url in beside.urls:
            for n in range(GOOD_PAGES):
                copy = opened.copy(f"{url}/{n}")
                assert copy is not None
                assert copy.response.body == beside.pages[f"/{n}"].encode()
