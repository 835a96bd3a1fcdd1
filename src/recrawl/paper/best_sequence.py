"""The paper's first open question: which α and which η are best."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from recrawl.estimation import LLN, SA, Estimator, Observations
from recrawl.estimation.counts import Counts
from recrawl.figures import style
from recrawl.kernels.jit import Floats, Ints
from recrawl.paper.drawing import LOOKS, Look, curve, log_heights, name_ends, over_visits, panel
from recrawl.paper.section import Claim, Section, Table, drawn, judged
from recrawl.paper.simulate import checkpoints, follow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The part's own random stream.
STREAM = 8
#: The page of the first experiment, and the probability that a visit finds a change.
CHANGE_RATE, CRAWL_RATE = 5.0, 3.0
SHARE = CHANGE_RATE / (CHANGE_RATE + CRAWL_RATE)
#: The constant with the least squared error in theory, to second order.
BEST_ALPHA = 3.0 + CRAWL_RATE / CHANGE_RATE
ALPHAS: Floats = np.linspace(0.25, 12.0, 236)
SCANNED_VISITS = 100
FEWEST, MOST, POINTS = 100, 100_000, 13
MAX_RUNS = 400
#: The length of the run in which one step size turns SA into LLN.
TWIN_VISITS = 500
ESTIMATORS: Mapping[str, Estimator[Any]] = {
    "LLN": LLN(),
    "averaged SA": SA(averaged=True),
    "SA, γ = 0.75": SA(0.75),
    "SA, γ = 1": SA(1.0),
}
#: How close the best constant must be to theory, and the two estimators to each other.
ALPHA_WITHIN, TWIN_WITHIN = 0.25, 1e-9
#: LLN looks as in the whole report; the others are settings of one estimator.
STEP_LOOKS = {
    "LLN": LOOKS["LLN"],
    "averaged SA": Look(style.BLUE, "--"),
    "SA, γ = 0.75": Look(style.GREEN, "-"),
    "SA, γ = 1": Look(style.PURPLE, "-."),
}
ALPHA_LOOKS = {"RMSE": Look(style.ORANGE, "-"), "bias": Look(style.GREY, "--")}
LEAST, HIGHEST = 0.6, 12.0


@dataclass(frozen=True)
class Scan:
    """The exact error of LLN for constant α.

    Attributes:
        alpha: The constants.
        bias: Their mean errors.
        rmse: Their root mean squared errors.
    """

    alpha: Floats
    bias: Floats
    rmse: Floats

    @property
    def best(self) -> float:
        """The constant with the least squared error."""
        return float(self.alpha[self.rmse.argmin()])


@dataclass(frozen=True)
class BestSequences:
    """The results.

    Attributes:
        scan: LLN's error over α.
        visits: The numbers of visits at which squared errors were recorded.
        measured: Each estimator's mean squared error over LLN's variance in the limit.
        exact: The same in theory: for LLN as a sum, for SA from the moments of its recursion.
        apart: The largest difference between LLN and SA with the step that makes them equal.
    """

    scan: Scan
    visits: Ints
    measured: Mapping[str, Floats]
    exact: Mapping[str, Floats]
    apart: float


def lln_errors(alpha: float, visits: int) -> tuple[float, float]:
    """Return LLN's bias and RMSE for a constant α, summed over all numbers of changes.

    >>> [round(error, 4) for error in lln_errors(1.0, 5)]
    [-0.4768, 3.886]
    """
    changes = np.arange(visits + 1)
    likely = stats.binom.pmf(changes, visits, SHARE)
    all_visits = np.full(changes.size, visits)
    earned = np.asarray(CRAWL_RATE * changes, np.float64)
    seen = Counts(all_visits, changes, all_visits / CRAWL_RATE, changes, earned)
    error = LLN(alpha).rate(seen) - CHANGE_RATE
    return float(likely @ error), float(np.sqrt(likely @ error**2))


def lln_variance(visits: Ints) -> Floats:
    """Return LLN's variance in the limit, Δ(Δ + p)²/(pk)."""
    once = CHANGE_RATE * (CHANGE_RATE + CRAWL_RATE) ** 2 / CRAWL_RATE
    return np.asarray(once / visits, np.float64)


def sa_squared_errors(gamma: float, visits: Ints) -> tuple[Floats, Floats]:
    """Return the exact mean squared error of SA's y, and of the mean of all y.

    y is multiplied by 1 − η + ηI and ηpI is added, with bits that do not depend on y; so the
    moments of y, and of y with the sum of all y, follow their own recursions.
    """
    mean = square = total = total_y = total_square = 0.0
    wanted, found = set(visits.tolist()), []
    for k in range(1, int(visits[-1]) + 1):
        step = k**-gamma
        kept, added = 1.0 - step + step * SHARE, step * CRAWL_RATE * SHARE
        total_y = kept * total_y + added * total
        square = (
            (SHARE + (1.0 - SHARE) * (1.0 - step) ** 2) * square
            + 2.0 * added * mean
            + step * CRAWL_RATE * added
        )
        mean = kept * mean + added
        total_square += 2.0 * total_y + square
        total_y += square
        total += mean
        if k in wanted:
            plain = square - 2.0 * CHANGE_RATE * mean
            averaged = total_square / k**2 - 2.0 * CHANGE_RATE * total / k
            found.append((plain + CHANGE_RATE**2, averaged + CHANGE_RATE**2))
    both = np.array(found)
    return both[:, 0], both[:, 1]


