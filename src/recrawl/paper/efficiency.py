"""How close each estimator comes to the best possible, for slow and fast pages."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from recrawl.figures import style
from recrawl.kernels.jit import Floats
from recrawl.paper.drawing import LOOKS, curve, log_heights, name_ends, panel
from recrawl.paper.section import Claim, Section, Table, drawn, judged
from recrawl.paper.simulate import ESTIMATORS, follow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The part's own random stream.
STREAM = 7
#: Δ/p of the paper's first experiment.
PAPER = 5.0 / 3.0
#: Δ/p, at p = 1: thirteen evenly spread on a logarithmic scale, and the paper's.
RATIOS: Floats = np.sort(np.append(np.geomspace(0.01, 100.0, 13), PAPER))
VISITS = np.array([100, 1_000])
#: "Comparable" means less than this factor in RMSE, "significantly better" at least that one.
COMPARABLE, SIGNIFICANT = 2.0, 1.5
#: The filter reaches the MLE's RMSE if it is within this factor.
REACHED = 1.1
#: The range drawn of RMSE / bound.
LOWEST, HIGHEST = 0.6, 20.0
#: Keeps ratios finite when an error is 0, as it may be in a single run.
TINY = 1e-12


def information(change_rate: float, crawl_rate: float) -> float:
    """Return the Fisher information of one visit at a random time, E[τ²/(e^(Δτ) − 1)].

    As 1/(e^x − 1) is the sum of e^(−nx), it is 2p Σ (p + nΔ)^−3 = (2p/Δ³) ζ(3, 1 + p/Δ), with the
    Hurwitz zeta function. No unbiased estimator has a smaller variance than 1/(k · information)
    after k visits: the Cramér–Rao bound.

    >>> round(information(5.0, 3.0), 5)
    0.01689
    """
    return float(
        2.0 * crawl_rate / change_rate**3 * special.zeta(3.0, 1.0 + crawl_rate / change_rate)
    )


def lln_visits(change_rate: float, crawl_rate: float) -> float:
    """Return the factor by which LLN needs more visits than the bound, in the limit.

    LLN's variance is Δ(Δ + p)²/(pk) in the limit.

    >>> round(lln_visits(5.0, 3.0), 2)
    1.8
    """
    variance = change_rate * (change_rate + crawl_rate) ** 2 / crawl_rate
    return variance * information(change_rate, crawl_rate)


@dataclass(frozen=True)
class Efficiency:
    """The results: for each estimator a row per number of visits and a column per ratio.

    Attributes:
        rmse: The root mean squared error.
        bias: The mean error.
        bound: The Cramér–Rao bound of a standard deviation, in the same rows and columns.
    """

    rmse: Mapping[str, Floats]
    bias: Mapping[str, Floats]
    bound: Floats

    def over_bound(self, name: str) -> Floats:
        """Return an estimator's RMSE over the bound."""
        return self.rmse[name] / self.bound

    def times(self, name: str, other: str) -> Floats:
        """Return one estimator's RMSE over another's."""
        return self.rmse[name] / np.maximum(self.rmse[other], TINY)


def measure(runs: int, rng: np.random.Generator) -> Efficiency:
    """Run every estimator on ``runs`` simulated pages at every ratio."""
    rmse = {name: np.empty((VISITS.size, RATIOS.size)) for name in ESTIMATORS}
    bias = {name: np.empty((VISITS.size, RATIOS.size)) for name in ESTIMATORS}
    for column, ratio in enumerate(RATIOS.tolist()):
        found = follow(ESTIMATORS, np.full(runs, ratio), 1.0, VISITS, rng)
        for name, rate in found.items():
            rmse[name][:, column] = np.sqrt(np.mean((rate - ratio) ** 2, axis=1))
            bias[name][:, column] = rate.mean(axis=1) - ratio
    per_visit = np.array([information(ratio, 1.0) for ratio in RATIOS.tolist()])
    return Efficiency(rmse, bias, 1.0 / np.sqrt(VISITS[:, None] * per_visit))


def run(runs: int, seed: int) -> Section:
    """Measure RMSE over the Cramér–Rao bound for Δ/p from 0.01 to 100."""
    found = measure(runs, np.random.default_rng([seed, STREAM]))
    cut = " Curves are cut at 20." if _highest(found) > HIGHEST else ""
    picture = drawn(
        "efficiency",
        "RMSE over the Cramér–Rao bound; 1 is the best that an unbiased estimator can do; a "
        f"biased one may be below it. The thin line is LLN's theoretical limit.{cut}",
        figure(found),
    )
    return Section(
        "How close the estimators come to the best possible",
        _text(found, runs),
        (picture,),
        (_table(found),),
        _claims(found),
    )


