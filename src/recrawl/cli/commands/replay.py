"""``recrawl replay``: a recorded history and a budget in, how fresh each policy keeps it out."""

from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli.comparison import (
    QUICK,
    Budget,
    Every,
    Plot,
    Policies,
    Seed,
    Tick,
    checked,
    compare,
    named,
)
from recrawl.cli.options import IgnoreUnknown, Output, OutputFormat

if TYPE_CHECKING:
    from datetime import datetime


def replay(
    trace: Annotated[
        str,
        typer.Argument(metavar="TRACE", help="The folder of a trace; recrawl trace git makes one."),
    ],
    *,
    every: Every = None,
    budget: Budget = None,
    policies: Policies = QUICK,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TIME",
            help="Where to start: 2026-01-31, or with a time of day. Unless given, when a quarter "
            "of all changes has passed.",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Where to end. Unless given, at the last change."),
    ] = None,
    tick: Tick = None,
    seed: Seed = 0,
    plot: Plot = None,
    format_: OutputFormat = None,
    output: Output = None,
    ignore_unknown: IgnoreUnknown = False,
) -> None:
    """Compare policies on what really happened: how fresh would each have kept the copy?

    Every policy gets the same visits and lives through the same changes; only pages that lived
    through the whole window take part. The table ranks them, least stale first. Examples:

        recrawl replay trace --every 30d
        recrawl replay trace --budget 500/day --from 2024-01-01 --to 2026-01-01 --plot replay.png
        recrawl replay trace --every 7d --policies index,uniform,nutch --format json
    """
    settings = checked(every, budget, policies, tick, seed, plot, format_, output)
    start, end = _time("--from", from_), _time("--to", to)
    from recrawl.cli.render.progress import progress_bar
    from recrawl.simulation.world import World

    told = {"start": "--from", "end": "--to", "importance": f"{trace}: importance"}
    with progress_bar("Reading"), named(told):
        world = World.from_trace(trace, start=start, end=end, ignore_unknown=ignore_unknown)
    compare(world, settings, start=start)


def _time(option: str, text: str | None) -> "datetime | None":
    from recrawl.units import parse_time

    if text is None:
        return None
    with named({}, f"{option}: "):
        return parse_time(text)
