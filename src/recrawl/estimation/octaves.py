"""The octave belief: weights on change rates an octave apart, updated exactly by every visit.

The change rate is one of r_k = r_0·2^k, k = 0 … 13, and the belief is a weight p_k for each of
them. A visit multiplies each weight by the chance of what it found at that rate. A Gamma cannot
express "either hardly ever or every day"; weights can. With e_k = 1 − e^(−r_k t), the chance of a
change within t days, e_(k+1) = e_k·(2 − e_k): the belief takes one exponential, whatever it is
asked.

What a page's own visits say, the likelihood, is kept apart from the weights, which also contain a
prior: so the prior can follow what is learned from other pages. Weights are whole numbers, in units
of 1/65535, so that sums of them over many pages are exact.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recrawl.errors import ArgumentError
from recrawl.estimation.belief import Prior
from recrawl.kernels.jit import Floats, Floats2D, compiled, small_step, step

Weights = NDArray[np.uint16]
Likelihoods = NDArray[np.float32]

#: The number of change rates.
OCTAVES = 14
#: Octaves below one change in the mean time between visits; the others are above it.
BELOW = 9
#: Days; for pages visited more often than this the rates are not higher.
MIN_GAP = 1.0 / 24.0
#: Weights add up to this.
ONE = 65_535
#: Up to this r·t the value of a visit is computed as a series.
SHORT = 1e-3
#: A likelihood is forgotten rather than kept if it contradicts the prior by more than this.
LEAST = 1e-30
#: The search for the time after which a visit is worth something ends this close, relatively.
CLOSE = 1e-4
MAX_STEPS = 60
#: No page changes more often than this per day; and e to this is large, but a number.
HIGHEST = 1e12
MAX_EXPONENT = 300.0
#: e^(−37) is negligible beside 1.
NEGLIGIBLE = 37.0
#: A step of this search is at most this factor while there is no upper bound.
MAX_FACTOR = 16.0


@dataclass(frozen=True, eq=False)
class Octaves:
    """What the visits to pages say about their change rates, one row per page.

    Attributes:
        first: The lowest rate is 2^first changes per day.
        likelihood: How likely the visits are at each of the rates, relative to one another.
    """

    first: int
    likelihood: NDArray[np.float32]

    def __post_init__(self) -> None:
        table = np.ascontiguousarray(self.likelihood, np.float32)
        if table.ndim != 2 or table.shape[1] != OCTAVES:  # noqa: PLR2004 - rows and columns
            raise ArgumentError(f"likelihood: expected {OCTAVES} numbers per page")
        if not (np.isfinite(table) & (table >= 0.0)).all() or not (table.max(1) > 0.0).all():
            raise ArgumentError("likelihood: expected numbers from 0, one of them above 0")
        object.__setattr__(self, "likelihood", table)

    @classmethod
    def of_gamma(cls, first: int, belief: Prior, prior: Prior, pages: int) -> "Octaves":
        """Return what visits have added to a prior, given as Gamma beliefs."""
        shape, time = belief.columns(pages)
        prior_shape, prior_time = prior.columns(pages)
        found = np.maximum(shape - prior_shape, 0.0)
        quiet = np.maximum(time - prior_time, 0.0)
        return cls(first, _relative(_log_gamma(first, found, quiet)).astype(np.float32))

    def shifted(self, first: int) -> "Octaves":
        """Return the same on another grid; likelihoods beyond this one continue its ends."""
        table = self.likelihood.astype(np.float64)
        shift_rows(table, first - self.first)
        return Octaves(first, table.astype(np.float32))


def lowest_octave(gap: float) -> int:
    """Return the lowest octave of the rates for pages visited every ``gap`` days on average.

    A large budget is no reason to believe that pages change all the time: from an hour down the
    rates stay the same.

    >>> lowest_octave(1.0), lowest_octave(30.0), lowest_octave(1e-6)
    (-9, -14, -4)
    """
    return round(-math.log2(max(gap, MIN_GAP))) - BELOW


def gamma_of(first: int, weight: Weights) -> tuple[Floats, Floats]:
    """Return shape and time of the Gammas with the same mean and variance, one per row.

    The variance includes that of a rate within its octave, which a single weight would hide.
    """
    rate = 2.0 ** (first + np.arange(OCTAVES))
    share = weight / weight.sum(1, keepdims=True, dtype=np.float64)
    mean = share @ rate
    # The relative variance of a rate anywhere in an octave, on a logarithmic scale.
    within = 1.5 * math.log(2.0) - 1.0
    variance = share @ (rate * rate * (1.0 + within)) - mean * mean
    return mean * mean / variance, mean / variance


def _log_gamma(first: int, shape: Floats, time: Floats) -> Floats:
    """Return a·ln r − b·r for each page and rate."""
    rate = 2.0 ** (first + np.arange(OCTAVES))
    logs: Floats = np.outer(shape, np.log(rate)) - np.outer(time, rate)
    return logs


def _relative(logs: Floats) -> Floats:
    relative: Floats = np.exp(logs - logs.max(1, keepdims=True))
    return relative


@compiled
def shift_rows(table: Floats2D, octaves: int) -> None:
    """Shift likelihoods by octaves, in place; new ones continue those at the end.

    Towards low rates the logarithm of a likelihood is linear in the octave: constant if nothing was
    ever found, and halved by each octave for a change. Towards high rates its steps double: the
    chance of a long time without a change is squared by each octave.
    """
    for row in range(table.shape[0]):
        line = table[row]
        for _ in range(min(max(octaves, 0), OCTAVES)):
            ratio = line[OCTAVES - 1] / max(line[OCTAVES - 2], LEAST)
            for k in range(OCTAVES - 1):
                line[k] = line[k + 1]
            line[OCTAVES - 1] *= min(ratio * ratio, 1.0)
        for _ in range(min(max(-octaves, 0), OCTAVES)):
            ratio = line[0] / max(line[1], LEAST)
            for k in range(OCTAVES - 1, 0, -1):
                line[k] = line[k - 1]
            line[0] *= min(ratio, 1.0)
        top = line.max()
        for k in range(OCTAVES):
            line[k] = max(line[k] / top, LEAST) if top > 0.0 else 1.0


@small_step
def chance_and_value(weight: Weights, rate: float, elapsed: float) -> tuple[float, float]:
    """Return the chance of a change within ``elapsed`` days, and the value of a visit then.

    Args:
        weight: The weights of the rates.
        rate: The lowest rate.
        elapsed: Days since the last visit.
    """
    x, days = rate * elapsed, 1.0 / rate
    change = -math.expm1(-x)
    chance = value = 0.0
    for k in range(OCTAVES):
        share = float(weight[k])
        gain = x * x * (0.5 - x / 3.0) if x < SHORT else change - x * (1.0 - change)
        chance += share * change
        value += share * gain * days
        change *= 2.0 - change
        x *= 2.0
        days *= 0.5
    return chance / ONE, value / ONE


@small_step
def chance_of_change(weight: Weights, rate: float, elapsed: float) -> float:
    """Return the chance of a change within ``elapsed`` days."""
    change = -math.expm1(-rate * elapsed)
    chance = 0.0
    for k in range(OCTAVES):
        chance += weight[k] * change
        change *= 2.0 - change
    return chance / ONE


@small_step
def hazard(weight: Weights, rate: float, elapsed: float) -> float:
    """Return −ln of the chance of no change within ``elapsed`` days, which is above 0."""
    return -math.log1p(-min(chance_of_change(weight, rate, elapsed), 1.0 - 1e-15))


@step
def elapsed_worth(weight: Weights, rate: float, value: float) -> float:
    """Return the days after which a visit is worth ``value`` days; infinity for never.

    Newton's method on the logarithms of value and time, kept between bounds. It starts from the
    time after which a visit would be worth so much if nothing had changed twice, a lower bound.
    """
    if not value > 0.0:
        return 0.0
    if value >= (1.0 - CLOSE) * greatest_value(weight, rate):
        return math.inf
    mean, here = 0.0, rate
    for k in range(OCTAVES):
        mean += weight[k] * here
        here *= 2.0
    low, high = math.sqrt(2.0 * value * ONE / mean), math.inf
    elapsed = low
    for _ in range(MAX_STEPS):
        worth, slope = _value_and_slope(weight, rate, elapsed)
        if abs(worth - value) <= CLOSE * value:
            break
        if worth < value:
            low = elapsed
        else:
            high = elapsed
        further = elapsed * math.exp(math.log(value / worth) * worth / slope) if slope > 0.0 else 0
        if not low < further < min(high, MAX_FACTOR * elapsed):
            further = MAX_FACTOR * elapsed if high == math.inf else math.sqrt(low * high)
        elapsed = further
    return elapsed


@small_step
def greatest_value(weight: Weights, rate: float) -> float:
    """Return what a visit is worth after a very long time: the mean of 1/r."""
    total, days = 0.0, 1.0 / rate
    for k in range(OCTAVES):
        total += weight[k] * days
        days *= 0.5
    return total / ONE


@small_step
def _value_and_slope(weight: Weights, rate: float, elapsed: float) -> tuple[float, float]:
    """Return the value of a visit, and its derivative by the logarithm of the time."""
    x, days = rate * elapsed, 1.0 / rate
    change = -math.expm1(-x)
    value = slope = 0.0
    for k in range(OCTAVES):
        share = weight[k] * days
        same = 1.0 - change
        value += share * (x * x * (0.5 - x / 3.0) if x < SHORT else change - x * same)
        slope += share * x * x * same
        change *= 2.0 - change
        x *= 2.0
        days *= 0.5
    return value / ONE, slope / ONE


@small_step
def value_at_rate(rate: float, elapsed: float) -> float:
    """Return the value of a visit at one change rate; after an infinite time, 1/r."""
    x = rate * elapsed
    if x < SHORT:
        return x * x * (0.5 - x / 3.0) / rate
    return 1.0 / rate if x > NEGLIGIBLE else (-math.expm1(-x) - x * math.exp(-x)) / rate


@step
def with_evidence(weight: Weights, rate: float, elapsed: float, keep: float) -> float:
    """Return the time after which a page would be as likely fresh as it is by the evidence.

    Args:
        weight: The weights of the rates.
        rate: The lowest rate.
        elapsed: Days since the last visit.
        keep: The share of the chance of no change that evidence has left.
    """
    changed = 1.0 - keep * (1.0 - chance_of_change(weight, rate, elapsed))
    return _elapsed_to_change(weight, rate, changed, elapsed, math.inf)


@step
def without_evidence(weight: Weights, rate: float, elapsed: float, keep: float) -> float:
    """Return the time after which the evidence makes a page look ``elapsed`` days old."""
    changed = 1.0 - (1.0 - chance_of_change(weight, rate, elapsed)) / keep
    return _elapsed_to_change(weight, rate, changed, 0.0, elapsed) if changed > 0.0 else 0.0


@step
def _elapsed_to_change(
    weight: Weights, rate: float, changed: float, low: float, high: float
) -> float:
    """Return the days after which a page has changed with a given chance, by bisection."""
    least = 1.0 / (rate * 2.0**OCTAVES)
    for _ in range(MAX_STEPS):
        middle = math.sqrt(max(low, 1e-9 * min(high, least)) * high)
        if high == math.inf:
            middle = max(MAX_FACTOR * low, least)
        if middle > NEGLIGIBLE / rate:
            return middle
        if chance_of_change(weight, rate, middle) < changed:
            low = middle
        else:
            high = middle
        if high <= (1.0 + CLOSE) * low:
            break
    return low


@step
def multiply_likelihood(
    likelihood: Likelihoods,
    rate: float,
    elapsed: float,
    changed: bool,  # noqa: FBT001
    keep: float,
) -> None:
    """Multiply likelihoods by the chance of what a visit found.

    Args:
        likelihood: One per rate.
        rate: The lowest rate.
        elapsed: Days since the last visit.
        changed: Whether the page had changed.
        keep: The share of the chance of no change that other evidence had left.
    """
    change = -math.expm1(-rate * elapsed)
    for k in range(OCTAVES):
        chance = 1.0 - keep * (1.0 - change) if changed and keep < 1.0 else change
        likelihood[k] *= np.float32(chance if changed else 1.0 - change)
        change *= 2.0 - change


@step
def multiply_by_date(likelihood: Likelihoods, rate: float, quiet: float, dated: bool) -> None:  # noqa: FBT001
    """Multiply likelihoods by the chance of ``quiet`` days without a change, after one if dated."""
    same = math.exp(-rate * quiet)
    # Relative to the highest rate: only ratios matter.
    density = 2.0 ** (1 - OCTAVES) if dated else 1.0
    for k in range(OCTAVES):
        likelihood[k] *= np.float32(density * same)
        same *= same
        density *= 2.0 if dated else 1.0


@step
def combine(likelihood: Likelihoods, prior: Floats, kept: float, weight: Weights) -> None:
    """Forget some of what visits said, and set the weights that prior and likelihood lead to.

    Args:
        likelihood: One per rate; normalised and moved towards 1.
        prior: Weights that add up to 1.
        kept: The share that is not forgotten.
        weight: Written.
    """
    total = 0.0
    for k in range(OCTAVES):
        total += prior[k] * likelihood[k]
    if not total > LEAST:
        for k in range(OCTAVES):
            likelihood[k] = np.float32(1.0)
        total = 1.0
    rest, best = ONE, 0
    for k in range(OCTAVES):
        share = kept * likelihood[k] / total + (1.0 - kept)
        likelihood[k] = np.float32(share)
        weight[k] = np.uint16(prior[k] * share * ONE + 0.5)
        rest -= int(weight[k])
        if weight[k] > weight[best]:
            best = k
    weight[best] = np.uint16(int(weight[best]) + rest)


@step
def gamma_weights(shape: float, time: float, rate: float, weights: Floats) -> None:
    """Write the weights of a Gamma belief at the rates, which add up to 1.

    The lowest and the highest rate stand for all octaves beyond them too. Below, the weights are a
    geometric series: a small shape says that most pages hardly ever change.
    """
    top = -math.inf
    for k in range(OCTAVES):
        here = rate * 2.0**k
        weights[k] = shape * math.log(here) - time * here
        top = max(top, weights[k])
    total = 0.0
    for k in range(OCTAVES):
        weights[k] = math.exp(weights[k] - top)
        total += weights[k]
    more = weights[0] / math.expm1(shape * math.log(2.0))
    weights[0] += more
    total += more
    here = rate * 2.0**OCTAVES
    while time * here < NEGLIGIBLE and here < HIGHEST:
        more = math.exp(min(shape * math.log(here) - time * here - top, MAX_EXPONENT))
        weights[OCTAVES - 1] += more
        total += more
        here *= 2.0
    for k in range(OCTAVES):
        weights[k] /= total
