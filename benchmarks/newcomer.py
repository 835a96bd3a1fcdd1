"""A host that lists 10,000 new pages: what does it cost the pages that were there before?

In simulation, and over HTTP on the demo web; and how soon a site is filled that a user has added.
"""

import asyncio
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.report import HEADINGS, Figure, markdown, write_section
from benchmarks.sizes import sized
from recrawl import Crawler, Frontier
from recrawl.config.settings import Settings
from recrawl.crawler.running import run_crawl
from recrawl.demo.ground_truth import true_freshness
from recrawl.demo.run import GAP, HOST_CONNECTIONS, Visits, read_visits
from recrawl.demo.scenario import draw_scenario
from recrawl.demo.web import DemoWeb
from recrawl.engine.discovery.seeds import named_page
from recrawl.records import SECONDS_A_DAY
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore

PAGE = "explanation/policies.md"
#: Pages of the newcomer, and of the ten hosts that were there before.
NEW, OLD, HOSTS = sized((10_000, 500, 10), (200, 50, 5))
#: Visits per day, days before and after the newcomer, and takes per day.
BUDGET, BEFORE, AFTER, TAKES = sized((680.0, 30, 15, 96), (68.0, 3, 2, 24))
#: Mean changes of a page per day; rates are Gamma-distributed.
SHAPE, MEAN_RATE = 0.5, 0.5
#: Pages of the demo web, and the seconds that it changes.
DEMO_PAGES, DEMO_SECONDS, SEED = sized((300, 90.0, 1), (30, 3.0, 1))
#: Pages of a site that a user adds, seconds between two requests to it, and the usual budget.
SITE, DELAY, FILL_BUDGET = sized(200, 5), 0.2, "2000/day"


def run(
    new: int = NEW, days: int = AFTER, demo_seconds: float = DEMO_SECONDS, site: int = SITE
) -> list[Figure]:
    """Compare freshness with and without the newcomer, and time a first fill."""
    with Console(stderr=True).status(f"a newcomer with {new:,} pages"):
        kept = simulated(new, days)
        on_demo = _demo(new, demo_seconds) / _demo(0, demo_seconds)
        filled = fill_time(site, DELAY) / (site * DELAY)
    name = f"newcomer with {new:,} pages"
    figures = [
        Figure(f"{name}, {days} days: share kept of freshness", kept, 0.9, at_least=True),
        Figure(f"{name}, demo web: share kept of freshness", on_demo, 0.9, at_least=True),
        Figure("site added by a user: time of the first fill / what its delay allows", filled, 1.2),
    ]
    if new == NEW:
        table = markdown(HEADINGS, [figure.cells() for figure in figures])
        write_section(PAGE, "newcomer", table)
    return figures


def simulated(new: int, days: int) -> float:
    """Return the freshness of the old pages with the newcomer, as a share of that without.

    The newcomer's pages change like the others: nobody can tell that they matter less.
    """
    rng, pages = np.random.default_rng(SEED), OLD + new
    frontier = Frontier(BUDGET)
    frontier.add(range(OLD), now=0.0, host=np.arange(OLD) % HOSTS, last_visit=0.0)
    changes = -np.expm1(-rng.gamma(SHAPE, MEAN_RATE / SHAPE, pages) / TAKES)
    stale, fresh = np.zeros(pages, np.bool_), []
    for step in range(1, (BEFORE + days) * TAKES + 1):
        now = step / TAKES
        if step == BEFORE * TAKES:
            frontier.add(range(OLD, pages), now=now, host=HOSTS, discovered=True)
        stale |= rng.random(pages) < changes
        page = frontier.take(now, pages)
        frontier.report(page, now, stale[page])
        stale[page] = False
        fresh.append(1.0 - stale[:OLD].mean())
    before = fresh[BEFORE * TAKES // 2 : BEFORE * TAKES]
    return float(np.mean(fresh[BEFORE * TAKES :]) / np.mean(before))


def _demo(new: int, seconds: float) -> float:
    """Return how fresh the copies of the demo web really were, after a warm-up."""
    scenario = draw_scenario(DEMO_PAGES, seconds, SEED)
    with (
        tempfile.TemporaryDirectory() as folder,
        DemoWeb(scenario, time.time()) as web,
        _newcomer() as origin,
        SqliteStore.open(Path(folder) / "recrawl.db", create=True) as store,
    ):
        settings = Settings(
            store=os.fspath(Path(folder) / "recrawl.db"),
            budget=DEMO_PAGES / GAP * SECONDS_A_DAY,
            host_delay=0.0,
            host_connections=HOST_CONNECTIONS,
            allow_private=True,
            min_interval=0.0,
        )
        importance = [page.importance for page in scenario.pages]
        store.add(map(named_page, web.urls, importance), time.time_ns() // 1_000)
        run_crawl(settings, seconds=DEMO_PAGES / 50.0)
        began = time.time()
        web.begin(began)
        host = origin.removeprefix("http://")
        store.add(
            (NewPage(f"{origin}/{page}", host, source="link") for page in range(new)),
            round(began * 1e6),
        )
        run_crawl(settings, seconds=seconds)
        everything = [*web.urls, *(f"{origin}/{page}" for page in range(new))]
        seen = read_visits(store, everything, began)
    ours = seen.page < DEMO_PAGES
    old = Visits(seen.page[ours], seen.time[ours], seen.outcome[ours])
    return true_freshness(scenario.world, *old.copies()).mean(seconds / 6.0)


def fill_time(pages: int, delay: float) -> float:
    """Return the seconds until a site that a user has added has a copy of each page."""
    with tempfile.TemporaryDirectory() as folder, _newcomer() as origin:
        crawler = Crawler(
            Path(folder) / "recrawl.db",
            budget=FILL_BUDGET,
            host_delay=f"{delay}s",
            allow_private=True,
        )
        with crawler:
            crawler.add(f"{origin}/{page}" for page in range(pages))
            began = time.monotonic()
            ended = list[float]()

            def watch(stats: object) -> None:
                del stats
                if not ended and crawler.store.totals().with_copy == pages:
                    ended.append(time.monotonic() - began)
                    crawler.stop()

            crawler.run(3.0 * pages * delay + 10.0, watch=watch)
    return ended[0] if ended else float("inf")


@contextmanager
def _newcomer() -> Iterator[str]:
    """Serve any page at an address of its own, with another text every ten seconds."""
    loop, started = asyncio.new_event_loop(), threading.Event()
    origins: list[str] = []

    async def serve() -> None:
        server = await loop.create_server(_Protocol, "127.0.0.99", 0)
        origins.append("http://{}:{}".format(*server.sockets[0].getsockname()))
        started.set()
        await server.serve_forever()

    def work() -> None:
        with suppress(asyncio.CancelledError), asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    started.wait()
    try:
        yield origins[0]
    finally:
        loop.call_soon_threadsafe(_cancel_all, loop)
        thread.join()


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        task.cancel()


class _Protocol(asyncio.Protocol):
    """Responds to each request with robots.txt or a page."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        for request in data.split(b"\r\n\r\n")[:-1]:
            path = request.split(b" ", 2)[1]
            kind, body = b"text/plain", b"User-agent: *\n"
            if path != b"/robots.txt":
                words = b"It says %s at %d." % (path, time.time() // 10)
                kind, body = b"text/html", b"<title>%s</title><p>%s</p>" % (path, words)
            head = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
            self._transport.write(head % (kind, len(body)) + body)  # type: ignore[attr-defined]
