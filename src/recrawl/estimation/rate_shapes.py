"""How change rates are distributed over the pages of a fleet: one of a few shapes.

In one fleet nearly all pages change about equally often; in another most never change, and a few
do all the time. After a few visits the first calls for almost regular visits, the second for
leaving pages alone that have not changed. So the prior of a page about which nothing else is known
is a mixture of four shapes, and every visit multiplies the chance of each of them by how likely its
result was under that shape.

One shape is flat: all rates are equally likely on a logarithmic scale. How low these go depends on
how long a page was observed. If it was unchanged for a month, it may change once a year or once in
a century: its visits are equally likely at both rates, and counting both would only make it more
likely that it never changes. So a low rate counts only as far as the likelihood of the visits
differs from that at the next one: the longer a page is unchanged, the lower the rates go.

The others are peaked: the weights of rates fall towards lower rates as those of a Gamma of shape 1
do, and faster towards higher ones.
"""

import numpy as np
from numpy.typing import NDArray

from recrawl.estimation.octaves import BELOW, OCTAVES, Likelihoods, inner
from recrawl.kernels.jit import Floats, bare_step, small_bare_step

#: How well each shape fits.
Fits = tuple[float, float, float, float]

#: The flat shape and the peaked ones.
FLAT, SHAPES = 0, 4
#: In the flat shape, the rates from 1/8 of a change to 16 changes in the mean time between visits
#: are equally likely; only a given prior has weight on the two above that...
FIRST, END = BELOW - 3, OCTAVES - 2
#: ...and each below counts in full if the likelihood of visits differs from the next by this share.
APART = np.float32(1 / 64)
#: Rates with less likelihood than this are clearly distinct from all others.
SMALLEST = np.float32(1e-36)
#: The octaves of the peaks: a change in 16, in 4, and in one mean time between visits.
PEAKS = (BELOW - 4, BELOW - 2, BELOW)
#: The octaves by which weights fall per octave of rates above and below a peak.
FALL_ABOVE, FALL_BELOW = 2.0, 1.0
#: No shape is ever less likely than this: a fleet may change. While the visits to all pages are
#: counted, one after the other, it may be: the order of the pages says nothing.
MIN_CHANCE, MIN_COUNTING = 2.0**-12, 1e-300


def _peaked(peak: int) -> NDArray[np.float32]:
    octave = np.arange(OCTAVES)
    above, below = np.maximum(octave - peak, 0), np.maximum(peak - octave, 0)
    weight = np.where(octave < END, 2.0 ** -(FALL_ABOVE * above + FALL_BELOW * below), 0.0)
    shares: NDArray[np.float32] = (weight / weight.sum()).astype(np.float32)
    return shares


#: The weights of the peaked shapes.
PEAKED = np.stack([_peaked(peak) for peak in PEAKS])
#: The chances of the shapes before any visit; and those of a frontier that does not learn them.
EQUAL, ONLY_FLAT = np.full(SHAPES, 1.0 / SHAPES), np.eye(SHAPES)[FLAT]


@bare_step
def write_flat(likelihood: Likelihoods, flat: Likelihoods) -> None:
    """Write the weights of the flat shape, over all rates that a page's visits distinguish.

    Args:
        likelihood: The likelihood of the page's visits.
        flat: Written.
    """
    total = np.float32(END - FIRST)
    for k in range(FIRST):
        flat[k] = _distinctness(likelihood, k)
        total += flat[k]
    each = np.float32(1.0) / total
    for k in range(FIRST):
        flat[k] *= each
    for k in range(FIRST, END):
        flat[k] = each
    for k in range(END, OCTAVES):
        flat[k] = np.float32(0.0)


@small_bare_step
def _distinctness(likelihood: Likelihoods, k: int) -> np.float32:
    """Return how far visits distinguish a rate from the next one, 0 to 1."""
    apart = abs(likelihood[k + 1] - likelihood[k])
    return min((apart + SMALLEST) / (APART * likelihood[k] + SMALLEST), np.float32(1.0))


@bare_step
def fits(likelihood: Likelihoods, flat: Likelihoods) -> Fits:
    """Return how likely the visits to a page are under each shape.

    Args:
        likelihood: The likelihood of the visits at each rate.
        flat: The weights of the flat shape.
    """
    return (
        inner(likelihood, flat),
        inner(likelihood, PEAKED[0]),
        inner(likelihood, PEAKED[1]),
        inner(likelihood, PEAKED[2]),
    )


@bare_step
def learn_shape(chances: Floats, before: Fits, after: Fits, least: float) -> None:
    """Multiply the chance of each shape by how likely a visit's result was under it.

    Args:
        chances: One per shape; they add up to 1.
        before: How likely all earlier visits to the page are under each shape.
        after: The same with this visit.
        least: The chance below which no shape falls.
    """
    total = 0.0
    for shape in range(SHAPES):
        if not before[shape] > 0.0:
            return
        total += chances[shape] * after[shape] / before[shape]
    if not total > 0.0:
        return
    left = 0.0
    for shape in range(SHAPES):
        share = chances[shape] * after[shape] / (before[shape] * total)
        chances[shape] = max(share, least)
        left += chances[shape]
    for shape in range(SHAPES):
        chances[shape] /= left


@bare_step
def write_base(chances: Floats, base: Likelihoods) -> None:
    """Write what the peaked shapes add to a prior: their weights times their chances."""
    for k in range(OCTAVES):
        total = np.float32(0.0)
        for shape in range(1, SHAPES):
            total += np.float32(chances[shape]) * PEAKED[shape - 1, k]
        base[k] = total
