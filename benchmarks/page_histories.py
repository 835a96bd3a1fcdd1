"""How well changes are told from noise over weeks, on real pages whose versions are known.

Each site is visited in the order of its recordings, through the code that the crawler runs: its
template and the history of each page are learned on the way, from the past only. Before each visit,
some earlier recordings of the page are compared with the present one, as if they were the copy.

Rules are chosen by looking at what goes wrong on such recordings. What they are worth on other
sites is told by recordings that nobody looked into, in the folders of `HELD_OUT`.
"""

import os
import random
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from pathlib import Path
from typing import NamedTuple

from pyarrow import parquet
from rich.progress import track

from benchmarks.report import Figure, markdown, write_section
from benchmarks.sizes import AbsentError, sized
from recrawl.content.absence import Patience
from recrawl.content.boilerplate.template import SiteTemplate
from recrawl.content.compare import compare
from recrawl.content.reader import Reader
from recrawl.content.reading import read_response
from recrawl.records import Outcome, Page, Response, digest_of

PAGE = "explanation/what-counts-as-a-change.md"
BESIDE = Path(__file__).parents[2] / "shared" / "page-histories"
READERS = {
    "`bytes`": Reader("bytes"),
    "`text`, the default": Reader("text"),
    "`main`": Reader("main"),
}
DEFAULT = "`text`, the default"
#: Days between two recordings, up to and including.
DAYS = (1.5, 5.0, 10.0, 20.0, 45.0)
HEADINGS = ["comparison", *(f"up to {days:g} days" for days in DAYS)]
#: What no reader can find more than.
CEILING = "any text, link or layout differs"
FILE = "histories.parquet"
#: The environment variable with folders of recordings that no rule was chosen on.
HELD_OUT = "RECRAWL_HELD_OUT_HISTORIES"
#: Pairs per number of days and kind.
SAMPLE = sized(200, 40)
#: How many sites are visited; None for all.
SITES = sized(None, 1)
SEED = 13
_SECONDS_A_DAY = 86_400
#: A pair of recordings: the row of the present one, and the row of an earlier one.
Pair = tuple[int, int]


class Recording(NamedTuple):
    """A body and when it was recorded."""

    row: int
    service: str
    page: str
    at: int
    html: bytes


class Judged(NamedTuple):
    """Which pairs are compared: how many days apart they are, and whether the version is new."""

    days: float
    is_new: bool


@dataclass
class Measured:
    """What was found with one reader.

    Attributes:
        pairs: How many pairs there were.
        found: How many were taken for changes.
        visible: How many differ in any text, link or layout, furniture included.
        seconds: Of the processor, to compare a pair.
        site_bytes: Of the largest template.
        page_bytes: Of what is kept per page for its slow noise, at most and on average.
    """

    pairs: Counter[Judged] = field(default_factory=Counter)
    found: Counter[Judged] = field(default_factory=Counter)
    visible: Counter[Judged] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    site_bytes: int = 0
    page_bytes: list[int] = field(default_factory=list)

    def rate(self, days: float, *, is_new: bool) -> float:
        """Return the share of pairs that were taken for changes."""
        return self.found[Judged(days, is_new)] / (self.pairs[Judged(days, is_new)] or 1)

    def ceiling(self) -> list[str]:
        """Return what would be found by whoever takes everything that is read for content."""
        return [
            " / ".join(
                f"{self.visible[judged] / (self.pairs[judged] or 1):.2f}"
                for judged in (Judged(days, is_new=True), Judged(days, is_new=False))
            )
            for days in DAYS
        ]

    def cells(self) -> list[str]:
        """Return recall and false alarms for each number of days."""
        return [
            f"{self.rate(days, is_new=True):.2f} / {self.rate(days, is_new=False):.2f}"
            for days in DAYS
        ]


def folder() -> Path:
    """Return the folder of the histories: ``RECRAWL_PAGE_HISTORIES``, or next to the project."""
    return Path(os.environ.get("RECRAWL_PAGE_HISTORIES", BESIDE))


def sampled(path: Path) -> dict[Pair, Judged]:
    """Return some pairs of recordings of a page, the same ones each time."""
    rows = parquet.read_table(path, columns=["page", "at", "version"]).to_pylist()
    pages = defaultdict[str, list[int]](list)
    for number, row in enumerate(rows):
        pages[row["page"]].append(number)
    pairs = defaultdict[Judged, list[Pair]](list)
    for numbers in pages.values():
        for before, now in combinations(numbers, 2):
            apart = (rows[now]["at"] - rows[before]["at"]) / _SECONDS_A_DAY
            if apart <= DAYS[-1]:
                days = DAYS[bisect_left(DAYS, apart)]
                is_new = rows[before]["version"] != rows[now]["version"]
                pairs[Judged(days, is_new)].append((now, before))
    chosen = random.Random(SEED)  # noqa: S311 - a sample
    return {
        pair: judged
        for judged, found in sorted(pairs.items())
        for pair in chosen.sample(found, min(SAMPLE, len(found)))
    }


