"""A crawl of good hosts beside hostile ones, and one of good hosts alone at the same time.

Whatever else the machine does slows the first one more, as it has to parse hostile pages; so the
time that it waits for a processor is measured too.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from acceptance import program
from site_server import Site, page_about, serving

from recrawl.store.sqlite import SqliteStore

TESTS = Path(__file__).parents[1]
#: The deadline for all that has none of its own.
DEADLINE = 600.0
#: Seconds in which a program that is told to end has to end, and after which it is killed.
MAX_STOP, KILL_AFTER = 5.0, 600.0
GOOD_HOSTS, GOOD_PAGES, BAD_PAGES = 3, 20, 10
#: One good page in twenty is long.
LONG = 700_000
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
#: The timeouts that a crawl has by default, for hosts that use them up.
PATIENT = SETTINGS | {"connect_timeout": "10s", "read_timeout": "15s", "total_timeout": "60s"}

Hosts = Mapping[str, Sequence[str]]


@contextmanager
def hostile_hosts(copies: int, kinds: Sequence[str] = ()) -> Iterator[Hosts]:
    """Serve a hostile web; yields its addresses by kind."""
    with subprocess.Popen(
        [sys.executable, "-m", "acceptance.hostile_server", str(copies), *kinds],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=TESTS,
    ) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.kill()


@dataclass
class Crawling:
    """A crawl under way.

    Attributes:
        site: The good hosts.
        process: The program.
        lag_file: Where the program notes how late its event loop was.
        stopped_in: Seconds that it took to end when told to; infinity if it had to be killed.
        complained: What it wrote to standard error.
        rss, pss: The most memory of all its processes, in bytes, as far as it was looked at.
    """

    site: Site
    process: "subprocess.Popen[str]"
    lag_file: Path
    stopped_in: float = 0.0
    complained: str = ""
    rss: int = 0
    pss: int = 0

    @property
    def visits(self) -> int:
        """Requests for pages of good hosts."""
        return sum(request.path != "/robots.txt" for request in self.site.requests)

    @property
    def lag(self) -> tuple[float, float]:
        """The worst lag of the event loop: in all, and without waiting for a processor."""
        text = self.lag_file.read_text("ascii").split() if self.lag_file.exists() else []
        return (float(text[0]), float(text[1])) if len(text) == 2 else (0.0, 0.0)

    def look(self) -> None:
        """Measure the memory."""
        rss, pss = memory(self.process.pid)
        self.rss, self.pss = max(rss, self.rss), max(pss, self.pss)

    def see_it_runs(self) -> None:
        """Fail if the program has ended, with what it said."""
        status, errors = self.process.poll(), self.process.stderr
        if status is not None:
            said = "" if errors is None else errors.read()
            raise AssertionError(f"it ended by itself with status {status}: {said}")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Tell the program to end, and wait until it has."""
        start = time.monotonic()
        self.process.send_signal(number)
        try:
            _, self.complained = self.process.communicate(timeout=KILL_AFTER)
            self.stopped_in = time.monotonic() - start
        except subprocess.TimeoutExpired:
            self.process.kill()
            _, self.complained = self.process.communicate()
            self.stopped_in = float("inf")


