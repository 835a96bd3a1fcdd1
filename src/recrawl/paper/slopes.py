"""Theorems 1 and 2, second halves: how fast the mean error falls, as a power of k."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.estimation import LLN, SA, Estimator, Naive
from recrawl.estimation.counts import Counts
from recrawl.figures import style
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.paper.drawing import SERIES, Look, log_heights, name_ends, over_visits, panel
from recrawl.paper.section import Claim, Section, Table, drawn, judged
from recrawl.paper.simulate import checkpoints, follow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STREAM = 4
CHANGE_RATE, CRAWL_RATE = 5.0, 3.0
#: The probability that a visit finds a change.
MU = CHANGE_RATE / (CHANGE_RATE + CRAWL_RATE)
MAX_RUNS = 400
FIRST, LAST, POINTS = 10, 100_000, 41
#: Slopes are fitted from here on.
WINDOW = 1_000
#: The LLN is also evaluated here; beyond, floats are too coarse for a binomial count.
FAR_FIRST, FAR_LAST, FAR_POINTS = 10**12, 10**14, 11
NEAR = f"from {WINDOW:,} to {LAST:,} visits"
FAR = "from 10¹² to 10¹⁴ visits"
RESAMPLES = 1_000
#: How much flatter than predicted the steep end of a slope's band may be, with many runs.
TOLERANCE = 0.02
#: With fewer runs resampled bands are too narrow, and chance is allowed for: three deviations of
#: a slope, each point of which is the logarithm of the size of one normal error.
FEW_RUNS, CHANCE = 30, 0.7
#: Replaces an error of 0, which has no logarithm and occurs with very few runs.
LEAST_ERROR = 1e-12
#: Guides are dashed and curves are not, except this one, which coincides with that of α = 1.
COINCIDING = "α = log(k+1)"
ERRORS = (0.01, 6.0)

#: The exponent of α_k / k, by α.
LLNS: Mapping[str, tuple[LLN, float]] = {
    "α = 1": (LLN(1.0), -1.0),
    "α = log(k+1)": (LLN("log"), -1.0),
    "α = √k": (LLN("sqrt"), -0.5),
    "α = k^0.75": (LLN("k^0.75"), -0.25),
    "α = k^0.9": (LLN("k^0.9"), -0.1),
}
SAS: Mapping[str, SA] = {f"γ = {gamma:g}": SA(gamma) for gamma in (0.5, 0.6, 0.75, 0.9, 1.0)}


@dataclass(frozen=True)
class Slope:
    """The slope of a mean error over visits, both on logarithmic scales.

    Attributes:
        fitted: By least squares.
        low: The start of the 95 % band of slopes of resampled runs.
        high: Its end.
        predicted: By theory.
        tolerance: How much flatter than predicted the band's steep end may be.
    """

    fitted: float
    low: float
    high: float
    predicted: float
    tolerance: float

    @property
    def agrees(self) -> bool:
        """Whether the error falls at least as fast as predicted, as an O() promises."""
        return self.low <= self.predicted + self.tolerance


@dataclass(frozen=True)
class Slopes:
    """The results.

    Attributes:
        runs: The number of runs.
        visits: The numbers of visits at which estimates were recorded.
        fitted_from: The number of visits from which slopes are fitted.
        errors: The mean error at each number of visits, by setting.
        near: The slope from there on, by setting.
        far: That from `FAR_FIRST` to `FAR_LAST`, for the LLN.
        constant: The LLN's largest mean error from `WINDOW` on, and far out, over
            max(k^−½, α_k/k), by setting.
    """

    runs: int
    visits: Ints
    fitted_from: int
    errors: Mapping[str, Floats]
    near: Mapping[str, Slope]
    far: Mapping[str, Slope]
    constant: Mapping[str, float]


def predicted_slope(setting: str) -> float:
    """Return the predicted exponent: theorem 1's, theorem 2's, or ours at γ = 1.

    >>> [predicted_slope(setting) for setting in ("α = √k", "α = k^0.75", "γ = 0.6", "γ = 1")]
    [-0.5, -0.25, -0.3, -0.375]
    """
    if setting in LLNS:
        return max(-0.5, LLNS[setting][1])
    gamma = SAS[setting].gamma
    return -gamma / 2 if gamma < 1.0 else -min(0.5, 1.0 - MU)


def run(runs: int, seed: int) -> Section:
    """Measure the slopes of the mean error, and judge both theorems' rates."""
    found = measure(min(runs, MAX_RUNS), np.random.default_rng([seed, STREAM]))
    caption = (
        "Above, the mean error over visits; thin dashed lines have the predicted slope. Below, the "
        "slopes with 95 % bands next to the predictions. An error may fall faster than an O() "
        "says, so dots belong on their mark or to the left of it."
    )
    return Section(
        title="Theorems 1 and 2: how fast the error falls",
        text=_text(found),
        pictures=(drawn("slopes", caption, draw(found)),),
        tables=_tables(found),
        claims=claims(found),
    )


