"""``recrawl simulate``: compare policies on synthetic pages."""

from typing import Annotated

import typer

from recrawl.cli.commands.replay import compare
from recrawl.cli.options import Output, OutputFormat, check_choice, option_errors, visits_a_day
from recrawl.cli.replay_options import (
    DEFAULT_POLICIES,
    Budget,
    Plot,
    Policies,
    Seed,
    Seeds,
    Tick,
    parse_comparison,
)
from recrawl.errors import ArgumentError

WORLDS = ("poisson", "bursty", "drifting")
IMPORTANCES = ("pareto", "equal")
DEFAULT_EVERY = "30d"


def simulate(
    *,
    pages: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="Number of pages.")] = 1_000,
    days: Annotated[float, typer.Option(metavar="NUMBER", help="Number of days.")] = 365.0,
    world: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How pages change: at constant rates (poisson), in bursts (bursty), or at rates "
            "that drift (drifting).",
        ),
    ] = "poisson",
    every: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help=f"Average time between visits to a page: 30d or 6h. Default: {DEFAULT_EVERY}.",
        ),
    ] = None,
    budget: Budget = None,
    median_rate: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Median change rate of the pages: 2/week. Default: the average crawl rate.",
        ),
    ] = None,
    spread: Annotated[
        float,
        typer.Option(
            metavar="FACTOR",
            help="How far change rates differ: two thirds of the pages are within this factor of "
            "the median; with 1, all are the same.",
        ),
    ] = 5.0,
    importance: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How importance is distributed: a fifth of the pages have about three quarters of "
            "it (pareto), or all have the same (equal).",
        ),
    ] = "pareto",
    signals: Annotated[
        str | None,
        typer.Option(
            metavar="PRECISION,RECALL",
            help="Signals that pages have changed: the share of them that is right, and the share "
            "of changes that are signalled, as in 0.8,0.5; or mixed, which differs by host.",
        ),
    ] = None,
    policies: Policies = DEFAULT_POLICIES,
    tick: Tick = None,
    seed: Seed = 0,
    seeds: Seeds = 1,
    plot: Plot = None,
    format_: OutputFormat = None,
    output: Output = None,
) -> None:
    """Compare policies on synthetic pages, whose true change rates are known.

    Change rates are log-normal around the crawl rate and independent of importance. Every policy
    has the same budget; the table ranks them, least stale first.

    Examples:
        recrawl simulate
        recrawl simulate --world bursty --every 7d --plot bursty.png
        recrawl simulate --signals 0.8,0.5 --policies index,signals-ignored,ncis
        recrawl simulate --pages 5000 --median-rate 1/day --spread 10 --budget 500/day
    """
    if every is None and budget is None:
        every = DEFAULT_EVERY
    comparison = parse_comparison(every, budget, policies, tick, seed, seeds, plot, format_, output)
    check_choice("--world", world, WORLDS)
    check_choice("--importance", importance, IMPORTANCES)
    if not 1.0 <= spread < float("inf"):
        raise ArgumentError(f"--spread: {spread:g} is not a factor of 1 or more; the default is 5")
    quality = None if signals is None else parse_signals(signals)
    median = comparison.visits(pages) / pages
    if median_rate is not None:
        median = visits_a_day("--median-rate", median_rate)
    from recrawl.simulation.synthetic import add_signals, synthetic_world
    from recrawl.units import format_rate

    with option_errors({"days": "--days"}):
        drawn = synthetic_world(world, pages, days, median, spread, importance, seed)
    if quality is not None:
        drawn = add_signals(drawn, quality, seed)
    description = (
        f"Simulated: {world}; change rates log-normal around {format_rate(median)}, "
        f"spread {spread:g}; importance {importance}; seed {seed}"
    )
    if signals is not None:
        description += f"; signals {signals}"
    compare(drawn, comparison, description=description)


def parse_signals(text: str) -> tuple[tuple[float, float], ...]:
    """Return precision and recall of hosts, in turn.

    >>> parse_signals("0.8,0.5")
    ((0.8, 0.5),)
    """
    from recrawl.simulation.synthetic import MIXED

    if text == "mixed":
        return MIXED
    try:
        precision, recall = map(float, text.split(","))
    except ValueError:
        precision = recall = -1.0
    if not (0.0 < precision <= 1.0 and 0.0 <= recall <= 1.0):
        raise ArgumentError(
            f"--signals: '{text}' is not a precision and a recall, each up to 1; "
            "write --signals 0.8,0.5, or --signals mixed"
        )
    return ((precision, recall),)
