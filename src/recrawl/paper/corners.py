"""The two corner cases, where all visits found a change or none did, and the estimates there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.estimation import LLN, Estimator, Observations
from recrawl.figures import style
from recrawl.kernels.jit import Floats, Ints
from recrawl.paper.drawing import SERIES, log_heights, over_visits, panel
from recrawl.paper.section import Claim, Section, Table, drawn, judged
from recrawl.paper.simulate import ESTIMATORS, checkpoints, follow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STREAM = 6
#: Δ/p, from pages visited far too often to pages visited far too rarely.
RATIOS = (0.01, 0.1, 1.0, 5.0 / 3.0, 10.0, 100.0)
LAST, POINTS = 1_000, 60
#: The page of the first experiment, for the estimates in the corners.
CRAWL_RATE, CORNER_VISITS = 3.0, 10
ALL, NONE = "every visit found a change", "no visit found a change"
#: Values of α with which the LLN is nearly the plain ratio.
SMALL_ALPHAS = (1e-3, 1e-6, 1e-9)
#: The probability that all twelve curves of shares stay within their allowance, by theory.
SURE = 0.999
#: No share of a thousand runs is smaller, but for 0.
LEAST = 3e-4


@dataclass(frozen=True)
class Equations:
    """Both sides of the plain equations in a corner, at a range of rates.

    Attributes:
        change_rate: The rates.
        log_likelihood: Of the bits, which MLE maximises.
        mle: The left and right sides of its equation.
        mm: Those of moment matching.
    """

    change_rate: Floats
    log_likelihood: Floats
    mle: tuple[Floats, Floats]
    mm: tuple[Floats, Floats]


@dataclass(frozen=True)
class Corners:
    """The results.

    Attributes:
        runs: The number of runs at each Δ/p.
        visits: The numbers of visits at which shares were counted.
        predicted: The probability of a corner, a row per Δ/p, by corner.
        shares: The share of runs in it, a row per Δ/p, by corner.
        largest: The largest estimate over p of all runs and checkpoints, by estimator.
        ceiling: The estimate after `LAST` visits that all found a change, over p: no bits of that
            length can give a larger one.
        estimates: By corner and estimator, after `CORNER_VISITS` visits.
        equations: By corner.
        ratio: The LLN's estimates in the first corner as α becomes small.
    """

    runs: int
    visits: Ints
    predicted: Mapping[str, Floats]
    shares: Mapping[str, Floats]
    largest: Mapping[str, float]
    ceiling: Mapping[str, float]
    estimates: Mapping[str, Mapping[str, float]]
    equations: Mapping[str, Equations]
    ratio: Floats

    def off(self, corner: str) -> float:
        """Return the largest difference between a share and its probability."""
        return float(np.abs(self.shares[corner] - self.predicted[corner]).max())

    @property
    def allowance(self) -> float:
        """How far a share may be off by chance, at any k and Δ/p.

        The share of runs still in a corner is an empirical distribution function, and by the
        Dvoretzky–Kiefer–Wolfowitz inequality it is off by more than ε with probability below
        2·exp(−2·runs·ε²).
        """
        curves = 2 * len(RATIOS)
        return float(np.sqrt(np.log(2 * curves / (1.0 - SURE)) / (2 * self.runs)))


def run(runs: int, seed: int) -> Section:
    """Count the runs in the corners, and evaluate the equations there."""
    found = measure(runs, np.random.default_rng([seed, STREAM]))
    caption = (
        "The probability that after k visits all of them found a change, and that none did; lines "
        "are theory, dots are shares of the runs. Shares of 0 are not on the axis."
    )
    return Section(
        title="The corners: where MLE and moment matching have no answer",
        text=_text(found),
        pictures=(drawn("corners", caption, draw(found)),),
        tables=(_shares_table(found), _estimates_table(found), _equations_table(found)),
        claims=claims(found),
    )


def measure(runs: int, rng: np.random.Generator) -> Corners:
    """Simulate runs at every Δ/p, and evaluate every estimator in both corners."""
    visits = checkpoints(1, LAST, POINTS)
    watched = {name: ESTIMATORS[name] for name in ("Naive", "LLN", "SA")}
    found = follow(watched, np.repeat(RATIOS, runs), 1.0, visits, rng)
    # With a crawl rate of 1 Naive is the share of visits that found a change, exactly.
    share = found["Naive"].reshape(visits.size, len(RATIOS), runs)
    mu = np.array(RATIOS)[:, None] / (1.0 + np.array(RATIOS)[:, None])
    gaps = rng.exponential(1.0 / CRAWL_RATE, CORNER_VISITS)
    ones = {ALL: True, NONE: False}
    long = np.full(LAST, 1.0)
    return Corners(
        runs,
        visits,
        {ALL: mu**visits, NONE: (1.0 - mu) ** visits},
        {ALL: (share == 1.0).mean(axis=2).T, NONE: (share == 0.0).mean(axis=2).T},
        {name: float(found[name].max()) for name in ("LLN", "SA")},
        {name: estimate_at(ESTIMATORS[name], long, 1.0, changed=True) for name in ("LLN", "SA")},
        {
            corner: {
                name: estimate_at(estimator, gaps, CRAWL_RATE, changed=changed)
                for name, estimator in ESTIMATORS.items()
            }
            for corner, changed in ones.items()
        },
        {corner: equations_at(gaps, changed=changed) for corner, changed in ones.items()},
        np.array(
            [estimate_at(LLN(alpha), gaps, CRAWL_RATE, changed=True) for alpha in SMALL_ALPHAS]
        ),
    )


def estimate_at(
    estimator: Estimator[Any], gaps: Floats, crawl_rate: float, *, changed: bool
) -> float:
    """Return the estimate for a page whose visits all had the same outcome."""
    seen = Observations.of(
        gaps, np.full(gaps.size, changed), page=np.zeros(gaps.size, np.int64), crawl_rate=crawl_rate
    )
    return float(estimator.rate(estimator.update(estimator.start(1), seen))[0])


def equations_at(gaps: Floats, *, changed: bool) -> Equations:
    """Evaluate the plain equations of MLE and moment matching, as they are written down.

    Rates reach as far as floats can distinguish the likelihood of all changes from 1.
    """
    rates = np.geomspace(1e-3, 30.0 / gaps.min(), 61)
    x = np.outer(rates, gaps)
    bits = np.full(gaps.size, float(changed))
    return Equations(
        rates,
        np.log(-np.expm1(-x)) @ bits - x @ (1.0 - bits),
        ((gaps * np.exp(-x) / -np.expm1(-x)) @ bits, np.full(rates.size, gaps @ (1.0 - bits))),
        (np.full(rates.size, (1.0 - bits).sum()), np.exp(-x).sum(axis=1)),
    )


def _text(found: Corners) -> tuple[str, ...]:
    full, empty = found.estimates[ALL], found.estimates[NONE]
    estimates = ", ".join(f"{name} {full[name]:.3g} and {empty[name]:.3g}" for name in ESTIMATORS)
    mu = 5.0 / 8.0
    return (
        (
            "With visits at random times every visit finds a change with probability μ = Δ/(Δ+p), "
            "so after k visits all of them did with probability μ^k, and none with (1−μ)^k. At "
            f"Δ/p = 5/3 and k = 10 that is {mu**10:.4f} and {(1 - mu) ** 10:.6f}. Pages visited "
            "much too rarely or much too often stay in a corner for long: at Δ/p = 100 all of 100 "
            f"visits find a change with probability {(100 / 101) ** 100:.2f}. With {found.runs} "
            f"runs at each Δ/p, the shares are at most "
            f"{max(found.off(ALL), found.off(NONE)):.3f} away from theory."
        ),
        (
            "In a corner the equations of MLE and moment matching have no finite positive "
            "solution. When every visit found a change the likelihood rises forever, and no rate "
            "expects as few unchanged visits as 0. When none did, it falls from Δ = 0 on."
        ),
        (
            f"The estimates after {CORNER_VISITS} visits with p = {CRAWL_RATE:g}, all changed and "
            f"none changed, in changes per day: {estimates}. In the first corner recrawl's "
            "MLE and MM add half a visit of mean length that found no change; in the second they "
            "are 0. Nowhere else do they differ from the plain equations."
        ),
    )


def _shares_table(found: Corners) -> Table:
    size = len(RATIOS) * found.visits.size
    return Table(
        "corners",
        {
            "corner": np.repeat([ALL, NONE], size),
            "change_rate_over_crawl_rate": np.tile(np.repeat(RATIOS, found.visits.size), 2),
            "visits": np.tile(found.visits, 2 * len(RATIOS)),
            "probability": np.concatenate([found.predicted[c].ravel() for c in (ALL, NONE)]),
            "measured_share": np.concatenate([found.shares[c].ravel() for c in (ALL, NONE)]),
        },
    )


def _estimates_table(found: Corners) -> Table:
    return Table(
        "corner-estimates",
        {
            "corner": np.repeat([ALL, NONE], len(ESTIMATORS)),
            "visits": np.full(2 * len(ESTIMATORS), CORNER_VISITS),
            "estimator": np.tile(list(ESTIMATORS), 2),
            "estimate": np.array(
                [found.estimates[c][name] for c in (ALL, NONE) for name in ESTIMATORS]
            ),
        },
    )


def _equations_table(found: Corners) -> Table:
    both = [found.equations[corner] for corner in (ALL, NONE)]
    return Table(
        "corner-equations",
        {
            "corner": np.repeat([ALL, NONE], both[0].change_rate.size),
            "change_rate": np.concatenate([each.change_rate for each in both]),
            "log_likelihood": np.concatenate([each.log_likelihood for each in both]),
            "mle_left": np.concatenate([each.mle[0] for each in both]),
            "mle_right": np.concatenate([each.mle[1] for each in both]),
            "mm_left": np.concatenate([each.mm[0] for each in both]),
            "mm_right": np.concatenate([each.mm[1] for each in both]),
        },
    )


def claims(found: Corners) -> tuple[Claim, ...]:
    """Judge what the paper says about instability."""
    return (_plain_ratio(found), *_offline(found), _stable(found))


def _plain_ratio(found: Corners) -> Claim:
    ratio = ", ".join(f"{rate:.0e}" for rate in found.ratio)
    at = int(np.searchsorted(found.visits, CORNER_VISITS))
    row = RATIOS.index(5.0 / 3.0)
    return judged(
        "3.1",
        "The plain ratio p·Î/(k−Î) is infinite when all visits found a change; a positive α mends "
        "it.",
        f"That has probability μ^k. At Δ/p = 5/3 and {found.visits[at]} visits: "
        f"{found.predicted[ALL][row, at]:.4f}, and {found.shares[ALL][row, at]:.4f} of "
        f"{found.runs} runs. At all k and Δ/p the share is within {found.off(ALL):.3f} of it, "
        f"where chance allows {found.allowance:.3f}. With α = 1e-3, 1e-6, 1e-9 the LLN says "
        f"{ratio} there, and {found.estimates[ALL]['LLN']:g} with α = 1.",
        holds=found.off(ALL) < found.allowance
        and np.allclose(found.ratio * SMALL_ALPHAS, CRAWL_RATE * CORNER_VISITS),
    )


def _offline(found: Corners) -> tuple[Claim, ...]:
    full, empty = found.equations[ALL], found.equations[NONE]
    rising = bool(np.all(np.diff(full.log_likelihood) > 0) and full.mle[0].min() > full.mle[1][0])
    falling = bool(np.all(np.diff(empty.log_likelihood) < 0) and empty.mle[1][0] > 0)
    no_match = bool(full.mm[1].min() > full.mm[0][0] and empty.mm[1].max() < empty.mm[0][0])
    return (
        judged(
            "3.3",
            "MLE has no solution when nothing changed, and an infinite one when everything did; "
            "clipping only these two cases helps.",
            "All changed: the log-likelihood rises at every rate up to "
            f"{full.change_rate[-1]:.0f}, from {full.log_likelihood[0]:.3g} to "
            f"{full.log_likelihood[-1]:.1g}, and the equation's left side stays above its right "
            "side, 0. None changed: the log-likelihood falls at every rate, and the "
            f"equation reads 0 = {empty.mle[1][0]:.3g}. Shares of runs without a change are "
            f"within {found.off(NONE):.3f} of (1−μ)^k, where chance allows {found.allowance:.3f}.",
            holds=rising and falling and found.off(NONE) < found.allowance,
            remark="When nothing changed the likelihood is largest at Δ = 0, which is a sensible "
            "answer. recrawl touches only these two corners, as the paper suggests: it says "
            f"{found.estimates[NONE]['MLE']:g} and {found.estimates[ALL]['MLE']:.3g}.",
        ),
        judged(
            "3.3",
            "Moment matching is unstable in the same corners.",
            "All changed: Σ e^(−Δτ) is above the wanted 0 at every rate, still "
            f"{full.mm[1][-1]:.0e} at {full.change_rate[-1]:.0f}. None changed: it is below the "
            f"wanted {empty.mm[0][0]:.0f} at every positive rate.",
            holds=no_match,
            remark="When nothing changed Δ = 0 does solve its equation, and recrawl says "
            f"{found.estimates[NONE]['MM']:g}; when everything did, "
            f"{found.estimates[ALL]['MM']:.3g}.",
        ),
    )


def _stable(found: Corners) -> Claim:
    bounds = "; ".join(
        f"{name} at most {found.largest[name]:.4g}·p, and {found.ceiling[name]:.4g}·p at worst"
        for name in ("LLN", "SA")
    )
    return judged(
        "3.3",
        "The LLN and SA estimates are always finite.",
        f"Over all runs, Δ/p from {RATIOS[0]:g} to {RATIOS[-1]:g}, and {found.visits.size} "
        f"checkpoints up to {LAST:,} visits: {bounds}, which is when every visit finds a change.",
        holds=all(found.largest[n] <= found.ceiling[n] < np.inf for n in ("LLN", "SA")),
    )


def draw(found: Corners) -> "Figure":
    """Draw both corners' probabilities as lines, and shares as dots."""
    from matplotlib.figure import Figure

    names = [f"Δ/p = {ratio:.3g}" for ratio in RATIOS]
    with style.styled():
        figure = Figure(figsize=(11.5, 4.9), layout="constrained")
        grid = figure.add_gridspec(1, 2, wspace=0.06)
        for number, (corner, rows) in enumerate(found.predicted.items()):
            axes = panel(figure, grid[number], corner.capitalize(), "visits", "probability")
            _curves(axes, found.visits, rows, found.shares[corner], names)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=10)
    return figure


def _curves(
    axes: "Axes", visits: Ints, predicted: Floats, shares: Floats, names: Sequence[str]
) -> None:
    for look, name, line, share in zip(SERIES, names, predicted, shares, strict=True):
        seen = share > 0.0
        # Otherwise lines would continue far below the axis, to the smallest float.
        kept = np.maximum(line, LEAST * 1e-6)
        axes.plot(visits, kept, color=look.colour, linestyle=look.dashes, linewidth=2, label=name)
        axes.plot(visits[seen], share[seen], "o", color=look.colour, markersize=3.5, alpha=0.7)
    over_visits(axes, 0.9, float(visits[-1]) * 1.1)
    log_heights(axes, LEAST, 1.4, (0.001, 0.01, 0.1, 1.0))
