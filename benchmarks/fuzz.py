"""A seeded fuzzer over readers, parsers, estimators, allocators and the frontier.

Each input is made from the seed and the number of the case alone: ``python -m benchmarks fuzz
--case N`` runs a failed one again. Nothing may raise an exception but recrawl's own, return NaN,
take more than five seconds of processor time, or end the process.
"""

import argparse
import multiprocessing
import random
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.fuzz_targets import TARGETS
from benchmarks.report import Figure
from benchmarks.sizes import sized
from recrawl.errors import RecrawlError

INPUTS = sized(1_000_000, 100)
MAX_SECONDS = 5.0
#: What takes longer than this is run again.
MAY_COMPILE = 1.0
#: A process that stays at one input for this long hangs: compiling on a busy machine takes minutes.
HANGING = 1_800.0
#: Inputs between two reports of a process.
REPORT_EVERY = 2_000
MAX_SHOWN = 40
#: Seconds between two lines that say how far it has come, where there is no terminal.
TELL_EVERY = 60.0

_NAMES = list(TARGETS)
_SHARES = list(accumulate(share for _, share in TARGETS.values()))


@dataclass
class Tally:
    """What became of a target's inputs."""

    inputs: int = 0
    refused: int = 0
    slowest: float = 0.0
    slowest_case: int = 0


@dataclass
class Results:
    """What a run has found so far.

    Attributes:
        tallies: By target.
        failures: The case, the target and the problem.
    """

    tallies: dict[str, Tally] = field(default_factory=dict)
    failures: list[tuple[int, str, str]] = field(default_factory=list)

    def add(self, other: "Results") -> None:
        """Add the results of a process."""
        for name, more in other.tallies.items():
            tally = self.tallies.setdefault(name, Tally())
            tally.inputs += more.inputs
            tally.refused += more.refused
            if more.slowest > tally.slowest:
                tally.slowest, tally.slowest_case = more.slowest, more.slowest_case
        self.failures += other.failures

    @property
    def inputs(self) -> int:
        """The number of inputs."""
        return sum(tally.inputs for tally in self.tallies.values())


def target_of(case: int, seed: int) -> tuple[str, random.Random]:
    """Return the target of a case, and the generator of its input."""
    rng = random.Random(f"{seed}/{case}")  # noqa: S311 - inputs, not secrets
    return rng.choices(_NAMES, cum_weights=_SHARES)[0], rng


def run_case(case: int, seed: int, results: Results) -> None:
    """Run one input and note what became of it."""
    name, problem, refused, seconds = _run_once(case, seed)
    if seconds > MAY_COMPILE:
        # Kernels are compiled when they are first used, which takes longer than any input may.
        name, problem, refused, seconds = _run_once(case, seed)
    tally = results.tallies.setdefault(name, Tally())
    tally.inputs += 1
    tally.refused += refused
    if seconds > tally.slowest:
        tally.slowest, tally.slowest_case = seconds, case
    if problem is None and seconds > MAX_SECONDS:
        problem = f"it takes {seconds:.1f} s"
    if problem is not None:
        results.failures.append((case, name, problem))


def _run_once(case: int, seed: int) -> tuple[str, str | None, bool, float]:
    """Return the target, what is wrong, whether the input was refused, and the seconds it took."""
    name, rng = target_of(case, seed)
    begin = time.process_time()
    problem, refused = None, False
    try:
        numbers = TARGETS[name][0](rng)
        if any(_has_nan(number) for number in numbers):
            problem = "a number is NaN, or out of order"
    except RecrawlError as error:
        refused = True
        if "\n" in str(error):
            problem = "the message has more than one line"
    except Exception as error:  # noqa: BLE001 - any other is a finding
        problem = f"{type(error).__name__}: {error!s:.120} ({_where(error)})"
    return name, problem, refused, time.process_time() - begin


def _has_nan(number: Any) -> bool:  # noqa: ANN401
    return number is not None and bool(np.isnan(np.asarray(number, np.float64)).any())


def _where(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "recrawl" in Path(frame.filename).parts] or frames
    return f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"


def sample(cases: range, seed: int) -> Results:
    """Run some cases in this process."""
    results = Results()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for case in cases:
            run_case(case, seed, results)
    return results


def _work(cases: range, seed: int, until: float, at: Any, queue: Any) -> None:  # noqa: ANN401
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        results = Results()
        for case in cases:
            at.value = case
            run_case(case, seed, results)
            if results.inputs >= REPORT_EVERY:
                queue.put(results)
                results = Results()
            if time.monotonic() > until:
                break
    queue.put(results)
    queue.close()
    queue.join_thread()


