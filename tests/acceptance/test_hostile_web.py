"""A hostile web beside a good one: the crawl goes on, in little memory, and nobody is slowed."""

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

SECONDS = 10.0
MAX_MEMORY = 500_000_000
GOOD_HOSTS, GOOD_PAGES, BAD_PAGES = 3, 20, 10
COPIES = 1
#: Limits that a test can wait for, and a budget that is not what limits.
TOLD = {
    "allow_private": "true",
    "budget": "400/s",
    "host_delay": "0.1s",
    "connect_timeout": "2s",
    "idle_timeout": "2s",
    "total_timeout": "4s",
    "follow": "true",
    "contact": "https://example.org/bot",
}


@contextmanager
def hostile_hosts(copies: int) -> Iterator[list[str]]:
    """Serve a hostile web, and give its addresses."""
    server = Path(__file__).with_name("hostile_server.py")
    with subprocess.Popen(
        [sys.executable, server, str(copies)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
        process.kill()


def crawl(store: Path, hostile: Sequence[str]) -> tuple[Site, int, str]:
    """Crawl good hosts beside hostile ones: what the good saw, the memory, and the complaints."""
    pages = {f"/{n}": page_about(f"This is page {n}.") for n in range(GOOD_PAGES)}
    with serving(Site(pages), GOOD_HOSTS) as site:
        program.add(store, (f"{url}/{n}" for url in site.urls for n in range(GOOD_PAGES)))
        program.add(store, (f"{url}/{n}" for url in hostile for n in range(BAD_PAGES)))
        arguments = ("run", "--store", str(store), "--for", f"{SECONDS:g}s")
        with program.start(*arguments, settings=TOLD) as process:
            memory = 0
            while process.poll() is None:
                memory = max(memory, program.max_memory(process.pid))
                time.sleep(0.1)
            said, complained = process.communicate()
    assert process.returncode == 0, complained
    assert "Ran for" in said
    return site, memory, complained


@pytest.mark.skipif(sys.platform != "linux", reason="hosts are 127.0.1.x, memory is in /proc")
def test_good_hosts_are_crawled_as_ever_beside_hostile_ones(tmp_path: Path) -> None:
    alone, _, _ = crawl(tmp_path / "alone.db", ())
    store = tmp_path / "beside.db"
    with hostile_hosts(COPIES) as hostile:
        beside, memory, complained = crawl(store, hostile)
    assert complained == ""
    assert memory < MAX_MEMORY
    visits = [sum(request.path != "/robots.txt" for request in s.requests) for s in (alone, beside)]
    assert visits[0] > GOOD_HOSTS * SECONDS * 4
    # Nine tenths on a machine of their own; other tests run beside these two crawls.
    assert visits[1] >= 0.6 * visits[0]
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
