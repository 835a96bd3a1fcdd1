"""The paper's second open question: estimating while crawling at the rates just estimated."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.allocation import allocate
from recrawl.figures import style
from recrawl.kernels.jit import Floats
from recrawl.paper.drawing import LOOKS, Look, curve, name_ends, panel
from recrawl.paper.section import Claim, Section, Table, drawn, judged
from recrawl.simulation.policies import policy_named
from recrawl.simulation.policies.learning import MIN_RATE_SHARE
from recrawl.simulation.replay import replay
from recrawl.simulation.world import World

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The part's own random stream.
STREAM = 9
#: As in the second experiment.
PAGES, BUDGET = 100, 80.0
DAYS = 50.0
#: The policies that learn, and those that know the true rates and visit in the same way.
LEARNING = {
    "paper-lln": "poisson-known",
    "paper-sa": "poisson-known",
    "paper-mle": "poisson-known",
    "index": "index-known",
}
POLICIES = (*LEARNING, "uniform", "poisson-known", "index-known")
#: Runs per draw of a hundred pages, and the minimum and maximum number of draws.
RUNS_PER_DRAW, MIN_DRAWS, MAX_DRAWS = 100, 2, 10
#: Days for which the optimal rates are replayed to measure their average freshness, and the slices
#: left out at the start, where every copy is fresh.
LONG_DAYS, LEFT_OUT = 300.0, 10
#: How close a long replay must come to the formula, and how much freshness learning may cost.
NEAR, LITTLE = 0.01, 0.05
#: Each policy's label and look.
SHOWN = {
    "index-known": ("index, known", Look(style.INK, "--")),
    "index": ("index", Look(style.PURPLE, "-")),
    "uniform": ("in turn", Look(style.GREY, "-.")),
    "poisson-known": ("optimum, known", Look(style.INK, ":")),
    "paper-sa": ("SA", LOOKS["SA"]),
    "paper-lln": ("LLN", LOOKS["LLN"]),
    "paper-mle": ("MLE", LOOKS["MLE"]),
}
#: Slices averaged per point of a curve.
SMOOTH = 5
LOWEST, HIGHEST = 0.58, 0.84


@dataclass(frozen=True)
class Crawls:
    """The results of crawling.

    Attributes:
        freshness: For each policy a row per draw and a column per slice of time.
        budget_used: For each policy, visits as a share of the budget, one per draw.
        bought: For each policy, what spending more than the budget adds to the optimum, one per
            draw.
        optimum: The best freshness for visits at random times by the formula, one per draw.
        long_run: The freshness of the same rates in a long replay, one per draw.
    """

    freshness: Mapping[str, Floats]
    budget_used: Mapping[str, Floats]
    bought: Mapping[str, Floats]
    optimum: Floats
    long_run: Floats

    def overall(self, policy: str) -> Floats:
        """Return a policy's freshness in each draw."""
        return np.asarray(self.freshness[policy].mean(axis=1), np.float64)


@dataclass(frozen=True)
class Mean:
    """A mean over draws, plus or minus two standard errors.

    Attributes:
        value: The mean.
        reach: Two standard errors.
    """

    value: float
    reach: float

    @classmethod
    def of(cls, draws: Floats) -> "Mean":
        """Return the mean of numbers from independent draws.

        >>> print(Mean.of(np.array([1.0, 2.0, 3.0, 2.0])))
        2.000 ± 0.816
        """
        error = draws.std(ddof=1) / np.sqrt(draws.size)
        return cls(float(draws.mean()), float(2.0 * error))

    def __str__(self) -> str:
        return f"{self.value:.3f} ± {self.reach:.3f}"


def crawl(draws: int, rng: np.random.Generator) -> Crawls:
    """Run every policy in the same worlds."""
    rates = rng.random((draws, PAGES))
    seeds = rng.integers(1 << 31, size=(draws, 2)).tolist()
    worlds = [
        World.poisson(rate, days=DAYS, seed=seed)
        for rate, (seed, _) in zip(rates, seeds, strict=True)
    ]
    freshness, budget_used = {}, {}
    for name in POLICIES:
        scores = [
            replay(world, policy_named(name), BUDGET, seed=seed)
            for world, (_, seed) in zip(worlds, seeds, strict=True)
        ]
        freshness[name] = np.array([1.0 - score.curve for score in scores])
        budget_used[name] = np.array([score.budget_used for score in scores])
    long_run = [_long_run(rate, *pair) for rate, pair in zip(rates, seeds, strict=True)]
    optimum = _optimum(rates, np.ones(draws))
    bought = {name: _optimum(rates, used) - optimum for name, used in budget_used.items()}
    return Crawls(freshness, budget_used, bought, optimum, np.array(long_run))


