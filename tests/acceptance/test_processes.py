"""Fetching in several processes: as polite as in one, and no process is missed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from acceptance import program
from acceptance.test_polite import SETTINGS, check_delays, times_of
from site_server import Site, page_about, serving

from recrawl.store.sqlite import SqliteStore

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

PROCESSES = 3
DELAY = 0.3


def worker_processes(parent: int) -> list[int]:
    """Return the fetch processes that a process has started."""
    try:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text("ascii").split()
        lines = {int(one): Path(f"/proc/{one}/cmdline").read_bytes() for one in children}
    except OSError:
        return []
    return [one for one, line in lines.items() if b"worker_process" in line]


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@contextmanager
def crawling(store: Path, **settings: str) -> Iterator[subprocess.Popen[str]]:
    """Crawl in several processes, and end that whatever happens."""
    given = {**SETTINGS, "host_delay": f"{DELAY}s", "processes": str(PROCESSES), **settings}
    with program.start("run", "--store", str(store), settings=given) as process:
        try:
            yield process
        finally:
            process.kill()


def stopped(process: subprocess.Popen[str]) -> None:
    """Stop a crawl, and check that it ends as it should."""
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=program.HANGS)
    assert process.returncode == 0, errors


def a_site() -> Site:
    robots = "User-agent: *\nDisallow: /secret/\n"
    pages = {f"/{n}": page_about(f"This is page {n}.") for n in range(4)}
    return Site({**pages, "/secret/1": page_about("Not for you."), "/robots.txt": robots})


def all_asked(site: Site, count: int) -> bool:
    times = times_of(list(site.requests)).values()
    return len(times) == len(site.urls) and min(map(len, times)) >= count


def visited(store: Path) -> int:
    with SqliteStore.open(store) as opened:
        return opened.totals().with_copy


def test_hosts_are_lent_to_processes_and_asked_as_politely_as_by_one(tmp_path: Path) -> None:
    site, store = a_site(), tmp_path / "recrawl.db"
    with serving(site, hosts=6):
        paths = [path for path in site.pages if path != "/robots.txt"]
        program.add(store, (url + path for url in site.urls for path in paths))
        with crawling(store) as process:
            program.wait_until(partial(all_asked, site, 6), process)
            running = worker_processes(process.pid)
            stopped(process)
    assert len(running) == PROCESSES
    assert not any(map(is_running, running))
    check_delays(site.requests, DELAY)
    assert site.asked("/secret/1") == []
    assert len(site.asked("/robots.txt")) == len(site.urls)
    program.check(store)
    with SqliteStore.open(store) as opened:
        spent = opened.spent(0)
    assert spent.robots == len(site.urls)
    assert spent.requests == len(site.requests) - spent.robots


def test_redirects_to_hosts_that_others_have_keep_their_delays(tmp_path: Path) -> None:
    site, store = a_site(), tmp_path / "recrawl.db"
    with serving(site, hosts=4):
        for number, target in enumerate([*site.urls[1:], site.urls[0]]):
            # Each host sends on to the next.
            site.status[f"/to{number}"] = 302
            site.headers[f"/to{number}"] = {"Location": f"{target}/{number}"}
        urls = [f"{url}/to{number}" for number, url in enumerate(site.urls)]
        program.add(store, [*urls, *(f"{url}/3" for url in site.urls)])
        with crawling(store) as process:
            program.wait_until(partial(all_asked, site, 8), process)
            program.wait_until(lambda: visited(store) == 8, process)
            stopped(process)
    check_delays(site.requests, DELAY)
    assert visited(store) == 8
    assert len(site.asked("/robots.txt")) == len(site.urls)


def test_a_process_that_is_killed_is_replaced_and_its_pages_are_visited(tmp_path: Path) -> None:
    site, store = a_site(), tmp_path / "recrawl.db"
    with serving(site, hosts=6):
        program.add(store, (f"{url}/{n}" for url in site.urls for n in range(4)))
        with crawling(store) as process:
            program.wait_until(partial(all_asked, site, 3), process)
            before = worker_processes(process.pid)
            for one in before:
                os.kill(one, signal.SIGKILL)
            asked = len(site.requests)
            program.wait_until(lambda: len(site.requests) > asked + 60, process)
            after = worker_processes(process.pid)
            stopped(process)
    assert len(before) == len(after) == PROCESSES
    assert not set(before) & set(after)
    assert visited(store) == 24
    check_delays(site.requests, DELAY)
    program.check(store)


def test_processes_end_with_a_crawl_that_is_killed(tmp_path: Path) -> None:
    site, store = a_site(), tmp_path / "recrawl.db"
    with serving(site, hosts=3):
        program.add(store, (f"{url}/{n}" for url in site.urls for n in range(4)))
        with crawling(store) as process:
            program.wait_until(partial(all_asked, site, 2), process)
            running = worker_processes(process.pid)
            process.kill()
            process.wait()
            wait_for(lambda: not any(map(is_running, running)))
        program.check(store)
        with crawling(store) as process:
            program.wait_until(lambda: visited(store) >= 12, process)
            stopped(process)
    assert len(running) == PROCESSES
    assert visited(store) == 12
    check_delays(site.requests, DELAY)


def wait_for(done: Callable[[], bool]) -> None:
    """Wait until something is so; a test that waits in vain hangs, and fails for that."""
    end = time.monotonic() + program.HANGS
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_sitemaps_and_links_are_read_beside_the_processes(tmp_path: Path) -> None:
    site, store = a_site(), tmp_path / "recrawl.db"
    with serving(site, hosts=3):
        for number, url in enumerate(site.urls):
            site.pages[f"/map{number}"] = (
                '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
                f"<url><loc>{url}/1</loc></url><url><loc>{url}/2</loc></url></urlset>"
            )
            site.pages[f"/start{number}"] = page_about("Start here.", links=(f"{url}/3",))
        program.add(store, (f"{url}/start{n}" for n, url in enumerate(site.urls)))
        with SqliteStore.open(store) as opened:
            for number, url in enumerate(site.urls):
                opened.sitemaps.add(f"{url}/map{number}")
        with crawling(store, follow="true") as process:
            program.wait_until(lambda: visited(store) >= 12, process)
            stopped(process)
    assert visited(store) == 12
    check_delays(site.requests, DELAY)
