"""A quick look at speed: each part's CPU time over that of a peer, and whether it has got worse.

``python -m benchmarks quick`` compares the ratios with the last row of `benchmarks/history.csv`,
and fails where one is half as large again: unlike seconds, ratios are alike on most machines.
``--record`` writes a row for this version, a table and a picture of all rows; `make bench` does so.
"""

import argparse
import contextlib
import csv
import heapq
import itertools
import json
import sqlite3
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pyarrow import csv as arrow_csv

from benchmarks import estimation_speed, page_server, roofline
from benchmarks.allocation_speed import pass_over, skewed_fleet, textbook
from benchmarks.report import DOCS, Figure, markdown, printed, write_section
from benchmarks.sizes import output, sized
from recrawl import Frontier, GammaFilter, Observations, __version__, allocate, read_log
from recrawl.content.compare import compare
from recrawl.content.reader import Reader
from recrawl.kernels.jit import Bools, Ints
from recrawl.records import Outcome, Page, Response, Visit
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore

HISTORY = Path(__file__).parent / "history.csv"
PAGE = "explanation/how-it-works.md"
PICTURE = output(DOCS / "figures" / "speed-history.svg")
#: A part has got worse if its ratio is so many times as large as that of the last row.
WORSE = 1.5
#: Rounds of each part and its peer, one after the other: the least disturbed counts.
ROUNDS = sized(5, 1)
#: A part that seems to have got worse is measured again, so many times in all.
TRIES = sized(3, 1)
SECONDS_PER_MICROSECOND = 1e-6
#: The columns of the history that are not ratios.
KEYS = ("version", "date")


class Part(NamedTuple):
    """What is measured: both do the same number of things."""

    name: str
    peer: str
    things: int
    ours: Callable[[], object]
    theirs: Callable[[], object]
    #: What no program can do without, such as one pass over the columns; None where nobody knows.
    limit: Callable[[], object] | None = None


class Measured(NamedTuple):
    """Microseconds of CPU time per thing."""

    name: str
    peer: str
    ours: float
    theirs: float
    limit: float | None

    @property
    def ratio(self) -> float:
        """How many times the peer's CPU time ours is."""
        return self.ours / self.theirs


