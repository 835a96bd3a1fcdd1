"""A crawl beside some fifty kinds of hostile hosts: what good hosts, memory and signals suffer."""

import random
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from benchmarks.report import Figure
from benchmarks.sizes import sized

COPIES, SECONDS = sized((2, 60.0), (1, 2.0))
#: How often the crawl is told to end, each time at another moment.
STOPS = sized(8, 1)
#: Hosts that send 9 MB at once and then a byte a second, with the usual timeouts.
HOLDERS = sized(12, 1)
TESTS = Path(__file__).parent.parent / "tests"


def run(seconds: float = SECONDS, stops: int = STOPS, copies: int = COPIES) -> list[Figure]:
    """Crawl, compare with a crawl without hostile hosts, and stop at random moments."""
    # The tests do the same for a shorter time.
    sys.path.insert(0, str(TESTS))
    from acceptance.hostile_crawl import MAX_STOP, PATIENT, compare, hostile_hosts, stop_at
    from acceptance.hostile_server import KINDS, WITH_SITEMAP

    rng = random.Random(30)  # noqa: S311 - moments, not secrets
    with (
        tempfile.TemporaryDirectory() as folder,
        hostile_hosts(copies, list(KINDS)[: sized(None, 2)]) as hosts,
        Console(stderr=True).status(f"{len(KINDS)} kinds of hostile hosts, {copies} of each"),
    ):
        result, _ = compare(Path(folder), hosts, WITH_SITEMAP, seconds)
        for number in range(stops):
            where = Path(folder) / str(number)
            where.mkdir()
            result.stopped_in.append(stop_at(where, hosts, WITH_SITEMAP, rng.uniform(0.0, 15.0)))
    with (
        tempfile.TemporaryDirectory() as folder,
        hostile_hosts(HOLDERS, ["much_and_then_little"]) as hosts,
        Console(stderr=True).status(f"{HOLDERS} hosts that hold on to memory"),
    ):
        held, _ = compare(Path(folder), hosts, (), seconds, PATIENT)
    print(f"{result.beside:,} visits to good hosts, {result.alone:,} without hostile ones")
    print(f"lag {result.lag:.3f} s, {result.own_lag:.3f} s without waiting for a processor")
    print(f"{result.share_of_time:.0%} of the time that it needed a processor, it had one")
    print(f"{result.rss / 1e6:,.0f} MB resident in all processes, {result.pss / 1e6:,.0f} MB PSS")
    print("ended in", ", ".join(f"{took:.1f}" for took in result.stopped_in), "s")
    for problem in result.problems[:20]:
        print(f"  {problem}")
    return [
        Figure("hostile: kinds of hosts", len(KINDS), 50, at_least=True),
        Figure("hostile: share of visits that good hosts keep", result.share, 0.95, at_least=True),
        Figure(
            f"hostile: share beside {HOLDERS} hosts that hold memory",
            held.share,
            0.9,
            at_least=True,
        ),
        Figure("hostile: worst lag of the loop", 1e3 * result.own_lag, 200, unit=" ms"),
        Figure("hostile: memory of all processes", result.pss / 1e6, 400, unit=" MB"),
        Figure("hostile: seconds from SIGTERM to the end", max(result.stopped_in), MAX_STOP),
        Figure("hostile: problems found", len(result.problems), 0),
    ]
