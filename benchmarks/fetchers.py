"""Ways to fetch many pages, each in its own process; prints seconds and CPU time as JSON.

``python -m benchmarks.fetchers WAY ADDRESS PAGES CONNECTIONS``, where the way is one of ``WAYS``.
"""

import asyncio
import gc
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.page_server import ADDRESSES, BYTES, LATER, LONG, LONG_PAGES, PAGES, long_page

#: Requests per day: more than anything can spend.
BUDGET = 1e9
#: How many times as many pages are fetched from several hosts.
HOSTS_PAGES = 5
#: The time between two runs on the same store.
BETWEEN = timedelta(days=30)


class Timing(NamedTuple):
    """What fetching so many pages took, with the CPU time of each part of a crawl."""

    pages: int
    seconds: float
    cpu: float
    loop: float = 0.0
    store: float = 0.0
    others: float = 0.0

    @property
    def pages_per_second(self) -> float:
        """Pages per second."""
        return self.pages / self.seconds

    @property
    def cpu_per_page(self) -> float:
        """Milliseconds of CPU time per page."""
        return 1e3 * self.cpu / self.pages

    def show(self) -> None:
        """Print the result as JSON."""
        print(json.dumps(self._asdict()))


def bare(address: str, pages: int, connections: int, *, conditional: bool = False) -> None:
    """Fetch with aiohttp and discard the responses; a second time by ETag, if that is measured."""
    import aiohttp
    import uvloop

    etags: dict[int, str] = {}

    async def fetch(session: aiohttp.ClientSession, number: int) -> None:
        headers = {"If-None-Match": etags[number]} if number in etags else None
        async with session.get(f"{address}/{number}", headers=headers) as response:
            assert len(await response.read()) == (0 if headers else BYTES)
            if conditional and headers is None:
                etags[number] = response.headers["ETag"]

    async def fetch_all(session: aiohttp.ClientSession) -> Timing:
        numbers = iter(range(pages))

        async def work() -> None:
            for number in numbers:
                await fetch(session, number)

        cpu, start = time.process_time(), time.perf_counter()
        await asyncio.gather(*(work() for _ in range(connections)))
        return Timing(pages, time.perf_counter() - start, time.process_time() - cpu)

    async def run() -> Timing:
        connector = aiohttp.TCPConnector(limit=connections)
        async with aiohttp.ClientSession(connector=connector) as session:
            if conditional:
                await fetch_all(session)
            return await fetch_all(session)

    uvloop.run(run()).show()


def bare_304(address: str, pages: int, connections: int) -> None:
    """Ask with aiohttp whether pages are still the same."""
    bare(address, pages, connections, conditional=True)


def with_scrapy(address: str, pages: int, connections: int) -> None:
    """Fetch with Scrapy and discard the responses."""
    import scrapy
    from scrapy.crawler import CrawlerProcess

    times: list[float] = []

    class Spider(scrapy.Spider):
        name = "bench"
        custom_settings = {  # noqa: RUF012 - Scrapy's way
            "CONCURRENT_REQUESTS": connections,
            "CONCURRENT_REQUESTS_PER_DOMAIN": connections,
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": False,
            "COOKIES_ENABLED": False,
            "RETRY_ENABLED": False,
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
        }

        async def start(self) -> Any:  # noqa: ANN401
            for number in range(pages):
                yield scrapy.Request(f"{address}/{number}", dont_filter=True)

        def parse(self, response: Any) -> None:  # noqa: ANN401
            assert len(response.body) == BYTES
            times.append(time.perf_counter())

    process = CrawlerProcess(install_root_handler=False)
    process.crawl(Spider)
    cpu, start = time.process_time(), time.perf_counter()
    process.start()
    Timing(len(times), times[-1] - start, time.process_time() - cpu).show()