class _Worker:
    """A process that works through its share of the cases, started again when one ends it."""

    def __init__(self, cases: range, seed: int, until: float, results: Results) -> None:
        self._cases, self._seed, self._until = cases, seed, until
        self._results = results
        self._context = multiprocessing.get_context("spawn")
        self._start()

    def _start(self) -> None:
        self._at = self._context.Value("q", -1)
        self._queue = self._context.Queue()
        arguments = (self._cases, self._seed, self._until, self._at, self._queue)
        self._process = self._context.Process(target=_work, args=arguments, daemon=True)
        self._process.start()
        self._moved = (time.monotonic(), -1)

    def is_done(self) -> bool:
        """Collect results; blame the present case if the process has died, or hangs."""
        alive = self._process.is_alive()
        while not self._queue.empty():
            self._results.add(self._queue.get())
        at, now = int(self._at.value), time.monotonic()
        if at != self._moved[1]:
            self._moved = (now, at)
        hangs = alive and at >= 0 and now - self._moved[0] > HANGING
        if alive and not hangs:
            return False
        if not hangs and self._process.exitcode == 0:
            return True
        self._process.kill()
        what = "the process hangs" if hangs else f"the process ended ({self._process.exitcode})"
        self._results.failures.append((at, target_of(at, self._seed)[0], what))
        step = self._cases.step
        self._cases = range(max(at, self._cases.start - step) + step, self._cases.stop, step)
        self._start()
        return False


def fuzz(cases: range, seed: int, processes: int = 2, seconds: float = float("inf")) -> Results:
    """Run cases on some processes, or as many as the seconds allow."""
    results = Results()
    until = time.monotonic() + seconds
    shares = [cases[first::processes] for first in range(processes)]
    workers = [_Worker(share, seed, until, results) for share in shares]
    console, told = Console(stderr=True), time.monotonic()
    with console.status("") as status:
        while not all([worker.is_done() for worker in workers]):  # noqa: C419 - ask each
            found = f"{results.inputs:,} inputs, {len(results.failures)} failures"
            status.update(found)
            if not console.is_terminal and time.monotonic() - told >= TELL_EVERY:
                told = time.monotonic()
                console.print(found)
            time.sleep(0.2)
    return results


def print_results(results: Results) -> None:
    """Print a table of the targets, and the failures."""
    table = Table("target", "inputs", "refused", "failures", "slowest, ms", "its case")
    failed = [name for _, name, _ in results.failures]
    for name in TARGETS:
        tally = results.tallies.get(name, Tally())
        cells = [f"{tally.inputs:,}", f"{tally.refused:,}", str(failed.count(name))]
        table.add_row(name, *cells, f"{1e3 * tally.slowest:.1f}", str(tally.slowest_case))
    Console().print(table)
    for case, name, problem in _shown(results):
        print(f"case {case}, {name}: {problem}")


def _shown(results: Results) -> Iterator[tuple[int, str, str]]:
    """Yield the first failure of each kind."""
    kinds = set[tuple[str, str]]()
    for case, name, problem in sorted(results.failures):
        kind = (name, problem.rpartition("(")[2])
        if kind not in kinds and len(kinds) < MAX_SHOWN:
            kinds.add(kind)
            yield case, name, problem


def figures(results: Results) -> list[Figure]:
    """Return what was found beside what is allowed."""
    slowest = max((tally.slowest for tally in results.tallies.values()), default=0.0)
    return [
        Figure("fuzz: failures", len(results.failures), 0),
        Figure("fuzz: slowest input", slowest, MAX_SECONDS, unit=" s"),
    ]


def run(arguments: list[str] | None = None) -> list[Figure]:
    """Fuzz as the arguments say, and print what was found."""
    parser = argparse.ArgumentParser("python -m benchmarks fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=INPUTS, help="how many inputs")
    parser.add_argument("--first", type=int, default=0, help="the first case, for a run in parts")
    parser.add_argument("--processes", type=int, default=2, help="how many at a time")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this")
    parser.add_argument("--seed", type=int, default=0, help="other inputs")
    parser.add_argument("--case", type=int, help="run this case only, and show its traceback")
    given = parser.parse_args(arguments or [])
    if given.case is not None:
        name, rng = target_of(given.case, given.seed)
        print(f"case {given.case}: {name}", file=sys.stderr)
        print(list(TARGETS[name][0](rng)))
        return []
    cases = range(given.first, given.first + given.inputs)
    results = fuzz(cases, given.seed, given.processes, given.seconds)
    print_results(results)
    return figures(results)
