"""The octave belief: weights on change rates an octave apart, updated exactly by every visit.

The change rate is one of r_k = r_0·2^k, k = 0 … 15, and the belief is a weight p_k for each of
them. A visit multiplies each weight by the chance of its result at that rate. A Gamma cannot
express "either hardly ever or every day"; weights can. Every query of a belief is a sum of weights
times a function of r_k·t, and as rates are an octave apart, such functions are read from a table in
which all terms of a sum are adjacent: no exponential is computed.

The likelihood of a page's own visits is kept apart from the weights, which also contain a prior, so
that the prior can follow what is learned from other pages. Weights are integers, in units of
1/65535, so that sums over many pages are exact.
"""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from recrawl.errors import ArgumentError
from recrawl.estimation.belief import Prior
from recrawl.kernels.jit import Floats, Floats2D, bare_step, compiled, small_bare_step, summing_step
from recrawl.kernels.simd_math import EXPONENT_BIAS, MANTISSA, bits_float, float_bits

Weights = NDArray[np.uint16]
Likelihoods = NDArray[np.float32]
Curves = Annotated[NDArray[np.float32], 3]

#: The number of change rates; two SIMD registers full.
OCTAVES = 16
#: Octaves below one change in the mean time between visits; the others are above it.
BELOW = 9
#: Days; visiting pages more often than this is no sign that they change more often.
MIN_GAP = 1.0 / 24.0
#: Weights add up to this.
ONE = 65_535
#: Curves cover x = r·t from 2 to this, in octaves with so many steps...
FIRST_COLUMN, LAST_COLUMN, STEPS = -30, 37, 64
COLUMNS = LAST_COLUMN + OCTAVES
#: ...for the lowest rate between these x. Below, changes are proportional to time; above, certain.
LOWEST, LONGEST = 2.0**FIRST_COLUMN, 2.0 ** (FIRST_COLUMN + LAST_COLUMN) * (1.0 - 1e-9)
#: Up to this x the value of a visit is computed as a series.
SHORT = 1e-2
#: Chances of a change are at most this, and those of none at least this: floats have few digits.
MOST, LEAST_CHANCE = 1.0 - 1e-7, np.float32(1e-7)
#: A likelihood is forgotten rather than kept if it contradicts the prior by more than this.
LEAST = 1e-30
#: A visit that must be worth this close to the most it can ever be is never made.
CLOSE = 1e-4
#: No page changes more often than this per day; and e to this is large, but a number.
HIGHEST = 1e12
MAX_EXPONENT, MAX_SHARE = 60.0, 1e26
#: e^(−37) is negligible beside 1.
NEGLIGIBLE = 37.0
#: The bits of a float's mantissa, and of 1.
MANTISSA_BITS, ONE_BITS = np.int64(0xFFFFFFFFFFFFF), np.int64(0x3FF0000000000000)


@dataclass(frozen=True, eq=False)
class Octaves:
    """The evidence of visits about the change rates of pages, one row per page.

    Attributes:
        first: The lowest rate is 2^first changes per day.
        likelihood: The relative likelihood of the visits at each of the rates.
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
        """Return the evidence that turned one Gamma belief, the prior, into another."""
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

    A large budget is no reason to believe that pages change all the time: for gaps below an hour
    the rates stay the same, until visits find that pages do.

    >>> lowest_octave(1.0), lowest_octave(30.0), lowest_octave(1e-6)
    (-9, -14, -4)
    """
    return highest_start(max(gap, MIN_GAP))


def highest_start(gap: float) -> int:
    """Return the same for pages that are known to change as often as they are visited.

    >>> highest_start(1.0), highest_start(1e-6)
    (-9, 11)
    """
    return min(round(-math.log2(gap)) - BELOW, math.floor(math.log2(HIGHEST)) - OCTAVES)


def start_near(first: int, gap: float) -> int:
    """Return the allowed lowest octave for a mean time between visits that is nearest to ``first``.

    >>> start_near(7, 1.0), start_near(7, 1e-6), start_near(-7, 1e-6)
    (-9, 7, -4)
    """
    return min(max(first, lowest_octave(gap)), highest_start(gap))


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