def with_recrawl(address: str, pages: int, connections: int) -> None:
    """Crawl with recrawl: robots, address checks, comparison, frontier, durable store.

    The store has more pages than are counted, so that all visits are first ones.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = _filled(folder, [f"{address}/{number}" for number in range(PAGES)])
        _crawl(path, pages, connections).show()


def with_recrawl_hosts(address: str, pages: int, connections: int, *, processes: int = 1) -> None:
    """Crawl the pages of several hosts, which can be dealt to processes."""
    port = address.rpartition(":")[2]
    with tempfile.TemporaryDirectory() as folder:
        urls = [f"http://{host}:{port}/{n}" for n in range(PAGES) for host in ADDRESSES]
        # More than in the other ways, as it takes a while until all processes are busy.
        path, pages = _filled(folder, urls), HOSTS_PAGES * pages
        _crawl(path, pages, connections, processes=processes).show()


def with_recrawl_processes(address: str, pages: int, connections: int) -> None:
    """Crawl the pages of several hosts in two processes that fetch."""
    with_recrawl_hosts(address, pages, connections, processes=2)


def with_recrawl_304(address: str, pages: int, connections: int) -> None:
    """Visit pages a month later that are still the same, as the server says."""
    with tempfile.TemporaryDirectory() as folder:
        path = _filled(folder, [f"{address}/{number}" for number in range(pages)])
        _crawl(path, pages, connections)
        _crawl(path, pages, connections, is_later=True).show()


def with_recrawl_changed(address: str, _pages: int, connections: int) -> None:
    """Visit long pages a month later that have changed."""
    with tempfile.TemporaryDirectory() as folder:
        path = _filled(folder, [f"{address}/{LONG}{number}" for number in range(LONG_PAGES)])
        _crawl(path, LONG_PAGES, connections)
        _crawl(path, LONG_PAGES, connections, is_later=True, user_agent=LATER).show()


def _filled(folder: str, urls: list[str]) -> str:
    """Make a store with pages; return its path."""
    from recrawl.store.rows import NewPage
    from recrawl.store.sqlite import SqliteStore
    from recrawl.urls import host_in

    path = str(Path(folder) / "recrawl.db")
    with SqliteStore.open(path, create=True) as store:
        store.add([NewPage(url, host_in(url)) for url in urls], at=0)
    return path


def _crawl(
    path: str,
    pages: int,
    connections: int,
    *,
    is_later: bool = False,
    user_agent: str = "",
    processes: int = 1,
) -> Timing:
    """Crawl until so many visits are written, or a few more; CPU times are for that many."""
    from recrawl.clock import Clock
    from recrawl.config.settings import Settings
    from recrawl.crawler.running import run_crawl
    from recrawl.engine import engine
    from recrawl.engine.stats import Stats

    # Otherwise the end would be noticed half a second late.
    engine.WATCH_EVERY = 0.02
    begun: list[tuple[float, ...]] = []
    before: list[int] = []
    ended: list[float] = []

    # Processes that fetch, or read what has changed, take a moment to start.
    is_at_once = processes == 1 and not user_agent

    def watch(view: Stats) -> None:
        if not begun and (view.visits or is_at_once):
            before.append(view.visits)
            begun.append((time.perf_counter(), *_cpu_times()))
        if view.visits >= pages and not ended:
            ended.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

    settings = Settings(
        store=path,
        budget=BUDGET,
        host_delay=0.0,
        host_connections=connections,
        connections=connections,
        allow_private=True,
        # Nothing is visited twice, however large the budget.
        min_interval=1.0,
        user_agent=user_agent,
        processes=processes,
    )
    clock = Clock(start=datetime.now(UTC) + BETWEEN) if is_later else Clock()
    view = run_crawl(settings, seconds=300.0, watch=watch, clock=clock)
    # The CPU time of a process that has ended counts once it is waited for.
    for thread in threading.enumerate():
        if thread.name == "parse":
            thread.join(5.0)
    _check(path, view.visits, settings)
    start, *cpu_before = begun[0]
    used = [after - then for after, then in zip(_cpu_times(), cpu_before, strict=True)]
    pages -= before[0]
    whole, in_loop, others = (one * pages / (view.visits - before[0]) for one in used)
    cpu = whole + others
    return Timing(pages, ended[0] - start, cpu, in_loop, whole - in_loop, others)


def _cpu_times() -> tuple[float, float, float]:
    """Return the CPU time of this process, of its main thread, and of processes that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time(), time.thread_time(), children.ru_utime + children.ru_stime


