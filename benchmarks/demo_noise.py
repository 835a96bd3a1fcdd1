"""Fast and slow noise in a crawl: how often the demo's crawl takes it for a change."""

import tempfile
from pathlib import Path

from rich.console import Console

from benchmarks.report import Figure, markdown, write_section
from benchmarks.sizes import sized
from recrawl.demo.ground_truth import Verdicts
from recrawl.demo.run import run_demo
from recrawl.demo.scenario import draw_scenario
from recrawl.demo.slow_noise import DAY

PAGE = "explanation/what-counts-as-a-change.md"
SEEDS = sized(range(1, 5), range(1, 2))
PAGES, SECONDS = sized((300, 120.0), (10, 3.0))
#: The first visits to each page, after which its noise should be known.
FIRST = 3
HEADINGS = ["seed", "visits to unchanged pages", "false changes", "", "real changes", "missed"]


def run() -> list[Figure]:
    """Crawl the demo web with several seeds, judged by the truth; some nine minutes."""
    found = list[Verdicts]()
    with Console(stderr=True).status("the demo web") as status, tempfile.TemporaryDirectory() as at:
        for seed in SEEDS:
            status.update(f"the demo web, seed {seed} of {len(SEEDS)}")
            result = run_demo(draw_scenario(PAGES, SECONDS, seed), Path(at) / f"{seed}.db")
            found.append(result.verdicts.after(FIRST))
    rows = [
        [
            str(seed),
            f"{each.is_unchanged.sum():,}",
            f"{each.is_false.sum():,}",
            f"{100 * each.false_share:.1f} %",
            f"{each.is_changed.sum():,}",
            f"{each.is_missed.sum():,}",
        ]
        for seed, each in zip(SEEDS, found, strict=True)
    ]
    note = (
        f"{PAGES} pages of five sites for {SECONDS:g} s, {SECONDS / DAY:g} days of the demo web, "
        f"over real HTTP; without the first {FIRST} visits to each page."
    )
    write_section(PAGE, "demo-noise", f"{markdown(HEADINGS, rows)}\n\n{note}")
    return [
        Figure("noise of the demo web taken for a change, % of visits to unchanged pages",
               100 * max(each.false_share for each in found), 2.0),
        Figure("changes of the demo web missed", sum(int(each.is_missed.sum()) for each in found),
               0.0),
    ]  # fmt: skip