def figure(found: Efficiency) -> "Figure":
    """Draw RMSE over the bound, one panel per number of visits."""
    from matplotlib.figure import Figure

    with style.styled():
        drawing = Figure(figsize=(12.0, 5.0), layout="constrained")
        grid = drawing.add_gridspec(1, VISITS.size)
        for row, visits in enumerate(VISITS.tolist()):
            axes = panel(
                drawing,
                grid[row],
                f"After {visits:,} visits",
                "change rate over crawl rate, Δ/p",
                "RMSE over the best possible",
            )
            _draw(axes, {name: found.over_bound(name)[row] for name in ESTIMATORS})
    return drawing


def _draw(axes: "Axes", heights: Mapping[str, Floats]) -> None:
    axes.set_xscale("log")
    axes.set_xlim(RATIOS[0], RATIOS[-1])
    axes.set_xticks([0.01, 0.1, 1.0, 10.0, 100.0], ["0.01", "0.1", "1", "10", "100"])
    log_heights(axes, LOWEST, HIGHEST, (0.7, 1.0, 2.0, 5.0, 10.0, 20.0))
    axes.axhline(1.0, color=style.INK, linewidth=1.0)
    limit = np.sqrt([lln_visits(ratio, 1.0) for ratio in RATIOS.tolist()])
    axes.plot(RATIOS, limit, color=LOOKS["LLN"].colour, linewidth=0.8)
    shown = {name: np.clip(height, TINY, None) for name, height in heights.items()}
    for name, height in shown.items():
        curve(axes, RATIOS, height, LOOKS[name])
    name_ends(axes, {name: float(height[-1]) for name, height in shown.items()}, LOOKS)


def _highest(found: Efficiency) -> float:
    return max(float(found.over_bound(name).max()) for name in ESTIMATORS)


def _table(found: Efficiency) -> Table:
    shape = (len(ESTIMATORS), VISITS.size, RATIOS.size)
    over = np.array([found.over_bound(name) for name in ESTIMATORS])
    return Table(
        "efficiency",
        {
            "change_over_crawl_rate": np.broadcast_to(RATIOS, shape).ravel(),
            "visits": np.broadcast_to(VISITS[:, None], shape).ravel(),
            "estimator": np.repeat(np.array(list(ESTIMATORS)), VISITS.size * RATIOS.size),
            "rmse": np.array([found.rmse[name] for name in ESTIMATORS]).ravel(),
            "bias": np.array([found.bias[name] for name in ESTIMATORS]).ravel(),
            "bound": np.broadcast_to(found.bound, shape).ravel(),
            "rmse_over_bound": over.ravel(),
        },
    )


def _text(found: Efficiency, runs: int) -> tuple[str, ...]:
    lln, sa, mle, gamma = (found.over_bound(name)[-1] for name in ("LLN", "SA", "MLE", "Gamma"))
    paper = int(np.searchsorted(RATIOS, PAPER))
    slip = found.bias["Gamma"][-1, -1] / RATIOS[-1]
    return (
        (
            "No unbiased estimator can have a smaller variance than the Cramér–Rao bound, one over "
            "the Fisher information of the visits. For visits at random times the information "
            "of one visit has a closed form, (2p/Δ³)·ζ(3, 1 + p/Δ). We divided each estimator's "
            f"error by the bound, for Δ/p from 0.01 to 100, over {runs:,} runs at each "
            f"ratio; the RMSE is then uncertain by some {100 / np.sqrt(2 * runs):.0f} %."
        ),
        (
            f"After 1,000 visits MLE is at {mle.min():.2f} to {mle.max():.2f} times the bound. LLN "
            f"goes from {lln[0]:.2f} at Δ/p = 0.01 to {lln[-1]:.2f} at 100: where pages change "
            "slowly the gaps contain nothing that the bits do not, and where they change fast LLN "
            f"needs up to {2.0 * special.zeta(3.0):.1f} times the visits, in the limit. SA is at "
            f"{sa[0]:.2f} and {sa[-1]:.2f}: at large ratios it is still on its way."
        ),
        (
            f"The Gamma filter is at {gamma[paper]:.2f} times the bound at Δ/p = 5/3, but at "
            f"{gamma[-1]:.2f} at Δ/p = 100. Its mean error there is {100 * slip:+.0f} % of Δ: "
            "nearly every visit finds a change, and the small error of each step adds up."
        ),
        (
            "Below 1 there is no contradiction: an estimator with a bias, such as Naive, or LLN at "
            "Δ/p = 100 after 100 visits, is not bound by it. There every visit finds a change in "
            f"{100 * (100 / 101) ** 100:.0f} % of runs, and MLE and MM have no finite solution; "
            "recrawl's then give a bound of their own."
        ),
    )


