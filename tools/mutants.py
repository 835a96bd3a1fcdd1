"""Plant small faults in the code, one at a time, and count how many the tests find.

    python -m tools.mutants                       # a seeded sample, as `make mutants` takes it
    python -m tools.mutants http --sample 10      # ten faults in one package
    python -m tools.mutants --again               # those that survived, again

A fault is a changed comparison, operator, number or condition, or a statement left out. Each is
planted in a copy of the repository. First, a run of the packages' tests records which functions
each test calls; a fault then meets the tests that call the function it is in, those of the quickest
files first. The first test that fails has killed it. In the end all tests that killed something run
once more, without a fault: one that fails then has killed nothing.

Faults in compiled kernels are a sample of their own, since each costs a compilation. They meet all
tests of the package, those that import the module first. So does what no test was seen to call.

Verdicts are kept in a file. A run that was interrupted goes on where it was. On a machine that is
too busy to tell a test that hangs from one that is slow, there is no verdict.
"""

import argparse
import random
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.faults import ROOT, Mutant, mutants_of
from tools.selection import recorded
from tools.trial import (
    HANGS_COMPILING,
    MAX_CPU_COMPILING,
    Tests,
    TooSlowError,
    copy_to,
    killer_of,
    tests_for,
)

PACKAGES = ("crawler", "store", "http", "content")
LOG = ROOT / "build" / "mutants.log"


def unreliable(killers: set[str], clean: Path) -> set[str]:
    """Return the tests that fail without a fault as well."""
    found, tests = set[str](), sorted(killers)
    while tests and (failed := Tests(tests, MAX_CPU_COMPILING, HANGS_COMPILING).run(clean)):
        tests.remove(failed.test)
        found.add(failed.test)
    return found


def run(mutants: list[Mutant], wanted: argparse.Namespace) -> dict[Mutant, bool]:
    """Try every mutant that has no verdict yet, and return which were killed, as far as known."""
    known = dict(read_verdicts(wanted.log))
    new = [m for m in mutants if str(m) not in known or (wanted.again and not known[str(m)])]
    packages = {mutant.package for mutant in new if not mutant.in_kernel}
    reached = recorded(sorted(packages), wanted.jobs) if packages else {}
    with (
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(wanted.jobs) as pool,
        wanted.log.open("a") as log,
    ):
        clean = copy_to(Path(folder))

        def attempt(mutant: Mutant) -> None:
            tests = tests_for(mutant, reached, only_near=wanted.near)
            try:
                killer = killer_of(mutant, clean, Path(folder), tests)
            except TooSlowError as slow:
                print(f"TOO SLOW  {mutant}\n          {slow}", flush=True)
                return
            known[str(mutant)] = killer.test if killer else None
            verdict = f"killed    {mutant}  by {killer}" if killer else f"SURVIVED  {mutant}"
            print(verdict, flush=True)
            print(verdict, file=log, flush=True)

        for _ in pool.map(attempt, new):
            pass
        no_killers = unreliable({killer for m in new if (killer := known.get(str(m)))}, clean)
        for mutant in new:
            killer = known.get(str(mutant))
            if killer in no_killers:
                known[str(mutant)] = None
                print(f"SURVIVED  {mutant}", file=log)
                print(f"SURVIVED  {mutant}\n          as {killer} fails without it", flush=True)
    return {mutant: known[str(mutant)] is not None for mutant in mutants if str(mutant) in known}


def read_verdicts(log: Path) -> dict[str, str | None]:
    """Return the test that killed each fault tried so far, by what the fault is called."""
    found = dict[str, str | None]()
    for line in log.read_text().splitlines() if log.exists() else ():
        verdict, _, what = line.partition(" ")
        mutant, _, killer = what.strip().rpartition("  by ")
        found[mutant or killer] = killer if verdict == "killed" else None
    return found


def print_table(results: dict[Mutant, bool]) -> float:
    """Print how many were killed in each package, and return the share of all."""
    for package in sorted({mutant.package for mutant in results}):
        killed = [found for mutant, found in results.items() if mutant.package == package]
        print(f"{package:12} {sum(killed):4} of {len(killed):4}  {sum(killed) / len(killed):6.1%}")
    share = sum(results.values()) / len(results)
    print(f"{'all':12} {sum(results.values()):4} of {len(results):4}  {share:6.1%}", flush=True)
    return share


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    add = parser.add_argument
    add(
        "packages", nargs="*", default=PACKAGES, help=f"packages; {' '.join(PACKAGES)} unless given"
    )
    add("--sample", type=int, default=120, help="faults in these packages (120)")
    add("--kernels", type=int, default=20, help="faults in compiled kernels, of all packages (20)")
    add("--seed", type=int, default=11, help="which sample is drawn (11)")
    add("--floor", type=float, default=0.85, help="share of each sample to be killed (0.85)")
    add("--jobs", type=int, default=2, help="how many at a time (2)")
    add("--log", type=Path, default=LOG, help="where verdicts are kept (build/mutants.log)")
    add("--again", action="store_true", help="try those that survived again")
    add(
        "--near", action="store_true", help="for kernels: only the test files nearest to each fault"
    )
    return parser.parse_args()


def samples(wanted: argparse.Namespace) -> list[list[Mutant]]:
    """Draw both samples, or find those that survived an earlier run."""
    paths = sorted(path.relative_to(ROOT) for path in ROOT.glob("src/recrawl/**/*.py"))
    found = [mutant for path in paths for mutant in mutants_of(path)]
    if wanted.again:
        survivors = {what for what, killer in read_verdicts(wanted.log).items() if killer is None}
        found = [mutant for mutant in found if str(mutant) in survivors]
        for gone in sorted(survivors - set(map(str, found))):
            print(f"no longer there: {gone}")
        return [[m for m in found if m.in_kernel is in_kernel] for in_kernel in (False, True)]
    pools = (
        (wanted.sample, [m for m in found if m.package in wanted.packages and not m.in_kernel]),
        (wanted.kernels, [m for m in found if m.in_kernel]),
    )
    draw = random.Random(wanted.seed)  # noqa: S311 - a sample, not a secret
    print(f"Seed {wanted.seed}; faults to draw from: {len(pools[0][1])}, {len(pools[1][1])}")
    return [draw.sample(pool, min(size, len(pool))) for size, pool in pools]


def main() -> None:
    """Try both samples, and fail below the floor."""
    wanted = options()
    wanted.log.parent.mkdir(exist_ok=True)
    drawn = [sample for sample in samples(wanted) if sample]
    results = [run(sample, wanted) for sample in drawn]
    shares = [print_table(result) for result in results if result]
    if sum(map(len, results)) < sum(map(len, drawn)):
        sys.exit("Some could not be tried, as the machine is too busy; start it again to try them.")
    if min(shares, default=1.0) < wanted.floor:
        sys.exit(f"Fewer than {wanted.floor:.0%} were killed; each that survived wants a test.")


if __name__ == "__main__":
    main()
