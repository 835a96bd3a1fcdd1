"""What serving costs: leases and reports a second, CPU beside a crawl, and lists of pages."""

import http.client
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from rich.console import Console

from benchmarks.page_server import PAGES as SERVED
from benchmarks.page_server import page_server
from benchmarks.report import Figure, best_time, failure, markdown, write_section
from benchmarks.sizes import sized
from recrawl.inspect.pages import ORDERS
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore

PAGE = "how-to/run-as-a-service.md"
BATCH, LEASED, CLIENTS = sized((500, 40_000, 4), (10, 40, 2))
#: Pages to lease, and hosts.
LEASABLE, HOSTS = sized((100_000, 5_000), (1_000, 50))
#: As much as can be set: it must not be what is measured.
BUDGET = "1000M/day"
MILLION = sized(1_000_000, 1_000)
#: One page in so many is failing.
FAILING = 50
#: Visits a second of the crawl, for how many seconds, and how often.
VISITS_PER_SECOND, SECONDS, ROUNDS = sized((500, 4.0, 5), (50, 0.5, 1))
#: Seconds between two looks of a dashboard, and of Prometheus.
LOOK_EVERY, SCRAPE_EVERY = 1.0, 5.0
#: What is asked for of a million pages, by what it is called: what the API and the dashboard offer.
LISTS = {
    **{f"by {order}": {"order": order} for order in ORDERS},
    **{
        f"by {order}, from the 500,000th on": {"order": order, "offset": "500000"}
        for order in ("url", "rate", "next-visit", "last-visit")
    },
    "by rate, turned round": {"order": "rate", "reverse": "true"},
    "URL contains a text that all have": {"text": "html"},
    "URL contains a text that few have": {"text": "/99999"},
    "URL contains a text, by next visit": {"text": "99", "order": "next-visit"},
    "in a state": {"state": "alive", "order": "rate"},
    "of a host": {"host": "site17.invalid", "order": "next-visit"},
    "failing": {"failing": "true", "order": "last-visit"},
    "failing with an error": {"error": "timed out", "order": "error"},
    "changing at least daily": {"min_rate": "1/day", "order": "rate"},
}