@contextmanager
def crawling(
    store: Path,
    hostile: Hosts,
    sitemaps: Sequence[str] = (),
    settings: Mapping[str, str] = SETTINGS,
) -> Iterator[Crawling]:
    """Crawl good hosts beside hostile ones."""
    pages = {f"/{n}": page_about(f"This is page {n}.") for n in range(GOOD_PAGES)}
    pages["/0"] += "<p>and so on" * (LONG // 12)
    addresses = [url for urls in hostile.values() for url in urls]
    with serving(Site(pages), GOOD_HOSTS) as site:
        program.add(store, (f"{url}/{n}" for url in site.urls for n in range(GOOD_PAGES)))
        program.add(store, (f"{url}/{n}" for url in addresses for n in range(BAD_PAGES)))
        with SqliteStore.open(store) as opened:
            for kind in sitemaps:
                for url in hostile.get(kind, ()):
                    opened.sitemaps.add(f"{url}/sitemap.xml")
        lag_file = store.with_suffix(".lag")
        with subprocess.Popen(
            [sys.executable, "-m", "acceptance.lag", lag_file, "run", "--store", store],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=TESTS,
            env=program.environ(dict(settings)),
        ) as process:
            crawl = Crawling(site, process, lag_file)
            try:
                yield crawl
            finally:
                if process.poll() is None:
                    crawl.stop()


@dataclass
class Compared:
    """What came of a crawl beside hostile hosts, and of one without.

    Attributes:
        beside, alone: Visits to good hosts in the same time.
        ran, waited: Seconds that the first crawl had a processor, and waited for one.
        lag, own_lag: The worst lag of its loop, and without waiting for a processor, in seconds.
        rss, pss: Its memory in bytes, in all processes.
        stopped_in: Seconds in which it ended, at several moments.
        problems: What is wrong with its store, or was said on standard error.
    """

    beside: int
    alone: int
    ran: float
    waited: float
    lag: float = 0.0
    own_lag: float = 0.0
    rss: int = 0
    pss: int = 0
    stopped_in: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The share of their visits that good hosts get."""
        return self.beside / max(self.alone, 1)

    @property
    def share_of_time(self) -> float:
        """The share of the time in which it did not wait for a processor."""
        return self.ran / max(self.ran + self.waited, 1e-9)


def compare(
    folder: Path,
    hostile: Hosts,
    sitemaps: Sequence[str],
    seconds: float,
    settings: Mapping[str, str] = SETTINGS,
    min_visits: int = 0,
) -> tuple[Compared, Crawling]:
    """Crawl with and without hostile hosts for some seconds, and until some visits were made.

    Those are of the crawl without: a busy machine takes longer for as many.
    """
    with (
        crawling(folder / "beside.db", hostile, sitemaps, settings) as beside,
        crawling(folder / "alone.db", {}, settings=settings) as alone,
    ):
        wait_until(lambda: beside.visits > 0 and alone.visits > 0)
        visits, start = (beside.visits, alone.visits), scheduled(beside.process.pid)
        end, deadline = time.monotonic() + seconds, time.monotonic() + DEADLINE
        while time.monotonic() < end or (
            alone.visits - visits[1] < min_visits and time.monotonic() < deadline
        ):
            time.sleep(0.5)
            beside.look()
        for crawl in (beside, alone):
            crawl.see_it_runs()
        ended = scheduled(beside.process.pid)
        result = Compared(
            beside.visits - visits[0],
            alone.visits - visits[1],
            ended[0] - start[0],
            ended[1] - start[1],
        )
    result.lag, result.own_lag = beside.lag
    result.rss, result.pss = beside.rss, beside.pss
    result.stopped_in.append(beside.stopped_in)
    result.problems += [line for line in beside.complained.splitlines() if not _is_expected(line)]
    with SqliteStore.open(folder / "beside.db") as opened:
        result.problems += opened.check()
    status, _, errors = program.run(
        "export", "copies", str(folder / "copies.warc.gz"), "--store", str(folder / "beside.db")
    )
    result.problems += errors.splitlines() if status else []
    return result, beside


def _is_expected(line: str) -> bool:
    """Whether a line is one that a run writes about itself, or about a file that is broken."""
    files = "cannot read the sitemap ", "cannot use all of ", "robots.txt of "
    return line.startswith(("recrawl: loading ", *files))


def stop_at(folder: Path, hostile: Hosts, sitemaps: Sequence[str], seconds: float) -> float:
    """Crawl beside hostile hosts, and return the seconds that it takes to end at some moment."""
    with crawling(folder / "stopped.db", hostile, sitemaps) as crawl:
        wait_until(lambda: crawl.visits > 0)
        time.sleep(seconds)
        crawl.stop(signal.SIGTERM)
    return crawl.stopped_in


def wait_until(is_done: Callable[[], bool]) -> None:
    """Wait for something to happen."""
    deadline = time.monotonic() + DEADLINE
    while not is_done():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def scheduled(process: int) -> tuple[float, float]:
    """Return the seconds that a process has run, and has waited for a processor."""
    stats = []
    for path in Path(f"/proc/{process}/task").glob("*/schedstat"):
        with suppress(OSError):
            stats.append(path.read_text("ascii").split())
    return sum(int(one[0]) for one in stats) / 1e9, sum(int(one[1]) for one in stats) / 1e9


def family(process: int) -> list[int]:
    """Return a process and all that it started."""
    found = [process]
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            for child in path.read_text("ascii").split():
                found += family(int(child))
    return found


def memory(process: int) -> tuple[int, int]:
    """Return the resident memory of a process and its children, in bytes.

    The second figure counts what processes share only once.
    """
    rss = pss = 0
    for one in family(process):
        with suppress(OSError):
            text = Path(f"/proc/{one}/smaps_rollup").read_text("ascii")
            kilobytes = {line.split()[0]: line.split()[1] for line in text.splitlines()[1:]}
            rss += 1024 * int(kilobytes["Rss:"])
            pss += 1024 * int(kilobytes["Pss:"])
    return rss, pss
