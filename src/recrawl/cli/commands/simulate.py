"""``recrawl simulate``: policies compared on pages that are made up."""

from typing import Annotated

import typer

from recrawl.cli.comparison import (
    QUICK,
    Budget,
    Plot,
    Policies,
    Seed,
    Tick,
    checked,
    compare,
    named,
)
from recrawl.cli.options import Output, OutputFormat, check_choice, visits_a_day
from recrawl.errors import ArgumentError

WORLDS = ("poisson", "bursty", "drifting")
IMPORTANCES = ("pareto", "equal")
#: How often a page is visited on average where nobody says.
USUALLY_EVERY = "30d"


def simulate(
    *,
    pages: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="How many pages.")] = 1_000,
    days: Annotated[float, typer.Option(metavar="NUMBER", help="For how many days.")] = 365.0,
    world: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How pages change: at constant rates (poisson), in bursts (bursty), or at rates "
            "that wander (drifting).",
        ),
    ] = "poisson",
    every: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help=f"How often a page is visited on average: 30d or 6h. Unless given, "
            f"{USUALLY_EVERY}.",
        ),
    ] = None,
    budget: Budget = None,
    median_rate: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Half of the pages change more often than this, on average: 2/week. Unless "
            "given, as often as a page is visited on average.",
        ),
    ] = None,
    spread: Annotated[
        float,
        typer.Option(
            metavar="FACTOR",
            help="How far change rates lie apart: two thirds of the pages are within this factor "
            "of the median; 1 makes them all alike.",
        ),
    ] = 5.0,
    importance: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How much pages count: a fifth of them for some three quarters of it all "
            "(pareto), or all the same (equal).",
        ),
    ] = "pareto",
    policies: Policies = QUICK,
    tick: Tick = None,
    seed: Seed = 0,
    plot: Plot = None,
    format_: OutputFormat = None,
    output: Output = None,
) -> None:
    """Compare policies on pages that are made up, where the truth is known.

    Change rates are log-normal around the crawl rate, importance has nothing to do with them.
    Every policy gets the same visits; the table ranks them, least stale first. Examples:

        recrawl simulate
        recrawl simulate --world bursty --every 7d --plot bursty.png
        recrawl simulate --pages 5000 --median-rate 1/day --spread 10 --budget 500/day
    """
    if every is None and budget is None:
        every = USUALLY_EVERY
    settings = checked(every, budget, policies, tick, seed, plot, format_, output)
    check_choice("--world", world, WORLDS)
    check_choice("--importance", importance, IMPORTANCES)
    if not 1.0 <= spread < float("inf"):
        raise ArgumentError(f"--spread: {spread:g} is not a factor of 1 or more; 5 is usual")
    median = settings.visits(pages) / pages
    if median_rate is not None:
        median = visits_a_day("--median-rate", median_rate)
    from recrawl.cli.made_up import in_words, make_world

    with named({"days": "--days"}):
        drawn = make_world(world, pages, days, median, spread, importance, seed)
    compare(drawn, settings, made=in_words(world, median, spread, importance, seed))