def sites(path: Path) -> Iterator[list[Recording]]:
    """Iterate over the recordings of each site in order of time, a site in memory at once."""
    service, site, row = "", list[Recording](), 0
    with parquet.ParquetFile(path) as file:
        for number in range(file.num_row_groups):
            for one in file.read_row_group(number).to_pylist():
                if one["service"] != service and site:
                    yield sorted(site, key=lambda recording: recording.at)
                    site = []
                service = one["service"]
                site.append(Recording(row, service, one["page"], one["at"], one["html"]))
                row += 1
    yield sorted(site, key=lambda recording: recording.at)


def visit_site(
    site: list[Recording], pairs: Mapping[Pair, Judged], reader: Reader, measured: Measured
) -> None:
    """Visit all recordings of a site, and compare the pairs among them."""
    template = SiteTemplate()
    states, seen = dict[str, Page](), defaultdict[str, list[Recording]](list)
    copies = dict[str, bytes]()
    for now in site:
        page = states.get(now.page) or Page(len(states), now.page, now.service)
        response = Response(page.url, 200, now.at * 10**6, (), now.html)
        for before in seen[now.page]:
            judged = pairs.get((now.row, before.row))
            if judged is not None:
                begin = time.process_time()
                is_change = _is_change(page, before.html, response, reader, template)
                measured.seconds.append(time.process_time() - begin)
                measured.pairs[judged] += 1
                measured.found[judged] += is_change
                if reader.learns:
                    measured.visible[judged] += _is_visible(before.html, now.html, reader)
        reading = read_response(
            page, response, reader, copies.get(now.page), patience=Patience(), template=template
        )
        states[now.page] = reading.found.page
        if reading.copy is not None:
            copies[now.page] = now.html
        if reading.sketches is not None:
            template.learn(page.number, reading.sketches)
        seen[now.page].append(now)
    measured.site_bytes = max(measured.site_bytes, len(template.to_bytes()))
    measured.page_bytes += [len(page.suspects) for page in states.values()]


def _is_change(
    page: Page, copy: bytes, response: Response, reader: Reader, template: SiteTemplate
) -> bool:
    """Whether a visit to a page takes a response for a change of a copy."""
    before = replace(page, body=digest_of(copy), fingerprint=None)
    found = compare(before, response, reader, copy, template=template)
    return found.outcome is Outcome.CHANGED


def _is_visible(one: bytes, other: bytes, reader: Reader) -> bool:
    """Whether two bodies differ in any text or link, or in how a text is set."""
    lines = (
        [(block.key, block.look) for block in reader.read(body).blocks] for body in (one, other)
    )
    return next(lines) != next(lines)


def measure(path: Path, readers: Mapping[str, Reader]) -> dict[str, Measured]:
    """Visit all sites with each reader."""
    pairs, measured = sampled(path), {name: Measured() for name in readers}
    total = len(set(parquet.read_table(path, columns=["service"])["service"].to_pylist()))
    visited = islice(sites(path), SITES)
    for site in track(visited, "visiting sites", SITES or total, transient=True):
        for name, reader in readers.items():
            visit_site(site, pairs, reader, measured[name])
    return measured


def run_held_out() -> list[Figure]:
    """Measure the default on recordings of other sites, and write the table."""
    folders = [Path(one) for one in os.environ.get(HELD_OUT, "").split(os.pathsep) if one]
    if not folders:
        raise AbsentError(f"{HELD_OUT} names no folders")
    rows, notes = list[list[str]](), list[str]()
    for one in folders:
        found = measure(one / FILE, {DEFAULT: READERS[DEFAULT]})[DEFAULT]
        rows.append([f"{one.name}: {DEFAULT}", *found.cells()])
        rows.append([f"{one.name}: {CEILING}", *found.ceiling()])
        table = parquet.read_table(one / FILE, columns=["service", "page"])
        pages, services = (len(set(table[name].to_pylist())) for name in ("page", "service"))
        counts = f"{table.num_rows:,} recordings of {pages} pages of {services} sites"
        notes.append(f"{one.name}: {counts}")
    write_section(PAGE, "held-out-histories", f"{markdown(HEADINGS, rows)}\n\n{'; '.join(notes)}.")
    return []


def run() -> list[Figure]:
    """Measure every reader, and write the table."""
    path = folder() / FILE
    if not path.is_file():
        raise AbsentError(f"no {FILE} in {folder()}; set RECRAWL_PAGE_HISTORIES to its folder")
    measured = measure(path, READERS)
    rows = [[name, *one.cells()] for name, one in measured.items()]
    rows.append([CEILING, *measured[DEFAULT].ceiling()])
    write_section(PAGE, "page-histories", markdown(HEADINGS, rows))
    ours = measured[DEFAULT]
    figures = [
        Figure(
            f"new versions that are seen, {days:g} days",
            ours.rate(days, is_new=True),
            0.80,
            at_least=True,
        )
        for days in DAYS
    ]
    figures += [
        Figure(
            f"false alarms, {days:g} days",
            ours.rate(days, is_new=False),
            0.06 if days <= 10 else 0.12,
        )
        for days in DAYS
    ]
    return [
        *figures,
        Figure(
            "to compare two bodies", 1e3 * sum(ours.seconds) / len(ours.seconds), 12, unit=" ms"
        ),
        Figure("the template of a site", ours.site_bytes / 1e3, 20, unit=" kB"),
        Figure("kept per page for slow noise", max(ours.page_bytes), 200, unit=" bytes"),
    ]
