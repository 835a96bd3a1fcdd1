"""How fast the frontier decides: 10 million pages on 100,000 hosts, which limit visits."""

import time
from typing import NamedTuple

import numpy as np
from rich.console import Console

from benchmarks import traces
from benchmarks.report import HEADINGS, Figure, best_time, markdown, write_section
from recrawl import Frontier, policy_named, replay
from recrawl.kernels.jit import Floats

PAGE = "explanation/policies.md"
MANY_PAGES, MANY_HOSTS = 10_000_000, 100_000
FEW_PAGES, FEW_HOSTS = 100_000, 10_000
#: Days between two visits of a page, on average.
EVERY = 30.0
A_SECOND = 1 / 86_400
#: A batch is the budget of a third of a day where pages are few, and none of it may be lost.
CATCH_UP = 1.0
BATCH, WARM_UP, VISITS = 1_000, 50_000, 300_000
#: The bytes of a belief: two floats.
BELIEF = 16


class Fleet(NamedTuple):
    """A frontier at work, and what is true of its pages."""

    frontier: Frontier
    budget: float
    change_rate: Floats
    last_visit: Floats


def busy_fleet(pages: int, hosts: int) -> Fleet:
    """Make pages that were all visited within the last mean gap, on hosts that limit visits."""
    rng = np.random.default_rng(1)
    budget = pages / EVERY
    frontier = Frontier(
        budget, host_delay=A_SECOND, host_budget=3.0 * budget / hosts, catch_up=CATCH_UP
    )
    last_visit = -rng.uniform(0.0, EVERY, pages)
    frontier.add(
        np.arange(pages),
        now=0.0,
        importance=rng.pareto(1.5, pages) + 0.1,
        host=rng.integers(0, hosts, pages),
        last_visit=last_visit,
    )
    return Fleet(frontier, budget, rng.gamma(0.5, 2.0 / EVERY, pages), last_visit)


def visits_a_second(fleet: Fleet) -> float:
    """Take pages and report them, batch by batch; drawing what visits find is not counted."""
    frontier, budget, change_rate, last_visit = fleet
    rng = np.random.default_rng(2)
    made, seconds, step = 0, 0.0, 0
    while made < WARM_UP + VISITS:
        step += 1
        now = step * BATCH / budget
        begin = time.perf_counter()
        page = frontier.take(now, BATCH)
        taken = time.perf_counter()
        changed = rng.random(page.size) < -np.expm1(-change_rate[page] * (now - last_visit[page]))
        last_visit[page] = now
        drawn = time.perf_counter()
        frontier.report(page, now, changed)
        made += page.size
        if made > WARM_UP:
            seconds += time.perf_counter() - drawn + taken - begin
    return (made - WARM_UP) / seconds


def bytes_a_page(fleet: Fleet) -> float:
    """Give what a page costs in memory beside its belief, its share of hosts included."""
    held = sum(table.nbytes for table in fleet.frontier._tables)  # noqa: SLF001 - nobody else asks
    return held / fleet.change_rate.size - BELIEF


def run() -> list[Figure]:
    """Measure everything in one run, and write the tables."""
    with Console(stderr=True).status("visiting 10 million pages"):
        few = visits_a_second(busy_fleet(FEW_PAGES, FEW_HOSTS))
        fleet = busy_fleet(MANY_PAGES, MANY_HOSTS)
        many, held = visits_a_second(fleet), bytes_a_page(fleet)
        del fleet
    figures = [
        Figure(
            "10 million pages, 100,000 hosts: visits a second, one core",
            many / 1e3,
            300.0,
            at_least=True,
            unit=",000",
        ),
        Figure("speed at 10 million / 100,000 pages", many / few, 0.25, at_least=True),
        Figure("bytes a page beside the belief", held, 120.0),
    ]
    write_section(PAGE, "frontier", markdown(HEADINGS, [figure.cells() for figure in figures]))
    return [*figures, *replay_figures()]


def replay_figures() -> list[Figure]:
    """Take the time of a replay on a real history, once kernels are compiled."""
    if not traces.are_there("replay-speed"):
        return []
    world = traces.world("mdn")
    index = policy_named("index")
    replay(world, index, world.pages / EVERY)
    seconds = best_time(lambda: replay(world, index, world.pages / EVERY), repeat=1)
    visits = round(world.pages / EVERY * world.days, -3)
    name = f"replay of `mdn` every 30 d, {world.pages:,} pages and {visits:,.0f} visits: time"
    figure = Figure(name, seconds, 5.0, unit=" s")
    write_section(PAGE, "replay-speed", markdown(HEADINGS, [figure.cells()]))
    return [figure]