def twins_apart(rng: np.random.Generator) -> float:
    """Return the largest difference in a run between LLN and SA with LLN's own step size.

    η = 1/(1 + unchanged visits so far, this one included). Every prefix of the run is a page, so
    that one fold gives the estimates after each visit.
    """
    elapsed = rng.exponential(1.0 / CRAWL_RATE, TWIN_VISITS)
    changed = rng.random(TWIN_VISITS) >= np.exp(-CHANGE_RATE * elapsed)
    steps = np.asarray(1.0 / (1.0 + np.cumsum(~changed)), np.float64)
    page, visit = np.tril_indices(TWIN_VISITS)
    seen = Observations.of(elapsed[visit], changed[visit], page=page, crawl_rate=CRAWL_RATE)
    twins: tuple[Estimator[Any], ...] = (LLN(), SA(step=lambda k: steps[k.astype(np.int64)]))
    rates = [twin.rate(twin.update(twin.start(TWIN_VISITS), seen)) for twin in twins]
    return float(np.abs(rates[0] - rates[1]).max())


def answer(runs: int, rng: np.random.Generator) -> BestSequences:
    """Find the best α and η, exactly where possible, otherwise by simulation."""
    errors = np.array([lln_errors(alpha, SCANNED_VISITS) for alpha in ALPHAS.tolist()])
    visits = checkpoints(FEWEST, MOST, POINTS)
    limit = lln_variance(visits)
    rates = follow(ESTIMATORS, np.full(runs, CHANGE_RATE), CRAWL_RATE, visits, rng)
    measured = {
        name: np.mean((rate - CHANGE_RATE) ** 2, axis=1) / limit for name, rate in rates.items()
    }
    plain, averaged = sa_squared_errors(0.75, visits)
    lln = np.array([lln_errors(1.0, count)[1] for count in visits.tolist()])
    exact = {
        "LLN": lln**2 / limit,
        "averaged SA": averaged / limit,
        "SA, γ = 0.75": plain / limit,
        "SA, γ = 1": sa_squared_errors(1.0, visits)[0] / limit,
    }
    scan = Scan(ALPHAS, errors[:, 0], errors[:, 1])
    return BestSequences(scan, visits, measured, exact, twins_apart(rng))


def run(runs: int, seed: int) -> Section:
    """Answer the paper's question about the ideal sequences, at Δ = 5, p = 3."""
    used = min(runs, MAX_RUNS)
    found = answer(used, np.random.default_rng([seed, STREAM]))
    picture = drawn(
        "best-sequence",
        f"Left: LLN's error after {SCANNED_VISITS} visits for constant α, exact. Right: mean "
        "squared error over LLN's variance in the limit; lines are exact, dots are measured in "
        f"{used} runs.",
        figure(found),
    )
    return Section(
        "The first open question: the best sequences",
        _text(found, used),
        (picture,),
        _tables(found),
        (_claim(found),),
    )


def _tables(found: BestSequences) -> tuple[Table, ...]:
    scan, names = found.scan, list(ESTIMATORS)
    return (
        Table("best-sequence-alpha", {"alpha": scan.alpha, "bias": scan.bias, "rmse": scan.rmse}),
        Table(
            "best-sequence-step",
            {
                "estimator": np.repeat(np.array(names), found.visits.size),
                "visits": np.tile(found.visits, len(names)),
                "squared_error_over_limit": np.concatenate([found.measured[n] for n in names]),
                "exact": np.concatenate([found.exact[n] for n in names]),
            },
        ),
    )


def _after(found: BestSequences, name: str, visits: int) -> float:
    """Return an exact squared error over the limit."""
    return float(found.exact[name][np.searchsorted(found.visits, visits)])


