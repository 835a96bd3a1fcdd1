"""Keeps a copy of the web fresh on a budget.

The public names; each is loaded when it is first used, so that importing recrawl costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recrawl.allocation import (
        Allocation,
        allocate,
        budget_for,
        check_allocator,
        freshness,
        freshness_curve,
        proportional,
        uniform,
    )
    from recrawl.estimation import (
        LLN,
        MLE,
        SA,
        SAM,
        Belief,
        BiasReduced,
        Estimates,
        Estimator,
        GammaFilter,
        LastModified,
        MomentMatching,
        Naive,
        Observations,
        Prior,
        Tracker,
        check_estimator,
        estimate,
        fit_host_priors,
        fit_prior,
        load_state,
        save_state,
    )
    from recrawl.scheduling.frontier import Frontier
    from recrawl.simulation.policies import policy_named
    from recrawl.simulation.policy import Policy
    from recrawl.simulation.replay import replay
    from recrawl.simulation.score import Score
    from recrawl.simulation.world import World

_HOMES = {
    "recrawl.allocation": (
        "Allocation",
        "allocate",
        "budget_for",
        "check_allocator",
        "freshness",
        "freshness_curve",
        "proportional",
        "uniform",
    ),
    "recrawl.estimation": (
        "LLN",
        "MLE",
        "SA",
        "SAM",
        "Belief",
        "BiasReduced",
        "Estimates",
        "Estimator",
        "GammaFilter",
        "LastModified",
        "MomentMatching",
        "Naive",
        "Observations",
        "Prior",
        "Tracker",
        "check_estimator",
        "estimate",
        "fit_host_priors",
        "fit_prior",
        "load_state",
        "save_state",
    ),
    "recrawl.scheduling.frontier": ("Frontier",),
    "recrawl.simulation.policies": ("policy_named",),
    "recrawl.simulation.policy": ("Policy",),
    "recrawl.simulation.replay": ("replay",),
    "recrawl.simulation.score": ("Score",),
    "recrawl.simulation.world": ("World",),
}

__all__ = [
    "LLN",
    "MLE",
    "SA",
    "SAM",
    "Allocation",
    "Belief",
    "BiasReduced",
    "Estimates",
    "Estimator",
    "Frontier",
    "GammaFilter",
    "LastModified",
    "MomentMatching",
    "Naive",
    "Observations",
    "Policy",
    "Prior",
    "Score",
    "Tracker",
    "World",
    "allocate",
    "budget_for",
    "check_allocator",
    "check_estimator",
    "estimate",
    "fit_host_priors",
    "fit_prior",
    "freshness",
    "freshness_curve",
    "load_state",
    "policy_named",
    "proportional",
    "replay",
    "save_state",
    "uniform",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'recrawl' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
