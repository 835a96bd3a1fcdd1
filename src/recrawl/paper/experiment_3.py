"""The paper's third experiment: how the choice of α and η decides how fast estimates converge."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.estimation import LLN, SA, Estimator
from recrawl.figures import style
from recrawl.kernels.jit import Floats, Ints
from recrawl.paper.drawing import LOOKS, SERIES, curve, name_ends, over_visits, panel
from recrawl.paper.section import Claim, Picture, Section, Table, drawn, judged
from recrawl.paper.simulate import checkpoints, follow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STREAM = 3
CHANGE_RATE = 1_000.0
CRAWL_RATE = 200.0
LAST = 10_000
VISITS = checkpoints(1, LAST, 161)
#: At γ = 1 the error of SA falls with this power of k, which is not in the paper.
SLOW_EXPONENT = -min(0.5, CRAWL_RATE / (CRAWL_RATE + CHANGE_RATE))
#: A choice "affects" the error if the worst is at least this many times the best.
AFFECTED = 2.0
ERROR_TICKS = (0.0001, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)

LLNS: Mapping[str, Estimator[Any]] = {
    "α = 1": LLN(1.0),
    "α = log(k+1)": LLN("log"),
    "α = √k": LLN("sqrt"),
    "α = k^0.75": LLN("k^0.75"),
}
SAS: Mapping[str, Estimator[Any]] = {"γ = 0.5": SA(0.5), "γ = 0.75": SA(0.75), "γ = 1": SA(1.0)}


@dataclass(frozen=True, eq=False)
class Experiment3:
    """The results of each setting.

    Attributes:
        visits: The numbers of visits, k.
        first: Estimates in the first run, one per checkpoint, by setting.
        rmse: Over all runs, as a share of the true rate, one per checkpoint, by setting.
        bias: The mean error over all runs, as a share of the true rate, in the same form.
    """

    visits: Ints
    first: Mapping[str, Floats]
    rmse: Mapping[str, Floats]
    bias: Mapping[str, Floats]

    def rmse_at(self, name: str, visits: int) -> float:
        """Return the error at the first checkpoint with this many visits."""
        return float(self.rmse[name][np.searchsorted(self.visits, visits)])

    def slope(self, name: str) -> float:
        """Return the slope of log error against log k over the last decade."""
        # A single run may be right by chance, and its error exactly 0.
        tail = (self.visits >= LAST // 10) & (self.rmse[name] > 0.0)
        line = np.polynomial.Polynomial.fit(
            np.log(self.visits[tail]), np.log(self.rmse[name][tail]), 1
        )
        return float(line.convert().coef[1])


def run(runs: int, seed: int) -> Section:
    """Repeat the third experiment, with many runs where the paper has one."""
    found = measure(runs, np.random.default_rng([seed, STREAM]))
    return Section(
        "Experiment 3: the choice of α and η",
        (_what_was_done(runs), _what_is_seen(found), _where_order_differs(found)),
        (_picture(found),),
        (_table(found),),
        (
            _claim_choice_matters(found),
            _claim_worst_alpha(found),
            _claim_theorem_1(found),
            _claim_gamma(found),
            _claim_gamma_1(found),
        ),
    )


def measure(runs: int, rng: np.random.Generator) -> Experiment3:
    """Run every setting on the same visits."""
    estimators = {**LLNS, **SAS}
    found = follow(estimators, np.full(runs, CHANGE_RATE), CRAWL_RATE, VISITS, rng)
    errors = {name: estimate / CHANGE_RATE - 1.0 for name, estimate in found.items()}
    return Experiment3(
        VISITS,
        {name: estimate[:, 0] for name, estimate in found.items()},
        {name: np.sqrt((error**2).mean(axis=1)) for name, error in errors.items()},
        {name: error.mean(axis=1) for name, error in errors.items()},
    )


def _what_was_done(runs: int) -> str:
    return (
        "A page changes 1,000 times per day and is visited 200 times per day at random, so that "
        "five visits of six find a change. LLN is tried with four sequences α, SA with three step "
        "sizes (k+1)^−γ, all on the same visits. The paper shows one run; the error here is that "
        f"of {runs:,} {'run' if runs == 1 else 'runs'}, as a share of the true rate."
    )


def _what_is_seen(found: Experiment3) -> str:
    low = {name: f"{round(-100.0 * bias[-1], 1) + 0.0:.1f} %" for name, bias in found.bias.items()}
    return (
        f"Error after 10,000 visits: {_errors(found, LLNS, LAST)}; {_errors(found, SAS, LAST)}. "
        "A large α pulls LLN's estimate down: the mean of all runs is then below the truth by "
        f"{low['α = 1']} at α = 1, {low['α = √k']} at √k and {low['α = k^0.75']} at k^0.75. With "
        f"SA it is {low['γ = 0.5']} at γ = 0.5, where the error is noise, {low['γ = 0.75']} at "
        f"γ = 0.75, and {low['γ = 1']} at γ = 1, whose steps are too small to get there."
    )


def _where_order_differs(found: Experiment3) -> str:
    parts = []
    for family in (LLNS, SAS):
        best = [min(family, key=lambda name: found.rmse_at(name, k)) for k in (10, 100, 1_000)]
        parts.append(f"{best[0]} after 10 visits, {best[1]} after 100 and {best[2]} after 1,000")
    last = [min(family, key=lambda name: found.rmse_at(name, LAST)) for family in (LLNS, SAS)]
    return (
        f"Which is best depends on k. Of LLN's settings it is {parts[0]}, and "
        f"{last[0]} at the end, where α = 1 and log(k+1) differ by {_apart(found):.1%}; of SA's "
        f"it is {parts[1]}, and {last[1]} at the end."
    )


def _apart(found: Experiment3) -> float:
    return abs(found.rmse_at("α = 1", LAST) / found.rmse_at("α = log(k+1)", LAST) - 1.0)


def _errors(found: Experiment3, family: Mapping[str, object], visits: int) -> str:
    return ", ".join(f"{found.rmse_at(name, visits):.3f} ({name})" for name in family)


def _minus(exponent: float) -> str:
    return f"{exponent:.2f}".replace("-", "−")


def _table(found: Experiment3) -> Table:
    names = list(found.first)
    return Table(
        "experiment-3",
        {
            "visits": np.tile(found.visits, len(names)),
            "setting": np.repeat(names, found.visits.size),
            "first_run": np.concatenate([found.first[name] for name in names]),
            "relative_rmse": np.concatenate([found.rmse[name] for name in names]),
            "relative_bias": np.concatenate([found.bias[name] for name in names]),
        },
    )


def _claim_choice_matters(found: Experiment3) -> Claim:
    ratios = [
        max(found.rmse_at(name, LAST) for name in family)
        / min(found.rmse_at(name, LAST) for name in family)
        for family in (LLNS, SAS)
    ]
    return judged(
        "4, Expt 3",
        "The choice of α and of η affects how fast the estimators converge.",
        f"Largest error by the smallest after 10,000 visits: {ratios[0]:.1f} among LLN's settings, "
        f"{ratios[1]:.1f} among SA's (taken as: both at least {AFFECTED:.0f}).",
        holds=min(ratios) >= AFFECTED,
    )


def _claim_worst_alpha(found: Experiment3) -> Claim:
    errors = {name: found.rmse_at(name, LAST) for name in LLNS}
    others = max(error for name, error in errors.items() if name != "α = k^0.75")
    return judged(
        "4, Expt 3",
        "Of LLN's settings α = k^0.75 has the worst performance.",
        f"Relative RMSE after 10,000 visits: {_errors(found, LLNS, LAST)}.",
        holds=errors["α = k^0.75"] > others,
    )


def _claim_theorem_1(found: Experiment3) -> Claim:
    order = sorted(LLNS, key=lambda name: found.rmse_at(name, LAST))
    slopes = {name: found.slope(name) for name in LLNS}
    fits = ", ".join(f"{_minus(slope)} ({name})" for name, slope in slopes.items())
    slowest = max(slopes, key=lambda name: slopes[name])
    return judged(
        "4, Expt 3",
        "That matches Theorem 1, whose bound falls most slowly, as α/k = k^−0.25, for "
        "α = k^0.75 and as k^−0.5 for the rest.",
        f"Slope of log RMSE over the last decade: {fits}. From best to worst: {', '.join(order)}.",
        holds=slowest == "α = k^0.75" and order[-1] == "α = k^0.75",
        remark="At k^0.75 the slope is not yet the bound's −0.25, since α is still "
        f"{LAST**-0.25:.0%} of k where only "
        f"{CRAWL_RATE / (CRAWL_RATE + CHANGE_RATE):.0%} of visits find no change.",
    )


def _claim_gamma(found: Experiment3) -> Claim:
    half, three_quarters = "γ = 0.5", "γ = 0.75"
    better = found.rmse[three_quarters] < found.rmse[half]
    worse = np.flatnonzero(~better)
    since = found.visits[min(int(worse[-1]) + 1, found.visits.size - 1)] if worse.size else 1
    return judged(
        "4, Expt 3",
        "SA does better with γ = 0.75 than with γ = 0.5, as Theorem 2 predicts.",
        f"Relative RMSE after 10,000 visits: {found.rmse_at(three_quarters, LAST):.3f} against "
        f"{found.rmse_at(half, LAST):.3f}. Slopes over the last decade {_minus(found.slope(half))} "
        f"(γ = 0.5, bound −0.25) and {_minus(found.slope(three_quarters))} (γ = 0.75, bound "
        "−0.375).",
        holds=bool(better[-1]),
        remark=f"It is so for good from {since:,} visits on." if better[-1] and since > 1 else "",
    )


def _claim_gamma_1(found: Experiment3) -> Claim:
    one, slope = found.rmse_at("γ = 1", LAST), found.slope("γ = 1")
    return judged(
        "4, Expt 3",
        "With γ = 1, which Theorem 2 does not cover, SA does worse than with γ = 0.75.",
        f"Relative RMSE after 10,000 visits: {one:.3f} against "
        f"{found.rmse_at('γ = 0.75', LAST):.3f}. Slope over the last decade {_minus(slope)}; "
        f"theory for γ = 1 says −min(½, p/(p+Δ)) = {_minus(SLOW_EXPONENT)}.",
        holds=one > found.rmse_at("γ = 0.75", LAST),
    )


def _picture(found: Experiment3) -> Picture:
    with style.styled():
        return drawn(
            "experiment-3",
            "Δ = 1,000 changes and p = 200 visits per day. Above: one run, the line is the truth. "
            "Below: relative RMSE of all runs. Left: LLN. Right: SA.",
            _figure(found),
        )


def _figure(found: Experiment3) -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.0, 8.4), layout="constrained")
    grid = figure.add_gridspec(2, 2)
    titles = ("LLN: one run, by α", "SA: one run, by step size (k+1)^−γ")
    below = ("LLN: k^0.75 converges slowest", "SA: neither γ = 0.5 nor 1 is best at the end")
    top = 1.05 * max(float(line.max()) for line in found.first.values())
    for column, family in enumerate((LLNS, SAS)):
        above = panel(
            figure, grid[0, column], titles[column], "visits, k", "estimate, changes per day"
        )
        above.set_ylim(0.0, top)
        above.axhline(CHANGE_RATE, color=LOOKS["truth"].colour, linewidth=1.0)
        _lines(above, found.visits, {name: found.first[name] for name in family})
        error = panel(figure, grid[1, column], below[column], "visits, k", "relative RMSE")
        error.set_yscale("log")
        _lines(error, found.visits, {name: found.rmse[name] for name in family})
        _tick_errors(error)
    return figure


def _tick_errors(axes: "Axes") -> None:
    """Put ticks at 1 and 3 times each power of ten within the axis."""
    low, high = axes.get_ylim()
    ticks = [tick for tick in ERROR_TICKS if low <= tick <= high]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()


def _lines(axes: "Axes", visits: Ints, values: Mapping[str, Floats]) -> None:
    looks = dict(zip(values, SERIES, strict=False))
    for name, line in values.items():
        curve(axes, visits, line, looks[name], 1.8)
    over_visits(axes, visits[0], visits[-1])
    floor = axes.get_ylim()[0]
    name_ends(axes, {name: max(float(line[-1]), floor) for name, line in values.items()}, looks)
