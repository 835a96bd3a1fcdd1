"""Beliefs about change rates, Δ ~ Gamma(shape, time), and the priors they start from."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recrawl.errors import ArgumentError
from recrawl.estimation import gamma
from recrawl.estimation.estimator import checked_level, checked_pages, copied
from recrawl.estimation.gamma import N, hazard
from recrawl.estimation.observations import Observations
from recrawl.kernels.jit import Floats, Ints, cut, in_parallel
from recrawl.quantities import duration, durations, numbers

#: A page without a prior starts from Gamma(½, ½ mean gap): half a change in half a gap.
ALONE_SHAPE = 0.5
ALONE_GAPS = 0.5
#: With a smaller shape, a page's chance of no change is indistinguishable from 1 as a float.
MIN_SHAPE = 1e-12
#: A prior's numbers are in this range. It is wider than any log with valid gaps can yield, and
#: narrow enough for the formulas not to overflow.
MIN_NUMBER, MAX_NUMBER = 1e-72, 1e72
#: Stands in for a page's mean gap before its first visit, in days.
GAP_BEFORE_VISITS = 1.0
#: Computing two quantiles takes about as long as reading this many rows.
ROWS_PER_QUANTILE = 100


@dataclass(frozen=True, eq=False)
class Prior:
    """The belief about a page before its first visit: about ``shape`` changes in ``time`` days.

    Either number may be an array with one element per page.

    >>> Prior(shape=0.5, time=10.0).rate
    0.05
    """

    shape: ArrayLike
    time: ArrayLike

    def __post_init__(self) -> None:
        for name in ("shape", "time"):
            read = durations if name == "time" else numbers
            values = read(name, getattr(self, name))
            if not ((values >= MIN_NUMBER) & (values <= MAX_NUMBER)).all():
                raise ArgumentError(
                    f"{name}: a prior's numbers are positive and finite, up to {MAX_NUMBER:g}"
                )
            object.__setattr__(self, name, values if values.ndim else float(values))
        if (np.asarray(self.shape) < MIN_SHAPE).any():
            raise ArgumentError(f"shape: a prior knows of at least {MIN_SHAPE:g} changes")

    @property
    def rate(self) -> float | Floats:
        """The mean change rate, shape / time."""
        rate: float | Floats = np.divide(self.shape, self.time)
        return float(rate) if np.ndim(rate) == 0 else rate

    def columns(self, pages: int) -> tuple[Floats, Floats]:
        """Return both numbers as arrays with one element per page."""
        try:
            return (
                np.array(np.broadcast_to(np.asarray(self.shape, np.float64), pages)),
                np.array(np.broadcast_to(np.asarray(self.time, np.float64), pages)),
            )
        except ValueError as error:
            raise ArgumentError(
                f"prior: has {max(np.size(self.shape), np.size(self.time))} elements for "
                f"{pages} pages"
            ) from error


class Belief(NamedTuple):
    """The belief Δ ~ Gamma(shape, time) about each page.

    Attributes:
        visits: Observations, k.
        elapsed: The sum of their gaps, in days.
        shape: a, about the number of changes known.
        time: b, about the days in which they happened.
    """

    visits: Ints
    elapsed: Floats
    shape: Floats
    time: Floats

    @property
    def rate(self) -> Floats:
        """The mean, a / b."""
        return self.shape / self.time

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Return the quantiles that leave equal tails outside."""
        from scipy import special

        tail = 0.5 - 0.5 * checked_level(level)
        ends = np.empty((2, self.shape.size))

        def fill(first: int, last: int) -> None:
            pages = slice(first, last)
            special.gammaincinv(self.shape[pages], tail, out=ends[0, pages])
            special.gammainccinv(self.shape[pages], tail, out=ends[1, pages])
            ends[:, pages] /= self.time[pages]

        in_parallel(fill, cut(self.shape.size, ROWS_PER_QUANTILE * self.shape.size))
        return ends[0], ends[1]


def survival(shape: N, time: N, elapsed: N) -> N:
    """Return the chance (b/(b+t))^a that a page is still unchanged t days after its last visit.

    >>> float(survival(2.0, 4.0, 4.0))
    0.25
    """
    fresh: N = np.exp(-_hazard(shape, time, elapsed))
    return fresh


def staleness(shape: N, time: N, elapsed: N) -> N:
    """Return 1 − `survival`, to full precision where it is small.

    >>> float(staleness(2.0, 4.0, 4.0))
    0.75
    """
    stale: N = -np.expm1(-_hazard(shape, time, elapsed))
    return stale


def _hazard(shape: N, time: N, elapsed: N) -> Any:  # noqa: ANN401 - a number, or a column
    days = (durations("time", time), durations("elapsed", elapsed))
    return hazard(numbers("shape", shape), *days)


def start(prior: Prior | None, pages: int) -> Belief:
    """Return the beliefs about pages without visits."""
    alone = Prior(ALONE_SHAPE, ALONE_GAPS * GAP_BEFORE_VISITS)
    shape, time = (prior or alone).columns(checked_pages(pages))
    return Belief(np.zeros(pages, np.int64), np.zeros(pages), shape, time)


def update(
    state: Belief,
    observations: Observations,
    prior: Prior | None,
    half_life: float | None,
    *,
    dated: bool,
) -> Belief:
    """Fold observations into beliefs; with ``dated``, use the ages by servers' dates."""
    new = copied(state)
    columns = (new.shape, new.time, new.visits, new.elapsed)
    prior_gaps = 0.0 if prior else ALONE_GAPS
    rows = observations.grouped
    if half_life is None and (rows.age is None or not dated):
        gamma.fold_bits(*columns, prior_gaps, rows.starts, rows.elapsed, rows.changed)
        return new
    at_start = start(prior, new.visits.size)
    gamma.fold_rows(
        *columns,
        prior_gaps,
        at_start.shape,
        at_start.time,
        np.inf if half_life is None else half_life,
        rows if dated else rows._replace(age=None),
    )
    return new


def checked_half_life(half_life: float | None) -> float | None:
    """Return a half-life in days, positive and finite, or None."""
    if half_life is None:
        return None
    days = duration("half_life", half_life)
    if not 0.0 < days < np.inf:
        raise ArgumentError(f"half_life: {days} is not a positive number of days")
    return days


@dataclass(frozen=True, eq=False)
class BeliefEstimator:
    """The fold and the readings that estimators with a Gamma belief share."""

    prior: Prior | None = None
    half_life: float | None = None
    state_version: ClassVar[int] = 1
    dated: ClassVar[bool]

    def __post_init__(self) -> None:
        object.__setattr__(self, "half_life", checked_half_life(self.half_life))

    def start(self, pages: int) -> Belief:
        """Return the prior for every page."""
        return start(self.prior, pages)

    def update(self, state: Belief, observations: Observations) -> Belief:
        """Update the beliefs by the outcomes of visits and, if dated, the servers' dates."""
        return update(state, observations, self.prior, self.half_life, dated=self.dated)

    def rate(self, state: Belief) -> Floats:
        """Return the beliefs' means."""
        return state.rate

    def interval(self, state: Belief, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return credible intervals with equal tails."""
        return state.interval(level)