def measure(runs: int, rng: np.random.Generator) -> Slopes:
    """Run all settings on the same visits, and fit the slopes."""
    visits = checkpoints(FIRST, LAST, POINTS)
    counting: dict[str, Estimator[Any]] = {"Naive": Naive(), **SAS}
    estimates = follow(counting, np.full(runs, CHANGE_RATE), CRAWL_RATE, visits, rng)
    share = estimates.pop("Naive") / CRAWL_RATE
    errors = lln_errors(visits, np.rint(share * visits[:, None]).astype(np.int64))
    errors |= {name: np.abs(rows - CHANGE_RATE) for name, rows in estimates.items()}
    # Where there are too many visits to simulate, their number of changes can still be drawn.
    distant = checkpoints(FAR_FIRST, FAR_LAST, FAR_POINTS)
    far_errors = lln_errors(distant, rng.binomial(distant[:, None], MU, (distant.size, runs)))
    late = visits >= WINDOW
    return Slopes(
        runs,
        visits,
        WINDOW,
        {name: rows.mean(axis=1) for name, rows in errors.items()},
        {name: _slope(name, visits, rows, late, rng) for name, rows in errors.items()},
        {name: _slope(name, distant, rows, distant > 0, rng) for name, rows in far_errors.items()},
        {
            name: max(
                _constant(name, visits[late], errors[name][late]),
                _constant(name, distant, far_errors[name]),
            )
            for name in LLNS
        },
    )


def lln_errors(visits: Ints, changes: Ints) -> dict[str, Floats]:
    """Return the LLN's errors for every α; it depends on the sum of the bits alone.

    Args:
        visits: Numbers of visits.
        changes: How many found a change, a row per number of visits and a column per run.
    """
    k = np.repeat(visits, changes.shape[1])
    found = changes.ravel()
    earned = np.multiply(CRAWL_RATE, found, dtype=np.float64)
    state = Counts(k, found, k / CRAWL_RATE, found, earned)
    return {
        name: np.abs(estimator.rate(state) - CHANGE_RATE).reshape(changes.shape)
        for name, (estimator, _) in LLNS.items()
    }


def _slope(
    setting: str, visits: Ints, errors: Floats, within: Bools, rng: np.random.Generator
) -> Slope:
    """Fit the slope of the mean over runs, and of means over resampled runs."""
    runs = errors.shape[1]
    x = np.log(visits[within])
    x -= x.mean()
    resampled = rng.multinomial(runs, np.full(runs, 1.0 / runs), size=RESAMPLES)
    weights = np.vstack([np.ones(runs), resampled]) / runs
    means = np.maximum(weights @ errors[within].T, LEAST_ERROR)
    slopes = np.log(means) @ x / (x @ x)
    low, high = np.quantile(slopes[1:], [0.025, 0.975])
    return Slope(
        float(slopes[0]), float(low), float(high), predicted_slope(setting), tolerance(runs)
    )


def tolerance(runs: int) -> float:
    """Return how much flatter than predicted the steep end of a slope's band may be.

    >>> [round(tolerance(runs), 2) for runs in (400, 10, 1)]
    [0.02, 0.24, 0.72]
    """
    return TOLERANCE + (CHANCE * float(runs) ** -0.5 if runs < FEW_RUNS else 0.0)


def _constant(setting: str, visits: Ints, errors: Floats) -> float:
    """Return the largest mean error over theorem 1's bound, which leaves out a constant."""
    k = visits.astype(np.float64)
    alpha_share = k ** LLNS[setting][1] * (np.log1p(k) if "log" in setting else 1.0)
    return float((errors.mean(axis=1) / np.maximum(k**-0.5, alpha_share)).max())


