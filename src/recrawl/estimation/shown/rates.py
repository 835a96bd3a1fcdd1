"""Change rates, and the chance that a copy is fresh, as they are shown to people.

What a scheduler believes about a page that it hardly knows is a decision: it leans to high rates,
as a visit that finds nothing costs little, and a page that is never visited again costs much. Told
to people that would be wrong: a page seen once would change "42 times a day". What is shown starts
from what is known of the web, and follows from what visits found:

- *The world*: half of all pages stay the same for two months, and each octave of rates further from
  that, to either side, is 1/√2 as likely. About one in four pages changes within a week, one in 14
  every day. Cho and Garcia-Molina (2000) found that it takes 50 days until half of 720,000 pages
  have changed; Fetterly et al. (2003) that 65 % of 151 million pages were the same a week later,
  and that most changes were not to the text, which is what counts here.
- *The fleet*: the prior of a page is the mean of what is believed about those pages of the store
  that were compared at least once, with the world as so many pages more (`WORLD_PAGES`).
- *The page*: its own visits (`recrawl.estimation.shown.evidence`) multiply that prior.

The same evidence, prior and time give the same number, in a running crawl and from its store. The
grid of rates is the same for all pages, whatever grid their evidence is on; the evidence continues
beyond its ends as `recrawl.estimation.octaves.shift_rows` says.
"""

import json
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recrawl.estimation.octaves import OCTAVES
from recrawl.estimation.shown.evidence import Evidence
from recrawl.kernels.jit import Floats, Floats2D, Ints

#: The octave of the lowest rate, once in 45 years, and the number of rates, up to 24 per second.
LOWEST, RATES = -14, 36
#: The octave of the typical rate, once in 64 days, and how fast weights fall with the distance.
TYPICAL, FALL = -6, 0.5
#: As how many pages the world counts in the prior of a fleet.
WORLD_PAGES = 5.0
#: The most pages that a prior is learned from, and the rounds of expectation maximisation.
MAX_LEARNED, ROUNDS = 2_048, 4
#: Pages whose likelihoods all lie within this have no evidence.
FLAT = 1e-3
#: Pages computed at a time: their numbers fit in the cache.
BATCH = 8_192
#: The ends of an interval that holds the rate with a chance of 95 %.
LOW, HIGH = 0.025, 0.975

#: The octave of each rate: it is 2 to that power, per day.
OCTAVE = LOWEST + np.arange(RATES)
_FALLING = 2.0 ** (-FALL * np.abs(OCTAVE - TYPICAL))


