"""Run every benchmark, or those named: `python -m benchmarks accuracy speed …`.

`--smallest`, before the names, runs them in seconds, judges nothing and writes nothing. `python -m
benchmarks fuzz --help` lists the options of the fuzzer; `planning`, `quick`, `spark` and
`troubled-year` have some, too.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module

from benchmarks.report import Figure, print_verdict
from benchmarks.sizes import VARIABLE, AbsentError

#: Modules, and their functions if not `run`. They are imported when they run: sizes are constants.
ALL = {
    "accuracy": "estimation_accuracy",
    "speed": "estimation_speed",
    "allocation": "allocation_speed",
    "frontier": "frontier",
    "first-use": "first_use",
    "planning": "planning",
    "policies": "policies",
    "other-histories": "other_histories",
    "signals": "signals",
    "paper": "paper",
    "html-pairs": "html_pairs",
    "page-histories": "page_histories",
    "held-out-histories": "page_histories:run_held_out",
    "crawling": "crawling",
    "demo-noise": "demo_noise",
    "killing": "killing",
    "new-hosts": "new_hosts",
    "newcomer": "newcomer",
    "page-picture": "page_picture",
    "restarts": "restarts",
    "large-store": "large_store",
    "fast-forward": "fast_forward",
    "fuzz": "fuzz",
    "soak": "soak",
    "troubled-year": "troubled_year",
    "hostile": "hostile",
    "serving": "serving",
    "story": "story",
    "spark": "spark",
    "quick": "quick",
}

#: Benchmarks that take options.
WITH_OPTIONS = ("fuzz", "planning", "quick", "spark", "troubled-year")
SMALLEST = "--smallest"
#: The exit status if nothing was measured, as what is needed is absent.
ABSENT = 77


def overview() -> str:
    """Return how to start a benchmark, and what each measures."""
    purposes = [
        f"  {name:20}{str(sys.modules[run.__module__].__doc__).splitlines()[0].rstrip('.:')}"
        for name, run in ((name, imported(name)) for name in ALL)
    ]
    return "\n".join((str(__doc__).rstrip(), "", *purposes))


def imported(name: str) -> Callable[..., list[Figure]]:
    """Return the function that runs a benchmark."""
    module, _, function = ALL[name].partition(":")
    found: Callable[..., list[Figure]] = getattr(
        import_module(f"benchmarks.{module}"), function or "run"
    )
    return found


def main(names: list[str]) -> int:
    """Run the benchmarks; return 0 if every bar was met."""
    if names and names[0] == SMALLEST:
        with tempfile.TemporaryDirectory() as folder:
            os.environ[VARIABLE] = folder
            return main(names[1:])
    if names and names[0] in {"-h", "--help"}:
        print(overview())
        return 0
    options: list[list[str]] = []
    if names and names[0] in WITH_OPTIONS:
        names, options = names[:1], [names[1:]]
    unknown = [name for name in names if name not in ALL]
    if unknown:
        print(f"no benchmark '{unknown[0]}'; there are: {', '.join(ALL)}", file=sys.stderr)
        return 2
    figures, absent = list[Figure](), list[str]()
    for name in names or ALL:
        try:
            figures += imported(name)(*options)
        except AbsentError as error:
            print(f"{name}: {error}; its tables stay as they are", file=sys.stderr)
            absent.append(name)
    return ABSENT if absent == names else print_verdict(figures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
