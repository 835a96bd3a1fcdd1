"""What signals are worth: policies with signals where all true rates are known."""

import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
from rich.console import Console

from benchmarks.report import Figure, markdown, write_section
from benchmarks.sizes import sized
from recrawl import World, policy_named, replay
from recrawl.simulation.signals import Signals
from recrawl.simulation.synthetic import MIXED, add_signals

PAGE = "explanation/policies.md"
PAGES, HOSTS, DAYS = sized((1_500, 15, 365.0), (8, 2, 12.0))
#: Change rates per day are between these, evenly on a logarithmic scale.
RATES = (0.005, 1.0)
#: Days between visits to a page: a tight budget, less than pages change, and a loose one.
EVERY = (10, 3)
#: Precision and recall, by name.
QUALITIES = {
    "0.2, 0.5": ((0.2, 0.5),),
    "0.8, 0.8": ((0.8, 0.8),),
    "0.5, 0.9": ((0.5, 0.9),),
    "1, 1": ((1.0, 1.0),),
    "mixed": MIXED,
}
#: Signals that have nothing to do with changes, and their number per page and day.
NOISE, NOISE_RATE = "noise", 0.3
IGNORED, KEEP, LEARNED, OURS, TRUE = (
    "signals-ignored",
    "signals-keep",
    "ncis-learned",
    "index",
    "ncis",
)
POLICIES = (IGNORED, KEEP, LEARNED, OURS, TRUE)
#: Ours is at most this much staler than others.
OVER_IGNORED, OVER_LEARNED, OVER_TRUE = 1.01, 1.0, 1.1


class Task(NamedTuple):
    """One policy in one world."""

    every: int
    quality: str
    policy: str


def world(quality: str) -> World:
    """Draw pages and their signals; changes are the same whatever the signals."""
    low, high = np.log(RATES)
    rate = np.exp(np.random.default_rng(1).uniform(low, high, PAGES))
    drawn = World.poisson(rate, days=DAYS, host=np.arange(PAGES) % HOSTS, seed=2)
    if quality == NOISE:
        return replace(drawn, signals=noise())
    return add_signals(drawn, QUALITIES[quality], seed=3)


def noise() -> Signals:
    """Draw signals at a constant rate, on all pages alike."""
    drawn = World.poisson(np.full(PAGES, NOISE_RATE), days=DAYS, seed=4)
    return Signals(drawn.starts, drawn.change, np.zeros(PAGES), np.zeros(PAGES))


def measure(task: Task) -> float:
    """Return the staleness of one policy."""
    return replay(world(task.quality), policy_named(task.policy), PAGES / task.every).staleness


def run() -> list[Figure]:
    """Measure, and write the table."""
    tasks = [
        Task(every, quality, policy)
        for every in EVERY
        for quality in (*QUALITIES, NOISE)
        for policy in POLICIES
    ]
    # Kernels run threads, which do not survive a fork.
    with (
        Console(stderr=True).status("replaying policies with signals"),
        ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool,
    ):
        stale = dict(zip(tasks, pool.map(measure, tasks), strict=True))
    write_section(PAGE, "signals", table(stale))
    return [
        figure
        for every in EVERY
        for quality in (*QUALITIES, NOISE)
        for figure in figures(stale, every, quality)
    ]


def table(stale: dict[Task, float]) -> str:
    """Return a row per world and a column per policy."""
    headings = ["precision, recall; every", *(f"`{name}`" for name in POLICIES)]
    headings[-1] += " †"
    headings.append(f"`{OURS}` / `{TRUE}`")
    rows = []
    for every in EVERY:
        for quality in (*QUALITIES, NOISE):
            shares = [stale[Task(every, quality, policy)] for policy in POLICIES]
            ratio = shares[POLICIES.index(OURS)] / shares[POLICIES.index(TRUE)]
            cells = [f"{100 * share:.2f} %" for share in shares]
            rows.append([f"{quality}; {every} d", *cells, f"{ratio:.2f}"])
    return markdown(headings, rows)


def figures(stale: dict[Task, float], every: int, quality: str) -> list[Figure]:
    """Compare ours with the policies it must not lose to."""
    ours = stale[Task(every, quality, OURS)]
    bars = {IGNORED: OVER_IGNORED}
    if quality != NOISE:
        bars |= {LEARNED: OVER_LEARNED, TRUE: OVER_TRUE}
    return [
        Figure(
            f"signals {quality}, every {every} d: {OURS} / {other}",
            ours / stale[Task(every, quality, other)],
            bar,
        )
        for other, bar in bars.items()
    ]
