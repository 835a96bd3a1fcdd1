"""Three ways to fetch all pages once, each in its own process; prints seconds and CPU time.

``python -m benchmarks.fetchers bare|scrapy|recrawl|start ADDRESS PAGES CONNECTIONS``
"""

import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.page_server import BYTES, PAGES


def print_result(pages: int, seconds: float, cpu: float) -> None:
    """Print the result as JSON."""
    print(json.dumps({"pages": pages, "seconds": seconds, "cpu": cpu}))


def bare(address: str, pages: int, connections: int) -> None:
    """Fetch with aiohttp and discard the responses."""
    import aiohttp
    import uvloop

    async def fetch() -> None:
        numbers = iter(range(pages))
        connector = aiohttp.TCPConnector(limit=connections)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def work() -> None:
                for number in numbers:
                    async with session.get(f"{address}/{number}") as response:
                        assert len(await response.read()) == BYTES

            await asyncio.gather(*(work() for _ in range(connections)))

    cpu, start = time.process_time(), time.perf_counter()
    uvloop.run(fetch())
    print_result(pages, time.perf_counter() - start, time.process_time() - cpu)


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
    print_result(len(times), times[-1] - start, time.process_time() - cpu)


def with_recrawl(address: str, pages: int, connections: int) -> None:
    """Crawl with recrawl: robots, address checks, comparison, frontier, durable store.

    The store has more pages than are counted, so that all visits are first ones. The time is until
    that many were written; the CPU time is for all, until the last is written.
    """
    from recrawl.crawler import loop
    from recrawl.crawler.build import run_crawl
    from recrawl.crawler.settings import Settings
    from recrawl.crawler.stats import Stats
    from recrawl.store.rows import NewPage
    from recrawl.store.sqlite import SqliteStore

    # Otherwise the end would be noticed half a second late.
    loop.WATCH_EVERY = 0.02
    begun: list[tuple[float, float]] = []
    ended: list[float] = []

    def watch(view: Stats) -> None:
        if not begun:
            begun.append((time.perf_counter(), time.process_time()))
        if view.visits >= pages and not ended:
            ended.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "recrawl.db")
        host = address.removeprefix("http://")
        with SqliteStore.open(path, create=True) as store:
            store.add([NewPage(f"{address}/{n}", host) for n in range(PAGES)], at=0)
        settings = Settings(
            store=path,
            budget=1e9,
            host_delay=0.0,
            host_connections=connections,
            connections=connections,
            allow_private=True,
            # Nothing is visited twice, however large the budget.
            min_interval=1.0,
        )
        view = run_crawl(settings, seconds=300.0, watch=watch)
        cpu = time.process_time() - begun[0][1]
        with SqliteStore.open(path) as store:
            assert store.totals().with_copy == view.visits
    print_result(pages, ended[0] - begun[0][0], cpu * pages / view.visits)


def start(path: str, _pages: int, _connections: int) -> None:
    """Start a run on a store and end it at the first statistics, imports included."""
    begun = time.perf_counter()
    import resource

    from recrawl.crawler.build import run_crawl
    from recrawl.crawler.settings import Settings
    from recrawl.crawler.stats import Stats

    def watch(_view: Stats) -> None:
        seconds = time.perf_counter() - begun
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "megabytes": megabytes}))
        os.kill(os.getpid(), signal.SIGINT)

    run_crawl(Settings(store=path), seconds=60.0, watch=watch)


WAYS = {"bare": bare, "scrapy": with_scrapy, "recrawl": with_recrawl, "start": start}

if __name__ == "__main__":
    WAYS[sys.argv[1]](sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
