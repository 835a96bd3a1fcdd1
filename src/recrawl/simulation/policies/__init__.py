"""Policies by name: one idea a file, each as its source defines it."""

from collections.abc import Callable

from recrawl.errors import ArgumentError
from recrawl.estimation import LLN, MLE, SA
from recrawl.simulation.policies.explore_commit import ExploreCommit
from recrawl.simulation.policies.index import Index
from recrawl.simulation.policies.known import PoissonKnown, RegularKnown
from recrawl.simulation.policies.lambdacrawl import LambdaCrawl
from recrawl.simulation.policies.learning import believing
from recrawl.simulation.policies.nutch import Nutch
from recrawl.simulation.policies.paper import Paper, folding, solving
from recrawl.simulation.policies.plain import Age, Proportional, Uniform
from recrawl.simulation.policies.point_index import IndexKnown, PointIndex
from recrawl.simulation.policies.stormcrawler import StormCrawler
from recrawl.simulation.policy import Policy
from recrawl.simulation.scaled import Scaled

#: How each policy is made, by name; in the order that tables show them.
POLICIES: dict[str, Callable[[], Policy]] = {
    "index": Index,
    "index-gamma": lambda: Index("index-gamma", neighbours=False),
    "uniform": Uniform,
    "proportional": Proportional,
    "age": Age,
    "nutch": Nutch,
    "nutch-scaled": lambda: Scaled(Nutch()),
    "stormcrawler": StormCrawler,
    "stormcrawler-scaled": lambda: Scaled(StormCrawler()),
    "news": StormCrawler.news,
    "news-scaled": lambda: Scaled(StormCrawler.news()),
    "paper-lln": lambda: Paper("paper-lln", folding(LLN())),
    "paper-sa": lambda: Paper("paper-sa", folding(SA())),
    "paper-mle": lambda: Paper("paper-mle", solving(MLE())),
    "paper-gamma": lambda: Paper("paper-gamma", believing),
    "lambdacrawl": LambdaCrawl,
    "explore-commit": ExploreCommit,
    "index-lln": lambda: PointIndex("index-lln", folding(LLN())),
    "index-mle": lambda: PointIndex("index-mle", solving(MLE())),
    "poisson-known": PoissonKnown,
    "regular-known": RegularKnown,
    "index-known": IndexKnown,
}


def policy_named(name: str) -> Policy:
    """Make a policy by its name.

    Raises:
        ArgumentError: There is no such policy; the message lists those there are.

    >>> policy_named("nutch").keeps_budget
    False
    """
    if name not in POLICIES:
        raise ArgumentError(f"policy: '{name}' is not known; there are {', '.join(POLICIES)}")
    return POLICIES[name]()