def _text(found: BestSequences, runs: int) -> tuple[str, ...]:
    plain, best = (lln_errors(alpha, SCANNED_VISITS)[1] for alpha in (1.0, BEST_ALPHA))
    averaged = [_after(found, "averaged SA", visits) for visits in (1_000, 10_000, MOST)]
    last = -1
    return (
        (
            "The paper leaves open which α and which η are ideal. For LLN the number of changes is "
            "binomial, so the error can be summed exactly for every constant α. At Δ = 5, p = 3 "
            f"and {SCANNED_VISITS} visits α = 1 has a mean error of −Δμ^k, which is nothing, and "
            f"an RMSE of {plain:.3f}. The least RMSE, {found.scan.rmse.min():.3f}, is at α = "
            f"{found.scan.best:.2f}; 3 + p/Δ = {BEST_ALPHA:.1f}, which theory gives to second "
            f"order, has {best:.3f}. The gain is {100 * (1 - best / plain):.0f} %, and it fades as "
            "1/k: in the limit every constant is as good."
        ),
        (
            "For SA, the mean of all y reaches LLN's variance, but slowly: its squared error is "
            f"{averaged[0]:.2f} times it after 1,000 visits, {averaged[1]:.2f} after 10,000 and "
            f"{averaged[2]:.2f} after 100,000 (measured over {runs} runs: "
            f"{found.measured['averaged SA'][last]:.2f}, compared with LLN's own "
            f"{found.measured['LLN'][last]:.2f}). Plain SA falls ever further behind, as it "
            f"converges more slowly: {_after(found, 'SA, γ = 0.75', MOST):.1f} times for γ = 0.75 "
            f"and {_after(found, 'SA, γ = 1', MOST):.1f} times for γ = 1 after 100,000 visits."
        ),
        (
            "One step size answers both questions. With η = 1/(1 + unchanged visits so far, this "
            "one included) SA is LLN with α = 1, visit by visit: the largest difference over a run "
            f"of {TWIN_VISITS} visits was {found.apart:.0e}."
        ),
    )


def _claim(found: BestSequences) -> Claim:
    near = abs(found.scan.best - BEST_ALPHA) <= ALPHA_WITHIN
    plain, best = (lln_errors(alpha, SCANNED_VISITS)[1] for alpha in (1.0, BEST_ALPHA))
    return judged(
        "5",
        "Which sequences α and η are ideal is an open question",
        f"At Δ = 5, p = 3 α = 1 leaves a mean error of −Δμ^k only, and the least squared error is "
        f"at α = {found.scan.best:.2f} after 100 visits, where theory says 3 + p/Δ = "
        f"{BEST_ALPHA:.1f}: RMSE {plain:.3f} becomes {best:.3f}. Averaged SA's squared error is "
        f"{_after(found, 'averaged SA', 1_000):.2f} times LLN's variance after 1,000 visits and "
        f"{_after(found, 'averaged SA', MOST):.2f} after 100,000. With η = 1/(1 + unchanged "
        f"visits) SA and LLN differ by {found.apart:.0e} at most.",
        holds=near and found.apart <= TWIN_WITHIN,
        remark="It can be answered: α = 1 for no bias, 3 + p/Δ for the least squared error, and "
        "that η, which makes SA the LLN.",
    )


def figure(found: BestSequences) -> "Figure":
    """Draw LLN's error over α, and squared errors over visits."""
    from matplotlib.figure import Figure

    with style.styled():
        drawing = Figure(figsize=(12.0, 4.8), layout="constrained")
        grid = drawing.add_gridspec(1, 2)
        left = panel(
            drawing,
            grid[0],
            "LLN: α = 1 has no bias, 3 + p/Δ the least error",
            "constant α",
            "changes per day",
        )
        _draw_scan(left, found.scan)
        right = panel(
            drawing,
            grid[1],
            "SA: only averaging comes back to LLN",
            "visits",
            "squared error over LLN's limit",
        )
        _draw_steps(right, found)
    return drawing


def _draw_scan(axes: "Axes", scan: Scan) -> None:
    axes.set_xlim(0.0, 12.0)
    axes.set_ylim(-1.3, 1.45)
    axes.axhline(0.0, color=style.INK, linewidth=1.0)
    ends = {"RMSE": scan.rmse, "bias": scan.bias}
    for name, height in ends.items():
        curve(axes, scan.alpha, height, ALPHA_LOOKS[name], 2.2)
    unbiased, best = int(np.abs(scan.alpha - 1.0).argmin()), int(scan.rmse.argmin())
    axes.plot(scan.alpha[unbiased], scan.bias[unbiased], "o", color=ALPHA_LOOKS["bias"].colour)
    axes.plot(scan.alpha[best], scan.rmse[best], "o", color=ALPHA_LOOKS["RMSE"].colour)
    axes.annotate("no bias at α = 1", (1.0, 0.0), (8, 8), textcoords="offset points")
    axes.annotate(
        f"least RMSE, {scan.rmse[best]:.3f}, at α = {scan.best:.2f}",
        (scan.best, float(scan.rmse[best])),
        (0, -18),
        textcoords="offset points",
        horizontalalignment="left",
    )
    name_ends(axes, {name: float(height[-1]) for name, height in ends.items()}, ALPHA_LOOKS)


def _draw_steps(axes: "Axes", found: BestSequences) -> None:
    over_visits(axes, float(found.visits[0]), float(found.visits[-1]))
    log_heights(axes, LEAST, HIGHEST, (0.7, 1.0, 2.0, 5.0, 10.0))
    for name, look in STEP_LOOKS.items():
        curve(axes, found.visits, found.exact[name], look)
        axes.plot(found.visits, found.measured[name], "o", color=look.colour, markersize=3.5)
    name_ends(axes, {name: float(height[-1]) for name, height in found.exact.items()}, STEP_LOOKS)