@dataclass(frozen=True, eq=False)
class RatePrior:
    """What is believed about the change rate of a page before its own visits.

    Attributes:
        weight: One per rate; they add up to 1.
    """

    weight: Floats

    @classmethod
    def world(cls) -> "RatePrior":
        """Return what is known of the web's pages.

        >>> from recrawl.estimation.shown.evidence import no_evidence
        >>> fresh = ShownRates(no_evidence(1), RatePrior.world()).fresh(np.array([7.0]))
        >>> fresh.round(2).tolist()
        [0.74]
        """
        return cls(_FALLING / _FALLING.sum())

    @classmethod
    def learned(cls, evidence: Evidence) -> "RatePrior":
        """Return the prior of a fleet, by the evidence about its pages: empirical Bayes.

        Args:
            evidence: About pages of the fleet; of very many, some are used, evenly spread.
        """
        world = cls.world()
        spread = np.ptp(evidence["likelihood"].astype(np.float32), axis=1)
        compared = np.flatnonzero(spread > FLAT)
        chosen = compared[:: max(-(-compared.size // MAX_LEARNED), 1)]
        likelihood = extended(evidence[chosen])
        weight = world.weight
        for _ in range(ROUNDS if chosen.size else 0):
            believed = _normalised(likelihood * weight)
            weight = (WORLD_PAGES * world.weight + believed.sum(0)) / (WORLD_PAGES + chosen.size)
        return cls(weight)

    @classmethod
    def from_text(cls, text: str | None) -> "RatePrior":
        """Return what `text` wrote; the world, if that is None or damaged.

        >>> float(RatePrior.from_text(RatePrior.world().text()).weight.sum().round(9))
        1.0
        """
        try:
            weight = np.array(json.loads(text or "null"), np.float64)
        except (ValueError, TypeError):
            return cls.world()
        is_good = weight.shape == (RATES,) and np.isfinite(weight).all() and (weight > 0.0).all()
        return cls(weight / weight.sum()) if is_good else cls.world()

    def text(self) -> str:
        """Return it as text, for a store."""
        return json.dumps(self.weight.tolist())


@dataclass(frozen=True, eq=False)
class ShownRates:
    """The change rates of pages, as they are shown.

    Attributes:
        evidence: Of visits to the pages.
        prior: What is believed without it.
    """

    evidence: Evidence
    prior: RatePrior

    def of(self, rows: Ints) -> "ShownRates":
        """Return those of some of the pages."""
        return ShownRates(self.evidence[rows], self.prior)

    @cached_property
    def typical(self) -> Floats:
        """Changes per day, as likely too many as too few.

        The mean would be dominated by what is least likely: that a page changes all the time.

        >>> from recrawl.estimation.shown.evidence import no_evidence
        >>> round(1.0 / ShownRates(no_evidence(1), RatePrior.world()).typical[0])
        61
        """
        return self.quantile(0.5)

    def quantile(self, chance: float) -> Floats:
        """Return the changes per day below which rates are with a chance."""
        found = np.empty(self.evidence.size)
        for start in range(0, found.size, BATCH):
            here = slice(start, start + BATCH)
            found[here] = _quantile(self.believed(here), chance)
        return found

    def fresh(self, elapsed: Floats) -> Floats:
        """Return the chances that copies made so many days ago are fresh; infinity without one."""
        found = np.empty(self.evidence.size)
        for start in range(0, found.size, BATCH):
            here = slice(start, start + BATCH)
            found[here] = _fresh(self.believed(here), elapsed[here])
        return found

    def believed(self, pages: slice) -> Floats2D:
        """Return how likely each rate is, one row per page, of some of the pages."""
        return _normalised(extended(self.evidence[pages]) * self.prior.weight)


def expected_freshness(fresh: Floats, importance: Floats) -> float | None:
    """Return the share of importance whose copies are expected to be fresh.

    Pages without a copy are not fresh. Pages that are gone or refused do not belong here.

    Args:
        fresh: The chances that copies are fresh, as `ShownRates.fresh` has them.
        importance: How much each page counts.

    Returns:
        None if nothing could be fresh: there is no copy, or no page that counts.
    """
    total = float(importance.sum())
    share = float(importance @ fresh) / total if total > 0.0 else 0.0
    return min(share, 1.0) if share > 0.0 else None


def extended(evidence: Evidence) -> Floats2D:
    """Return likelihoods at all rates, one row per page."""
    found = np.empty((evidence.size, RATES))
    # A damaged store may have any number here.
    first = np.clip(evidence["first"], LOWEST - OCTAVES + 1, LOWEST + RATES - 1)
    for octave in np.unique(first).tolist():
        here = np.flatnonzero(first == octave)
        found[here] = _on_grid(evidence["likelihood"][here].astype(np.float64), octave - LOWEST)
    return found


def _on_grid(likelihood: Floats2D, start: int) -> Floats2D:
    """Return likelihoods at all rates, given those from ``start`` on."""
    found = np.empty((likelihood.shape[0], RATES))
    below, above = max(start, 0), min(start + OCTAVES, RATES)
    found[:, below:above] = likelihood[:, below - start : above - start]
    down = np.minimum(likelihood[:, :1] / likelihood[:, 1:2], 1.0)
    found[:, :below] = likelihood[:, :1] * down ** np.arange(start, start - below, -1)
    up = np.minimum(likelihood[:, -1:] / likelihood[:, -2:-1], 1.0)
    beyond = np.arange(1, RATES - above + 1)
    found[:, above:] = likelihood[:, -1:] * up ** (2.0 ** (beyond + 1) - 2.0)
    return found


def _normalised(weight: Floats2D) -> Floats2D:
    shares: Floats2D = weight / weight.sum(1, keepdims=True)
    return shares


def _quantile(believed: Floats2D, chance: float) -> Floats:
    """Return quantiles of rates; within an octave, all are equally likely on a log scale."""
    below = np.cumsum(believed, axis=1)
    octave = np.minimum((below < chance).sum(1), RATES - 1)
    rows = np.arange(octave.size)
    weight = believed[rows, octave]
    part = (chance - (below[rows, octave] - weight)) / np.maximum(weight, math.ulp(0.0))
    rates: Floats = 2.0 ** (LOWEST + octave - 0.5 + np.clip(part, 0.0, 1.0))
    return rates


def _fresh(believed: Floats2D, elapsed: Floats) -> Floats:
    """Return the chances of no change: as rates double, each power is the square of the last."""
    power = np.exp(-(2.0**LOWEST) * np.maximum(elapsed, 0.0))
    fresh = np.zeros(elapsed.size)
    for rate in range(RATES):
        fresh += believed[:, rate] * power
        power *= power
    return np.minimum(fresh, 1.0)