def _claims(found: Efficiency) -> tuple[Claim, ...]:
    return (
        _claim_at_paper(found),
        *(_claim_everywhere(found, name) for name in ("LLN", "SA")),
        _claim_filter(found),
        _claim_naive(found),
    )


def _claim_at_paper(found: Efficiency) -> Claim:
    """Compare LLN and SA with MLE at the ratio of the first experiment."""
    at = int(np.searchsorted(RATIOS, PAPER))
    lln, sa = found.times("LLN", "MLE")[:, at], found.times("SA", "MLE")[:, at]
    return judged(
        "3.3",
        "LLN and SA perform comparably to MLE; here at Δ/p = 5/3, as in the first experiment",
        f"RMSE over MLE's after 100 and 1,000 visits: LLN {lln[0]:.2f} and {lln[1]:.2f}, SA "
        f"{sa[0]:.2f} and {sa[1]:.2f}; less than {COMPARABLE:g} counts as comparable.",
        holds=bool(max(lln.max(), sa.max()) < COMPARABLE),
        remark=f"LLN needs {lln_visits(PAPER, 1.0):.2f} times MLE's visits in theory, "
        f"{lln[1] ** 2:.2f} measured; what SA needs grows with the visits, as it converges slower.",
    )


def _claim_everywhere(found: Efficiency, name: str) -> Claim:
    """Compare one estimator with MLE at every ratio, after 1,000 visits."""
    times = found.times(name, "MLE")[-1]
    far = RATIOS[times >= COMPARABLE]
    worst = int(times.argmax())
    remark = f"It is best where pages change slowly: {times[0]:.2f} at Δ/p = 0.01."
    if name == "SA":
        remark = f"It is {times[0]:.2f} times it at Δ/p = 0.01."
    if far.size:
        remark += f" It is {COMPARABLE:g} times or more from Δ/p = {far[0]:.3g} on."
    return judged(
        "3.3",
        f"{name} performs comparably to MLE; here at any Δ/p from 0.01 to 100",
        f"After 1,000 visits its RMSE is at most {times[worst]:.2f} times MLE's, at Δ/p = "
        f"{RATIOS[worst]:.3g}; less than {COMPARABLE:g} counts as comparable.",
        holds=not far.size,
        remark=remark,
    )


def _claim_filter(found: Efficiency) -> Claim:
    """Judge whether MLE's work at every visit is needed for its accuracy."""
    times = found.times("Gamma", "MLE")[-1]
    reached = times <= REACHED
    where = f"at {np.count_nonzero(reached)} of {RATIOS.size} ratios"
    if reached[0] and not reached.all():
        where += f", all those up to Δ/p = {RATIOS[reached.argmin() - 1]:.3g}"
    return judged(
        "3.3",
        "MLE must be solved anew at every visit, as its work cannot be reused for the next",
        "The Gamma filter keeps two numbers per page and never looks back. After 1,000 visits its "
        f"RMSE is within {100 * (REACHED - 1):.0f} % of MLE's "
        f"{where}; at most it is {times.max():.2f} times it, at Δ/p = "
        f"{RATIOS[times.argmax()]:.3g}.",
        holds=not reached.all(),
        remark="The equation itself does need every gap; but where the filter is as good, nobody "
        "needs to solve it.",
    )


def _claim_naive(found: Efficiency) -> Claim:
    """Compare LLN and SA with Naive, and list where Naive is no worse."""
    at = int(np.searchsorted(RATIOS, PAPER))
    times = {name: found.times("Naive", name) for name in ("LLN", "SA")}
    least = min(float(ratio[:, at].min()) for ratio in times.values())
    remarks = []
    for name, ratio in times.items():
        for visits, row in zip(VISITS.tolist(), ratio, strict=True):
            no_worse = RATIOS[(row <= 1.0) & (RATIOS < PAPER)]
            if no_worse.size:
                remarks.append(f"{name} up to Δ/p = {no_worse[-1]:.2g} after {visits:,} visits")
    slow = "Where pages change slowly Naive's RMSE is no larger: than that of {}."
    return judged(
        "5",
        "LLN and SA perform significantly better than Naive",
        f"At Δ/p = 5/3 Naive's RMSE is at least {least:.1f} times theirs; {SIGNIFICANT:g} counts "
        "as significant.",
        holds=least >= SIGNIFICANT,
        remark=slow.format(", ".join(remarks)) if remarks else "",
    )
