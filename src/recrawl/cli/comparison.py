"""What comparing policies takes, on a recorded world or a made-up one: options, checks, steps."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from recrawl.cli.options import check_choice, check_targets, output_format, visits_a_day
from recrawl.errors import ArgumentError

if TYPE_CHECKING:
    from datetime import datetime

    from recrawl.formats.tables import Format
    from recrawl.simulation.world import World

#: The policies that are compared unless others are named: what people use, what is best, and a
#: bound, in some seconds.
QUICK = (
    "index,index-gamma,uniform,age,proportional,nutch,nutch-scaled,stormcrawler-scaled,"
    "paper-lln,index-known"
)
EVERY_ONE = "all"

Every = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="How often a page is visited on average: 30d or 6h."),
]
Budget = Annotated[
    str | None,
    typer.Option(metavar="RATE", help="Visits for all pages instead: 1000/day, 500/h or 2/s."),
]
Policies = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="Which policies to compare, with commas between them; all compares every one.",
    ),
]
Plot = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Draw the comparison too, to .png or .svg."),
]
Tick = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="How often a policy may act: 1h, say. Unless given, every 6h, or more often where "
        "pages are visited within days.",
    ),
]
Seed = Annotated[
    int,
    typer.Option(min=0, metavar="NUMBER", help="Another number, other random draws; 0 is usual."),
]


@dataclass(frozen=True)
class Settings:
    """What to compare, and where the result goes; all of it checked.

    Attributes:
        every: Days between visits to a page on average; infinite where a budget is given.
        budget: Visits a day for all pages, 0 where ``every`` is given.
        policies: Their names.
        tick: Days between a policy's decisions, None for the usual ones.
        seed: For policies that draw lots.
        kind: A table for people, or a format.
        target: A file, or "-".
        plot: Where the picture goes, if anywhere.
    """

    every: float
    budget: float
    policies: tuple[str, ...]
    tick: float | None
    seed: int
    kind: "Format | Literal['table']"
    target: str
    plot: str | None

    def visits(self, pages: int) -> float:
        """Give the visits a day that so many pages get."""
        return self.budget + pages / self.every


def checked(
    every: str | None,
    budget: str | None,
    policies: str,
    tick: str | None,
    seed: int,
    plot: str | None,
    format_: str | None,
    output: str | None,
) -> Settings:
    """Give the settings that options stand for, or refuse them before anything is read."""
    if every is not None and budget is not None:
        raise ArgumentError("--budget: --every says already how many visits there are; give one")
    if every is None and budget is None:
        raise ArgumentError(
            "--every: say how often a page is visited on average, as in --every 30d, "
            "or how many visits there are, as in --budget 100/day"
        )
    kind = output_format(format_, output)
    settings = Settings(
        every=float("inf") if every is None else days_of("--every", every),
        budget=0.0 if budget is None else visits_a_day("--budget", budget),
        policies=policy_names(policies),
        tick=None if tick is None else days_of("--tick", tick),
        seed=seed,
        kind=kind,
        target=output or "-",
        plot=plot,
    )
    check_targets(plot, kind, settings.target)
    return settings


def days_of(option: str, text: str) -> float:
    """Read a duration above 0, and say which option it was given for.

    >>> days_of("--every", "12h")
    0.5
    """
    from recrawl.units import DURATION_EXAMPLES, parse_duration, quoted

    with named({}, f"{option}: "):
        days = parse_duration(text)
    if days <= 0:
        raise ArgumentError(
            f"{option}: {quoted(text)} is no time at all; write for example {DURATION_EXAMPLES}"
        )
    return days


def policy_names(text: str) -> tuple[str, ...]:
    """Give the policies that are named, each once and in that order.

    >>> policy_names("uniform, index,uniform")
    ('uniform', 'index')
    """
    from recrawl.simulation.policies import POLICIES

    names = [name.strip() for name in text.split(",")]
    for name in names:
        check_choice("--policies", name, (*POLICIES, EVERY_ONE))
    return tuple(POLICIES if EVERY_ONE in names else dict.fromkeys(names))


@contextmanager
def named(options: dict[str, str], before: str = "") -> Iterator[None]:
    """Let what the library refuses speak of the options that people know.

    Args:
        options: What to say instead of an argument's name.
        before: What to say first, where the library names no argument.
    """
    try:
        yield
    except ArgumentError as error:
        name, colon, problem = str(error).partition(": ")
        raise ArgumentError(f"{before}{options.get(name, name)}{colon}{problem}") from None


def compare(
    world: "World", settings: Settings, *, made: str = "", start: "datetime | None" = None
) -> None:
    """Lead the policies through a world, and show how they did.

    Args:
        world: What really happens.
        settings: What was asked for.
        made: How the world was made up, for people to read; nothing if it is recorded.
        start: When the world's time starts, if somebody said so.
    """
    from recrawl.cli.ranking import rank
    from recrawl.cli.render.progress import progress_bar
    from recrawl.cli.render.ranking import print_ranking
    from recrawl.formats.tables import write_table

    budget = settings.visits(world.pages)
    with progress_bar("Replaying") as advance, named({"tick": "--tick"}):
        found = rank(world, settings.policies, budget, settings.tick, settings.seed, advance)
    with progress_bar("Writing"):
        if settings.plot is not None:
            from recrawl.figures import draw_replay

            draw_replay(
                settings.plot,
                found.scores,
                days=world.days,
                start=start,
                subtitle=found.in_words(),
                notes=found.notes(),
            )
        if settings.kind != "table":
            write_table(found.columns(), settings.kind, settings.target)
    print_ranking(found, made, table=settings.kind == "table")
