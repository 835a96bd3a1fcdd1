"""How stale the default policy leaves histories that no setting but one was chosen on."""

import os
import sys
from pathlib import Path

from rich.console import Console

from benchmarks.report import Figure, markdown, write_section
from benchmarks.sizes import AbsentError, sized
from benchmarks.traces import Recorded
from recrawl import World
from recrawl.simulation.ranking import Ranking, rank

PAGE = "explanation/policies.md"
#: Where ``recrawl trace git`` has put them.
FOLDER = "RECRAWL_OTHER_TRACES"
#: Each from the day on from which it has most pages × days; some pages come and go.
OTHERS = tuple(
    Recorded(name, start, end, (30, 7))
    for name, start, end in (
        ("dating", "2022-04-13", "2026-07-01"),
        ("react", "2023-04-17", "2026-08-20"),
        ("contrib", "2021-10-18", "2026-08-22"),
        ("home-assistant", "2019-12-04", "2024-10-24"),
        ("rust-book", "2020-07-15", "2026-07-14"),
        ("peps", "2023-10-04", "2026-08-22"),
        ("kubernetes", "2020-10-02", "2026-08-19"),
        ("nodejs", "2024-07-22", "2026-08-19"),
        ("p2b", "2022-10-04", "2024-10-16"),
        ("prometheus", "2019-01-01", "2024-12-31"),
        ("laravel", "2020-03-21", "2026-03-20"),
        ("genai", "2025-12-05", "2026-08-22"),
        ("astro", "2024-04-05", "2026-08-21"),
        ("vue", "2022-01-29", "2026-07-22"),
    )
)
OURS, ROUND_ROBIN = "index", "uniform"
SHOWN = (OURS, ROUND_ROBIN, "index-known", "index-known-half")
#: Replays per policy, with ties broken otherwise each time.
SEEDS = sized(2, 1)
#: How many histories are replayed; None for all.
REPLAYED = sized(None, 1)


def run() -> list[Figure]:
    """Replay the histories that are there, and write the table if all are."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        raise AbsentError(f"{FOLDER} does not name the folder of other traces")
    rows, figures = [], []
    for trace in OTHERS[:REPLAYED]:
        if not (Path(folder) / trace.name).is_dir():
            print(f"no trace '{trace.name}' in {folder}", file=sys.stderr)
            continue
        world = World.from_trace(Path(folder) / trace.name, start=trace.start, end=trace.end)
        for every in trace.every:
            with Console(stderr=True).status(f"replaying {trace.name}"):
                ranking = rank(world, SHOWN, world.pages / every, seeds=SEEDS)
            rows.append(_row(f"{trace.name}, {world.pages:,} pages, {every} d", ranking))
            print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
            figures.append(_never_staler_than_round_robin(f"{trace.name}, {every} d", ranking))
    if len(rows) == sum(len(trace.every) for trace in OTHERS):
        headings = ["trace, each page every", *(f"`{name}`" for name in SHOWN)]
        write_section(PAGE, "other-histories", markdown(headings, rows))
    return figures


def _staleness(ranking: Ranking) -> dict[str, float]:
    return {score.policy: score.staleness for score in ranking.scores}


def _row(name: str, ranking: Ranking) -> list[str]:
    stale = _staleness(ranking)
    return [name, *(f"{100 * stale[policy]:.2f} %" for policy in SHOWN)]


def _never_staler_than_round_robin(name: str, ranking: Ranking) -> Figure:
    stale = _staleness(ranking)
    return Figure(f"{name}: {OURS} / {ROUND_ROBIN}", stale[OURS] / stale[ROUND_ROBIN], 1.0)