def make_curves() -> Curves:
    """Return the chance of a change, and the value of a visit, over the logarithm of x = r·t.

    ``curves[0, i, j]`` is 1 − e^(−x) and ``curves[1, i, j]`` is [1 − e^(−x)·(1 + x)] / 2^o, at x =
    (1 + i/STEPS)·2^o with o = FIRST_COLUMN + j. As rates are an octave apart, the values for all of
    them at one time are adjacent in a row; between two rows, both curves are linear in time.
    """
    octave = 2.0 ** (FIRST_COLUMN + np.arange(COLUMNS))
    x = np.outer(1.0 + np.arange(STEPS + 1) / STEPS, octave)
    chance = -np.expm1(-x)
    gain = np.where(x < SHORT, x * x * (0.5 - x / 3.0 + x * x / 8.0), chance - x * np.exp(-x))
    return np.stack([chance, gain / octave]).astype(np.float32)


@small_bare_step
def _two_to(exponent: int) -> float:
    """Return 2^exponent."""
    return bits_float((exponent + EXPONENT_BIAS) << MANTISSA)


@small_bare_step
def _cell(x: float) -> tuple[int, int, float]:
    """Return row and column of the curves at x, and how far it is to the next row."""
    bits = float_bits(x)
    along = STEPS * (bits_float((bits & MANTISSA_BITS) | ONE_BITS) - 1.0)
    row = int(along)
    return row, int((bits >> MANTISSA) - EXPONENT_BIAS) - FIRST_COLUMN, along - row


@summing_step
def _mean(curves: Curves, what: int, row: int, column: int, weight: Weights) -> float:
    """Return the sum of weights times a curve, at one row."""
    line = curves[what, row, column : column + OCTAVES]
    total = np.float32(0.0)
    for k in range(OCTAVES):
        total += np.float32(weight[k]) * line[k]
    return float(total)


@small_bare_step
def chance_and_value(
    curves: Curves, weight: Weights, rate: float, elapsed: float
) -> tuple[float, float]:
    """Return the chance of a change within ``elapsed`` days, and the value of a visit then.

    Args:
        curves: See `make_curves`.
        weight: The weights of the rates.
        rate: The lowest rate, a power of 2.
        elapsed: Days since the last visit.
    """
    x = min(max(rate * elapsed, LOWEST), LONGEST)
    row, column, part = _cell(x)
    chance = _mean(curves, 0, row, column, weight)
    chance += part * (_mean(curves, 0, row + 1, column, weight) - chance)
    value = _mean(curves, 1, row, column, weight)
    value += part * (_mean(curves, 1, row + 1, column, weight) - value)
    value *= _two_to(column + FIRST_COLUMN) / rate
    if rate * elapsed < LOWEST:
        less = max(rate * elapsed, 0.0) / LOWEST
        return less * chance / ONE, less * less * value / ONE
    return min(chance / ONE, 1.0), value / ONE


@small_bare_step
def chance_of_change(curves: Curves, weight: Weights, rate: float, elapsed: float) -> float:
    """Return the chance of a change within ``elapsed`` days."""
    x = min(max(rate * elapsed, LOWEST), LONGEST)
    row, column, part = _cell(x)
    chance = _mean(curves, 0, row, column, weight)
    chance += part * (_mean(curves, 0, row + 1, column, weight) - chance)
    return min(max(rate * elapsed / LOWEST, 0.0), 1.0) * min(chance / ONE, 1.0)


@small_bare_step
def hazard(curves: Curves, weight: Weights, rate: float, elapsed: float) -> float:
    """Return −ln of the chance of no change within ``elapsed`` days, which is above 0."""
    return -math.log1p(-min(chance_of_change(curves, weight, rate, elapsed), MOST))


@bare_step
def elapsed_worth(curves: Curves, weight: Weights, rate: float, value: float) -> float:
    """Return the days after which a visit is worth ``value`` days; infinity for never."""
    if not value > 0.0:
        return 0.0
    # Also if the value is so large that its product with the rate is not a number.
    if not value < (1.0 - CLOSE) * greatest_value(curves, weight, rate):
        return math.inf
    return _when(curves, 1, weight, value * rate * ONE) / rate


@small_bare_step
def greatest_value(curves: Curves, weight: Weights, rate: float) -> float:
    """Return what a visit is worth after a very long time: the mean of 1/r."""
    return _level(curves, 1, weight, LAST_COLUMN) / (rate * ONE)