def _optimum(change_rate: Floats, budget_used: Floats) -> Floats:
    """Return the best freshness by the formula for a share of the budget, one per draw."""
    return np.array(
        [
            allocate(rate, BUDGET * used).freshness
            for rate, used in zip(change_rate, budget_used.tolist(), strict=True)
        ]
    )


def _long_run(change_rate: Floats, world_seed: int, seed: int) -> float:
    world = World.poisson(change_rate, days=LONG_DAYS, seed=world_seed)
    curve = replay(world, policy_named("poisson-known"), BUDGET, seed=seed).curve
    return float(1.0 - curve[LEFT_OUT:].mean())


def run(runs: int, seed: int) -> Section:
    """Crawl the pages of the second experiment while learning how often they change."""
    draws = int(np.clip(runs // RUNS_PER_DRAW, MIN_DRAWS, MAX_DRAWS))
    found = crawl(draws, np.random.default_rng([seed, STREAM]))
    picture = drawn(
        "while-crawling",
        f"Freshness of 100 pages while their change rates are learned, {draws} draws. Left: over "
        "time, means of 2.5 days; every copy is fresh on day 0. Right: over all days. Bands "
        "and bars are plus or minus two standard errors.",
        figure(found.freshness, DAYS),
    )
    return Section(
        "The second open question: learning while crawling",
        _text(found),
        (picture,),
        (_table(found), _curves(found)),
        (_claim_formula(found), _claim_joined(found)),
    )


def _behind(found: Crawls, policy: str) -> Mean:
    """Return what a learning policy loses to the one that knows the rates, in the same worlds.

    Random clocks spend more or less than the budget, so what that bought is subtracted from both.
    """
    known = LEARNING[policy]
    earned = {name: found.overall(name) - found.bought[name] for name in (policy, known)}
    return Mean.of(earned[known] - earned[policy])


def _table(found: Crawls) -> Table:
    means = [Mean.of(found.overall(name)) for name in POLICIES]
    behind = [_behind(found, name) if name in LEARNING else Mean(0.0, 0.0) for name in POLICIES]
    used = [float(found.budget_used[name].mean()) for name in POLICIES]
    return Table(
        "while-crawling",
        {
            "policy": np.array(POLICIES),
            "mean": np.array([mean.value for mean in means]),
            "low": np.array([mean.value - mean.reach for mean in means]),
            "high": np.array([mean.value + mean.reach for mean in means]),
            "behind_known_rates": np.array([mean.value for mean in behind]),
            "behind_two_standard_errors": np.array([mean.reach for mean in behind]),
            "budget_used": np.array(used),
        },
    )


def _curves(found: Crawls) -> Table:
    slices = found.freshness[POLICIES[0]].shape[1]
    day = (np.arange(slices) + 0.5) * DAYS / slices
    means = {name.replace("-", "_"): found.freshness[name].mean(axis=0) for name in POLICIES}
    return Table("while-crawling-days", {"day": day, **means})


def _text(found: Crawls) -> tuple[str, ...]:
    mean = {name: Mean.of(found.overall(name)) for name in POLICIES}
    draws = found.optimum.size
    paper = [name for name in LEARNING if name != "index"]
    used = [float(found.budget_used[name].mean()) for name in paper]
    known = float(found.budget_used["poisson-known"].mean())
    bought = [float(found.bought[name].mean()) for name in paper]
    return (
        (
            "In the paper's experiments pages are visited at fixed rates, and the optimum is found "
            "afterwards. Here estimation and optimisation are combined: each visit improves the "
            "estimates, and the next gap of the page follows the optimum for them. The pages are "
            f"those of the second experiment, {PAGES} with change rates from 0 to 1 per day and "
            f"{BUDGET:.0f} visits per day in total, for {DAYS:.0f} days, {draws} draws. The first "
            "gap of each page is at the mean rate."
        ),
        (
            "The optimum gives up pages estimated never to change, and nothing more would be "
            "learned about them. So change rates and crawl rates are kept at "
            f"{100 * MIN_RATE_SHARE:.0f} % of the mean crawl rate or above. Random clocks keep the "
            f"budget on average only: those that learn spent {100 * min(used):.1f} to "
            f"{100 * max(used):.1f} % of it, those that know {100 * known:.1f} %. By "
            f"the formula this alone is worth up to {max(bought):.3f} of freshness, "
            "so it is subtracted from the losses reported."
        ),
        (
            f"With LLN the freshness is {mean['paper-lln']}, with SA {mean['paper-sa']}, with MLE "
            f"{mean['paper-mle']}; with the true rates {mean['poisson-known']}. Learning costs "
            f"{_behind(found, 'paper-lln')}, {_behind(found, 'paper-sa')} and "
            f"{_behind(found, 'paper-mle')} (± two standard errors, in the same worlds, "
            "for the same number of visits)."
        ),
        (
            f"How visits are spaced matters more. The index, which visits a page when that is "
            f"worth most, has {mean['index']} without knowing any rate, and loses "
            f"{_behind(found, 'index')} to the index that knows them. Visiting all pages in turn, "
            f"which learns nothing, has {mean['uniform']}."
        ),
    )


def _claim_formula(found: Crawls) -> Claim:
    """Judge the footnote of the second experiment."""
    off = Mean.of(found.long_run - found.optimum)
    return judged(
        "4, Expt 2",
        "In the long run the average freshness is the sum of w·p/(p + Δ), so that maximising one "
        "maximises the other",
        f"At the optimal rates, replayed for {LONG_DAYS:.0f} days, {found.long_run.mean():.3f}; by "
        f"the formula {found.optimum.mean():.3f}; difference {off.value:+.4f} ± {off.reach:.4f}, "
        f"and {NEAR:g} was allowed.",
        holds=abs(off.value) <= NEAR,
        remark="For visits at random times, that is: the same number of visits at regular times "
        "keeps the copy fresher.",
    )


def _claim_joined(found: Crawls) -> Claim:
    """Judge what the paper hopes of joining estimation with optimisation."""
    lost = {name: _behind(found, name) for name in LEARNING}
    ahead = Mean.of(found.overall("index") - found.overall("paper-lln"))
    regular = Mean.of(found.overall("uniform") - found.overall("poisson-known"))
    return judged(
        "5",
        "Joining online estimation with dynamic optimisation is worth exploring",
        f"Crawling at the rates just estimated for {DAYS:.0f} days loses in freshness to crawling "
        "at the optimum for the true rates, for the same number of visits: LLN "
        f"{lost['paper-lln']}, SA {lost['paper-sa']}, MLE {lost['paper-mle']}; less than "
        f"{LITTLE:g} counts as working. The index is {ahead} ahead of LLN, and loses "
        f"{lost['index']} to the index that knows.",
        holds=max(loss.value for loss in lost.values()) < LITTLE and ahead.value > 0.0,
        remark="More is gained by when visits are made than by how rates are learned: visiting all "
        f"pages in turn is {regular} ahead of random visits at the optimum for the true rates.",
    )


def figure(freshness: Mapping[str, Floats], days: float) -> "Figure":
    """Draw freshness over time, and its mean.

    Args:
        freshness: For each policy a row per draw and a column per slice of time.
        days: The length of all slices.
    """
    from matplotlib.figure import Figure

    with style.styled():
        drawing = Figure(figsize=(12.0, 5.0), layout="constrained")
        grid = drawing.add_gridspec(1, 2, width_ratios=[1.25, 1.0])
        title = "Learning costs little; visits at random times cost more"
        left = panel(drawing, grid[0], title, "days", "share of copies that are fresh")
        _draw_curves(left, freshness, days)
        right = panel(drawing, grid[1], "Mean over all days", "share of copies that are fresh", "")
        _draw_means(right, freshness)
    return drawing


def _draw_curves(axes: "Axes", freshness: Mapping[str, Floats], days: float) -> None:
    axes.set_xlim(0.0, days)
    axes.set_ylim(LOWEST, HIGHEST)
    ends = {}
    for policy, (name, look) in SHOWN.items():
        draws = freshness[policy]
        coarse = draws.reshape(draws.shape[0], -1, SMOOTH).mean(axis=2)
        mean = coarse.mean(axis=0)
        error = coarse.std(axis=0, ddof=1) / np.sqrt(draws.shape[0])
        day = (np.arange(mean.size) + 0.5) * days / mean.size
        axes.fill_between(
            day, mean - 2 * error, mean + 2 * error, color=look.colour, alpha=0.08, linewidth=0
        )
        curve(axes, day, mean, look, 1.8)
        ends[name] = float(mean[-1])
    name_ends(axes, ends, dict(SHOWN.values()))


def _draw_means(axes: "Axes", freshness: Mapping[str, Floats]) -> None:
    for row, (policy, (_, look)) in enumerate(reversed(SHOWN.items())):
        overall = freshness[policy].mean(axis=1)
        reach = 2.0 * overall.std(ddof=1) / np.sqrt(overall.size)
        axes.errorbar(
            overall.mean(), row, xerr=reach, fmt="o", color=look.colour, capsize=4, linewidth=2
        )
        axes.annotate(
            f"{overall.mean():.3f}",
            (float(overall.mean()), row),
            (0, 8),
            textcoords="offset points",
            horizontalalignment="center",
            color=look.colour,
        )
    names = [name for name, _ in reversed(SHOWN.values())]
    ticks = np.arange(0.6, HIGHEST, 0.05)
    axes.set_xlim(LOWEST + 0.04, HIGHEST)
    axes.set_xticks(ticks[1:], [f"{tick:.2f}" for tick in ticks[1:].tolist()])
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.3)
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x", color=style.FAINT, linewidth=0.8)