#: E|x − Δ| is at most Δ/(1 − μ) times α_k/k, by the theorem's proof, plus the mean size of the
#: noise, √(2/π)·√(Δ(Δ + p)²/p)·k^−½.
LARGEST_CONSTANT = CHANGE_RATE / (1.0 - MU) + np.sqrt(2.0 / np.pi * CHANGE_RATE / CRAWL_RATE) * (
    CHANGE_RATE + CRAWL_RATE
)


def _words(slopes: Mapping[str, Slope]) -> str:
    return "; ".join(
        f"{name}: {slope.fitted:.3f} [{slope.low:.3f}, {slope.high:.3f}] for {slope.predicted:.3f}"
        for name, slope in slopes.items()
    )


def _text(found: Slopes) -> tuple[str, ...]:
    near, far = found.near, found.far
    slow, steep, left_out = near["α = k^0.9"], near["γ = 0.9"], near["γ = 1"]
    return (
        (
            f"A page that changes {CHANGE_RATE:g} times per day is visited {CRAWL_RATE:g} times "
            f"per day at random, in {found.runs} runs of {LAST:,} visits each. All settings see "
            f"the same bits. A slope is fitted to the logarithm of the mean error {NEAR}; its band "
            "holds 95 % of the slopes of resampled runs."
        ),
        (
            f"The LLN's slope is {near['α = 1'].fitted:.3f} with α = 1, "
            f"{near['α = log(k+1)'].fitted:.3f} with log(k+1) and {near['α = √k'].fitted:.3f} with "
            "√k, where −½ is predicted. With k^0.75 and k^0.9 the error is nearly all bias, "
            "Δ·a/(a + p/(p+Δ)) with a = α_k/k. It reaches its slope only when a is small compared "
            f"with p/(p+Δ) = {1 - MU:g}, and with k^0.9 that takes very long: the slope is "
            f"{slow.fitted:.3f} here, where {slow.predicted:g} is predicted. So the LLN was also "
            f"evaluated {FAR}, with the number of changes drawn at once: there it is "
            f"{far['α = k^0.9'].fitted:.3f}, and {far['α = k^0.75'].fitted:.3f} with k^0.75."
        ),
        (
            f"SA's slopes are {near['γ = 0.5'].fitted:.3f}, {near['γ = 0.6'].fitted:.3f} and "
            f"{near['γ = 0.75'].fitted:.3f} with γ = 0.5, 0.6 and 0.75; −γ/2 is predicted. With "
            f"γ = 0.9 it is {steep.fitted:.3f}, for {steep.predicted:g}: the limit is reached only "
            "when k^(γ−1) is small, and until then the error may fall faster. With γ = 1, which "
            f"the theorem leaves out, it is {left_out.fitted:.3f}, and −min(½, p/(p+Δ)) = "
            f"{left_out.predicted:g} is expected: steps that fall faster are not always better."
        ),
    )


def _tables(found: Slopes) -> tuple[Table, ...]:
    rows = [(name, WINDOW, LAST, slope) for name, slope in found.near.items()]
    rows += [(name, FAR_FIRST, FAR_LAST, slope) for name, slope in found.far.items()]
    return (
        Table(
            "slopes",
            {
                "setting": np.array([name for name, *_ in rows]),
                "first_visits": np.array([first for _, first, _, _ in rows]),
                "last_visits": np.array([last for _, _, last, _ in rows]),
                "slope": np.array([slope.fitted for *_, slope in rows]),
                "low": np.array([slope.low for *_, slope in rows]),
                "high": np.array([slope.high for *_, slope in rows]),
                "predicted": np.array([slope.predicted for *_, slope in rows]),
            },
        ),
        Table(
            "slopes-errors",
            {
                "setting": np.repeat(list(found.errors), found.visits.size),
                "visits": np.tile(found.visits, len(found.errors)),
                "mean_error": np.concatenate(list(found.errors.values())),
            },
        ),
    )


