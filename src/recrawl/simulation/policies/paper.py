"""The paper's policy: an estimator, and the Poisson optimum of what it estimates."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from recrawl.estimation import Estimator
from recrawl.kernels.jit import Floats
from recrawl.simulation.policies.clocked import Clocked, optimum_for_all
from recrawl.simulation.policies.learning import Folded, Learner, MakeLearner, Solved
from recrawl.simulation.policy import Pages, Run


@final
@dataclass(frozen=True)
class Paper:
    """Estimate change rates, and visit at random times at the crawl rates best for them.

    Avrachenkov, Patil and Thoppe (2020), with the optimum of Azar et al. (2018). The first
    gap of every page has the mean crawl rate, later ones follow the estimates. These, and the crawl
    rates, are at least 2 % of the mean crawl rate, as the optimum gives up pages that were not seen
    to change yet.

    It keeps the budget on average only, as random clocks do.
    """

    name: str
    learner: MakeLearner
    keeps_budget: ClassVar[bool] = False
    knows_rates: ClassVar[bool] = False

    def start(self, pages: Pages, budget: float, *, tick: float, seed: int) -> Run:
        """Begin at uniform rates."""
        del tick

        def optimum(change_rate: Floats) -> Floats:
            return optimum_for_all(change_rate, budget, pages.importance)

        return Clocked(
            self.learner(pages.count, pages.count / budget),
            optimum,
            np.full(pages.count, budget / pages.count),
            np.random.default_rng(seed),
        )


def folding(estimator: Estimator[Any]) -> MakeLearner:
    """Learn with an estimator whose state is a few numbers a page."""

    def make(pages: int, gap: float) -> Learner:
        del gap
        return Folded(estimator, pages)

    return make


def solving(estimator: Estimator[Any]) -> MakeLearner:
    """Learn with an estimator that needs every gap."""

    def make(pages: int, gap: float) -> Learner:
        del gap
        return Solved(estimator, pages)

    return make
