"""How stale every policy leaves the copy, on recorded histories with the same visits."""

import math
import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime
from multiprocessing import get_context
from typing import NamedTuple

from rich.console import Console

from benchmarks import policies_model, traces
from benchmarks.report import DOCS, Figure, markdown, write_section
from benchmarks.sizes import output, sized
from recrawl import Score, policy_named, replay
from recrawl.cli.render.ranking import notes, summary
from recrawl.figures import draw_replay
from recrawl.simulation.policies import POLICIES
from recrawl.simulation.ranking import NEAR, Ranking

PAGE = "explanation/policies.md"
OURS, BOUND = "index", "index-known"
DRAWN = ("mdn", 30)
#: The maximum staleness of the index, by trace and days between visits.
BARS = {
    ("mdn", 90): 0.116,
    ("mdn", 30): 0.0485,
    ("mdn", 7): 0.0130,
    ("ota-france", 7): 0.0291,
    ("ota-pga", 7): 0.0398,
}
KNOWING = frozenset(name for name in POLICIES if policy_named(name).knows_rates)
SCALED = frozenset(name for name in POLICIES if name.endswith("-scaled"))
#: The index with some of its parts only; without signals, one of them is the index itself.
PARTS = frozenset(("index-neighbours", "index-sections", "index-octaves", "signals-ignored"))


class Task(NamedTuple):
    """One policy on one trace, with the mean days between visits to a page."""

    trace: str
    every: int
    policy: str


#: The scores of all policies, by trace and days between visits.
Scores = dict[tuple[str, int], dict[str, Score]]


def measure(task: Task) -> Score:
    """Replay one policy."""
    world = traces.world(task.trace)
    return replay(world, policy_named(task.policy), world.pages / task.every)


def measure_all() -> Scores:
    """Replay all policies, as many at once as there are cores."""
    tasks = [
        Task(trace.name, every, policy)
        for trace in traces.TRACES
        for every in trace.every
        for policy in POLICIES
    ]
    found: Scores = {}
    # Kernels run threads, which do not survive a fork.
    with ProcessPoolExecutor(sized(os.cpu_count(), 1), mp_context=get_context("spawn")) as pool:
        for task, score in zip(tasks, pool.map(measure, tasks), strict=True):
            found.setdefault((task.trace, task.every), {})[task.policy] = score
    return found


def run() -> list[Figure]:
    """Measure on models and on traces, and write tables and picture."""
    figures = policies_model.run()
    if not traces.are_there("policies"):
        return figures
    with Console(stderr=True).status("replaying every policy on every trace"):
        scores = measure_all()
    write_section(PAGE, "policies-short", short_table(scores))
    write_section(PAGE, "policies", full_table(scores))
    draw(scores[DRAWN])
    return [*figures, *bar_figures(scores), *rival_figures(scores)]


def bar_figures(scores: Scores) -> list[Figure]:
    """Compare the index with its bars."""
    return [
        Figure(f"{_named(where)}: staleness of the index", scores[where][OURS].staleness, bar)
        for where, bar in BARS.items()
        if where in scores
    ]


def rival_figures(scores: Scores) -> list[Figure]:
    """Compare the index with the best of its rivals everywhere."""
    figures = []
    for where, found in scores.items():
        rival = best_rival(found)
        ratio = found[OURS].staleness / rival.staleness
        figures.append(Figure(f"{_named(where)}: index / next best, {rival.policy}", ratio, 1.0))
    return figures


def best_rival(found: dict[str, Score]) -> Score:
    """Return the least stale policy that competes on equal terms: same visits and knowledge."""
    ours = PARTS | {OURS}
    rivals = [score for name, score in found.items() if name not in ours and is_fair(score)]
    return min(rivals, key=lambda score: score.staleness)


def is_fair(score: Score) -> bool:
    """Return whether a policy keeps the budget and does not know the true rates."""
    within = score.budget_used <= 1.0 + NEAR or score.policy in SCALED
    return within and score.policy not in KNOWING


def short_table(scores: Scores) -> str:
    """Return the table of the index, the best known policies and its best rival."""
    headings = ["trace, each page every", OURS, "uniform", "next best", BOUND, f"{OURS} / {BOUND}"]
    rows = []
    for where, found in scores.items():
        ours, bound, rival = found[OURS].staleness, found[BOUND].staleness, best_rival(found)
        next_best = f"{_percent(rival.staleness)}, `{rival.policy}`"
        shares = [_percent(found["uniform"].staleness), next_best, _percent(bound)]
        rows.append([_named(where), f"**{_percent(ours)}**", *shares, f"{ours / bound:.2f}"])
    return markdown(headings, rows)


def full_table(scores: Scores) -> str:
    """Return the table of all policies, the least stale overall first."""
    names = sorted(POLICIES, key=lambda name: _overall(scores, name))
    rows = [
        [f"`{name}`" + (" †" if name in KNOWING else "")]
        + [_cell(found, name) for found in scores.values()]
        for name in names
    ]
    return markdown(["policy", *(_named(where) for where in scores)], rows)


def _overall(scores: Scores, name: str) -> float:
    """Return the sum of a policy's log staleness, in which all traces count equally."""
    return sum(math.log(found[name].staleness) for found in scores.values())


def _cell(found: dict[str, Score], name: str) -> str:
    score = found[name]
    text = _percent(score.staleness)
    best = min((other for other in found.values() if is_fair(other)), key=lambda s: s.staleness)
    if best.policy == name:
        text = f"**{text}**"
    if abs(score.budget_used - 1.0) > NEAR:
        text += f" ({100 * score.budget_used:.0f})"
    return text


def _named(where: tuple[str, int]) -> str:
    return f"{where[0]}, {where[1]} d"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def draw(found: dict[str, Score]) -> None:
    """Draw how policies compare on one trace."""
    name, every = DRAWN
    world = traces.world(name)
    ranking = Ranking(world, world.pages / every, _ranked(found.values()), KNOWING)
    start = next(trace.start for trace in traces.TRACES if trace.name == name)
    draw_replay(
        output(DOCS / "figures" / f"policies-{name}.png"),
        ranking.scores,
        days=world.days,
        start=datetime.fromisoformat(f"{start}T00:00+00:00"),
        subtitle=f"MDN Web Docs: {summary(ranking)}",
        notes=notes(ranking),
    )


def _ranked(scores: Iterable[Score]) -> tuple[Score, ...]:
    return tuple(sorted(scores, key=lambda score: score.staleness))
