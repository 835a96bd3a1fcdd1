"""A crawl killed at 200 random times: what is lost, and whether anything is damaged."""

import random
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from benchmarks.report import Figure, markdown, write_section
from benchmarks.sizes import sized

PAGE = "reference/store.md"
KILLS = sized(200, 1)
#: Requests served from the start of a crawl to its kill.
SOONEST, LATEST = sized((5, 150), (5, 10))
TESTS = Path(__file__).parent.parent / "tests"


def run() -> list[Figure]:
    """Kill a crawl many times, check what is left, and write the table."""
    # The tests do the same with fewer kills.
    sys.path.insert(0, str(TESTS))
    from acceptance.killing import BUDGET, CONNECTIONS, MAX_LOST, crawl_and_kill

    rng = random.Random(50)  # noqa: S311 - kill times, not secrets
    kills = [rng.randrange(SOONEST, LATEST) for _ in range(KILLS)]
    with (
        tempfile.TemporaryDirectory() as folder,
        Console(stderr=True).status(f"killing a crawl {KILLS} times"),
    ):
        crawled = crawl_and_kill(Path(folder) / "recrawl.db", kills)
    runs = crawled.runs
    served, allowed = sum(run.served for run in runs), sum(run.allowed for run in runs)
    missing = sum(max(run.reported - run.logged, 0) for run in runs)
    max_lost = max(run.lost for run in runs)
    over = max(run.served - run.allowed for run in runs)
    rows = [
        ["requests that the server saw", f"{served:,}"],
        ["visits in the log", f"{sum(run.logged for run in runs):,}"],
        ["visits that the crawl reported but that are not in the log", f"{missing:,}"],
        [
            "damage found in the file, the contents, or the log compared with what was served",
            "none",
        ],
        ["requests lost per kill, mean", f"{sum(run.lost for run in runs) / KILLS:.1f}"],
        ["requests lost per kill, maximum", f"{max_lost:,}"],
        ["requests, as a share of the budget", f"{served / allowed:.0%}"],
    ]
    if crawled.problems:
        rows[3][1] = f"{len(crawled.problems):,}"
    intro = (
        f"A crawl at {BUDGET} requests per second on {CONNECTIONS} connections, killed (`kill -9`) "
        f"at {KILLS} random moments and started again each time:"
    )
    write_section(PAGE, "killing", f"{intro}\n\n{markdown(['', 'measured'], rows)}")
    return [
        Figure("killing: damage found", len(crawled.problems), 0),
        Figure("killing: visits reported and not in the log", missing, 0),
        Figure("killing: requests lost per kill", max_lost, MAX_LOST),
        Figure("killing: requests over a run's budget", over, 1 + CONNECTIONS),
    ]
