"""Beliefs for tests, as visits would lead to them."""

import numpy as np

from recrawl.estimation import Prior
from recrawl.estimation.octaves import BELOW, Octaves
from recrawl.estimation.shown.evidence import Evidence, evidence_of
from recrawl.estimation.shown.rates import RATES, RatePrior, ShownRates
from recrawl.records import Visit
from recrawl.store.rows import Belief

#: With this prior, what is shown is the evidence alone.
NO_PRIOR = RatePrior(np.full(RATES, 1.0 / RATES))
_NOTHING = Prior(1e-12, 1e-12)


def evidence(shape: float, time: float) -> Evidence:
    """Return the evidence of so many changes in so many days, about one page."""
    first = round(np.log2(shape / time)) - BELOW
    return evidence_of(Octaves.of_gamma(first, Prior(shape, time), _NOTHING, 1))


def belief(shape: float, time: float) -> Belief:
    """Return a Gamma belief, shown with the same mean and about the same interval."""
    return Belief(shape, time, rates((shape, time)))


def rates(*beliefs: tuple[float, float]) -> ShownRates:
    """Return the change rates of pages, given shape and time of what is believed about each."""
    rows = [evidence(*one) for one in beliefs]
    return ShownRates(np.concatenate(rows), NO_PRIOR)


def with_belief(visit: Visit, shape: float, time: float) -> Visit:
    """Return a visit after which that is believed about its page."""
    return visit.with_belief((shape, time), evidence(shape, time).tobytes())