def run(arguments: Sequence[str] = ("--record",)) -> list[Figure]:
    """Measure all parts; compare them with the last row, or write a new one."""
    parser = argparse.ArgumentParser("python -m benchmarks quick", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write a row for this version")
    is_recorded = parser.parse_args(arguments).record
    last = {} if is_recorded else _last_row()
    with contextlib.ExitStack() as stack:
        measured = [_measured(part, last.get(part.name)) for part in _parts(stack)]
    if is_recorded:
        _record(measured)
    return [
        Figure(
            f"{one.name} / {one.peer}",
            one.ratio,
            WORSE * float(last.get(one.name) or one.ratio),
        )
        for one in measured
    ]


def _measured(part: Part, last: float | None) -> Measured:
    """Measure a part, again if it seems to have got worse."""
    for _ in range(TRIES):
        ours, theirs, limit = [], [], []
        for _ in range(ROUNDS):
            ours.append(_cpu(part.ours))
            theirs.append(_cpu(part.theirs))
            limit += [] if part.limit is None else [_cpu(part.limit)]
        per = part.things * SECONDS_PER_MICROSECOND
        found = Measured(
            part.name,
            part.peer,
            min(ours) / per,
            min(theirs) / per,
            min(limit) / per if limit else None,
        )
        if last is None or found.ratio <= WORSE * last:
            break
    return found


def _cpu(work: Callable[[], object]) -> float:
    """Return the CPU time of some work: what it says itself, or what this process used."""
    began = time.process_time()
    said = work()
    # Not a number of NumPy: that is what the work came to.
    return said if type(said) is float else time.process_time() - began


# The parts


def _parts(stack: contextlib.ExitStack) -> Iterator[Part]:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    yield _folding()
    yield _allocating()
    yield _scheduling()
    yield _reading_a_log(folder)
    yield _reading_pages()
    yield _recording(folder)
    address, _ = stack.enter_context(page_server.page_server())
    yield _crawling(address)


def _folding(pages: int = sized(50_000, 500), visits: int = sized(1_000_000, 10_000)) -> Part:
    log = estimation_speed.skewed_log(pages, visits)
    seen, method = Observations(pages, *log), GammaFilter()

    def fold() -> object:
        return method.update(method.start(pages), seen)

    fold()
    return Part(
        "a visit folded into a belief",
        "np.log of a number",
        visits,
        fold,
        lambda: np.log(log.elapsed),
        # The columns are read, and a change takes a logarithm and an exponential.
        lambda: (log.elapsed.sum(), log.page.sum(), np.exp(-np.log(log.elapsed[log.changed]))),
    )


def _allocating(pages: int = sized(1_000_000, 1_000)) -> Part:
    fleet = skewed_fleet(pages)
    ours = partial(allocate, fleet.change_rate, fleet.budget, importance=fleet.importance)
    ours()
    theirs = partial(textbook, fleet.change_rate, fleet.importance, fleet.budget)
    return Part(
        "a page's share of a budget",
        "sorting by value, as in the literature",
        pages,
        ours,
        theirs,
        lambda: pass_over(fleet),
    )


def _scheduling(
    pages: int = sized(100_000, 10_000), visits: int = sized(50_000, 2_000), batch: int = 1_000
) -> Part:
    frontier = Frontier(float(pages), catch_up=1.0)
    frontier.add(np.arange(pages), now=0.0, host=np.arange(pages) % 5_000, last_visit=-1.0)
    steps = itertools.count(1)
    queue = [(number / pages, number) for number in range(pages)]

    def ours() -> None:
        for _ in range(visits // batch):
            now = next(steps) * batch / pages
            taken = frontier.take(now, batch)
            frontier.report(taken, now, _changed(taken))

    def theirs() -> None:
        for _ in range(visits):
            due, number = heapq.heappop(queue)
            heapq.heappush(queue, (due + 1.0, number))

    ours()
    return Part(
        "a visit taken and reported",
        "a heap of due times",
        visits,
        ours,
        theirs,
        lambda: roofline.seconds_per_visit(frontier._tables) * visits,  # noqa: SLF001
    )


def _changed(page: Ints) -> Bools:
    return np.asarray(page % 3 == 0)


def _reading_a_log(folder: Path, rows: int = sized(300_000, 1_000)) -> Part:
    path = folder / "log.csv"
    lines = (
        f"https://example.org/{row * 7919 % 30_000},{1_767_225_600 + row},{row % 3 // 2}\n"
        for row in range(rows)
    )
    path.write_text("page,time,changed\n" + "".join(lines), encoding="utf-8")
    read_log(path)
    return Part(
        "a row of a log read",
        "Arrow's CSV reader",
        rows,
        lambda: read_log(path),
        lambda: arrow_csv.read_csv(path),
        path.read_bytes,
    )


def _reading_pages(pages: int = sized(300, 5)) -> Part:
    from selectolax.lexbor import LexborHTMLParser

    reader = Reader("text")
    bodies = [page_server.page(number) for number in range(pages)]
    before = Page(0, "https://example.org/", "example.org")

    def ours() -> None:
        for one, two in itertools.pairwise(bodies):
            first = compare(before, Response(before.url, 200, 1, body=one), reader)
            compare(first.page, Response(before.url, 200, 2, body=two), reader, one)

    def theirs() -> None:
        for one, two in itertools.pairwise(bodies):
            for body in (one, one, two):
                LexborHTMLParser(body).text()

    return Part("a page read and compared", "its HTML parsed", pages - 1, ours, theirs)


def _recording(folder: Path, visits: int = sized(2_000, 100)) -> Part:
    numbers = itertools.count()
    body = page_server.page(1)

    def ours() -> float:
        with SqliteStore.open(folder / f"{next(numbers)}.db", create=True) as store:
            store.add((NewPage(f"https://a.org/{n}", "a.org") for n in range(visits)), at=0)
            pages = store.pages_at([f"https://a.org/{n}" for n in range(visits)])
            made = [_first_visit(page, body) for page in pages.values()]
            began = time.process_time()
            for start in range(0, visits, 100):
                store.record(made[start : start + 100])
            return time.process_time() - began

    def theirs() -> float:
        with contextlib.closing(sqlite3.connect(folder / f"{next(numbers)}.db")) as database:
            database.execute("PRAGMA journal_mode = wal")
            database.execute("CREATE TABLE copy (page INTEGER PRIMARY KEY, at, body BLOB)")
            database.execute("CREATE TABLE log (page, at, status, changed)")
            began = time.process_time()
            for start in range(0, visits, 100):
                some = range(start, start + 100)
                with database:
                    packed = [(n, 1, zlib.compress(b"%d" % n + body, 1)) for n in some]
                    database.executemany("INSERT INTO copy VALUES (?, ?, ?)", packed)
                    logged = [(n, 1, 200, 1) for n in some]
                    database.executemany("INSERT INTO log VALUES (?, ?, ?, ?)", logged)
            return time.process_time() - began

    return Part(
        "a first visit recorded", "a row and a compressed body in SQLite", visits, ours, theirs
    )


def _first_visit(page: Page, body: bytes) -> Visit:
    body = b"%d" % page.number + body
    response = Response(
        page.url, 200, 1_000, headers=(("Content-Type", "text/html"), ("ETag", '"1"')), body=body
    )
    found = compare(page, response, Reader("bytes"))
    return Visit(found.page, Outcome.FIRST, response, None, (1.0, 1.0), content=body)


def _crawling(address: str, pages: int = sized(1_000, 20), connections: int = 32) -> Part:
    def fetched(way: str) -> float:
        command = [sys.executable, "-m", "benchmarks.fetchers", way, address]
        said = printed([*command, str(pages), str(connections)])
        return float(json.loads(said.splitlines()[-1])["cpu"])

    return Part(
        "a page crawled for the first time",
        "fetched with aiohttp alone",
        pages,
        lambda: fetched("recrawl"),
        lambda: fetched("bare"),
    )


# The history


def _rows() -> list[dict[str, str]]:
    if not HISTORY.exists():
        return []
    with HISTORY.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _last_row() -> dict[str, float]:
    rows = _rows()
    if not rows:
        raise SystemExit("benchmarks/history.csv has no row; `python -m benchmarks quick --record`")
    return {name: float(cell) for name, cell in rows[-1].items() if name not in KEYS and cell}


def _record(measured: Sequence[Measured]) -> None:
    """Write this version's row, the table and the picture."""
    row = {"version": __version__, "date": datetime.now(UTC).date().isoformat()}
    row |= {one.name: f"{one.ratio:.3g}" for one in measured}
    rows = [old for old in _rows() if old["version"] != __version__] + [row]
    with output(HISTORY).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*KEYS, *(one.name for one in measured)], restval="")
        writer.writeheader()
        writer.writerows(rows)
    cells = [
        [
            one.name,
            f"{one.ours:,.3g}",
            one.peer,
            f"{one.theirs:,.3g}",
            "–" if one.limit is None else f"{one.limit:,.2g}",
            f"{one.ratio:.2g}",
            "–" if one.limit is None else f"{one.ours / one.limit:.2g}",
        ]
        for one in measured
    ]
    headings = ["part", "CPU, µs", "peer", "its CPU, µs", "limit, µs", "/ peer", "/ limit"]
    write_section(PAGE, "quick", markdown(headings, cells))
    _draw(rows, [one.name for one in measured])


def _draw(rows: Sequence[dict[str, str]], names: Sequence[str]) -> None:
    """Draw the ratios of each part, a dot per release: the older, the paler."""
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter

    figure, axes = plt.subplots(figsize=(8, 0.5 * len(names) + 1), layout="constrained")
    places = np.arange(len(names))[::-1]
    for age, row in enumerate(reversed(rows)):
        ratios = [float(row.get(name) or "nan") for name in names]
        axes.scatter(ratios, places, color="C0", alpha=0.6**age, label=row["version"], zorder=2)
        for ratio, place in zip(ratios, places, strict=True) if age == 0 else ():
            axes.annotate(
                f"{ratio:.2g}", (ratio, place), xytext=(-6, 7), textcoords="offset points"
            )
    axes.axvline(1.0, color="grey", linewidth=1, zorder=1)
    axes.set(xscale="log", xlabel="CPU time / that of the peer")
    axes.set_yticks(places, names)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.margins(x=0.12, y=0.1)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    axes.grid(axis="y", alpha=0.3)
    # Outside, where no dot of the legend is taken for a measured one.
    figure.legend(title="release", frameon=False, loc="outside upper right", ncols=len(rows))
    figure.savefig(PICTURE)
    plt.close(figure)
