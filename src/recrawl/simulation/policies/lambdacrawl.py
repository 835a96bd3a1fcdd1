"""LambdaCrawl of Kolobov, Peres, Lu and Horvitz (2019)."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from recrawl.allocation import allocate
from recrawl.estimation import MLE
from recrawl.kernels.jit import Floats
from recrawl.simulation.policies.clocked import Clocked
from recrawl.simulation.policies.learning import Solved
from recrawl.simulation.policy import Pages, Run

#: Half a day: the length of the gaps imagined, in the authors' code.
IMAGINED_GAP = 0.5


@final
@dataclass(frozen=True)
class LambdaCrawl:
    """Visit at random times, at the rates that minimise the harmonic staleness penalty.

    "Staying up to date with online content changes using reinforcement learning for scheduling",
    for pages whose changes are seen at visits only: −Σ w ln(p / (p + Δ)) is minimised, which
    starves no page. Change rates are the maximum-likelihood estimates (their equation 10), smoothed
    as in the authors' code: two gaps of half a day are imagined, one that found a change and one
    that did not. The bounds which that code sets for its bisection are not needed here.
    Crawl rates are refitted at every tick.

    It keeps the budget on average only, as random clocks do.
    """

    name: ClassVar[str] = "lambdacrawl"
    keeps_budget: ClassVar[bool] = False
    knows_rates: ClassVar[bool] = False

    def start(self, pages: Pages, budget: float, *, tick: float, seed: int) -> Run:
        """Begin at the rates that the imagined gaps suggest."""
        del tick

        def optimum(change_rate: Floats) -> Floats:
            return allocate(
                change_rate, budget, importance=pages.importance, objective="harmonic"
            ).crawl_rate

        learner = Solved(MLE(), pages.count, imagined=IMAGINED_GAP)
        rng = np.random.default_rng(seed)
        return Clocked(learner, optimum, optimum(learner.rate()), rng)
