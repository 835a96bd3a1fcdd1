"""Run every benchmark, or those named: `python -m benchmarks accuracy speed …`.

`python -m benchmarks fuzz --help` lists the options of the fuzzer; `planning`, `quick` and `spark`
have some, too.
"""

import sys

from benchmarks import (
    allocation_speed,
    crawling,
    demo_noise,
    estimation_accuracy,
    estimation_speed,
    fast_forward,
    first_use,
    frontier,
    fuzz,
    hostile,
    html_pairs,
    killing,
    large_store,
    new_hosts,
    newcomer,
    other_histories,
    page_histories,
    page_picture,
    paper,
    planning,
    policies,
    quick,
    restarts,
    serving,
    signals,
    soak,
    spark,
    story,
)
from benchmarks.report import print_verdict

ALL = {
    "accuracy": estimation_accuracy.run,
    "speed": estimation_speed.run,
    "allocation": allocation_speed.run,
    "frontier": frontier.run,
    "first-use": first_use.run,
    "planning": planning.run,
    "policies": policies.run,
    "other-histories": other_histories.run,
    "signals": signals.run,
    "paper": paper.run,
    "html-pairs": html_pairs.run,
    "page-histories": page_histories.run,
    "held-out-histories": page_histories.run_held_out,
    "crawling": crawling.run,
    "demo-noise": demo_noise.run,
    "killing": killing.run,
    "new-hosts": new_hosts.run,
    "newcomer": newcomer.run,
    "page-picture": page_picture.run,
    "restarts": restarts.run,
    "large-store": large_store.run,
    "fast-forward": fast_forward.run,
    "fuzz": fuzz.run,
    "soak": soak.run,
    "hostile": hostile.run,
    "serving": serving.run,
    "story": story.run,
    "spark": spark.run,
    "quick": quick.run,
}

#: Benchmarks that take options.
WITH_OPTIONS = {
    "fuzz": fuzz.run,
    "planning": planning.run,
    "quick": quick.run,
    "spark": spark.run,
}


def overview() -> str:
    """Return how to start a benchmark, and what each measures."""
    purposes = [
        f"  {name:20}{str(sys.modules[run.__module__].__doc__).splitlines()[0].rstrip('.:')}"
        for name, run in ALL.items()
    ]
    return "\n".join((str(__doc__).rstrip(), "", *purposes))


def main(names: list[str]) -> int:
    """Run the benchmarks; return 0 if every bar was met."""
    if names and names[0] in WITH_OPTIONS:
        return print_verdict(WITH_OPTIONS[names[0]](names[1:]))
    if names and names[0] in {"-h", "--help"}:
        print(overview())
        return 0
    unknown = [name for name in names if name not in ALL]
    if unknown:
        print(f"no benchmark '{unknown[0]}'; there are: {', '.join(ALL)}", file=sys.stderr)
        return 2
    figures = [figure for name in names or ALL for figure in ALL[name]()]
    return print_verdict(figures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