@small_bare_step
def _level(curves: Curves, what: int, weight: Weights, column: int) -> float:
    """Return the sum of weights times a curve at the beginning of a column."""
    total = _mean(curves, what, 0, column, weight)
    return total * _two_to(column + FIRST_COLUMN) if what == 1 else total


@small_bare_step
def _when(curves: Curves, what: int, weight: Weights, level: float) -> float:
    """Return the x at which the sum of weights times a curve reaches a level."""
    first = _level(curves, what, weight, 0)
    if level <= first:
        less = max(level / first, 0.0)
        return LOWEST * (math.sqrt(less) if what == 1 else less)
    column = _column_below(curves, what, weight, level, first)
    unit = _two_to(column + FIRST_COLUMN)
    return unit * (
        1.0 + _row_at(curves, what, column, weight, level / unit if what == 1 else level)
    )


@small_bare_step
def _column_below(curves: Curves, what: int, weight: Weights, level: float, first: float) -> int:
    """Return the last column at whose beginning the sum is below a level, which is above ``first``.

    Chances rise at most in proportion to x, and values to its square, which gives a first column to
    try; the one sought is seldom far from it.
    """
    at_least = math.sqrt(level / first) if what == 1 else level / first
    low = min(int((float_bits(at_least) >> MANTISSA) - EXPONENT_BIAS), LAST_COLUMN - 1)
    ahead = 1
    while low + ahead < LAST_COLUMN and _level(curves, what, weight, low + ahead) < level:
        low += ahead
        ahead *= 2
    high = min(low + ahead, LAST_COLUMN)
    while high - low > 1:
        middle = (low + high) // 2
        if _level(curves, what, weight, middle) < level:
            low = middle
        else:
            high = middle
    return low


@small_bare_step
def _row_at(curves: Curves, what: int, column: int, weight: Weights, level: float) -> float:
    """Return how far along a column the sum reaches a level, as a share, by interpolation."""
    low, high = 0, STEPS
    begin = _mean(curves, what, low, column, weight)
    end = _mean(curves, what, high, column, weight)
    while high - low > 1:
        along = (level - begin) / (end - begin) if end > begin else 0.5
        middle = min(max(low + int(along * (high - low)), low + 1), high - 1)
        here = _mean(curves, what, middle, column, weight)
        if here < level:
            low, begin = middle, here
        else:
            high, end = middle, here
    part = min(max((level - begin) / (end - begin), 0.0), 1.0) if end > begin else 0.0
    return (low + part) / STEPS


@bare_step
def elapsed_until(curves: Curves, weight: Weights, rate: float, chance: float) -> float:
    """Return the days within which a page has changed with a chance."""
    return _when(curves, 0, weight, chance * ONE) / rate


@bare_step
def with_evidence(
    curves: Curves, weight: Weights, rate: float, elapsed: float, keep: float
) -> float:
    """Return the time after which a page without evidence would be as likely fresh as this one.

    Args:
        curves: See `make_curves`.
        weight: The weights of the rates.
        rate: The lowest rate.
        elapsed: Days since the last visit.
        keep: The share of the chance of no change that evidence has left.
    """
    changed = 1.0 - keep * (1.0 - chance_of_change(curves, weight, rate, elapsed))
    return max(_when(curves, 0, weight, changed * ONE) / rate, elapsed)


@bare_step
def without_evidence(
    curves: Curves, weight: Weights, rate: float, elapsed: float, keep: float
) -> float:
    """Return the time after which the evidence makes a page look ``elapsed`` days old."""
    changed = 1.0 - (1.0 - chance_of_change(curves, weight, rate, elapsed)) / keep
    return min(_when(curves, 0, weight, changed * ONE) / rate, elapsed) if changed > 0.0 else 0.0


