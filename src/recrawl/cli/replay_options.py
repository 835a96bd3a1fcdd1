"""Options of the commands that compare policies, and their checks."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from recrawl.cli.options import (
    check_choice,
    check_targets,
    output_format,
    parse_days,
    visits_a_day,
)
from recrawl.errors import ArgumentError

if TYPE_CHECKING:
    from recrawl.formats.tables import Format

#: The policies that are compared by default: common ones, the best, and a bound, within seconds.
DEFAULT_POLICIES = (
    "index,index-gamma,uniform,age,proportional,nutch,nutch-scaled,stormcrawler-scaled,"
    "paper-lln,index-known,index-known-half"
)
ALL_POLICIES = "all"

Every = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Average time between visits to a page: 30d or 6h."),
]
Budget = Annotated[
    str | None,
    typer.Option(
        metavar="RATE", help="Visits to all pages, instead of --every: 1000/day, 500/h or 2/s."
    ),
]
Policies = Annotated[
    str,
    typer.Option(metavar="NAMES", help="Policies to compare, separated by commas, or all."),
]
Plot = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Also plot the comparison, as .png or .svg."),
]
Tick = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Time between two decisions of a policy, such as 1h. Default: 6h, or less if the "
        "window is short or visits are frequent.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Random seed. Default: 0.")]
Seeds = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="NUMBER",
        help="Number of replays per policy, with ties broken differently each time; above 1, means "
        "and their standard errors are shown.",
    ),
]


@dataclass(frozen=True)
class Comparison:
    """What to compare, and where the result goes, as checked options.

    Attributes:
        every: Days between visits to a page on average; infinite if a budget is given.
        budget: Visits per day to all pages; 0 if ``every`` is given.
        policies: Their names.
        tick: Days between two decisions of a policy; None for the default.
        seed: The seed of policies that use random numbers.
        seeds: The number of replays per policy.
        kind: A table, or a file format.
        target: A file, or "-".
        plot: Where to save the plot, if anywhere.
    """

    every: float
    budget: float
    policies: tuple[str, ...]
    tick: float | None
    seed: int
    seeds: int
    kind: "Format | Literal['table']"
    target: str
    plot: str | None

    def visits(self, pages: int) -> float:
        """Return the visits per day to this many pages."""
        return self.budget + pages / self.every


def parse_comparison(
    every: str | None,
    budget: str | None,
    policies: str,
    tick: str | None,
    seed: int,
    seeds: int,
    plot: str | None,
    format_: str | None,
    output: str | None,
) -> Comparison:
    """Parse and check the options, before anything is read."""
    if every is not None and budget is not None:
        raise ArgumentError("--budget: --every already sets the number of visits; give one of them")
    if every is None and budget is None:
        raise ArgumentError(
            "--every: give the average time between visits to a page, as in --every 30d, "
            "or the number of visits, as in --budget 100/day"
        )
    kind = output_format(format_, output)
    comparison = Comparison(
        every=float("inf") if every is None else parse_days("--every", every),
        budget=0.0 if budget is None else visits_a_day("--budget", budget),
        policies=policy_names(policies),
        tick=None if tick is None else parse_days("--tick", tick),
        seed=seed,
        seeds=seeds,
        kind=kind,
        target=output or "-",
        plot=plot,
    )
    check_targets(plot, kind, comparison.target)
    return comparison


def policy_names(text: str) -> tuple[str, ...]:
    """Return the listed policies, each once and in that order.

    >>> policy_names("uniform, index,uniform")
    ('uniform', 'index')
    """
    from recrawl.simulation.policies import POLICIES

    names = [name.strip() for name in text.split(",")]
    for name in names:
        check_choice("--policies", name, (*POLICIES, ALL_POLICIES))
    return tuple(POLICIES if ALL_POLICIES in names else dict.fromkeys(names))
