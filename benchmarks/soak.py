"""A year of 100,000 pages in virtual time: budget, politeness, memory, and pages that survive."""

import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from benchmarks.report import Figure
from benchmarks.sizes import sized

if TYPE_CHECKING:
    from crawler.soak_web import SoakWeb
    from crawler.soaking import Soaked

HOSTS, PAGES, DAYS = sized((400, 250, 365), (2, 5, 8))
#: Requests per day; each holds for a quarter of the year.
BUDGETS = (2_000.0, 3_000.0, 1_000.0, 2_000.0)
SEED = 12
TESTS = Path(__file__).parent.parent / "tests"


def run(
    hosts: int = HOSTS, pages: int = PAGES, days: float = DAYS, scale: float = 1.0
) -> list[Figure]:
    """Crawl for a year, and count what went wrong; some 20 minutes."""
    # The tests do the same with fewer pages.
    sys.path.insert(0, str(TESTS))
    from crawler.soak_web import SoakWeb
    from crawler.soaking import folder_in_memory, growth, soak

    budgets = [scale * budget for budget in BUDGETS]
    began = time.perf_counter()
    logging.disable(logging.WARNING)  # hosts fail thousands of times
    try:
        with folder_in_memory() as folder, Console(stderr=True).status(f"{days:g} days"):
            web = SoakWeb(hosts, pages, days, SEED)
            soaked = soak(
                folder / "recrawl.db", web, budgets, lambda so_far: _tell(so_far, web, budgets)
            )
    finally:
        logging.disable(logging.NOTSET)
    minutes = (time.perf_counter() - began) / 60.0
    asked, off = sum(day.asked for day in soaked.days), soaked.off_budget(0.01)
    print(f"{asked:,} requests for pages, {soaked.files:,} for other files, {minutes:.0f} min")
    for day in off[:10]:
        print(f"  day {day.number}: {day.asked:,} requests, and a budget of {day.budget:,.0f}")
    for what in (*soaked.complaints, *soaked.lost[:10], *soaked.unvisited[:10], *soaked.damage):
        print(f"  {what}")
    megabytes = max(soaked.memory) / 1e6
    print(f"{soaked.alive:,} pages are there at the end; {megabytes:,.0f} MB at most")
    return [
        Figure("soak: days off budget by more than 1 %", len(off), 0),
        Figure("soak: requests that a host did not allow", soaked.wrongs, 0),
        Figure("soak: pages that are there and not alive in the store", len(soaked.lost), 0),
        Figure("soak: pages that are there without a copy", len(soaked.unvisited), 0),
        Figure("soak: growth of memory from spring to winter", growth(soaked.memory), 0.05),
        Figure("soak: damage found", len(soaked.damage), 0),
    ]


def _tell(so_far: "Soaked", web: "SoakWeb", budgets: Sequence[float]) -> None:
    """Say how far a soak has come, so that one that is stopped has told something."""
    day = web.day
    length = web.days / len(budgets)
    allowed = sum(
        budget * min(max(day - number * length, 0.0), length)
        for number, budget in enumerate(budgets)
    )
    print(
        f"day {day:.0f}: {web.asked.total():,} requests where the budgets allow {allowed:,.0f}, "
        f"{so_far.memory[-1] / 1e6:,.0f} MB, {time.process_time():,.0f} CPU s",
        file=sys.stderr,
        flush=True,
    )