@bare_step
def multiply_likelihood(
    curves: Curves,
    likelihood: Likelihoods,
    rate: float,
    elapsed: float,
    changed: bool,  # noqa: FBT001
    keep: float,
) -> None:
    """Multiply likelihoods by the chance of what a visit found.

    Args:
        curves: See `make_curves`.
        likelihood: One per rate.
        rate: The lowest rate.
        elapsed: Days since the last visit.
        changed: Whether the page had changed.
        keep: The share of the chance of no change that other evidence had left.
    """
    row, column, part = _cell(min(max(rate * elapsed, LOWEST), LONGEST))
    less = np.float32(min(max(rate * elapsed / LOWEST, 0.0), 1.0))
    here = curves[0, row, column : column + OCTAVES]
    next_ = curves[0, row + 1, column : column + OCTAVES]
    # The chance is base + slope times that of a change.
    base = np.float32(1.0 - keep) if changed else np.float32(1.0)
    slope = np.float32(keep) if changed else np.float32(-1.0)
    for k in range(OCTAVES):
        change = less * (here[k] + np.float32(part) * (next_[k] - here[k]))
        likelihood[k] *= max(base + slope * change, LEAST_CHANCE)


@bare_step
def multiply_by_date(
    curves: Curves,
    likelihood: Likelihoods,
    rate: float,
    quiet: float,
    dated: bool,  # noqa: FBT001
) -> None:
    """Multiply likelihoods by the chance of ``quiet`` days without a change, after one if dated."""
    multiply_likelihood(curves, likelihood, rate, quiet, False, 1.0)  # noqa: FBT003
    if dated:
        # Relative to the highest rate: only ratios matter.
        density = np.float32(2.0 ** (1 - OCTAVES))
        for k in range(OCTAVES):
            likelihood[k] *= density
            density *= np.float32(2.0)


@summing_step
def inner(likelihood: Likelihoods, prior: Likelihoods) -> float:
    """Return the sum of products."""
    total = np.float32(0.0)
    for k in range(OCTAVES):
        total += prior[k] * likelihood[k]
    return float(total)


@bare_step
def combine(likelihood: Likelihoods, prior: Likelihoods, kept: float, weight: Weights) -> None:
    """Forget some of the evidence, and set the weights that follow from prior and likelihood.

    Args:
        likelihood: One per rate; normalised and moved towards 1.
        prior: Weights that add up to 1.
        kept: The share that is not forgotten.
        weight: Written.
    """
    total = inner(likelihood, prior)
    if not total > LEAST:
        for k in range(OCTAVES):
            likelihood[k] = np.float32(1.0)
        total = 1.0
    scale, forgotten = np.float32(kept / total), np.float32(1.0 - kept)
    unity, one, half = np.float32(1.0), np.float32(ONE), np.float32(0.5)
    for k in range(OCTAVES):
        likelihood[k] = scale * likelihood[k] + forgotten
        weight[k] = np.uint16(min(prior[k] * likelihood[k], unity) * one + half)
    # Where the prior is 0, nothing else bounds the likelihood.
    top = np.float32(0.0)
    for k in range(OCTAVES):
        top = max(top, likelihood[k] if prior[k] > 0.0 else np.float32(0.0))
    for k in range(OCTAVES):
        likelihood[k] = min(likelihood[k], top)
    rest, most = np.int32(ONE), np.int32(0)
    for k in range(OCTAVES):
        rest -= np.int32(weight[k])
        most = max(most, np.int32(weight[k]))
    best = 0
    while weight[best] < most:
        best += 1
    weight[best] = np.uint16(most + rest)


@bare_step
def gamma_weights(shape: float, time: float, rate: float, weights: Likelihoods) -> None:
    """Write the weights of a Gamma belief at the rates, which add up to 1.

    The lowest and the highest rate stand for all octaves beyond them too. Below, the weights are a
    geometric series: a small shape says that most pages hardly ever change.
    """
    top = -math.inf
    for k in range(OCTAVES):
        here = rate * 2.0**k
        top = max(top, shape * math.log(here) - time * here)
    total = 0.0
    for k in range(OCTAVES):
        here = rate * 2.0**k
        share = math.exp(shape * math.log(here) - time * here - top)
        if k == 0:
            share += share / math.expm1(shape * math.log(2.0))
        weights[k] = np.float32(min(share, MAX_SHARE))
        total += min(share, MAX_SHARE)
    here = rate * 2.0**OCTAVES
    while time * here < NEGLIGIBLE and here < HIGHEST:
        more = math.exp(min(shape * math.log(here) - time * here - top, MAX_EXPONENT))
        weights[OCTAVES - 1] += np.float32(more)
        total += more
        here *= 2.0
    for k in range(OCTAVES):
        weights[k] /= np.float32(total)
