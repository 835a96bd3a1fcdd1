"""Theorems 1 and 2, their second halves: how fast the mean error falls, as a power of k."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from recrawl.estimation import LLN, SA, Estimator, Naive
from recrawl.estimation.counts import Counts
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.paper import slopes_figure
from recrawl.paper.lives import checkpoints, follow
from recrawl.paper.section import Claim, Section, Table, drawn, judged

RNG_NUMBER = 4
CHANGE_RATE, CRAWL_RATE = 5.0, 3.0
#: The probability that a visit finds a change.
MU = CHANGE_RATE / (CHANGE_RATE + CRAWL_RATE)
MAX_RUNS = 400
FIRST, LAST, POINTS = 10, 100_000, 41
#: Slopes are fitted from here on.
WINDOW = 1_000
#: The LLN is also looked at so far out; beyond, floats draw a binomial count too coarsely.
FAR_FIRST, FAR_LAST, FAR_POINTS = 10**12, 10**14, 11
NEAR = f"from {WINDOW:,} to {LAST:,} visits"
FAR = "from 10¹² to 10¹⁴ visits"
RESAMPLES = 1_000
#: How much flatter than predicted the steep end of a slope's band may be, with enough runs.
TOLERANCE = 0.02
#: Below so many runs resampling makes bands too narrow to judge by, and chance is allowed for:
#: three deviations of a slope, each point of which is the logarithm of one normal error's size.
FEW_RUNS, CHANCE = 30, 0.7
#: An error of 0 has no logarithm; with very few runs it happens.
LEAST_ERROR = 1e-12

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
    """How a mean error falls.

    Attributes:
        fitted: By least squares on logarithms.
        low: Where the 95 % band of slopes of resampled runs begins.
        high: Where it ends.
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
class Measured:
    """What was measured.

    Attributes:
        runs: How many lives.
        visits: Where estimates were taken.
        fitted_from: The number of visits from which slopes are fitted.
        errors: The mean error at each, by setting.
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
    """Give the exponent that theory predicts: theorem 1's, theorem 2's, and at γ = 1 ours.

    >>> [predicted_slope(setting) for setting in ("α = √k", "α = k^0.75", "γ = 0.6", "γ = 1")]
    [-0.5, -0.25, -0.3, -0.375]
    """
    if setting in LLNS:
        return max(-0.5, LLNS[setting][1])
    gamma = SAS[setting].gamma
    return -gamma / 2 if gamma < 1.0 else -min(0.5, 1.0 - MU)


def run(runs: int, seed: int) -> Section:
    """Measure the slopes of the mean error, and judge both theorems' rates."""
    found = measure(min(runs, MAX_RUNS), np.random.default_rng([seed, RNG_NUMBER]))
    figure = slopes_figure.draw(found)
    caption = (
        "Above, the mean error over visits; thin dashed lines have the predicted slope. Below, the "
        "slopes with 95 % bands beside the predictions. An error may fall faster than an O() says, "
        "so dots belong on their mark or to the left of it."
    )
    return Section(
        title="Theorems 1 and 2: how fast the error falls",
        text=_text(found),
        pictures=(drawn("slopes", caption, figure),),
        tables=_tables(found),
        claims=claims(found),
    )


