"""A visit compared with a request: first visits, revisits by 304, and long pages that changed.

nginx serves the pages on loopback (``apt install nginx``; the benchmark starts its own). Each way
of fetching runs in a process of its own, all ways in turn, several times; what the least disturbed
run of each took counts, for all alike.
"""

import json
import os
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from rich.console import Console

from benchmarks.fetchers import Timing
from benchmarks.page_server import ADDRESSES, HOW_TO_GET_NGINX, LONG_BYTES, LONG_PAGES, page_server
from benchmarks.report import Figure, markdown, printed, write_section
from benchmarks.sizes import is_left_out, sized

PAGE = "how-to/crawl-a-site.md"
PAGES, CONNECTIONS = sized((2_000, 32), (20, 8))
ROUNDS = sized(3, 1)
MILLION = sized(1_000_000, 1_000)
#: The ways of `benchmarks.fetchers`, and what the table calls them.
WAYS = {
    "bare": "aiohttp alone",
    "scrapy": "Scrapy, bare fetches",
    "recrawl": "recrawl, first visits",
    "recrawl-hosts": f"recrawl, first visits, {len(ADDRESSES)} hosts",
    "recrawl-processes": f"recrawl, first visits, {len(ADDRESSES)} hosts, 2 fetch processes",
    "bare-304": "aiohttp alone, answered 304",
    "recrawl-304": "recrawl, answered 304",
    "recrawl-changed": f"recrawl, {LONG_BYTES // 1_000} kB, changed",
    "reading": "reading those on one core, no fetching",
    "reading-on-all": "reading those on all cores at once",
}


def run() -> list[Figure]:
    """Measure, and write the table."""
    console = Console(stderr=True)
    with page_server() as (address, server), console.status("crawling"):
        if server != "nginx":
            console.print(HOW_TO_GET_NGINX)
        best = measure(address)
        serving = _cpu_to_serve(address)
    with console.status("starting with a million pages"):
        seconds, megabytes = start_with_a_million()
    _write(best, server, serving, (seconds, megabytes))
    return [
        *_figures(best),
        Figure("a run on 1,000,000 pages starts within", seconds, 15.0, unit=" s"),
        Figure("... and takes", megabytes, 1_500.0, unit=" MB"),
    ]


def _figures(best: dict[str, Timing]) -> list[Figure]:
    changed = best["recrawl-changed"].pages_per_second
    scrapy = best.get("scrapy", best["bare"])
    return [
        Figure(
            "recrawl's pages per second / Scrapy's",
            best["recrawl"].pages_per_second / scrapy.pages_per_second,
            8.0,
            at_least=True,
        ),
        Figure(
            "recrawl's CPU per first visit / bare aiohttp's per page",
            best["recrawl"].cpu_per_page / best["bare"].cpu_per_page,
            2.2,
        ),
        Figure(
            "recrawl's CPU per visit answered 304 / bare aiohttp's",
            best["recrawl-304"].cpu_per_page / best["bare-304"].cpu_per_page,
            1.8,
        ),
        Figure(
            "changed long pages per second / cores x what one core alone reads",
            changed / (_cores() * best["reading"].pages_per_second),
            0.8,
            at_least=True,
        ),
        Figure(
            "changed long pages per second / what all cores read at once",
            changed / best["reading-on-all"].pages_per_second,
            0.8,
            at_least=True,
        ),
    ]


def _cores() -> int:
    return os.cpu_count() or 1


def measure(address: str) -> dict[str, Timing]:
    """Fetch in all ways in turn, several times; return what the least disturbed run of each took.

    CPU times and seconds are from different runs if need be.
    """
    found = defaultdict[str, list[Timing]](list)
    for _ in range(ROUNDS):
        for way in WAYS:
            if way == "scrapy" and is_left_out("scrapy"):
                continue
            found[way].append(_timed(way, address))
    return {
        way: min(timings, key=lambda one: one.cpu)._replace(
            seconds=min(one.seconds for one in timings)
        )
        for way, timings in found.items()
    }


def _timed(way: str, address: str) -> Timing:
    command = [sys.executable, "-m", "benchmarks.fetchers", way, address]
    said = printed([*command, str(PAGES), str(CONNECTIONS)])
    return Timing(**json.loads(said.splitlines()[-1]))


def _cpu_to_serve(address: str) -> float:
    """Return the milliseconds that the server takes for a long page, which nobody else can use."""
    before = _cpu_below(os.getpid())
    _timed("recrawl-changed", address)
    # Each page is asked for twice, of which the second time counts elsewhere.
    return 1e3 * (_cpu_below(os.getpid()) - before) / (2 * LONG_PAGES)


def _cpu_below(process: int) -> float:
    """Return the CPU seconds of the processes that a process has started and that still run."""
    below = Path(f"/proc/{process}/task/{process}/children")
    numbers = below.read_text(encoding="ascii").split() if below.is_file() else []
    ticks = 0
    for number in numbers:
        # After the name, which is in brackets and may have spaces.
        fields = Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK") + sum(_cpu_below(int(number)) for number in numbers)


def _write(
    best: dict[str, Timing], server: str, serving: float, start: tuple[float, float]
) -> None:
    rows = [
        [WAYS[way], f"{one.pages_per_second:,.0f}", f"{one.cpu_per_page:.3g}", *_parts(one)]
        for way, one in best.items()
    ]
    headings = [
        "",
        "pages per second",
        "CPU, ms per page",
        "event loop",
        "store",
        "other processes",
    ]
    note = (
        f"{PAGES:,} pages of 5 kB and {LONG_PAGES} of {LONG_BYTES // 1_000} kB, {CONNECTIONS} "
        f"connections, {_cores()} cores, served by "
        f"{'nginx' if server == 'nginx' else 'a server of our own'} on the same machine. recrawl "
        "also reads robots.txt, checks addresses, stores log and copies durably, and plans the "
        "next visits. A first copy is not parsed until a body differs from it byte for byte, "
        "except for the first pages of a host, and for links if they are followed. "
        "Rates of several processes, and of changed pages, are counted from the first visits on. "
        f"The server itself takes {serving:.2f} ms for a long page, on the same cores. "
        f"{_full(best)} With a "
        f"million pages in the store, recrawl starts in {start[0]:.1f} s and {start[1]:,.0f} MB."
    )
    write_section(PAGE, "crawling", f"{markdown(headings, rows)}\n\n{note}")


def _full(best: dict[str, Timing]) -> str:
    """Say at which rates the process that fetches and writes is busy all the time."""
    first, same, changed = (
        best[way].pages / (best[way].loop + best[way].store)
        for way in ("recrawl", "recrawl-304", "recrawl-changed")
    )
    return (
        f"The event loop and the store share a process, which saturates at {first:,.0f} first "
        f"visits per second, {same:,.0f} answered with 304, or {changed:,.0f} to long pages that "
        "have changed."
    )


def _parts(timing: Timing) -> list[str]:
    """Return the CPU time of each part of a crawl, in milliseconds a page."""
    parts = timing.loop, timing.store, timing.others
    if not any(parts):
        return ["", "", ""]
    return [f"{1e3 * part / timing.pages:.3g}" for part in parts]


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
        said = printed([sys.executable, "-m", "benchmarks.fetchers", "start", path, "0", "0"])
    result = json.loads(said.splitlines()[-1])
    return result["seconds"], result["megabytes"]
