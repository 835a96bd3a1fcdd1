"""``recrawl replay``: compare policies on a recorded history."""

from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli.options import (
    IgnoreUnknown,
    Output,
    OutputFormat,
    option_errors,
    share_of,
)
from recrawl.cli.replay_options import (
    DEFAULT_POLICIES,
    Budget,
    Comparison,
    Every,
    Plot,
    Policies,
    Seed,
    Seeds,
    Tick,
    parse_comparison,
)

if TYPE_CHECKING:
    from datetime import datetime

    from recrawl.simulation.world import World


def replay(
    trace: Annotated[
        str,
        typer.Argument(metavar="TRACE", help="Folder of a trace, as made by recrawl trace git."),
    ],
    *,
    every: Every = None,
    budget: Budget = None,
    policies: Policies = DEFAULT_POLICIES,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TIME",
            help="Start of the window: 2026-01-31, or with a time of day. Default: when a quarter "
            "of all changes have happened.",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="End of the window. Default: the last change."),
    ] = None,
    min_share: Annotated[
        str,
        typer.Option(
            metavar="SHARE",
            help="Minimum share of pages that existed throughout the window; with fewer, nothing "
            "is replayed.",
        ),
    ] = "10%",
    tick: Tick = None,
    seed: Seed = 0,
    seeds: Seeds = 1,
    plot: Plot = None,
    format_: OutputFormat = None,
    output: Output = None,
    ignore_unknown: IgnoreUnknown = False,
) -> None:
    """Compare policies on a recorded history: how fresh would each have kept the copy?

    Every policy has the same budget and faces the same changes; only pages that existed throughout
    the window take part, and the summary says how many others there are. The table ranks policies,
    least stale first.

    Examples:
        recrawl replay trace --every 30d
        recrawl replay trace --budget 500/day --from 2024-01-01 --to 2026-01-01 --plot replay.png
        recrawl replay trace --every 7d --policies index,uniform,nutch --format json
    """
    comparison = parse_comparison(every, budget, policies, tick, seed, seeds, plot, format_, output)
    start, end = _time("--from", from_), _time("--to", to)
    share = share_of("--min-share", min_share)
    from recrawl.cli.render.progress import progress_bar
    from recrawl.simulation.world import World

    options = {"start": "--from", "end": "--to", "min_share": "--min-share"}
    options["importance"] = f"{trace}: importance"
    with progress_bar("Reading"), option_errors(options):
        world = World.from_trace(
            trace, start=start, end=end, min_share=share, ignore_unknown=ignore_unknown
        )
    compare(world, comparison, start=start)


def _time(option: str, text: str | None) -> "datetime | None":
    from recrawl.units import parse_time

    if text is None:
        return None
    with option_errors({}, f"{option}: "):
        return parse_time(text)


def compare(
    world: "World",
    comparison: Comparison,
    *,
    description: str = "",
    start: "datetime | None" = None,
) -> None:
    """Replay the policies in a world, and write and print their scores.

    Args:
        world: What really happens.
        comparison: What was asked for.
        description: How the pages were generated; empty if they are recorded.
        start: When the world starts, if that is known.
    """
    from recrawl.cli.render.progress import progress_bar
    from recrawl.cli.render.ranking import calibrations, notes, print_ranking, summary
    from recrawl.formats.tables import write_table
    from recrawl.simulation.ranking import rank

    with progress_bar("Replaying") as progress, option_errors({"tick": "--tick"}):
        ranking = rank(
            world,
            comparison.policies,
            comparison.visits(world.pages),
            tick=comparison.tick,
            seed=comparison.seed,
            seeds=comparison.seeds,
            progress=progress,
        )
    with progress_bar("Writing"):
        if comparison.plot is not None:
            from recrawl.figures import draw_replay

            draw_replay(
                comparison.plot,
                ranking.scores,
                days=world.days,
                start=start,
                subtitle=summary(ranking),
                notes=notes(ranking),
                calibrations=calibrations(ranking),
            )
        if comparison.kind != "table":
            write_table(ranking.columns(), comparison.kind, comparison.target)
    print_ranking(ranking, description, table=comparison.kind == "table")
