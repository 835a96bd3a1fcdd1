"""Policies by name, each as its source defines it."""

from collections.abc import Callable

from recrawl.errors import ArgumentError
from recrawl.estimation import LLN, MLE, SA
from recrawl.simulation.policies.adaptive import Nutch, StormCrawler
from recrawl.simulation.policies.gamma_index import GammaIndex
from recrawl.simulation.policies.index import Index
from recrawl.simulation.policies.learning import gamma_learner, solving, updating
from recrawl.simulation.policies.ncis import Ncis, NcisLearned, SignalsKeep
from recrawl.simulation.policies.random_clocks import (
    ExploreCommit,
    LambdaCrawl,
    Paper,
    PoissonKnown,
    RegularKnown,
)
from recrawl.simulation.policies.ranked import Age, IndexKnown, PointIndex, Proportional, Uniform
from recrawl.simulation.policy import Policy, Scaled

#: How each policy is made, by name, in the order in which tables show them.
POLICIES: dict[str, Callable[[], Policy]] = {
    "index": Index,
    "index-gamma": GammaIndex,
    "uniform": Uniform,
    "proportional": Proportional,
    "age": Age,
    "nutch": Nutch,
    "nutch-scaled": lambda: Scaled(Nutch()),
    "stormcrawler": StormCrawler,
    "stormcrawler-scaled": lambda: Scaled(StormCrawler()),
    "news": StormCrawler.news,
    "news-scaled": lambda: Scaled(StormCrawler.news()),
    "paper-lln": lambda: Paper("paper-lln", updating(LLN())),
    "paper-sa": lambda: Paper("paper-sa", updating(SA())),
    "paper-mle": lambda: Paper("paper-mle", solving(MLE())),
    "paper-gamma": lambda: Paper("paper-gamma", gamma_learner),
    "lambdacrawl": LambdaCrawl,
    "explore-commit": ExploreCommit,
    "index-neighbours": lambda: Index("index-neighbours", rhythm=False, slack=0.0),
    "index-sections": lambda: Index("index-sections", neighbours=False, rhythm=False, slack=0.0),
    "index-octaves": lambda: Index(
        "index-octaves", pooling=False, neighbours=False, rhythm=False, slack=0.0
    ),
    "index-lln": lambda: PointIndex("index-lln", updating(LLN())),
    "index-mle": lambda: PointIndex("index-mle", solving(MLE())),
    "poisson-known": PoissonKnown,
    "regular-known": RegularKnown,
    "index-known": IndexKnown,
    "index-known-half": lambda: IndexKnown("index-known-half", least_changes=0.5),
    "signals-ignored": lambda: Index("signals-ignored", uses_signals=False),
    "signals-keep": SignalsKeep,
    "ncis-learned": NcisLearned,
    "ncis": Ncis,
}


def policy_named(name: str) -> Policy:
    """Return a new policy by its name.

    Raises:
        ArgumentError: There is no such policy; the message lists the names.

    >>> policy_named("nutch").keeps_budget
    False
    """
    if name not in POLICIES:
        raise ArgumentError(f"policy: '{name}' is unknown; choose one of {', '.join(POLICIES)}")
    return POLICIES[name]()
