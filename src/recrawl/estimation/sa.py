"""The stochastic-approximation estimator of Avrachenkov, Patil and Thoppe (2020)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from recrawl.errors import ArgumentError
from recrawl.estimation import recursion
from recrawl.estimation.observations import Observations
from recrawl.estimation.recursion import Iterate
from recrawl.kernels.jit import Floats
from recrawl.quantities import number


@final
@dataclass(frozen=True)
class SA:
    """Stochastic approximation: y ← y + η_k [ I(y + p) − y ], with p the crawl rate in force.

    The correction is zero on average exactly at y = Δ, whatever p is, so p may change from gap to
    gap if it is set when the gap begins. Where none is given, p = k / Σ elapsed so far.

    Args:
        gamma: η_k = (k + 1)^−γ, k = 0, 1, …, with 0 < γ ≤ 1. The error falls as k^(−γ/2) for γ < 1,
            and converges almost surely for γ > ½; at γ = 1 as k^−min(½, p/(p+Δ)).
        step: Any other step size, a function of an array of k; then ``gamma`` is not used.
        start_value: y₀. As η₀ = 1, the first visit replaces it.
        averaged: Use the mean of all y instead (Polyak and Ruppert). It reaches the LLN's variance
            Δ(Δ + p)² / (pk), but slowly: 1.31 times it at k = 1,000 for Δ = 5, p = 3.

    **When it is wrong**: like the LLN it ignores the gaps and assumes them exponential; for regular
    visits it converges to p(e^(Δ/p) − 1).

    No data: y₀. All unchanged: falls towards 0. All changed: grows by η_k·p per visit, finite for
    every k.

    The interval is a confidence interval: ± z standard deviations of y by the linearised recursion;
    with ``averaged`` the variance is the limit above. It does not include the distance that y still
    has to go: measured at 95 % it covers 91 to 95 % for Δ ≤ p from 30 visits on, but at Δ = 5p only
    59 % after 100 and 88 % after 1,000.

    >>> from recrawl import Tracker
    >>> page = Tracker(SA(gamma=1.0))
    >>> for changed in [True, True, False, True]:
    ...     page.observe(changed, elapsed=0.5, crawl_rate=2.0)
    >>> page.rate
    2.5
    """

    gamma: float = 0.75
    step: Callable[[Floats], Floats] | None = None
    start_value: float = 0.0
    averaged: bool = False
    state_version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not 0.0 < number("gamma", self.gamma) <= 1.0:
            raise ArgumentError(f"gamma: {self.gamma} is not in (0, 1]")
        self.start(0)

    def start(self, pages: int) -> Iterate:
        """Return the state of pages without visits: y₀."""
        return recursion.start(pages, self.start_value)

    def update(self, state: Iterate, observations: Observations) -> Iterate:
        """Take one step per visit."""
        k = recursion.coming_visits(state, observations)
        return recursion.update(state, observations, k, self._steps(k), np.zeros(k.size))

    def rate(self, state: Iterate) -> Floats:
        """Return y, or the mean of all y."""
        return state.average if self.averaged else state.value

    def interval(self, state: Iterate, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return a confidence interval."""
        if not self.averaged:
            return recursion.interval(state, level, state.value, state.value_variance)
        k = np.maximum(state.visits, 1)
        p = np.divide(k, state.elapsed, out=np.ones(k.size), where=state.visits > 0)
        rate = state.average + p / k
        return recursion.interval(state, level, state.average, rate * (rate + p) ** 2 / (p * k))

    def _steps(self, k: Floats) -> Floats:
        if self.step is None:
            return (k + 1.0) ** -self.gamma
        steps = np.array(np.broadcast_to(self.step(k), k.shape), np.float64)
        bad = ~((steps >= 0.0) & (steps <= 1.0))
        if bad.any():
            raise ArgumentError(f"step: is {steps[bad][0]} at k = {int(k[bad][0])}; not in [0, 1]")
        return steps