def _check(path: str, visits: int, settings: Any) -> None:  # noqa: ANN401
    """Make sure that the visits found what they were to find."""
    from recrawl.records import Outcome
    from recrawl.store.sqlite import SqliteStore

    with SqliteStore.open(path) as store:
        totals, found = store.totals(), store.spent(0).outcomes
    assert not found[Outcome.FAILED]
    assert totals.with_copy >= visits
    assert bool(found[Outcome.CHANGED]) is bool(settings.user_agent)


def reading(_address: str, _pages: int, _connections: int) -> None:
    """Read the long pages that have changed, one after another on one core, and fetch nothing."""
    from recrawl.content.absence import Patience
    from recrawl.content.reader import Reader
    from recrawl.engine.templates import Templates
    from recrawl.fetching.visit import Visitor
    from recrawl.parsing.worker import GARBAGE_AFTER
    from recrawl.records import Outcome, Page, Response, digest_of

    class Here:
        async def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            return function(*args, **kwargs)

    day = 86_400_000_000
    copies, templates = dict[bytes, bytes](), Templates()
    visitor = Visitor(
        None,  # type: ignore[arg-type]  # nothing is fetched
        Reader("text"),
        copies.__getitem__,
        20,
        Patience(),
        Here(),
        templates=templates,
    )
    pages = [Page(n, f"http://example.org/{LONG}{n}", "example.org") for n in range(LONG_PAGES)]

    async def visit_all(version: int) -> float:
        took = 0.0
        for at, page in enumerate(pages):
            body = long_page(page.number, version)
            kind = (("Content-Type", "text/html"),)
            response = Response(page.url, 200, version * 30 * day, kind, body)
            began = time.process_time()
            visit = await visitor.read(page, response, again=False)
            took += time.process_time() - began
            assert visit.outcome is (Outcome.FIRST if version == 1 else Outcome.CHANGED)
            templates.learn(visit)
            copies[digest_of(body)], pages[at] = body, visit.page
        return took

    # As the processes do that read pages.
    gc.freeze()
    gc.set_threshold(GARBAGE_AFTER)
    asyncio.run(visit_all(1))
    took = asyncio.run(visit_all(2))
    Timing(LONG_PAGES, took, took).show()


def reading_on_all(address: str, pages: int, connections: int) -> None:
    """Read as `reading` does, on all cores side by side: they share caches and memory.

    CPU times count, as if each had a core of its own.
    """
    command = [sys.executable, "-m", "benchmarks.fetchers", "reading", address]
    readers = [
        subprocess.Popen([*command, str(pages), str(connections)], stdout=subprocess.PIPE)
        for _ in range(os.cpu_count() or 1)
    ]
    found = [Timing(**json.loads(reader.communicate()[0])) for reader in readers]
    read = sum(one.pages for one in found)
    seconds = read / sum(one.pages_per_second for one in found)
    Timing(read, seconds, sum(one.cpu for one in found)).show()


def start(path: str, _pages: int, _connections: int) -> None:
    """Start a run on a store and end it at the first statistics, imports included."""
    begun = time.perf_counter()

    from recrawl.config.settings import Settings
    from recrawl.crawler.running import run_crawl
    from recrawl.engine.stats import Stats

    def watch(_view: Stats) -> None:
        seconds = time.perf_counter() - begun
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "megabytes": megabytes}))
        os.kill(os.getpid(), signal.SIGINT)

    run_crawl(Settings(store=path), seconds=60.0, watch=watch)


WAYS = {
    "bare": bare,
    "bare-304": bare_304,
    "scrapy": with_scrapy,
    "recrawl": with_recrawl,
    "recrawl-hosts": with_recrawl_hosts,
    "recrawl-processes": with_recrawl_processes,
    "recrawl-304": with_recrawl_304,
    "recrawl-changed": with_recrawl_changed,
    "reading": reading,
    "reading-on-all": reading_on_all,
    "start": start,
}

if __name__ == "__main__":
    WAYS[sys.argv[1]](sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
