"""The parts of the report by name, and how they are run in parallel."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from importlib import import_module
from typing import cast

from recrawl.errors import ArgumentError
from recrawl.paper.section import Section
from recrawl.progress import Progress, no_progress

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
#: The names of experiments on the command line, and their parts.
EXPERIMENTS: dict[str, tuple[str, ...]] = {
    "1": ("experiment-1",),
    "2": ("experiment-2",),
    "3": ("experiment-3",),
    "theorems": ("theorem-slopes", "theorem-long-runs", "corners"),
    "beyond": ("efficiency", "best-sequence", "while-crawling"),
    "all": tuple(PARTS),
}
#: The longest parts start first, so that no processor is idle at the end.
LONGEST = ("while-crawling", "experiment-2", "efficiency", "theorem-slopes")


def part_names(experiment: str) -> tuple[str, ...]:
    """Return the parts of an experiment.

    >>> part_names("theorems")
    ('theorem-slopes', 'theorem-long-runs', 'corners')
    """
    if experiment not in EXPERIMENTS:
        raise ArgumentError(f"experiment: '{experiment}' is not one of {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[experiment]


def reproduce(
    experiment: str = "all", *, runs: int = 1_000, seed: int = 0, progress: Progress | None = None
) -> dict[str, Section]:
    """Run an experiment of the paper, or all of it.

    Args:
        experiment: "1", "2", "3", "theorems", "beyond" or "all".
        runs: How often each page is simulated; the paper's first experiment has 1,000 runs.
        seed: Of all randomness; the same seed gives the same numbers, except timings.
        progress: Called when a part is finished.

    Returns:
        The parts by name, in the order of the report.
    """
    names = part_names(experiment)
    if runs < 1:
        raise ArgumentError(f"runs: {runs} is not a positive number of runs; 1000 is usual")
    notify = progress or no_progress
    notify(0, len(names))
    found: dict[str, Section] = {}
    for name, section in _sections(names, runs, seed):
        found[name] = section
        notify(len(found), len(names))
    return {name: found[name] for name in names}


def _sections(names: Sequence[str], runs: int, seed: int) -> Iterator[tuple[str, Section]]:
    """Yield the parts as they finish."""
    workers = min(len(names), os.cpu_count() or 1)
    if workers == 1:
        for name in names:
            yield name, _run(name, runs, seed)
        return
    # A forked process may wait forever for a lock that a thread held at the fork.
    context = multiprocessing.get_context("spawn")
    before = set(multiprocessing.active_children())
    longest_first = [name for name in dict.fromkeys((*LONGEST, *names)) if name in names]
    with ProcessPoolExecutor(workers, context, _ignore_interrupts) as pool:
        try:
            with _interrupts_held():
                jobs: dict[Future[Section], str] = {
                    pool.submit(_run, name, runs, seed): name for name in longest_first
                }
            for job in as_completed(jobs):
                yield jobs[job], job.result()
        except BaseException:
            # The pool would finish the running parts, which are no longer needed.
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()
            raise


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Defer Ctrl-C: a process that is interrupted while it starts would print a traceback."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Ctrl-C reaches only the main thread.
        return
    came = False

    def remember(*_: object) -> None:
        nonlocal came
        came = True

    # A mask would not do: another thread of the process can receive the signal.
    before = signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


def _ignore_interrupts() -> None:
    """Leave Ctrl-C, which a terminal sends to every process, to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run(name: str, runs: int, seed: int) -> Section:
    run = cast("Callable[[int, int], Section]", import_module(PARTS[name]).run)
    return run(runs, seed)
