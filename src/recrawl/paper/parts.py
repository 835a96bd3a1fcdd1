"""The parts of the report by name, and how they are run: side by side, on as many processes."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from importlib import import_module
from typing import cast

from recrawl.errors import ArgumentError
from recrawl.paper.section import Section

#: Called with how many parts are done, and how many there are.
Progress = Callable[[int, int], object]

#: Each part's module, in the order the report shows them; every one has a function ``run``.
PARTS: dict[str, str] = {
    "experiment-1": "recrawl.paper.experiment_1",
    "experiment-2": "recrawl.paper.experiment_2",
    "experiment-3": "recrawl.paper.experiment_3",
    "theorem-slopes": "recrawl.paper.slopes",
    "theorem-long-runs": "recrawl.paper.long_runs",
    "corners": "recrawl.paper.corners",
    "efficiency": "recrawl.paper.efficiency",
    "best-sequence": "recrawl.paper.best_sequence",
    "while-crawling": "recrawl.paper.while_crawling",
}
#: What people ask for, and the parts it means.
ASKED: dict[str, tuple[str, ...]] = {
    "1": ("experiment-1",),
    "2": ("experiment-2",),
    "3": ("experiment-3",),
    "theorems": ("theorem-slopes", "theorem-long-runs", "corners"),
    "beyond": ("efficiency", "best-sequence", "while-crawling"),
    "all": tuple(PARTS),
}
#: Those that take longest begin first, so that no processor is idle at the end.
LONGEST = ("while-crawling", "experiment-2", "efficiency", "theorem-slopes")


def part_names(experiment: str) -> tuple[str, ...]:
    """Give the parts that an experiment's name means.

    >>> part_names("theorems")
    ('theorem-slopes', 'theorem-long-runs', 'corners')
    """
    if experiment not in ASKED:
        raise ArgumentError(f"experiment: '{experiment}' is not one of {', '.join(ASKED)}")
    return ASKED[experiment]


def reproduce(
    experiment: str = "all",
    *,
    runs: int = 1_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> dict[str, Section]:
    """Run an experiment of the paper, or all of it.

    Args:
        experiment: "1", "2", "3", "theorems", "beyond" or "all".
        runs: How many times each life is drawn; the paper has 1,000 in its first experiment.
        seed: Of all randomness; the same gives the same numbers, but for times.
        progress: Called when a part is done.

    Returns:
        The parts by name, in the report's order.
    """
    names = part_names(experiment)
    if runs < 1:
        raise ArgumentError(f"runs: {runs} is not a positive number of runs; 1000 is usual")
    tell = progress or (lambda _done, _total: None)
    tell(0, len(names))
    found: dict[str, Section] = {}
    for name, section in _sections(names, runs, seed):
        found[name] = section
        tell(len(found), len(names))
    return {name: found[name] for name in names}


def _sections(names: Sequence[str], runs: int, seed: int) -> Iterator[tuple[str, Section]]:
    """Give the parts as they are done."""
    workers = min(len(names), os.cpu_count() or 1)
    if workers == 1:
        for name in names:
            yield name, _run(name, runs, seed)
        return
    # A process that is forked may wait for ever for a lock that a thread held at that moment.
    spawned = multiprocessing.get_context("spawn")
    before = set(multiprocessing.active_children())
    longest_first = [name for name in dict.fromkeys((*LONGEST, *names)) if name in names]
    with ProcessPoolExecutor(workers, spawned, _leave_interrupts_to_parent) as pool:
        try:
            jobs: dict[Future[Section], str] = {
                pool.submit(_run, name, runs, seed): name for name in longest_first
            }
            for job in as_completed(jobs):
                yield jobs[job], job.result()
        except BaseException:
            # The pool would finish what was begun; nobody waits for it any more.
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()
            raise


def _leave_interrupts_to_parent() -> None:
    """Let Ctrl-C, which a terminal sends to every process, be the parent's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run(name: str, runs: int, seed: int) -> Section:
    run = cast("Callable[[int, int], Section]", import_module(PARTS[name]).run)
    return run(runs, seed)