def measure(runs: int, rng: np.random.Generator) -> Measured:
    """Follow all settings through the same lives, and fit the slopes."""
    visits = checkpoints(FIRST, LAST, POINTS)
    counting: dict[str, Estimator[Any]] = {"Naive": Naive(), **SAS}
    estimates = follow(counting, np.full(runs, CHANGE_RATE), CRAWL_RATE, visits, rng)
    share = estimates.pop("Naive") / CRAWL_RATE
    errors = lln_errors(visits, np.rint(share * visits[:, None]).astype(np.int64))
    errors |= {name: np.abs(rows - CHANGE_RATE) for name, rows in estimates.items()}
    # Farther out than visits can be followed, their number of changes can still be drawn.
    distant = checkpoints(FAR_FIRST, FAR_LAST, FAR_POINTS)
    far_errors = lln_errors(distant, rng.binomial(distant[:, None], MU, (distant.size, runs)))
    late = visits >= WINDOW
    return Measured(
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
    """Give the LLN's errors for every α; the bits matter to it by their sum alone.

    Args:
        visits: Numbers of visits.
        changes: How many found a change, a row for each number of visits, a column for each life.
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
    """Fit the slope of the mean over runs, and of means over runs drawn again."""
    runs = errors.shape[1]
    x = np.log(visits[within])
    x -= x.mean()
    again = rng.multinomial(runs, np.full(runs, 1.0 / runs), size=RESAMPLES)
    weights = np.vstack([np.ones(runs), again]) / runs
    means = np.maximum(weights @ errors[within].T, LEAST_ERROR)
    slopes = np.log(means) @ x / (x @ x)
    low, high = np.quantile(slopes[1:], [0.025, 0.975])
    return Slope(
        float(slopes[0]), float(low), float(high), predicted_slope(setting), tolerance(runs)
    )


def tolerance(runs: int) -> float:
    """Give how much flatter than predicted the steep end of a slope's band may be.

    >>> [round(tolerance(runs), 2) for runs in (400, 10, 1)]
    [0.02, 0.24, 0.72]
    """
    return TOLERANCE + (CHANCE * float(runs) ** -0.5 if runs < FEW_RUNS else 0.0)


def _constant(setting: str, visits: Ints, errors: Floats) -> float:
    """Give the largest mean error over what theorem 1 bounds it by, but for a constant."""
    k = visits.astype(np.float64)
    alpha_share = k ** LLNS[setting][1] * (np.log1p(k) if "log" in setting else 1.0)
    return float((errors.mean(axis=1) / np.maximum(k**-0.5, alpha_share)).max())


#: E|x − Δ| is at most Δ/(1 − μ) times α_k/k, by the theorem's proof, and the noise's mean size:
#: √(2/π)·√(Δ(Δ + p)²/p)·k^−½.
LARGEST_CONSTANT = CHANGE_RATE / (1.0 - MU) + np.sqrt(2.0 / np.pi * CHANGE_RATE / CRAWL_RATE) * (
    CHANGE_RATE + CRAWL_RATE
)


def _told(slopes: Mapping[str, Slope]) -> str:
    return "; ".join(
        f"{name}: {slope.fitted:.3f} [{slope.low:.3f}, {slope.high:.3f}] for {slope.predicted:.3f}"
        for name, slope in slopes.items()
    )


def _text(found: Measured) -> tuple[str, ...]:
    near, far = found.near, found.far
    slow, steep, left_out = near["α = k^0.9"], near["γ = 0.9"], near["γ = 1"]
    return (
        (
            f"A page that changes {CHANGE_RATE:g} times a day is visited {CRAWL_RATE:g} times a "
            f"day at random. Lives: {found.runs}, of {LAST:,} visits each. All settings see the "
            f"same bits. A slope is fitted to the logarithm of the mean error {NEAR}; its band "
            "holds 95 % of the slopes that lives drawn again give."
        ),
        (
            f"The LLN's slope is {near['α = 1'].fitted:.3f} with α = 1, "
            f"{near['α = log(k+1)'].fitted:.3f} with log(k+1) and {near['α = √k'].fitted:.3f} with "
            "√k, where −½ is predicted. With k^0.75 and k^0.9 the error is nearly all bias, "
            "Δ·a/(a + p/(p+Δ)) with a = α_k/k. It takes on its slope only when a is small against "
            f"p/(p+Δ) = {1 - MU:g}, and with k^0.9 that takes very long: the slope is "
            f"{slow.fitted:.3f} here, where {slow.predicted:g} is predicted. So the LLN was also "
            f"asked {FAR}, the number of changes found drawn at once: there it is "
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


def _tables(found: Measured) -> tuple[Table, ...]:
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


def claims(found: Measured) -> tuple[Claim, ...]:
    """Judge both theorems' rates."""
    covered = {name: slope for name, slope in found.near.items() if name in SAS and name != "γ = 1"}
    late = [name for name in LLNS if not found.near[name].agrees]
    allowed = f"up to {tolerance(found.runs):.2g} flatter counts as agreement"
    bounded = max(found.constant.values())
    # A mean of so many sizes of normal errors is off by .756/√runs of itself; four times that.
    limit = LARGEST_CONSTANT * (1.0 + 4.0 * 0.756 / np.sqrt(found.runs))
    return (
        judged(
            "3.1",
            "The LLN's mean error is O(max(k^−½, α_k/k)).",
            f"Slopes with 95 % bands {FAR}: {_told(found.far)}; {allowed}. From {WINDOW:,} visits "
            f"on the mean error is at most {bounded:.1f} times max(k^−½, α_k/k). It should stay "
            f"below {limit:.1f}: the proof's constant for the bias, the size of normal noise, and "
            "what chance adds.",
            holds=all(slope.agrees for slope in found.far.values()) and bounded < limit,
            remark=_late_remark(found, late),
        ),
        judged(
            "3.2",
            "SA's mean error is O(k^(−γ/2)) for steps (k+1)^−γ with 0 < γ < 1.",
            f"Slopes with 95 % bands {NEAR}: {_told(covered)}; {allowed}.",
            holds=all(slope.agrees for slope in covered.values()),
            remark="Where Section 2 lists the results it writes the step as (k+1)^γ; (k+1)^−γ is "
            "meant, as in the theorem.",
        ),
    )


def _late_remark(found: Measured, late: list[str]) -> str:
    if not late:
        return ""
    told = _told({name: found.near[name] for name in late})
    return f"Slopes {NEAR} are still flatter than that: {told}."