class Server(NamedTuple):
    """A program that answers requests."""

    process: "subprocess.Popen[str]"
    port: int
    token: str

    def ask(self, connection: http.client.HTTPConnection, method: str, path: str, body: Any) -> Any:  # noqa: ANN401
        """Make a request, and return what is in the answer."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        sent = None if body is None else json.dumps(body)
        connection.request(method, path, sent, headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != http.client.OK:
            raise RuntimeError(content.decode())
        is_json = answer.getheader("content-type", "").startswith("application/json")
        return json.loads(content) if is_json else content

    def connection(self) -> http.client.HTTPConnection:
        """Return a connection that stays open."""
        return http.client.HTTPConnection("127.0.0.1", self.port)


@contextmanager
def started(store: Path, command: str, **settings: str) -> Iterator[Server]:
    """Start a program that answers requests."""
    environ = os.environ | {f"RECRAWL_{name.upper()}": value for name, value in settings.items()}
    arguments = [*command.split(), "--store", str(store), "--listen", "127.0.0.1:0"]
    command_line = [sys.executable, "-m", "recrawl", *arguments]
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(
            command_line, stdout=subprocess.PIPE, stderr=said, text=True, env=environ
        ) as process,
    ):
        assert process.stdout is not None
        port = token = None
        for line in process.stdout:
            port = port or re.search(r"Listening at http://127.0.0.1:(\d+)", line)
            token = token or re.search(r"rcrl_\S+", line)
            if "Log in" in line:
                break
        if port is None or token is None:
            status = process.wait()
            said.seek(0)
            raise failure(command_line, status, said.read())
        # What it goes on to say is not read.
        threading.Thread(target=process.stdout.read, daemon=True).start()
        try:
            yield Server(process, int(port[1]), token[0])
        finally:
            process.terminate()
            process.wait()


def run() -> list[Figure]:
    """Measure, and write the table."""
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with console.status("leasing and reporting"):
            pages_per_second, of_cpu = leases_and_reports(folder)
        with console.status("crawling with and without a server"):
            alone, serving = cpu_of_crawls(folder)
        with console.status("listing a million pages"):
            lists = list_a_million(folder)
        help_seconds = best_time(
            lambda: subprocess.run(
                [sys.executable, "-m", "recrawl", "--help"], check=True, capture_output=True
            )
        )
    name, slowest = max(lists.items(), key=lambda one: one[1])
    share = serving / alone - 1.0
    rows = [
        [f"pages leased and reported per second, {BATCH} at a time", f"{pages_per_second:,.0f}"],
        ["... per second of the server's CPU", f"{of_cpu:,.0f}"],
        [f"CPU of a crawl at {VISITS_PER_SECOND} visits per second, ms per visit", f"{alone:.2f}"],
        [
            "... while a dashboard is open and metrics are scraped",
            f"{serving:.2f} ({100 * share:+.1f} %)",
        ],
        [
            f"a list of 100 of 1,000,000 pages, ms: median of {len(lists)} queries",
            f"{1e3 * statistics.median(lists.values()):.0f}",
        ],
        [f"... the slowest: {name}", f"{1e3 * slowest:.0f}"],
    ]
    write_section(PAGE, "serving", markdown(["", "measured"], rows))
    return [
        Figure("pages leased and reported per second", pages_per_second, 5_000.0, at_least=True),
        Figure("CPU that serving adds to a crawl", 100.0 * share, 5.0, unit=" %"),
        Figure("a list of 1,000,000 pages answers in", 1e3 * slowest, 100.0, unit=" ms"),
        Figure("recrawl --help answers in", help_seconds, 0.5, unit=" s"),
    ]


def fill(store: Path, pages: int, *, learned: bool = False) -> None:
    """Add pages, with beliefs about how often they change if wanted."""
    hosts = [f"site{number}.invalid" for number in range(HOSTS)]
    now = time.time_ns() // 1_000
    with SqliteStore.open(store, create=True) as opened:
        opened.add(
            (
                NewPage(f"https://{hosts[n % HOSTS]}/{n % 50}/{n}.html", hosts[n % HOSTS])
                for n in range(pages)
            ),
            at=now,
        )
    if learned:
        chance = random.Random(0)  # noqa: S311 - to be repeated
        import sqlite3

        with sqlite3.connect(store) as database:
            rows = (
                (now - chance.randrange(10**12), chance.uniform(0.5, 5.0), chance.uniform(1, 99), n)
                for n in range(pages)
            )
            database.executemany(
                "UPDATE pages SET last_visit = ?, visits = 5, shape = ?, time = ? WHERE number = ?",
                rows,
            )
            failing = [(n, now, f"timed out after {n % 9} s") for n in range(0, pages, FAILING)]
            database.executemany(
                "INSERT INTO visits (page, at, outcome, status, error, bytes, ms, requests, "
                "truncated) VALUES (?, ?, 3, 0, ?, 0, 0, 1, 0)",
                failing,
            )
            database.executemany(
                "UPDATE pages SET failures = 1 WHERE number = ?", [(n,) for n, _, _ in failing]
            )
        database.close()


def leases_and_reports(folder: Path) -> tuple[float, float]:
    """Return how many pages can be leased and reported a second, and a second of CPU."""
    store = folder / "leases.db"
    fill(store, LEASABLE)
    settings = {"budget": BUDGET, "host_delay": "0s"}
    with started(store, "serve", **settings) as server:
        counts = [0] * CLIENTS
        _lease(server, BATCH)
        began = time.perf_counter()

        def work(client: int) -> None:
            counts[client] = _lease(server, LEASED // CLIENTS)

        threads = [threading.Thread(target=work, args=(client,)) for client in range(CLIENTS)]
        before = _cpu(server.process.pid)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        used = _cpu(server.process.pid) - before
        return sum(counts) / (time.perf_counter() - began), sum(counts) / used


def _cpu(pid: int) -> float:
    """Return the seconds of CPU that a process has used."""
    times = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[11:13]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def _lease(server: Server, pages: int) -> int:
    """Lease and report pages; return how many."""
    connection, done = server.connection(), 0
    while done < pages:
        lease = server.ask(connection, "POST", "/api/v1/leases", {"limit": BATCH})
        reports = [
            {"page": page["page"], "status": 200, "digest": "0123456789abcdef", "etag": '"one"'}
            for page in lease["pages"]
        ]
        if reports:
            sent = {"lease": lease["lease"], "reports": reports}
            answers = server.ask(connection, "POST", "/api/v1/reports", sent)["answers"]
            assert set(answers) == {"recorded"}
        done += len(reports)
    connection.close()
    return done


def cpu_of_crawls(folder: Path) -> tuple[float, float]:
    """Return the CPU of a crawl, in milliseconds a visit: alone, and while it is looked at.

    Both are of one process, in turn, as the machine is noisy.
    """
    store = folder / "crawl.db"
    settings = {
        "budget": f"{VISITS_PER_SECOND}/s",
        "host_delay": "0s",
        "host_connections": "32",
        "allow_private": "true",
        "parse_processes": "1",
        # There are few pages, and they are visited all the time.
        "min_interval": "0s",
    }
    with page_server() as (address, _):
        with SqliteStore.open(store, create=True) as opened:
            opened.add((NewPage(f"{address}/{n}", "127.0.0.1") for n in range(SERVED)), at=0)
        with started(store, "run --serve --format json", **settings) as server:
            is_looking = threading.Event()
            threading.Thread(target=_look, args=(server, is_looking), daemon=True).start()
            # First visits cost more than others.
            while _visits(store) < SERVED + VISITS_PER_SECOND:
                time.sleep(0.1)
            found: list[float] = []
            for turn in range(2 * ROUNDS + 1):
                (is_looking.set if turn % 2 else is_looking.clear)()
                found.append(_cpu_per_visit(store, server.process.pid))
    alone, looked_at = found[::2], found[1::2]
    shares = [
        looked / ((before + after) / 2)
        for looked, before, after in zip(looked_at, alone, alone[1:], strict=False)
    ]
    usual = statistics.median(alone)
    return usual, usual * statistics.median(shares)


def _visits(store: Path) -> int:
    with SqliteStore.open(store) as opened:
        return opened.totals().visits


def _cpu_per_visit(store: Path, pid: int) -> float:
    """Return the milliseconds of CPU that a visit takes, over some seconds."""
    first, before = _visits(store), _cpu(pid)
    time.sleep(SECONDS)
    return 1e3 * (_cpu(pid) - before) / (_visits(store) - first)


def _look(server: Server, is_looking: threading.Event) -> None:
    """Look at a service as a dashboard and Prometheus do, while told to, until it ends."""
    connection, scraped = server.connection(), 0.0
    try:
        while is_looking.wait():
            server.ask(connection, "GET", "/api/v1/status", None)
            server.ask(connection, "GET", "/api/v1/changes?limit=20", None)
            if time.monotonic() - scraped > SCRAPE_EVERY:
                scraped = time.monotonic()
                server.ask(connection, "GET", "/metrics", None)
            time.sleep(LOOK_EVERY)
    except (OSError, http.client.HTTPException, RuntimeError):
        return


def list_a_million(folder: Path) -> dict[str, float]:
    """Return the seconds that lists of a million pages take, by what is asked for: the median."""
    store = folder / "million.db"
    fill(store, MILLION, learned=True)
    found = {}
    with started(store, "serve", budget="100000/day") as server:
        connection = server.connection()
        for name, asked in LISTS.items():
            # The API has numbers where people write units.
            plain = {key: value.removesuffix("/day") for key, value in asked.items()}
            for kind, target in (
                ("the API", f"/api/v1/pages?{urlencode(plain)}"),
                ("the dashboard", f"/pages?{urlencode(asked)}"),
            ):
                found[f"{name} ({kind})"] = _usual_time(server, connection, target)
    return found


def _usual_time(server: Server, connection: http.client.HTTPConnection, target: str) -> float:
    times = []
    for _ in range(7):
        began = time.perf_counter()
        assert server.ask(connection, "GET", target, None)
        times.append(time.perf_counter() - began)
    return statistics.median(times)