def claims(found: Slopes) -> tuple[Claim, ...]:
    """Judge both theorems' rates."""
    covered = {name: slope for name, slope in found.near.items() if name in SAS and name != "γ = 1"}
    late = [name for name in LLNS if not found.near[name].agrees]
    allowed = f"up to {tolerance(found.runs):.2g} flatter counts as agreement"
    bounded = max(found.constant.values())
    # The mean size of this many normal errors is off by .756/√runs of itself; four times that.
    limit = LARGEST_CONSTANT * (1.0 + 4.0 * 0.756 / np.sqrt(found.runs))
    return (
        judged(
            "3.1",
            "The LLN's mean error is O(max(k^−½, α_k/k)).",
            f"Slopes with 95 % bands {FAR}: {_words(found.far)}; {allowed}. From {WINDOW:,} visits "
            f"on the mean error is at most {bounded:.1f} times max(k^−½, α_k/k). It should stay "
            f"below {limit:.1f}: the proof's constant for the bias, the size of normal noise, and "
            "what chance adds.",
            holds=all(slope.agrees for slope in found.far.values()) and bounded < limit,
            remark=_late_remark(found, late),
        ),
        judged(
            "3.2",
            "SA's mean error is O(k^(−γ/2)) for steps (k+1)^−γ with 0 < γ < 1.",
            f"Slopes with 95 % bands {NEAR}: {_words(covered)}; {allowed}.",
            holds=all(slope.agrees for slope in covered.values()),
            remark="Where Section 2 lists the results it writes the step as (k+1)^γ; (k+1)^−γ is "
            "meant, as in the theorem.",
        ),
    )


def _late_remark(found: Slopes, late: list[str]) -> str:
    if not late:
        return ""
    slopes = _words({name: found.near[name] for name in late})
    return f"Slopes {NEAR} are still flatter than that: {slopes}."


def draw(found: Slopes) -> "Figure":
    """Draw errors with guides above, and slopes with bands below."""
    from matplotlib.figure import Figure

    settings = list(found.errors)
    lln, sa = settings[: len(found.far)], settings[len(found.far) :]
    with style.styled():
        figure = Figure(figsize=(11.5, 9.0), layout="constrained")
        grid = figure.add_gridspec(2, 2, height_ratios=(1.25, 1.0), wspace=0.04, hspace=0.06)
        for cell, title, names in ((grid[0, 0], "LLN, by α", lln), (grid[0, 1], "SA, by γ", sa)):
            axes = panel(figure, cell, title, "visits", "mean error, changes per day")
            _errors(axes, found, names)
        for cell, names in ((grid[1, 0], lln), (grid[1, 1], sa)):
            axes = panel(figure, cell, "", "slope of the mean error", "")
            _slopes(axes, found, names)
    return figure


def _looks(names: Sequence[str]) -> dict[str, Look]:
    return dict(zip(names, SERIES, strict=False))


def _errors(axes: "Axes", found: Slopes, names: Sequence[str]) -> None:
    looks = _looks(names)
    late = found.visits >= found.fitted_from
    for name in names:
        errors = found.errors[name]
        dashes = (0, (2, 2)) if name == COINCIDING else "-"
        axes.plot(found.visits, errors, color=looks[name].colour, linestyle=dashes, linewidth=2.4)
        guide = found.visits ** found.near[name].predicted
        height = np.exp(np.mean(np.log(np.maximum(errors, ERRORS[0] / 9) / guide)[late]))
        dashed: Any = {"color": style.INK, "linewidth": 0.9, "linestyle": (0, (6, 4))}
        axes.plot(found.visits[late], (height * guide)[late], **dashed)
    over_visits(axes, float(found.visits[0]), float(found.visits[-1]))
    log_heights(axes, *ERRORS, (0.01, 0.03, 0.1, 0.3, 1.0, 3.0))
    name_ends(axes, {name: max(float(found.errors[name][-1]), ERRORS[0]) for name in names}, looks)


def _slopes(axes: "Axes", found: Slopes, names: Sequence[str]) -> None:
    looks = _looks(names)
    for row, name in enumerate(names):
        near = found.near[name]
        axes.plot([near.predicted] * 2, [row - 0.36, row + 0.36], color=style.INK, linewidth=2)
        both = name in found.far
        _dot(axes, near, row - 0.16 * both, looks[name].colour, looks[name].colour)
        if both:
            _dot(axes, found.far[name], row + 0.16, looks[name].colour, "white")
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlim(-0.6, 0.02)
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color=style.FAINT, linewidth=0.8)
    far = " · circle: measured at 10¹² to 10¹⁴ visits" if names[0] in found.far else ""
    axes.set_title(f"mark: predicted · dot: measured at 10³ to 10⁵{far}", loc="left", fontsize=9)


def _dot(axes: "Axes", slope: Slope, row: float, colour: str, face: str) -> None:
    axes.plot([slope.low, slope.high], [row, row], color=colour, linewidth=2)
    axes.plot([slope.fitted], [row], "o", color=colour, markerfacecolor=face, markersize=6)
