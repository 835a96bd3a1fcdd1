"""The crawler's speed compared with bare fetches and Scrapy, and its start with a large store."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from benchmarks.page_server import HOW_TO_GET_NGINX, page_server
from benchmarks.report import Figure, markdown, write_section

PAGE = "how-to/crawl-a-site.md"
PAGES, CONNECTIONS = 2_000, 32
#: The machine is noisy: the fastest of several rounds counts, for all alike.
ROUNDS = 3
MILLION = 1_000_000


class Timing(NamedTuple):
    """The time that one way of fetching took."""

    pages: int
    seconds: float
    cpu: float

    @property
    def pages_per_second(self) -> float:
        """Pages per second."""
        return self.pages / self.seconds

    @property
    def cpu_per_page(self) -> float:
        """Milliseconds of CPU time per page."""
        return 1e3 * self.cpu / self.pages


def run() -> list[Figure]:
    """Measure, and write the table."""
    console = Console(stderr=True)
    with page_server() as (address, server), console.status("crawling"):
        if server != "nginx":
            console.print(HOW_TO_GET_NGINX)
        best = {way: measure(way, address) for way in ("bare", "scrapy", "recrawl")}
    with console.status("starting with a million pages"):
        seconds, megabytes = start_with_a_million()
    bare, scrapy, ours = best["bare"], best["scrapy"], best["recrawl"]
    names = {"bare": "aiohttp alone", "scrapy": "Scrapy, bare fetches", "recrawl": "recrawl"}
    rows = [
        [names[way], f"{one.pages_per_second:,.0f}", f"{one.cpu_per_page:.2f}"]
        for way, one in best.items()
    ]
    note = (
        f"{PAGES:,} pages of 5 kB, {CONNECTIONS} connections, served by "
        f"{'nginx' if server == 'nginx' else 'a server of our own'} on the same machine; all first "
        "visits. recrawl also asks robots.txt, checks addresses, keeps log and copies durably, and "
        "plans the next visits. A copy is read, for its fingerprint, when a body comes that is not "
        "the same byte by byte; that takes some 0.2 ms a page of this size, twice at first. With a "
        "million pages in the store it starts in "
        f"{seconds:.1f} s and {megabytes:,.0f} MB."
    )
    table = markdown(["", "pages a second", "CPU, ms a page"], rows)
    write_section(PAGE, "crawling", f"{table}\n\n{note}")
    return [
        Figure(
            "recrawl's pages a second / Scrapy's",
            ours.pages_per_second / scrapy.pages_per_second,
            4.0,
            at_least=True,
        ),
        Figure("recrawl's CPU a page / bare aiohttp's", ours.cpu_per_page / bare.cpu_per_page, 4.0),
        Figure("a run on 1,000,000 pages starts within", seconds, 15.0, unit=" s"),
        Figure("... and takes", megabytes, 1_500.0, unit=" MB"),
    ]


def measure(way: str, address: str) -> Timing:
    """Fetch all pages in a separate process several times; return the fastest."""
    command = [sys.executable, "-m", "benchmarks.fetchers", way, address]
    found = []
    for _ in range(ROUNDS):
        done = subprocess.run(
            [*command, str(PAGES), str(CONNECTIONS)], capture_output=True, text=True, check=True
        )
        found.append(Timing(**json.loads(done.stdout.splitlines()[-1])))
    return min(found, key=lambda one: one.cpu)


def start_with_a_million() -> tuple[float, float]:
    """Start a run on a million pages; return seconds to the first statistics, and megabytes."""
    from recrawl.store.rows import NewPage
    from recrawl.store.sqlite import SqliteStore

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "recrawl.db")
        with SqliteStore.open(path, create=True) as store:
            hosts = [f"site{number}.invalid" for number in range(5_000)]
            store.add(
                (
                    NewPage(f"https://{hosts[n % 5_000]}/{n % 50}/{n}.html", hosts[n % 5_000])
                    for n in range(MILLION)
                ),
                at=0,
            )
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.fetchers", "start", path, "0", "0"],
            capture_output=True,
            text=True,
            check=True,
        )
    result = json.loads(done.stdout.splitlines()[-1])
    return result["seconds"], result["megabytes"]
