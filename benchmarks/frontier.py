"""The speed of the frontier: 10 million pages on 100,000 hosts that limit visits.

Times are CPU time, so that they can be compared on a machine that does other things as well.
"""

import math
import time
from typing import NamedTuple

import numpy as np
from rich.console import Console

from benchmarks import roofline, traces
from benchmarks.report import HEADINGS, Figure, markdown, write_section
from benchmarks.sizes import sized
from recrawl import Frontier, policy_named, replay
from recrawl.kernels.jit import Floats
from recrawl.records import SECONDS_A_DAY

PAGE = "explanation/policies.md"
MANY_PAGES, MANY_HOSTS = sized((10_000_000, 100_000), (20_000, 200))
FEW_PAGES, FEW_HOSTS = sized((100_000, 10_000), (2_000, 200))
#: Mean days between visits to a page.
EVERY = 30.0
ONE_SECOND = 1 / SECONDS_A_DAY
#: With few pages a batch is the budget of a third of a day, and none of it may be lost.
CATCH_UP = 1.0
BATCH, WARM_UP, VISITS = sized((1_000, 50_000, 300_000), (50, 100, 1_000))
#: Pages that are placed, and how often: the first time, most of it is the system's memory.
PLACED, PLACED_HOSTS, PLACED_TIMES = sized((1_000_000, 10_000, 3), (2_000, 20, 1))
#: Takes while hosts are closed, pages wanted in each, and the share of them that have changed.
CLOSED_TAKES, CLOSED_BATCH, CHANGED = sized((2_000, 100, 0.3), (20, 10, 0.3))


class BusyFrontier(NamedTuple):
    """A frontier, and the truth about its pages."""

    frontier: Frontier
    budget: float
    change_rate: Floats
    last_visit: Floats


def busy_frontier(pages: int, hosts: int) -> BusyFrontier:
    """Return pages last visited within one mean gap, on hosts that limit visits."""
    rng = np.random.default_rng(1)
    budget = pages / EVERY
    frontier = Frontier(
        budget, host_delay=ONE_SECOND, host_budget=3.0 * budget / hosts, catch_up=CATCH_UP
    )
    last_visit = -rng.uniform(0.0, EVERY, pages)
    frontier.add(
        np.arange(pages),
        now=0.0,
        importance=rng.pareto(1.5, pages) + 0.1,
        host=rng.integers(0, hosts, pages),
        last_visit=last_visit,
    )
    return BusyFrontier(frontier, budget, rng.gamma(0.5, 2.0 / EVERY, pages), last_visit)


def visits_per_second(busy: BusyFrontier) -> float:
    """Take and report pages in batches; the time to draw what visits find is not counted."""
    frontier, budget, change_rate, last_visit = busy
    rng = np.random.default_rng(2)
    made, seconds, step = 0, 0.0, 0
    while made < WARM_UP + VISITS:
        step += 1
        now = step * BATCH / budget
        begin = time.process_time()
        page = frontier.take(now, BATCH)
        taken = time.process_time()
        changed = rng.random(page.size) < -np.expm1(-change_rate[page] * (now - last_visit[page]))
        last_visit[page] = now
        drawn = time.process_time()
        frontier.report(page, now, changed)
        made += page.size
        if made > WARM_UP:
            seconds += time.process_time() - drawn + taken - begin
    return (made - WARM_UP) / seconds


def seconds_to_place(pages: int, hosts: int) -> float:
    """Return the seconds to add and schedule pages, in memory that the process already has."""
    seconds = math.inf
    for _ in range(PLACED_TIMES):
        began = time.process_time()
        busy_frontier(pages, hosts).frontier.settle(0.0)
        seconds = min(seconds, time.process_time() - began)
    return seconds


def closed_hosts(pages: int, hosts: int, share: float) -> float:
    """Return microseconds of CPU time per visit while a share of all hosts is closed.

    Their pages have all become due, so that nearly all ready pages belong to closed hosts.
    """
    rng = np.random.default_rng(4)
    frontier, budget, _, _ = busy_frontier(pages, hosts)
    frontier.take(0.0, 0)
    frontier.limit_host(np.arange(hosts), delay=0.0, budget=math.inf)
    frontier.defer(np.arange(int(share * hosts)), 1e6)
    made, seconds = 0, 0.0
    for step in range(1, CLOSED_TAKES + 1):
        now = step * CLOSED_BATCH / budget
        began = time.process_time()
        page = frontier.take(now, CLOSED_BATCH)
        frontier.report(page, now, rng.random(page.size) < CHANGED)
        # Only then has each page of a closed host been looked at once, and the price settled.
        if step > CLOSED_TAKES // 2:
            seconds += time.process_time() - began
            made += page.size
    return seconds / made * 1e6


def bytes_per_page(busy: BusyFrontier) -> float:
    """Return the memory per page, with its belief and its share of hosts."""
    held = sum(table.nbytes for table in busy.frontier._tables)  # noqa: SLF001 - nobody else needs it
    return held / busy.change_rate.size


def run() -> list[Figure]:
    """Measure everything in one run, and write the tables."""
    with Console(stderr=True).status("visiting 10 million pages"):
        few = visits_per_second(busy_frontier(FEW_PAGES, FEW_HOSTS))
        closed = closed_hosts(FEW_PAGES, FEW_HOSTS, 0.99)
        placed = seconds_to_place(PLACED, PLACED_HOSTS)
        busy = busy_frontier(MANY_PAGES, MANY_HOSTS)
        many, held = visits_per_second(busy), bytes_per_page(busy)
        limit = roofline.seconds_per_visit(busy.frontier._tables)  # noqa: SLF001
        del busy
    figures = [
        Figure(
            "10 million pages, 100,000 hosts: visits per CPU second",
            many / 1e3,
            300.0,
            at_least=True,
            unit=",000",
        ),
        Figure("speed at 10 million / 100,000 pages", many / few, 0.25, at_least=True),
        Figure("99 % of hosts closed: CPU time per visit", closed, 10.0, unit=" µs"),
        Figure("1 million pages placed, in memory at hand: CPU time", placed, 1.0, unit=" s"),
        Figure("bytes per page", held, 200.0),
    ]
    table = markdown(HEADINGS, [figure.cells() for figure in figures])
    note = (
        f"At 10 million pages, loading only the rows of a page, its section and its host takes "
        f"{1e6 * limit:.2f} µs per visit, so no frontier with such rows can make more than "
        f"{1e-3 / limit:,.0f},000 visits per second; this one takes "
        f"{1e6 / many:.2f} µs."
    )
    write_section(PAGE, "frontier", f"{table}\n\n{note}")
    return [*figures, *replay_figures()]


def replay_figures() -> list[Figure]:
    """Time a replay of a real history, once kernels are compiled."""
    if not traces.are_there("replay-speed"):
        return []
    world = traces.world("mdn")
    index = policy_named("index")
    replay(world, index, world.pages / EVERY)
    began = time.process_time()
    replay(world, index, world.pages / EVERY)
    seconds = time.process_time() - began
    visits = round(world.pages / EVERY * world.days, -3)
    name = f"replay of `mdn` every 30 d, {world.pages:,} pages and {visits:,.0f} visits: CPU time"
    figure = Figure(name, seconds, 5.0, unit=" s")
    write_section(PAGE, "replay-speed", markdown(HEADINGS, [figure.cells()]))
    return [figure]
