"""Theorems 1 and 2, first halves: in long runs the error vanishes for good."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.estimation import LLN, SA, Estimator, Naive
from recrawl.figures import style
from recrawl.kernels.jit import Floats, Ints
from recrawl.paper.drawing import LOOKS, over_visits, panel
from recrawl.paper.section import Claim, Section, Table, drawn, judged
from recrawl.paper.simulate import checkpoints, follow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STREAM = 5
CHANGE_RATE, CRAWL_RATE = 5.0, 3.0
#: The probability that a visit finds a change.
MU = CHANGE_RATE / (CHANGE_RATE + CRAWL_RATE)
NAIVE_LIMIT = CRAWL_RATE * MU
MAX_RUNS = 20
FIRST, LAST, POINTS = 10, 1_000_000, 51
#: From here on an error must stay small to count as vanished.
LATE = 100_000
#: Standard deviations that none of twenty runs exceeds by chance, at any checkpoint.
REACH = 5.0
#: At γ = 0.4 the squares of the steps have no finite sum, and theorem 2 does not apply.
UNCOVERED = 0.4
ESTIMATORS: Mapping[str, Estimator[Any]] = {
    "LLN": LLN(),
    "SA": SA(0.75),
    f"SA {UNCOVERED}": SA(UNCOVERED),
    "Naive": Naive(),
}


@dataclass(frozen=True)
class LongRuns:
    """The results.

    Attributes:
        visits: The numbers of visits at which estimates were recorded.
        estimates: A row per number of visits and a column per run, by estimator.
        tails: The largest relative error from that number of visits on, in the same form.
    """

    visits: Ints
    estimates: Mapping[str, Floats]
    tails: Mapping[str, Floats]

    @property
    def runs(self) -> int:
        """The number of runs."""
        return int(self.estimates["LLN"].shape[1])

    def worst(self, name: str, visits: int) -> float:
        """Return the largest relative error of all runs from a number of visits on."""
        return float(self.tails[name][np.searchsorted(self.visits, visits)].max())


def run(runs: int, seed: int) -> Section:
    """Follow a few long runs, and judge whether the error vanishes in each."""
    found = measure(min(runs, MAX_RUNS), np.random.default_rng([seed, STREAM]))
    caption = (
        "Each thin line is a run: the largest relative error still to come, at any checkpoint from "
        "there on. The thick line is the worst of them. The line of an error that vanishes for "
        "good falls to 0. At the right end few checkpoints are left."
    )
    return Section(
        title="Theorems 1 and 2: convergence of every run",
        text=_text(found),
        pictures=(drawn("long-runs", caption, _draw(found)),),
        tables=(table(found),),
        claims=claims(found),
    )


def measure(runs: int, rng: np.random.Generator) -> LongRuns:
    """Run all estimators on the same long runs."""
    visits = checkpoints(FIRST, LAST, POINTS)
    found = follow(ESTIMATORS, np.full(runs, CHANGE_RATE), CRAWL_RATE, visits, rng)
    return LongRuns(
        visits,
        found,
        {name: still_to_come(np.abs(rows / CHANGE_RATE - 1.0)) for name, rows in found.items()},
    )


def still_to_come(errors: Floats) -> Floats:
    """Return the maximum of each row and the rows below it, column by column.

    >>> still_to_come(np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 0.0]]))
    array([[3., 2.],
           [2., 2.],
           [2., 0.]])
    """
    return np.maximum.accumulate(errors[::-1], axis=0)[::-1]


def deviation(name: str, visits: int) -> float:
    """Return the theoretical standard deviation of an estimate, over Δ, after many visits.

    The LLN's variance is Δ(Δ+p)²/(pk); SA's is η_k·Δ(Δ+p)/2.

    >>> round(deviation("LLN", 100_000), 4), round(deviation("SA", 100_000), 4)
    (0.0065, 0.0119)
    """
    both = CHANGE_RATE + CRAWL_RATE
    if name == "LLN":
        variance = CHANGE_RATE * both**2 / (CRAWL_RATE * visits)
    else:
        gamma = UNCOVERED if name != "SA" else 0.75
        variance = float(visits) ** -gamma * CHANGE_RATE * both / 2.0
    return float(np.sqrt(variance)) / CHANGE_RATE


def _text(found: LongRuns) -> tuple[str, ...]:
    worst = {name: [found.worst(name, k) for k in (FIRST, 1_000, LATE)] for name in ESTIMATORS}
    uncovered = worst[f"SA {UNCOVERED}"]
    return (
        (
            f"A page with Δ = {CHANGE_RATE:g} and p = {CRAWL_RATE:g} is followed for {LAST:,} "
            f"visits, in {found.runs} runs. No finite run proves that an error vanishes for good. "
            "What can be seen is the largest error still to come at the "
            f"{found.visits.size} checkpoints: it must fall in every run."
        ),
        (
            f"In the worst run the LLN's largest error is {worst['LLN'][0]:.0%} of Δ from "
            f"{FIRST} visits on, {worst['LLN'][1]:.1%} from 1,000 on, and {worst['LLN'][2]:.2%} "
            f"from {LATE:,} on. SA's with γ = 0.75 are {worst['SA'][0]:.0%}, {worst['SA'][1]:.1%} "
            f"and {worst['SA'][2]:.2%}."
        ),
        (
            f"With γ = {UNCOVERED} the squares of the steps have no finite sum and the theorem "
            f"does not apply. The errors are {uncovered[0]:.0%}, {uncovered[1]:.1%} and "
            f"{uncovered[2]:.1%}: they fall here too, only more slowly. The condition is "
            "sufficient; these runs do not show that it is necessary."
        ),
        (
            f"Naive settles as well, but at pΔ/(p+Δ) = {NAIVE_LIMIT:g} changes per day: its error "
            f"stays at {found.worst('Naive', LATE):.1%}."
        ),
    )


def table(found: LongRuns) -> Table:
    """Return the tails and estimates run by run."""
    size = found.visits.size * found.runs
    return Table(
        "long-runs",
        {
            "estimator": np.repeat(list(ESTIMATORS), size),
            "run": np.tile(np.arange(1, found.runs + 1), found.visits.size * len(ESTIMATORS)),
            "visits": np.tile(np.repeat(found.visits, found.runs), len(ESTIMATORS)),
            "estimate": np.concatenate([rows.ravel() for rows in found.estimates.values()]),
            "largest_error_to_come": np.concatenate(
                [rows.ravel() for rows in found.tails.values()]
            ),
        },
    )


def claims(found: LongRuns) -> tuple[Claim, ...]:
    """Judge what the paper says about the limits of LLN, SA and Naive."""
    return (*_convergence_claims(found), *_naive_claims(found))


def _convergence_claims(found: LongRuns) -> tuple[Claim, ...]:
    return tuple(
        judged(
            section,
            f"{says} tends to Δ almost surely.",
            f"Worst of {found.runs} runs: {found.worst(name, 1_000):.1%} off at some checkpoint "
            f"from 1,000 visits on, {found.worst(name, LATE):.2%} from {LATE:,} on, where "
            f"{REACH:g} standard deviations are {REACH * deviation(name, LATE):.2%}.",
            holds=found.worst(name, LATE) < REACH * deviation(name, LATE),
        )
        for section, name, says in (
            ("3.1", "LLN", "The LLN estimate, with α_k/k → 0,"),
            ("3.2", "SA", "The SA estimate, with Σ η infinite and Σ η² finite,"),
        )
    )


def _naive_claims(found: LongRuns) -> tuple[Claim, ...]:
    naive = found.estimates["Naive"]
    share = float(naive[-1].mean()) / CRAWL_RATE
    error = np.sqrt(MU * (1.0 - MU) / (found.visits * found.runs))
    off = np.abs(naive.mean(axis=1) / CRAWL_RATE - MU) / error
    late = naive[found.visits >= LATE]
    spread = CRAWL_RATE * float(np.sqrt(MU * (1.0 - MU) / LATE))
    far, near = float(np.abs(late - NAIVE_LIMIT).max()), float(np.abs(late - CHANGE_RATE).min())
    return (
        judged(
            "3.1",
            "A visit finds a change with probability Δ/(Δ+p).",
            f"{share:.5f} of {LAST * found.runs:,} visits did; {MU:.5f} is expected, with a "
            f"standard error of {error[-1]:.5f}.",
            holds=bool(off[-1] < REACH),
        ),
        judged(
            "3.3",
            "Naive's mean is pΔ/(p+Δ) at every k, so that it is biased.",
            f"The mean over {found.runs} runs is {naive[0].mean():.2f} at {FIRST} visits and "
            f"{naive[-1].mean():.4f} at {LAST:,}, for {NAIVE_LIMIT:g}; at no checkpoint is it more "
            f"than {off.max():.1f} standard errors off, where {REACH:g} are allowed.",
            holds=bool(off.max() < REACH),
        ),
        judged(
            "3.3",
            "Naive tends to pΔ/(p+Δ) almost surely, not to Δ: it is not consistent.",
            f"From {LATE:,} visits on all {found.runs} runs are within {far:.4f} of "
            f"{NAIVE_LIMIT:g}, where {REACH:g} standard deviations are {REACH * spread:.4f}, and "
            f"none comes nearer to {CHANGE_RATE:g} than {near:.3f}.",
            holds=far < REACH * spread < near,
        ),
    )


def _draw(found: LongRuns) -> "Figure":
    from matplotlib.figure import Figure

    titles = {
        "LLN": "LLN, α = 1: falls in every run",
        "SA": "SA, γ = 0.75: falls in every run",
        f"SA {UNCOVERED}": f"SA, γ = {UNCOVERED}, not covered: falls slowly",
        "Naive": "Naive: stays away from Δ",
    }
    with style.styled():
        figure = Figure(figsize=(11.5, 8.0), layout="constrained")
        grid = figure.add_gridspec(2, 2, wspace=0.06, hspace=0.08)
        for number, (name, title) in enumerate(titles.items()):
            axes = panel(
                figure, grid[number], title, "visits, k", "largest error from k on, share of Δ"
            )
            _draw_runs(axes, found, name)
    return figure


def _draw_runs(axes: "Axes", found: LongRuns, name: str) -> None:
    look = LOOKS[name.split(maxsplit=1)[0]]
    tails = found.tails[name]
    axes.plot(found.visits, tails, color=look.colour, linewidth=0.7, alpha=0.6)
    axes.plot(found.visits, tails.max(axis=1), color=look.colour, linewidth=2.8)
    over_visits(axes, FIRST, LAST)
    axes.set_yscale("log")
    axes.set_ylim(3e-4, 4.0)
    ticks = (0.001, 0.01, 0.1, 1.0)
    axes.set_yticks(ticks, [f"{100 * tick:g} %" for tick in ticks])
    axes.minorticks_off()
