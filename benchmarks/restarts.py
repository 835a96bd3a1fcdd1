"""What a restart costs: a run that never restarts beside one that restarts often."""

import sys
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.report import Figure, markdown, write_section
from benchmarks.sizes import sized

PAGE = "explanation/choosing-an-estimator.md"
TESTS = Path(__file__).parent.parent / "tests"
FLEETS, HOSTS, PAGES, DAYS = sized((6, 10, 20, 100.0), (1, 2, 3, 12.0))
#: Days between two visits to a page, and between two restarts.
GAP, RESTART = 6.0, 5.0
WAYS = {"never": {}, f"every {RESTART:g} days": {"restart_every": RESTART}}


def run() -> list[Figure]:
    """Crawl simulated fleets in each way; some five minutes."""
    # The tests do the same with fewer pages.
    sys.path.insert(0, str(TESTS))
    from crawler.restarting import Fleet, Run

    found: dict[str, list[float]] = {way: [] for way in WAYS}
    with Console(stderr=True).status("simulated fleets"):
        for seed in range(FLEETS):
            fleet = Fleet.drawn(HOSTS, PAGES, DAYS, seed)
            for way, options in WAYS.items():
                budget = HOSTS * PAGES / GAP
                found[way].append(Run(fleet, budget, **options).freshness())
    means = {way: float(np.mean(each)) for way, each in found.items()}
    rows = [[way, f"{mean:.3f}"] for way, mean in means.items()]
    note = (
        f"The mean over {FLEETS} fleets of {HOSTS} hosts with {PAGES} pages each, which are found "
        f"in the first third of {DAYS:g} days, with a visit per page every {GAP:g} days; the mean "
        "rates of hosts are spread over three powers of ten."
    )
    write_section(PAGE, "restarts", f"{markdown(['restarts', 'freshness'], rows)}\n\n{note}")
    steady, restarted = means.values()
    name = "freshness of a run that restarts / of one that never does"
    return [Figure(name, restarted / steady, 0.99, at_least=True)]
