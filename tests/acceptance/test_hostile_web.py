"""A hostile web beside a good one: the crawl goes on, in little memory, and nobody is slowed.

A second crawl, of good hosts only, runs at the same time, so that whatever else the machine does
slows both.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from acceptance import program
from site_server import Site, page_about, serving

from recrawl.records import Outcome
from recrawl.store.sqlite import SqliteStore

SECONDS = 12.0
#: The share of visits that good hosts must get beside hostile ones. It is nine tenths on an idle
#: machine; on a busy one, the crawl that has to parse hostile pages is short of processor time.
MIN_SHARE = 0.3
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
        arguments = ("run", "--store", str(store), "--for", f"{SECONDS:g}s")
        with program.start(*arguments, settings=SETTINGS) as process:
            yield site, process


def visits(site: Site) -> int:
    return sum(request.path != "/robots.txt" for request in site.requests)


@pytest.mark.skipif(sys.platform != "linux", reason="hosts are 127.0.1.x, memory is in /proc")
def test_good_hosts_are_crawled_as_ever_beside_hostile_ones(tmp_path: Path) -> None:
    store = tmp_path / "beside.db"
    with (
        hostile_hosts(COPIES) as hostile,
        crawling(store, hostile) as (beside, process),
        crawling(tmp_path / "alone.db", ()) as (alone, control),
    ):
        memory = 0
        while process.poll() is None:
            memory = max(memory, program.max_memory(process.pid))
            time.sleep(0.1)
        for one in (process, control):
            said, complained = one.communicate()
            assert (one.returncode, complained) == (0, "")
            assert "Ran for" in said
    assert memory < MAX_MEMORY
    assert visits(alone) >= GOOD_HOSTS * GOOD_PAGES
    assert visits(beside) >= MIN_SHARE * visits(alone)
    with SqliteStore.open(store) as opened:
        assert opened.check() == []
        spent = opened.spent(0)
        # Every hostile host was tried, and most of what they did led to nothing.
        assert spent.outcomes[Outcome.FAILED] > len(hostile)
        for url in beside.urls:
            for n in range(GOOD_PAGES):
                copy = opened.copy(f"{url}/{n}")
                assert copy is not None
                assert copy.response.body == beside.pages[f"/{n}"].encode()
